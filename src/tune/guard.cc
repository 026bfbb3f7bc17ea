// SPDX-License-Identifier: Apache-2.0
#include "tune/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "tune/batch_check.h"
#include "tune/trajectory.h"

namespace hone::tune {
namespace {

// docs/design/tune.md has the source or the simulation of each.
constexpr double kFloat32 = 1.2e-7;     // one rounding
constexpr double kRoundings = 4;        // of them a step, for exact treatments
constexpr double kSameSpread = 4;       // times what same-seed runs differ by
constexpr double kOtherSpread = 3;      // times what other seeds differ by
constexpr double kLowPrecision = 0.01;  // of the loss: what rounding to 8 bits may change
constexpr double kSmallLoss = 0.1;  // of the largest loss: below it relative errors mean nothing
constexpr double kLeastDrift = 0.015, kMostDrift = 0.03;  // of the loss, over the run
constexpr double kDriftErrors = 4;
constexpr double kNormSpread = 3;
constexpr double kNormMiddle = 0.25, kNormOnce = 1.0;  // in logarithms
constexpr double kSkippedShare = 0.01;
constexpr std::int64_t kSkippedSteps = 5;
constexpr double kLeastShare = 0.5;  // of the baseline's losses that a trial must have

using Curves = std::vector<std::vector<double>>;

Curves SmoothAll(const std::vector<Trial>& trials, std::size_t steps) {
  Curves curves;
  for (const Trial& trial : trials) curves.push_back(Smooth(trial.losses, steps).means);
  return curves;
}

std::string Show(double value) { return fmt::format("{:.4g}", value); }

// The program's own runs at the steps that all have, and what may lie between them.
struct Bands {
  Curves same, other;
  std::vector<double> middle;     // of the same-seed runs
  std::vector<double> scale;      // what relative errors are relative to
  std::vector<double> same_gap;   // the largest difference of same-seed runs so far
  std::vector<double> other_gap;  // of other seeds to the middle, around here
};

void SetMiddle(Bands& bands) {
  double largest = 0;
  for (std::size_t w = 0; w < bands.same[0].size(); ++w) {
    double sum = 0, low = bands.same[0][w], high = low;
    for (const std::vector<double>& curve : bands.same) {
      sum += curve[w];
      low = std::min(low, curve[w]);
      high = std::max(high, curve[w]);
    }
    bands.middle.push_back(sum / static_cast<double>(bands.same.size()));
    largest = std::max(largest, std::abs(bands.middle.back()));
    // Runs that have come apart do not come together again.
    const double before = bands.same_gap.empty() ? 0 : bands.same_gap.back();
    bands.same_gap.push_back(std::max(before, high - low));
  }
  // Few runs agree by chance for a while: what they come to a window later counts already.
  for (std::size_t w = 0; w + 1 < bands.same_gap.size(); ++w) {
    bands.same_gap[w] = bands.same_gap[w + 1];
  }
  for (const double middle : bands.middle) {
    bands.scale.push_back(std::max(std::abs(middle), kSmallLoss * largest));
  }
}

// The largest in this window and its neighbours, and at least the root mean square of all, each
// relative to its scale: few runs are close together somewhere by chance.
void SetOtherGap(Bands& bands) {
  const std::size_t count = bands.middle.size();
  std::vector<double> largest(count, 0);
  double squares = 0, values = 0;
  for (const std::vector<double>& curve : bands.other) {
    for (std::size_t w = 0; w < count; ++w) {
      const double gap = std::abs(curve[w] - bands.middle[w]);
      if (!std::isfinite(gap)) continue;
      largest[w] = std::max(largest[w], gap);
      squares += gap * gap / (bands.scale[w] * bands.scale[w]);
      ++values;
    }
  }
  const double usual = values > 0 ? std::sqrt(squares / values) : 0;
  for (std::size_t w = 0; w < count; ++w) {
    double gap = usual * bands.scale[w];
    for (std::size_t near = w == 0 ? 0 : w - 1; near <= std::min(w + 1, count - 1); ++near) {
      gap = std::max(gap, largest[near]);
    }
    bands.other_gap.push_back(gap);
  }
}

Bands MakeBands(const std::vector<Trial>& same, const std::vector<Trial>& other,
                std::size_t steps) {
  Bands bands;
  bands.same = SmoothAll(same, steps);
  bands.other = SmoothAll(other, steps);
  SetMiddle(bands);
  SetOtherGap(bands);
  return bands;
}

// How far from the middle a curve may lie.
double Allowed(const Bands& bands, std::size_t window, std::int64_t step, Risk risk) {
  const double exact = kSameSpread * bands.same_gap[window] +
                       kRoundings * kFloat32 * static_cast<double>(step) * bands.scale[window];
  if (risk == Risk::kExact) return exact;
  return std::max(exact, kOtherSpread * bands.other_gap[window]) +
         kLowPrecision * bands.scale[window];
}

// Why the curve is not that of the program; empty: it is.
std::string CompareCurves(const Bands& bands, const Windows& treated, Risk risk, bool drawn_anew) {
  std::vector<double> differences;
  for (std::size_t w = 0; w < treated.means.size(); ++w) {
    const double difference = treated.means[w] - bands.middle[w];
    const double allowed = Allowed(bands, w, treated.last_step[w], risk);
    if (!std::isfinite(bands.middle[w])) continue;
    if (!(std::abs(difference) <= allowed)) {
      return fmt::format("loss {} where the program's own runs give {} to {} (step {})",
                         Show(treated.means[w]), Show(bands.middle[w] - allowed),
                         Show(bands.middle[w] + allowed), treated.last_step[w]);
    }
    differences.push_back(difference / bands.scale[w]);
  }
  // With samples drawn anew the path is another seed's, and those drift apart as they like.
  if (risk == Risk::kExact || drawn_anew) return "";
  const Drift drift = DriftOf(differences);
  double own = kLeastDrift;
  for (const Curves* curves : {&bands.same, &bands.other}) {
    for (const std::vector<double>& curve : *curves) {
      std::vector<double> gaps;
      for (std::size_t w = 0; w < curve.size(); ++w) {
        const double gap = (curve[w] - bands.middle[w]) / bands.scale[w];
        if (std::isfinite(gap)) gaps.push_back(gap);
      }
      own = std::max(own, std::abs(DriftOf(gaps).change));
    }
  }
  own = std::min(own, kMostDrift);
  if (std::abs(drift.change) > own && std::abs(drift.in_errors) > kDriftErrors) {
    return fmt::format(
        "its loss moves away from the program's own, by {} over {} steps ({} is usual)",
        Percent(std::abs(drift.change)), treated.last_step.back(), Percent(own));
  }
  return "";
}

// Logarithms of the norms of one run over the mean of the same-seed runs, where both are known.
std::vector<double> NormRatios(const Trial& trial, const std::vector<Trial>& same) {
  std::vector<double> ratios;
  for (const auto& [step, norm] : trial.gradient_norms) {
    double sum = 0;
    std::size_t count = 0;
    for (const Trial& own : same) {
      for (const auto& [other_step, other] : own.gradient_norms) {
        if (other_step != step || !std::isfinite(other) || other <= 0) continue;
        sum += std::log(other);
        ++count;
      }
    }
    if (count == 0) continue;
    ratios.push_back(std::isfinite(norm) && norm > 0
                         ? std::log(norm) - sum / static_cast<double>(count)
                         : std::numeric_limits<double>::infinity());
  }
  return ratios;
}

double MiddleOf(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

std::string CompareNorms(const Trial& trial, const std::vector<Trial>& same,
                         const std::vector<Trial>& other) {
  const std::vector<double> ratios = NormRatios(trial, same);
  if (ratios.empty()) return "";
  double once = 0, middle = 0;
  for (const std::vector<Trial>* runs : {&same, &other}) {
    for (const Trial& run : *runs) {
      const std::vector<double> own = NormRatios(run, same);
      if (own.empty()) continue;
      middle = std::max(middle, std::abs(MiddleOf(own)));
      for (const double ratio : own) {
        if (std::isfinite(ratio)) once = std::max(once, std::abs(ratio));
      }
    }
  }
  const double limit = kNormOnce + kNormSpread * once;
  for (const double ratio : ratios) {
    if (!std::isfinite(ratio)) return "a gradient norm is not finite or zero";
    if (std::abs(ratio) > limit) {
      return fmt::format("a gradient norm is {}x the program's own ({}x is the most)",
                         Show(std::exp(ratio)), Show(std::exp(limit)));
    }
  }
  const double typical = MiddleOf(ratios);
  const double most = kNormMiddle + kNormSpread * middle;
  if (std::abs(typical) > most) {
    return fmt::format("gradient norms are {}x the program's own ({}x is the most)",
                       Show(std::exp(typical)), Show(std::exp(most)));
  }
  return "";
}

std::size_t CommonSteps(const std::vector<Trial>& trials, std::size_t steps) {
  for (const Trial& trial : trials) steps = std::min(steps, trial.losses.size());
  return steps;
}

std::optional<double> LastTenth(const std::vector<double>& losses, std::size_t steps) {
  const std::size_t count = std::max<std::size_t>(steps / 10, 1);
  double sum = 0;
  for (std::size_t i = steps - count; i < steps; ++i) sum += losses[i];
  return sum / static_cast<double>(count);
}

}  // namespace

Guard::Guard(std::vector<Trial> same_seed, std::vector<Trial> other_seed)
    : same_seed_(std::move(same_seed)), other_seed_(std::move(other_seed)) {
  // A run that shows no losses where others do says nothing about them.
  const auto silent = [](const Trial& trial) { return trial.losses.empty(); };
  if (!std::all_of(same_seed_.begin(), same_seed_.end(), silent)) {
    std::erase_if(same_seed_, silent);
    std::erase_if(other_seed_, silent);
  }
}

std::string Guard::Broken(const Trial& trial, std::size_t steps) const {
  std::size_t own = 0;
  std::int64_t skipped = 0;
  for (const std::vector<Trial>* runs : {&same_seed_, &other_seed_}) {
    for (const Trial& run : *runs) {
      own = std::max(own, NotFinite(run.losses, steps));
      skipped = std::max(skipped, run.skipped_steps);
    }
  }
  const std::size_t bad = NotFinite(trial.losses, trial.losses.size());
  if (bad > own) {
    const auto first = std::find_if(trial.losses.begin(), trial.losses.end(),
                                    [](double loss) { return !std::isfinite(loss); });
    return fmt::format(
        "the loss is not finite from step {} on ({} of {} steps; {} in the "
        "program's own runs)",
        first - trial.losses.begin() + 1, bad, trial.losses.size(), own);
  }
  const auto most =
      std::max(static_cast<std::int64_t>(kSkippedShare * static_cast<double>(trial.losses.size())),
               kSkippedSteps);
  if (trial.skipped_steps - skipped > most) {
    return fmt::format("its gradient scaler skipped {} of {} steps ({} is the most)",
                       trial.skipped_steps, trial.losses.size(), most);
  }
  return "";
}

GuardVerdict Guard::Check(const Trial& trial, Risk risk) const {
  GuardVerdict verdict;
  const auto reject = [&](std::string why) {
    verdict.checked = true;
    verdict.passed = false;
    verdict.why = std::move(why);
    return verdict;
  };
  bool drawn_anew = false;
  if (risk != Risk::kOptimization) {
    const std::string data = CompareBatches(same_seed_, trial, drawn_anew);
    if (!data.empty()) return reject(data);
    if (drawn_anew) risk = Risk::kNumeric;
  }
  if (same_seed_.empty() || same_seed_[0].losses.empty()) {
    verdict.why = "the program computes no loss, so there is nothing to compare";
    return verdict;
  }
  const std::size_t own = CommonSteps(other_seed_, CommonSteps(same_seed_, SIZE_MAX));
  const std::size_t steps = std::min(own, trial.losses.size());
  verdict.steps = static_cast<std::int64_t>(steps);
  const std::string broken = Broken(trial, steps);
  if (!broken.empty()) return reject(broken);
  if (risk == Risk::kOptimization) {
    verdict.why = "another training has another loss; only that it stays finite was checked";
    return verdict;
  }
  if (static_cast<double>(steps) < kLeastShare * static_cast<double>(own)) {
    return reject(
        fmt::format("{} losses were seen, {} of the program as it is", trial.losses.size(), own));
  }
  verdict.loss = LastTenth(trial.losses, steps);
  verdict.baseline_loss = LastTenth(same_seed_[0].losses, steps);
  const bool enough = same_seed_.size() >= 2 && (risk == Risk::kExact || !other_seed_.empty());
  if (!enough) {
    verdict.why = fmt::format(
        "too few runs of the program as it is for a band: {} with its seed, "
        "{} with others",
        same_seed_.size(), other_seed_.size());
    return verdict;
  }
  const Bands bands = MakeBands(same_seed_, other_seed_, steps);
  std::string why = CompareCurves(bands, Smooth(trial.losses, steps), risk, drawn_anew);
  if (why.empty() && risk == Risk::kNumeric) why = CompareNorms(trial, same_seed_, other_seed_);
  if (!why.empty()) return reject(why);
  verdict.checked = true;
  verdict.why =
      fmt::format("loss within the band of {} over {}",
                  Count(same_seed_.size() + (risk == Risk::kExact ? 0 : other_seed_.size()), "run"),
                  Count(steps, "step"));
  return verdict;
}

}  // namespace hone::tune
