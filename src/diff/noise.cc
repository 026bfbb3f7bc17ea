// SPDX-License-Identifier: Apache-2.0
#include "diff/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace hone::diff {
namespace {

// So that the 2.5 % and 97.5 % quantiles are single values, and turning the sides round turns the
// interval round to the last digit.
constexpr std::size_t kManyResamples = 1001, kFewResamples = 401;
constexpr std::size_t kManyUpTo = 5'000;  // steps; beyond that the median hardly moves

Nanos MedianOf(std::vector<Nanos>& values) {
  const std::size_t middle = values.size() / 2;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(values.begin(), at, values.end());
  if (values.size() % 2 == 1) return *at;
  const Nanos below = *std::max_element(values.begin(), at);
  return below + (*at - below) / 2;
}

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

// Medians of resampled recordings: the circular block bootstrap, since neighbouring steps are
// alike (clocks, caches, the input). Blocks of n^(1/3), the usual order.
std::size_t BlockLength(std::size_t steps) {
  if (steps < 8) return 1;  // or blocks would be half of the sample
  return static_cast<std::size_t>(std::lround(std::cbrt(static_cast<double>(steps))));
}

std::vector<Nanos> ResampleMedians(std::span<const Nanos> steps, std::size_t resamples) {
  const std::size_t n = steps.size(), length = BlockLength(n);
  std::mt19937_64 random(SeedOf(steps));
  std::vector<Nanos> medians, sample(n);
  medians.reserve(resamples);
  for (std::size_t r = 0; r < resamples; ++r) {
    for (std::size_t i = 0; i < n;) {
      // Not std::uniform_int_distribution: its numbers differ between libraries.
      const std::size_t start = random() % n;
      for (std::size_t k = 0; k < length && i < n; ++k) sample[i++] = steps[(start + k) % n];
    }
    medians.push_back(MedianOf(sample));
  }
  return medians;
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

Verdict Judge(const StepChange& change) {
  if (!change.range) return Verdict::kUnsure;
  if (change.range->low_ns > 0) return Verdict::kSlower;
  if (change.range->high_ns < 0) return Verdict::kFaster;
  return Verdict::kWithinNoise;
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
  change.before_ns = MedianOf(a);
  change.after_ns = MedianOf(b);
  const std::size_t least = std::min(a.size(), b.size());
  if (least < kLeastSteps) {
    change.range = Known<DifferenceRange>::Absent(fmt::format(
        "{} in the {} recording; the noise shows in {} or more", Count(least, "steady step"),
        a.size() <= b.size() ? "first" : "second", kLeastSteps));
    return change;
  }
  const std::size_t resamples =
      std::max(a.size(), b.size()) <= kManyUpTo ? kManyResamples : kFewResamples;
  const std::vector<Nanos> of_a = ResampleMedians(before, resamples);
  std::vector<Nanos> differences = ResampleMedians(after, resamples);
  for (std::size_t i = 0; i < resamples; ++i) differences[i] -= of_a[i];
  std::sort(differences.begin(), differences.end());
  const std::size_t tail = (resamples - 1) / 40;
  const Nanos delta = change.delta_ns();
  const double factor = SmallSampleFactor(least);
  const double floor =
      kRunSpread * static_cast<double>(std::max(change.before_ns, change.after_ns));
  // A quantile on the wrong side of the difference is no width at all.
  const Nanos below = std::max<Nanos>(0, delta - differences[tail]);
  const Nanos above = std::max<Nanos>(0, differences[resamples - 1 - tail] - delta);
  change.range =
      DifferenceRange{delta - Widen(below, factor, floor), delta + Widen(above, factor, floor)};
  change.verdict = Judge(change);
  return change;
}

}  // namespace hone::diff
