// SPDX-License-Identifier: Apache-2.0
#include "stats/verdict.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/check.h"

namespace hone::stats {

std::vector<Look> PlanLooks(int most, int comparisons) {
  HONE_CHECK(most >= 1 && comparisons >= 1);
  std::vector<Look> looks;
  for (const int pairs : {5, 10, 20}) {
    if (pairs < most) looks.push_back({pairs, 0});
  }
  looks.push_back({most, 0});
  static constexpr double kSpent[4][4] = {
      {0.04, 0, 0, 0},
      {0.015, 0.025, 0, 0},
      {0.01, 0.01, 0.02, 0},
      {0.01, 0.01, 0.01, 0.01},
  };
  for (std::size_t i = 0; i < looks.size(); ++i) {
    looks[i].alpha = kSpent[looks.size() - 1][i] / comparisons;
  }
  return looks;
}

std::string_view WordOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster: return "faster";
    case Verdict::kSlower: return "slower";
    case Verdict::kCannotTell: break;
  }
  return "cannot tell";
}

Judgement Judge(std::span<const PairedRun> pairs, double alpha, double minimum_effect,
                int resamples) {
  HONE_CHECK(!pairs.empty());
  std::vector<double> values;
  // A vector of bool is no span.
  const auto a_first = std::make_unique<bool[]>(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    values.push_back(pairs[i].log_ratio);
    a_first[i] = pairs[i].a_first;
  }
  const Sample sample = WithoutSlotEffect(values, {a_first.get(), pairs.size()});
  const double middle = HodgesLehmann(sample.values);
  Judgement judgement;
  judgement.pairs = static_cast<int>(pairs.size());
  judgement.alpha = alpha;
  judgement.ratio = std::exp(middle);
  judgement.interval = {0, INFINITY};
  if (pairs.size() < 3 || alpha <= 0) return judgement;
  judgement.known = true;
  const Interval interval = PairedInterval(sample, alpha, resamples);
  judgement.interval = {std::exp(interval.low), std::exp(interval.high)};
  const double least = std::log1p(minimum_effect);
  if (interval.low > 0 && middle >= least) judgement.verdict = Verdict::kFaster;
  if (interval.high < 0 && middle <= -least) judgement.verdict = Verdict::kSlower;
  judgement.no_difference =
      judgement.verdict == Verdict::kCannotTell && interval.low > -least && interval.high < least;
  return judgement;
}

}  // namespace hone::stats
