// SPDX-License-Identifier: Apache-2.0
#include "diff/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "analyze/steps.h"
#include "base/check.h"
#include "base/median.h"
#include "base/text.h"

namespace hone::diff {
namespace {

// So that the 2.5 % and 97.5 % quantiles are single values, and turning the sides round turns the
// interval round to the last digit.
constexpr std::size_t kManyResamples = 1001, kFewResamples = 401;
constexpr std::size_t kManyUpTo = 5'000;  // steps; beyond that neither figure moves much
// Of fewer steps the resampled median is any of them.
constexpr std::size_t kTellsKinds = 8;

Nanos MeanOf(std::vector<Nanos>& values) {
  double sum = 0;
  for (const Nanos value : values) sum += static_cast<double>(value);
  return std::llround(sum / static_cast<double>(values.size()));
}

// Of steps, which it may put in another order.
using StepFigure = Nanos (*)(std::vector<Nanos>& steps);

// Seeded by what is resampled, not by the side it stands on.
std::uint64_t SeedOf(std::span<const Nanos> steps) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (const Nanos step : steps) {
    hash ^= static_cast<std::uint64_t>(step);
    hash *= 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

// Blocks of n^(1/3), the usual order.
std::size_t BlockLength(std::size_t steps) {
  if (steps < 8) return 1;  // or blocks would be half of the sample
  return static_cast<std::size_t>(std::lround(std::cbrt(static_cast<double>(steps))));
}

// The figure of resampled recordings of `n` steps: the circular block bootstrap, since neighbouring
// steps are alike (clocks, caches, the input).
std::vector<Nanos> Resample(std::span<const Nanos> steps, std::size_t n, StepFigure figure,
                            std::size_t resamples) {
  const std::size_t length = BlockLength(n);
  std::mt19937_64 random(SeedOf(steps));
  std::vector<Nanos> figures, sample(n);
  figures.reserve(resamples);
  for (std::size_t r = 0; r < resamples; ++r) {
    for (std::size_t i = 0; i < n;) {
      // Not std::uniform_int_distribution: its numbers differ between libraries.
      const std::size_t start = random() % steps.size();
      for (std::size_t k = 0; k < length && i < n; ++k) {
        sample[i++] = steps[(start + k) % steps.size()];
      }
    }
    figures.push_back(figure(sample));
  }
  return figures;
}

// The middle 95 % of the differences, pair by pair.
DifferenceRange MiddleOf(const std::vector<Nanos>& before, const std::vector<Nanos>& after) {
  std::vector<Nanos> differences(after);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= before[i];
  std::sort(differences.begin(), differences.end());
  const std::size_t tail = (differences.size() - 1) / 40;
  return {differences[tail], differences[differences.size() - 1 - tail]};
}

// How far two recordings' means lie apart by chance, had both the same slow steps: both are drawn
// from what the steps of both take beyond their own median. A side that happened to have no slow
// step would otherwise be sure never to have one, and four slow steps against none be called a
// change, which one program shows in one of eight pairs of runs.
DifferenceRange ChanceOf(std::span<const Nanos> before, std::span<const Nanos> after,
                         const StepChange& change, std::size_t resamples) {
  std::vector<Nanos> a, b;
  for (const Nanos step : before) a.push_back(step - change.before_median_ns);
  for (const Nanos step : after) b.push_back(step - change.after_median_ns);
  const auto joined = [](std::vector<Nanos> first, const std::vector<Nanos>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  // Each with its own steps first, so that swapped sides draw the same.
  return MiddleOf(Resample(joined(a, b), a.size(), MeanOf, resamples),
                  Resample(joined(b, a), b.size(), MeanOf, resamples));
}

// Student's t, 97.5 %, over the normal's 1.96: few steps underrate their own spread, and the
// resampled ones inherit it. What counts is blocks, since steps inside one are alike. Measured by
// the model of noise_test.cc: two runs of one program cry change in 1 to 5 % of comparisons (8 % at
// worst: 8 steps half like their neighbours), with 3 to 100 steps that vary by 0.2 to 10 %.
double SmallSampleFactor(std::size_t steps) {
  static constexpr std::array<double, 14> kStudent = {4.303, 3.182, 2.776, 2.571, 2.447,
                                                      2.365, 2.306, 2.262, 2.228, 2.201,
                                                      2.179, 2.160, 2.145, 2.131};  // from 2
  const std::size_t blocks = std::max(steps / BlockLength(steps), std::min<std::size_t>(steps, 5));
  const std::size_t freedom = blocks - 1;
  const auto n = static_cast<double>(blocks);
  const double t = freedom - 2 < kStudent.size() ? kStudent[freedom - 2] : 1.96 + 2.5 / n;
  return t / 1.96 * std::sqrt(n / (n - 1));
}

Nanos Widen(Nanos half, double factor, double floor) {
  const double widened = static_cast<double>(half) * factor;
  // Not std::hypot: nanoseconds do not overflow a double's square, and glibc 2.35 has a hypot of
  // its own version, which older systems lack.
  return std::llround(std::sqrt(widened * widened + floor * floor));
}

// Steps of two kinds, one about as frequent as the other: which of them stands in the middle is
// chance, and resampled the median jumps. A mean does not.
bool MedianJumps(std::span<const Nanos> steps, Nanos median, std::size_t resamples) {
  std::vector<Nanos> medians = Resample(steps, steps.size(), MedianInPlace<Nanos>, resamples);
  std::sort(medians.begin(), medians.end());
  const std::size_t tail = (medians.size() - 1) / 40;
  const Nanos reach = std::max(median - medians[tail], medians[medians.size() - 1 - tail] - median);
  return static_cast<double>(reach) > analyze::kAlike * static_cast<double>(median);
}

Verdict Judge(const StepChange& change) {
  if (!change.range) return Verdict::kUnsure;
  if (change.range->low_ns > 0) return Verdict::kSlower;
  if (change.range->high_ns < 0) return Verdict::kFaster;
  // Where few slow steps decide, or few steps, the range may hold anything: then that no change
  // shows is no news.
  const double clear =
      analyze::kAlike * static_cast<double>(std::max(change.before_ns, change.after_ns));
  const bool wide = static_cast<double>(-change.range->low_ns) > clear ||
                    static_cast<double>(change.range->high_ns) > clear;
  return wide ? Verdict::kUnsure : Verdict::kWithinNoise;
}

}  // namespace

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster: return "faster";
    case Verdict::kSlower: return "slower";
    case Verdict::kWithinNoise: return "within-noise";
    case Verdict::kUnsure: return "unsure";
  }
  return "unsure";
}

StepChange CompareSteps(std::span<const Nanos> before, std::span<const Nanos> after) {
  HONE_CHECK(!before.empty() && !after.empty());
  StepChange change;
  std::vector<Nanos> a(before.begin(), before.end()), b(after.begin(), after.end());
  change.before_steps = a.size();
  change.after_steps = b.size();
  change.before_median_ns = MedianInPlace(a);
  change.after_median_ns = MedianInPlace(b);
  const std::size_t resamples =
      std::max(a.size(), b.size()) <= kManyUpTo ? kManyResamples : kFewResamples;
  const auto misleads = [&](std::span<const Nanos> steps, std::vector<Nanos>& values,
                            Nanos median) {
    return !analyze::MedianSpeaksForMean(median, MeanOf(values)) ||
           (steps.size() >= kTellsKinds && MedianJumps(steps, median, resamples));
  };
  change.by_mean =
      misleads(before, a, change.before_median_ns) || misleads(after, b, change.after_median_ns);
  const StepFigure figure = change.by_mean ? MeanOf : MedianInPlace<Nanos>;
  change.before_ns = figure(a);
  change.after_ns = figure(b);
  const std::size_t least = std::min(a.size(), b.size());
  if (least < kLeastSteps) {
    change.range = Known<DifferenceRange>::Absent(fmt::format(
        "{} in the {} recording; the noise shows in {} or more", Count(least, "steady step"),
        a.size() <= b.size() ? "first" : "second", kLeastSteps));
    return change;
  }
  const DifferenceRange middle = MiddleOf(Resample(before, a.size(), figure, resamples),
                                          Resample(after, b.size(), figure, resamples));
  const Nanos delta = change.delta_ns();
  const double factor = SmallSampleFactor(least);
  const double floor =
      kRunSpread * static_cast<double>(std::max(change.before_ns, change.after_ns));
  // A quantile on the wrong side of the difference is no width at all.
  Nanos below = std::max<Nanos>(0, delta - middle.low_ns);
  Nanos above = std::max<Nanos>(0, middle.high_ns - delta);
  if (change.by_mean) {
    // 0 is left out only where chance would not reach as far as the difference.
    const DifferenceRange chance = ChanceOf(before, after, change, resamples);
    below = std::max(below, chance.high_ns);
    above = std::max(above, -chance.low_ns);
  }
  change.range =
      DifferenceRange{delta - Widen(below, factor, floor), delta + Widen(above, factor, floor)};
  change.verdict = Judge(change);
  return change;
}

}  // namespace hone::diff
