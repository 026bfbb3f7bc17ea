// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/hone_observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/median.h"
#include "replay/simulate.h"

namespace hone::replay {
namespace {

// hone's own recorder costs time an event: an operator's record and CUPTI's work in a launch. How
// fast the host is, its launch calls tell: shares of what one takes as recorded, from pairs of bare
// and recorded steps of a launch-bound loop (docs/design/recording.md: 1.06 us an operator and 2.5
// us a launch where a recorded call takes 7.1 us). Without a device: 0.3 us an operator.
constexpr Range3 kHoneOpOfLaunch = {0.08, 0.16, 0.25}, kHoneLaunchOfLaunch = {0.2, 0.33, 0.45};
constexpr Range3 kHoneOpNs = {150, 300, 600};
// Without a device, of a stretch of code: where the same few operators of half a microsecond come
// over and over, they and their records stay in the caches (docs/design/observer.md).
constexpr Range3 kHoneMostOfCode = {0.2, 0.27, 0.4};
// Where steps were timed after the window, the cost is as many times that as it takes to get there.
// Seven programs on an H200 needed 0.87 to 1.24 times, one on a busy CPU 1.8; what needs more has
// another reason.
constexpr double kMostTimes = 2;
// Of a step, what it may wait for its loader: beyond that the pace after the window is the
// loader's, which has its own ups and downs (an epoch's last batches are made ahead).
constexpr double kMostInput = 0.05;
// Off what was timed by less than this, as two runs of one program are, nothing is to be learnt.
constexpr double kSame = 0.015;
// How far the cost may still be off then: the sum is known, its places are not.
constexpr Range3 kTimedSpread = {0.8, 1.0, 1.2};

class HoneObserver : public Edit {
 public:
  explicit HoneObserver(const Model& model) {
    std::vector<Nanos> launches;
    for (const Task& task : model.graph().tasks) {
      if (task.kind == TaskKind::kLaunch) launches.push_back(task.duration_ns);
    }
    launch_ns_ = static_cast<double>(UpperMedian(std::move(launches)));
    LearnFrom(model.trace().info.timed_steps, model);
  }

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const auto cost = static_cast<Nanos>(CostOf(graph.tasks[t], guess));
      plan.duration_ns[t] -= std::min(plan.duration_ns[t], cost);
    }
  }

  std::string Scope(const Model& model) const override {
    double cost = 0;
    for (const Task& task : model.graph().tasks) cost += CostOf(task, Guess::kLikely);
    return fmt::format("about {:.2f} ms of host time a step go to the recorder",
                       cost / 1e6 / static_cast<double>(model.graph().steps));
  }

 private:
  double CostOf(const Task& task, Guess guess) const {
    if (task.kind != TaskKind::kHost && task.kind != TaskKind::kLaunch) return 0;
    if (times_ > 0) {
      return times_ * kTimedSpread.At(guess) * UsualCostOf(task, Guess::kLikely);
    }
    return UsualCostOf(task, guess);
  }
  double UsualCostOf(const Task& task, Guess guess) const {
    if (launch_ns_ == 0) {
      return std::min(kHoneOpNs.At(guess) * task.ops,
                      kHoneMostOfCode.At(guess) * static_cast<double>(task.duration_ns));
    }
    const double launch = task.kind == TaskKind::kLaunch ? kHoneLaunchOfLaunch.At(guess) : 0;
    return (kHoneOpOfLaunch.At(guess) * task.ops + launch) * launch_ns_;
  }

  static double InputShare(const Graph& graph) {
    double input = 0;
    for (const Task& task : graph.tasks) {
      if (task.kind == TaskKind::kInput) input += static_cast<double>(task.duration_ns);
    }
    return input / static_cast<double>(std::max<Nanos>(graph.measured_ns, 1));
  }

  // A host that its device holds up says nothing about what recording costs it: then the usual
  // cost stays.
  void LearnFrom(const trace::TimedSteps& timed, const Model& model) {
    if (timed.bare_steps == 0 || InputShare(model.graph()) > kMostInput) return;
    const double target = model.graph().measured_step_ns() * timed.bare_part();
    const auto step = [&](double times) {
      times_ = times;
      Plan plan(model.graph());
      Apply(model, Guess::kLikely, plan);
      return SteadyStep(model.graph(), plan);
    };
    double low = 0, high = kMostTimes;
    const double usual = step(1);
    // What the device holds up stays, however cheap the recorder: a step of that length is
    // explained by any cost from some point on, and then by the usual one if it is among them.
    const double least = step(kMostTimes);
    const double aim = target < least ? least * (1 + kSame) : target;
    times_ = 0;
    if (std::abs(usual / aim - 1) <= kSame || (target < least && usual <= aim)) return;
    (usual > aim ? low : high) = 1;
    constexpr int kRounds = 5;  // to a twentieth of the usual cost
    for (int i = 0; i < kRounds; ++i) {
      const double middle = (low + high) / 2;
      (step(middle) > aim ? low : high) = middle;
    }
    times_ = (low + high) / 2;
  }

  double launch_ns_ = 0;  // median of a call as recorded; 0: nothing is launched
  double times_ = 0;      // of the usual cost, by steps that were timed; 0: not told
};

}  // namespace

std::unique_ptr<Edit> MakeHoneObserver(const Model& model) {
  return std::make_unique<HoneObserver>(model);
}

}  // namespace hone::replay
