// SPDX-License-Identifier: Apache-2.0
#include "replay/warm_code.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hone::replay {
namespace {

// What a stretch of other code costs the code behind it at most, and after how much of that code
// two thirds of it are paid (docs/design/predictions.md has the table: training steps of small
// layers on a CPU, 0.8 and 3.6 ms long, behind pauses of four kinds).
constexpr Range3 kColdNs = {0, 1.2e6, 1.9e6};
constexpr double kPaidWithinNs = 0.85e6;
// The stretch that costs half of that; shorter ones than a millisecond cost nothing that was seen.
constexpr double kHalfColdNs = 15e6, kShortNs = 1e6;
// It is the way from one operator to the next that is paid for, not what they compute: no more than
// this for each (the first thirty behind a pause paid 7 to 10 us each).
constexpr double kMostOfOneNs = 10'000;

// How cold code runs behind a pause: 0 (warm) to 1.
double ColdBehind(double pause_ns) {
  if (pause_ns < kShortNs) return 0;
  const double squared = pause_ns * pause_ns;
  return squared / (squared + kHalfColdNs * kHalfColdNs);
}

// How cold the code runs as recorded and how cold it still does, moved along with the program.
class Coldness {
 public:
  explicit Coldness(double most_ns) : most_ns_(most_ns) {}

  void Pause(double was_ns, double left_ns) {
    was_ = 1 - (1 - was_) * (1 - ColdBehind(was_ns));
    left_ = 1 - (1 - left_) * (1 - ColdBehind(left_ns));
  }

  // What code saves by it that ran for `ran_ns` and of which `left` times as much is left. Where it
  // is warm it takes w, and w + most * cold * (1 - e^(-w / within)) where it is cold.
  double Saves(double ran_ns, double left) {
    const double cost = most_ns_ * was_;
    double warm = ran_ns / (1 + cost / kPaidWithinNs);
    constexpr int kRounds = 4;  // Newton's, from below on a concave function
    for (int i = 0; i < kRounds; ++i) {
      const double unpaid = std::exp(-warm / kPaidWithinNs);
      warm += (ran_ns - warm - cost * (1 - unpaid)) / (1 + cost / kPaidWithinNs * unpaid);
    }
    const double unpaid = std::exp(-warm * left / kPaidWithinNs);
    const double saves = most_ns_ * (was_ - left_) * (1 - unpaid);
    was_ *= std::exp(-warm / kPaidWithinNs);
    left_ *= unpaid;
    return std::max(0.0, saves);
  }

 private:
  double most_ns_, was_ = 0, left_ = 0;
};

}  // namespace

void KeepWarm(const Graph& graph, const Plan& before, Guess guess, Plan& after) {
  const auto has_device = [](const Lane& lane) { return lane.kind == LaneKind::kStream; };
  if (kColdNs.At(guess) == 0) return;
  if (std::any_of(graph.lanes.begin(), graph.lanes.end(), has_device)) return;
  Coldness coldness(kColdNs.At(guess));
  double was_ns = 0, left_ns = 0;  // of the pause that goes on
  // The second time round for what the end of the window does to its beginning.
  for (const bool first_round : {true, false}) {
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.lane != 0) continue;
      const auto was = static_cast<double>(before.duration_ns[t]);
      const auto left = static_cast<double>(after.duration_ns[t]);
      if (task.ops == 0 || task.kind == TaskKind::kInput) {
        was_ns += was;
        left_ns += left;
        continue;
      }
      coldness.Pause(was_ns, left_ns);
      was_ns = left_ns = 0;
      if (was <= 0) continue;
      const double saves = coldness.Saves(was, left / was);
      // Which of its operators an edit took away is not known here, but how much of their time.
      const double most = kMostOfOneNs * task.ops * std::min(1.0, left / was);
      if (!first_round) after.duration_ns[t] -= static_cast<Nanos>(std::min({saves, most, left}));
    }
  }
}

}  // namespace hone::replay
