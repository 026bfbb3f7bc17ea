// SPDX-License-Identifier: Apache-2.0
#include "tune/trajectory.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone::tune {
namespace {

constexpr std::size_t kLeastSteps = 5, kMostWindows = 20;

}  // namespace

Windows Smooth(const std::vector<double>& losses, std::size_t steps) {
  const std::size_t count = std::clamp<std::size_t>(steps / kLeastSteps, 1, kMostWindows);
  Windows windows;
  for (std::size_t w = 0; w < count; ++w) {
    const std::size_t begin = steps * w / count, end = steps * (w + 1) / count;
    double sum = 0;
    std::size_t finite = 0;
    for (std::size_t i = begin; i < end && end <= losses.size(); ++i) {
      if (!std::isfinite(losses[i])) continue;
      sum += losses[i];
      ++finite;
    }
    windows.means.push_back(finite > 0 ? sum / static_cast<double>(finite)
                                       : std::numeric_limits<double>::quiet_NaN());
    windows.last_step.push_back(static_cast<std::int64_t>(end));
  }
  return windows;
}

std::size_t NotFinite(const std::vector<double>& losses, std::size_t steps) {
  const auto end = losses.begin() + static_cast<std::ptrdiff_t>(std::min(steps, losses.size()));
  return static_cast<std::size_t>(
      std::count_if(losses.begin(), end, [](double loss) { return !std::isfinite(loss); }));
}

Drift DriftOf(const std::vector<double>& differences) {
  const double n = static_cast<double>(differences.size());
  if (differences.size() < 4) return {};
  double mean_x = (n - 1) / 2, mean_y = 0;
  for (const double y : differences) mean_y += y / n;
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double x = static_cast<double>(i) - mean_x;
    xx += x * x;
    xy += x * (differences[i] - mean_y);
  }
  const double slope = xy / xx;
  double squares = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double fitted = mean_y + slope * (static_cast<double>(i) - mean_x);
    squares += (differences[i] - fitted) * (differences[i] - fitted);
  }
  const double error = std::sqrt(squares / (n - 2) / xx);
  Drift drift;
  drift.change = slope * (n - 1);
  drift.in_errors = error > 0 ? slope / error : (slope == 0 ? 0 : std::copysign(1e9, slope));
  return drift;
}

}  // namespace hone::tune
