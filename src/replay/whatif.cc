// SPDX-License-Identifier: Apache-2.0
#include "replay/whatif.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "replay/free_cores.h"
#include "replay/simulate.h"
#include "replay/warm_code.h"

namespace hone::replay {

namespace {
constexpr std::string_view kObserver = "observer-effect";
// A recording of a few steps after a pause runs at a higher clock than hours of training do:
// device-bound programs took 4 to 12 % longer in blocks of half a second than in recordings of
// 50 ms (H200).
constexpr double kSettledClock = 1.10;
// A host that runs ahead of its device marks steps before they end: where the device needs this
// many times as long for them, their spread says how far ahead it was, and not how steps differ.
constexpr double kAhead = 1.03;
// As far as a step without the recorder may lie from the mean of those that were timed.
constexpr double kAgrees = 0.05;

// How far the mean of a stretch of steady steps may lie from the mean of all: the shortest and the
// longest step as parts of it or, of ten and more, the means of five stretches. What is predicted
// is a mean, and programs with two kinds of steps have none that looks like it.
std::pair<double, double> SpreadOf(const analyze::Steps& steps) {
  const std::size_t first = steps.warm_up_count, count = steps.steps.size() - first;
  if (count == 0 || !steps.stats || steps.stats->mean_ns <= 0) return {1, 1};
  constexpr std::size_t kMany = 10, kStretches = 5;
  const std::size_t stretches = count < kMany ? count : kStretches;
  double least = 1, most = 1;
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t begin = count * i / stretches, end = count * (i + 1) / stretches;
    double sum = 0;
    for (std::size_t k = begin; k < end; ++k) {
      sum += static_cast<double>(steps.steps[first + k].span.length());
    }
    const double part =
        sum / static_cast<double>(end - begin) / static_cast<double>(steps.stats->mean_ns);
    least = std::min(least, part);
    most = std::max(most, part);
  }
  return {least, most};
}

double StepOfPlan(const Graph& graph, const Plan& plan) {
  return SteadyStep(graph, plan) / plan.samples;
}

}  // namespace

WhatIf::WhatIf(const Model& model) : model_(model) {
  for (const EditInfo& info : AllEdits()) found_.emplace(info.id, info.find(model));
  const Graph& graph = model.graph();
  if (SteadyStep(graph, Plan(graph)) <= kAhead * graph.measured_step_ns()) {
    const auto [shortest, longest] = SpreadOf(model.facts().steps);
    low_spread_ = std::min(low_spread_, shortest);
    high_spread_ = std::max(high_spread_, longest);
  }
  if (graph.measured_ns < kSecond) high_spread_ = std::max(high_spread_, kSettledClock);
  replayed_ns_ =
      static_cast<double>(ReplayWindow(graph, Plan(graph))) / static_cast<double>(graph.steps);
  bare_ = Predict({});
}

const Known<std::unique_ptr<Edit>>& WhatIf::Find(std::string_view id) const {
  const auto found = found_.find(id);
  HONE_CHECK(found != found_.end());
  return found->second;
}

Plan WhatIf::PlanFor(const std::vector<std::string_view>& ids, Guess guess, Guess observer) const {
  Plan bare(model_.graph());
  if (const auto& recorder = Find(kObserver)) (*recorder)->Apply(model_, observer, bare);
  Plan plan = bare;
  for (const EditInfo& info : AllEdits()) {
    if (info.id == kObserver || std::find(ids.begin(), ids.end(), info.id) == ids.end()) continue;
    if (const auto& edit = Find(info.id)) (*edit)->Apply(model_, guess, plan);
  }
  FreeCores(model_.graph(), bare, plan);
  KeepWarm(model_.graph(), bare, guess, plan);
  return plan;
}

double WhatIf::Step(const std::vector<std::string_view>& ids, Guess guess, Guess observer) const {
  return StepOfPlan(model_.graph(), PlanFor(ids, guess, observer));
}

std::int64_t WhatIf::bare_timed() const {
  const trace::TimedSteps& timed = model_.trace().info.timed_steps;
  if (timed.bare_steps == 0) return 0;
  const double off = bare_.likely_ns / (measured_ns() * timed.bare_part()) - 1;
  return std::abs(off) <= kAgrees ? timed.bare_steps : 0;
}

double WhatIf::SureGain(const std::vector<std::string_view>& ids) const {
  const double likely = bare_.likely_ns - Step(ids, Guess::kLikely, Guess::kLikely);
  const double cautious =
      Step({}, Guess::kLikely, Guess::kMost) - Step(ids, Guess::kLikely, Guess::kMost);
  const double least = bare_.likely_ns - Step(ids, Guess::kLeast, Guess::kLikely);
  const double sure = std::min(likely, cautious);
  return (sure + std::min(sure, least)) / 2;
}

Prediction WhatIf::Predict(const std::vector<std::string_view>& ids) const {
  Prediction prediction;
  const Plan likely = PlanFor(ids, Guess::kLikely, Guess::kLikely);
  prediction.samples = likely.samples;
  prediction.likely_ns = StepOfPlan(model_.graph(), likely);
  prediction.low_ns =
      low_spread_ * std::min(prediction.likely_ns, Step(ids, Guess::kMost, Guess::kMost));
  prediction.high_ns =
      high_spread_ * std::max(prediction.likely_ns, Step(ids, Guess::kLeast, Guess::kLeast));
  return prediction;
}

}  // namespace hone::replay
