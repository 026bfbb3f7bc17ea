// SPDX-License-Identifier: Apache-2.0
#include "replay/whatif.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "replay/simulate.h"

namespace hone::replay {

namespace {
constexpr std::string_view kObserver = "observer-effect";
// A recording of a few steps after a pause runs at a higher clock than hours of training do:
// device-bound programs took 4 to 12 % longer in blocks of half a second than in recordings of
// 50 ms (H200).
constexpr double kSettledClock = 1.10;

// Steady steps as parts of their mean, the shortest and the longest; of many, a twentieth at either
// end does not count: what is predicted is a mean, which a step in a hundred does not decide.
std::pair<double, double> SpreadOf(const analyze::Steps& steps) {
  std::vector<Nanos> lengths;
  for (std::size_t i = steps.warm_up_count; i < steps.steps.size(); ++i) {
    lengths.push_back(steps.steps[i].span.length());
  }
  if (lengths.empty() || !steps.stats || steps.stats->mean_ns <= 0) return {1, 1};
  std::sort(lengths.begin(), lengths.end());
  const std::size_t ends = lengths.size() / 20;
  const auto mean = static_cast<double>(steps.stats->mean_ns);
  return {static_cast<double>(lengths[ends]) / mean,
          static_cast<double>(lengths[lengths.size() - 1 - ends]) / mean};
}

}  // namespace

WhatIf::WhatIf(const Model& model) : model_(model) {
  for (const EditInfo& info : AllEdits()) found_.emplace(info.id, info.find(model));
  const auto [shortest, longest] = SpreadOf(model.facts().steps);
  low_spread_ = std::min(low_spread_, shortest);
  high_spread_ = std::max(high_spread_, longest);
  const Graph& graph = model.graph();
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

double WhatIf::Step(const std::vector<std::string_view>& ids, Guess guess, Guess observer) const {
  Plan plan(model_.graph());
  for (const EditInfo& info : AllEdits()) {
    const bool is_observer = info.id == kObserver;
    if (!is_observer && std::find(ids.begin(), ids.end(), info.id) == ids.end()) continue;
    const Known<std::unique_ptr<Edit>>& edit = Find(info.id);
    if (edit) (*edit)->Apply(model_, is_observer ? observer : guess, plan);
  }
  return SteadyStep(model_.graph(), plan);
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
  prediction.likely_ns = Step(ids, Guess::kLikely, Guess::kLikely);
  prediction.low_ns =
      low_spread_ * std::min(prediction.likely_ns, Step(ids, Guess::kMost, Guess::kMost));
  prediction.high_ns =
      high_spread_ * std::max(prediction.likely_ns, Step(ids, Guess::kLeast, Guess::kLeast));
  return prediction;
}

}  // namespace hone::replay
