// SPDX-License-Identifier: Apache-2.0
#include "stats/change_point.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/quantile.h"

namespace hone::stats {
namespace {

constexpr double kSure = 0.01;
constexpr double kSettledWithin = 0.02;  // what a verdict would call no difference
// Below this the test cannot reach 1 %.
constexpr std::size_t kLeastTested = 8;

std::vector<double> Ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const double rank = (static_cast<double>(first + last) + 1) / 2;
    for (; first < last; ++first) ranks[order[first]] = rank;
  }
  return ranks;
}

}  // namespace

ChangePoint FindChange(std::span<const double> values) {
  ChangePoint change;
  const auto n = static_cast<double>(values.size());
  double sum = 0, most = 0;
  const std::vector<double> ranks = Ranks(values);
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    sum += ranks[i];
    const double distance = std::abs(2 * sum - static_cast<double>(i + 1) * (n + 1));
    if (distance > most) {
      most = distance;
      change.at = i + 1;
    }
  }
  if (most > 0) change.p = std::min(1.0, 2 * std::exp(-6 * most * most / (n * n * n + n * n)));
  return change;
}

std::size_t SettledFrom(std::span<const double> values, std::size_t least) {
  const std::size_t most = values.size() / 2;
  std::size_t from = std::min(least, most);
  while (values.size() - from >= kLeastTested) {
    const std::span<const double> rest = values.subspan(from);
    const ChangePoint change = FindChange(rest);
    if (change.p >= kSure || from + change.at > most) break;
    const double before = Median(rest.first(change.at)), after = Median(rest.subspan(change.at));
    if (before <= after * (1 + kSettledWithin)) break;
    from += change.at;
  }
  return from;
}

}  // namespace hone::stats
