// SPDX-License-Identifier: Apache-2.0
#include "replay/warm_code.h"

#include <algorithm>
#include <cmath>

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
// this for each (the first thirty behind a pause paid 7 to 10 us each), a call that launches
// included.
constexpr double kMostOfOneNs = 10'000;

// 0 (warm) to 1, moved along with the program.
class Coldness {
 public:
  explicit Coldness(double most_ns) : most_ns_(most_ns) {}

  void Pause(double ns) {
    if (ns < kShortNs) return;
    const double squared = ns * ns;
    const double of_it = squared / (squared + kHalfColdNs * kHalfColdNs);
    cold_ = 1 - (1 - cold_) * (1 - of_it);
  }

  // What code of this length takes where it is warm: w + most * cold * (1 - e^(-w / within)).
  double Warm(double ns) {
    if (cold_ == 0) return ns;
    const double cost = most_ns_ * cold_;
    double warm = ns / (1 + cost / kPaidWithinNs);
    constexpr int kRounds = 4;  // Newton's, from below on a concave function
    for (int i = 0; i < kRounds; ++i) {
      const double left = std::exp(-warm / kPaidWithinNs);
      warm += (ns - warm - cost * (1 - left)) / (1 + cost / kPaidWithinNs * left);
    }
    cold_ *= std::exp(-warm / kPaidWithinNs);
    return warm;
  }

 private:
  double most_ns_, cold_ = 0;
};

bool IsCode(const Graph& graph, const Task& task) {
  return graph.lanes[task.lane].kind == LaneKind::kThread &&
         (task.kind == TaskKind::kHost || task.kind == TaskKind::kLaunch ||
          task.kind == TaskKind::kInput);
}

double Ways(const Task& task) { return task.kind == TaskKind::kLaunch ? 1 : task.ops; }

}  // namespace

void KeepWarm(const Graph& graph, const Plan& before, Guess guess, Plan& after) {
  if (kColdNs.At(guess) == 0) return;
  Coldness coldness(kColdNs.At(guess));
  // The second time round for what the end of the window does to its beginning.
  for (const bool first_round : {true, false}) {
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      if (!IsCode(graph, graph.tasks[t])) continue;
      const Nanos gone = before.duration_ns[t] - after.duration_ns[t];
      if (gone > 0) coldness.Pause(static_cast<double>(gone));
      if (after.duration_ns[t] <= 0) continue;
      const auto took = static_cast<double>(after.duration_ns[t]);
      const double warm = std::max(coldness.Warm(took), took - kMostOfOneNs * Ways(graph.tasks[t]));
      if (!first_round) after.duration_ns[t] = static_cast<Nanos>(warm);
    }
  }
}

}  // namespace hone::replay
