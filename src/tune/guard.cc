// SPDX-License-Identifier: Apache-2.0
#include "tune/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/median.h"
#include "base/text.h"
#include "tune/bands.h"
#include "tune/batch_check.h"
#include "tune/trajectory.h"

namespace hone::tune {
namespace {

// docs/design/tune.md has the source or the simulation of each.
constexpr double kNormSpread = 3;                      // times what the program's own runs differ
constexpr double kNormMiddle = 0.25, kNormOnce = 1.0;  // in logarithms
constexpr double kSkippedShare = 0.01;
constexpr std::int64_t kSkippedSteps = 5;
constexpr double kLeastShare = 0.5;  // of the baseline's losses that a trial must have

std::string Show(double value) { return fmt::format("{:.4g}", value); }

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

std::string CompareNorms(const Trial& trial, const std::vector<Trial>& same,
                         const std::vector<Trial>& other) {
  const std::vector<double> ratios = NormRatios(trial, same);
  if (ratios.empty()) return "";
  double once = 0, middle = 0;
  for (const std::vector<Trial>* runs : {&same, &other}) {
    for (const Trial& run : *runs) {
      const std::vector<double> own = NormRatios(run, same);
      if (own.empty()) continue;
      middle = std::max(middle, std::abs(UpperMedian(own)));
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
  const double typical = UpperMedian(ratios);
  const double most = kNormMiddle + kNormSpread * middle;
  if (std::abs(typical) > most) {
    return fmt::format("gradient norms are {}x the program's own ({}x is the most)",
                       Show(std::exp(typical)), Show(std::exp(most)));
  }
  return "";
}

// So many steps that at least `runs` of them have; all of them where there are fewer.
std::size_t StepsOf(const std::vector<Trial>& trials, std::size_t runs) {
  std::vector<std::size_t> counts;
  for (const Trial& trial : trials) counts.push_back(trial.losses.size());
  std::sort(counts.rbegin(), counts.rend());
  return counts.empty() ? SIZE_MAX : counts[std::min(runs, counts.size()) - 1];
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
  // The describing run may be shorter: it counts as far as it goes.
  const std::size_t own =
      std::min(StepsOf(same_seed_, 2), StepsOf(other_seed_, other_seed_.size()));
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
  for (const Trial& run : same_seed_) {
    if (run.losses.size() >= steps) verdict.baseline_loss = LastTenth(run.losses, steps);
  }
  const bool enough = same_seed_.size() >= 2 && (risk == Risk::kExact || !other_seed_.empty());
  if (!enough) {
    verdict.why = fmt::format(
        "too few runs of the program as it is for a band: {} with its seed, "
        "{} with others",
        same_seed_.size(), other_seed_.size());
    return verdict;
  }
  std::string why = CompareCurves(MakeBands(same_seed_, other_seed_, steps),
                                  Smooth(trial.losses, steps), risk, drawn_anew);
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
