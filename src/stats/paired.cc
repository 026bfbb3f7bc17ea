// SPDX-License-Identifier: Apache-2.0
#include "stats/paired.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/check.h"
#include "base/median.h"
#include "stats/quantile.h"
#include "stats/student.h"

namespace hone::stats {
namespace {

double HodgesLehmann(std::span<const double> values, std::vector<double>& means) {
  means.clear();
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  return MedianInPlace(means);
}

}  // namespace

double HodgesLehmann(std::span<const double> values) {
  HONE_CHECK(!values.empty());
  std::vector<double> means;
  return HodgesLehmann(values, means);
}

Sample WithoutSlotEffect(std::span<const double> values, std::span<const bool> a_first) {
  HONE_CHECK(values.size() == a_first.size());
  Sample sample{std::vector<double>(values.begin(), values.end()), 0};
  std::vector<double> order[2];
  for (std::size_t i = 0; i < values.size(); ++i) order[a_first[i] ? 1 : 0].push_back(values[i]);
  if (values.size() < 4 || order[0].empty() || order[1].empty()) return sample;
  const double half = (HodgesLehmann(order[1]) - HodgesLehmann(order[0])) / 2;
  for (std::size_t i = 0; i < values.size(); ++i) sample.values[i] -= a_first[i] ? half : -half;
  sample.fitted = 1;
  return sample;
}

Interval StudentInterval(const Sample& sample, double alpha) {
  const auto n = static_cast<double>(sample.values.size());
  const double degrees = n - 1 - sample.fitted;
  HONE_CHECK(degrees >= 1);
  double mean = 0, squares = 0;
  for (const double value : sample.values) mean += value / n;
  for (const double value : sample.values) squares += (value - mean) * (value - mean);
  double error = std::sqrt(squares / degrees / n);
  // The mean of two unequal groups (5 pairs: 3 and 2) is a little less sure than that of all.
  if (sample.fitted > 0) error *= std::sqrt(n * n / (n * n - 1));
  const double reach = StudentQuantile(1 - alpha / 2, degrees) * error;
  return {mean - reach, mean + reach};
}

Interval BootstrapInterval(const Sample& sample, double alpha, int resamples, std::uint64_t seed) {
  const std::size_t count = sample.values.size();
  const auto n = static_cast<double>(count);
  const double degrees = n - 1 - sample.fitted;
  HONE_CHECK(degrees >= 1 && resamples > 0);
  const double tail = NormalCdf(std::sqrt(n / degrees) * StudentQuantile(alpha / 2, degrees));
  // The engine's numbers are the same everywhere; the library's distributions are not.
  std::mt19937_64 random(seed);
  std::vector<double> drawn(count), means, estimates;
  estimates.reserve(static_cast<std::size_t>(resamples));
  for (int i = 0; i < resamples; ++i) {
    for (double& value : drawn) value = sample.values[(random() >> 32) * count >> 32];
    estimates.push_back(HodgesLehmann(drawn, means));
  }
  return {Quantile(estimates, tail), Quantile(estimates, 1 - tail)};
}

Interval PairedInterval(const Sample& log_ratios, double alpha, int resamples) {
  const Interval student = StudentInterval(log_ratios, alpha);
  const Interval bootstrap = BootstrapInterval(log_ratios, alpha, resamples);
  const double middle = HodgesLehmann(log_ratios.values);
  return {std::min({student.low, bootstrap.low, middle}),
          std::max({student.high, bootstrap.high, middle})};
}

}  // namespace hone::stats
