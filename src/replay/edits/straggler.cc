// SPDX-License-Identifier: Apache-2.0
// straggler: no rank is later than the others. What the others' steps take once they do not wait is
// measured on them (SkewFacts::lost); the replay of this rank is held to that pace. Which of its
// tasks would be shorter is another finding's to say, so that all of them shrink alike.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "replay/edits/edits.h"
#include "replay/simulate.h"

namespace hone::replay {
namespace {

// Times that the scale is set right: lags of edges do not shrink with the tasks.
constexpr int kRounds = 3;
constexpr double kNear = 0.001;

// Of kernels and collectives, over the replayed steps.
double DeviceTime(const Graph& graph, const Plan& plan) {
  double sum = 0;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const TaskKind kind = graph.tasks[t].kind;
    if (kind == TaskKind::kKernel || kind == TaskKind::kCollective) {
      sum += static_cast<double>(plan.duration_ns[t]);
    }
  }
  return sum;
}

void Scale(double factor, Plan& plan) {
  for (auto* times : {&plan.duration_ns, &plan.lag_ns, &plan.apart_ns}) {
    for (Nanos& time : *times) {
      if (time > 0) time = std::llround(static_cast<double>(time) * factor);
    }
  }
}

// The late rank's device does not compute longer by what the others wait.
bool LateByHost(const analyze::SkewFacts& skew) {
  const analyze::RankSkew& late = skew.ranks.front();
  if (late.compute_step_ns <= 0 || skew.straggler < 0) return false;
  double least = late.compute_step_ns;
  for (const analyze::RankSkew& rank : skew.ranks) {
    if (rank.compute_step_ns > 0) least = std::min(least, rank.compute_step_ns);
  }
  return late.compute_step_ns - least < skew.lost.likely_ns / 2;
}

class Straggler : public Edit {
 public:
  Straggler(const Model& model, double bare_ns)
      : lost_(model.skew()->lost),
        straggler_(model.skew()->straggler),
        by_host_(LateByHost(*model.skew())),
        bare_ns_(bare_ns),
        device_ns_(DeviceTime(model.graph(), Plan(model.graph()))) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    const double now = SteadyStep(graph, plan) / plan.samples;
    double lost = guess == Guess::kLeast  ? lost_.least_ns
                  : guess == Guess::kMost ? lost_.most_ns
                                          : lost_.likely_ns;
    // A host that is late by no more than what the recorder costs it may be late for that.
    if (by_host_) {
      lost = std::max(0.0, lost - std::max(0.0, graph.measured_step_ns() - bare_ns_));
    }
    const double pace = std::max(0.0, 1 - lost / graph.measured_step_ns());
    // What other fixes take off the device they take off every rank's, as far as it shows in the
    // step; what they take off this rank's host may be its own affair.
    const double all_steps = graph.measured_step_ns() * static_cast<double>(graph.steps);
    const double shorter = 1 - (device_ns_ - DeviceTime(graph, plan) / plan.samples) / all_steps;
    const double everywhere = std::clamp(std::max(shorter, now / bare_ns_), 0.0, 1.0);
    const double target = bare_ns_ * pace * everywhere;
    double reached = now;
    for (int round = 0; round < kRounds && reached > target * (1 + kNear); ++round) {
      Scale(target / reached, plan);
      reached = SteadyStep(graph, plan) / plan.samples;
    }
  }

  std::string Scope(const Model& model) const override {
    const double step = model.graph().measured_step_ns();
    return fmt::format("{:.2f} of {:.2f} ms a step are waiting for {}", lost_.likely_ns / 1e6,
                       step / 1e6,
                       straggler_ < 0 ? "whoever is late" : fmt::format("rank {}", straggler_));
  }

 private:
  const analyze::LostToWaiting lost_;
  const std::int64_t straggler_;
  const bool by_host_;
  const double bare_ns_;    // a step without the recorder
  const double device_ns_;  // as measured, over the replayed steps
};

}  // namespace

FoundEdit FindStraggler(const Model& model) {
  if (model.skew() == nullptr) {
    return FoundEdit::Absent("one rank alone does not show who waits for whom");
  }
  if (model.skew()->lost.likely_ns <= 0)
    return FoundEdit::Absent("no rank keeps the others waiting");
  Plan bare(model.graph());
  const FoundEdit observer = FindObserver(model);
  if (observer) (*observer)->Apply(model, Guess::kLikely, bare);
  const double step = SteadyStep(model.graph(), bare);
  if (step <= 0) return FoundEdit::Absent("the replayed step has no length");
  return FoundEdit(std::make_unique<Straggler>(model, step));
}

}  // namespace hone::replay
