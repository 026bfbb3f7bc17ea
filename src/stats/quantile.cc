// SPDX-License-Identifier: Apache-2.0
#include "stats/quantile.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace hone::stats {

double Quantile(std::span<const double> values, double share) {
  HONE_CHECK(!values.empty());
  std::vector<double> copy(values.begin(), values.end());
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(copy.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto at = copy.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(copy.begin(), at, copy.end());
  const double low = *at;
  const double rest = place - static_cast<double>(below);
  if (rest == 0 || at + 1 == copy.end()) return low;
  return low + rest * (*std::min_element(at + 1, copy.end()) - low);
}

double Median(std::span<const double> values) { return Quantile(values, 0.5); }

double MedianAbsoluteDeviation(std::span<const double> values) {
  const double middle = Median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return Median(distances);
}

std::vector<std::size_t> FarFromRest(std::span<const double> values) {
  std::vector<std::size_t> far;
  if (values.size() < 3) return far;
  const double middle = Median(values), mad = MedianAbsoluteDeviation(values);
  if (mad <= 0) return far;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::abs(values[i] - middle) > kFarInMads * mad) far.push_back(i);
  }
  return far;
}

}  // namespace hone::stats
