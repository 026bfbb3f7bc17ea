// SPDX-License-Identifier: Apache-2.0
#include "analyze/grouping.h"

#include <algorithm>
#include <cmath>

namespace hone::analyze {

std::size_t GroupIndex::Slot(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  // Fibonacci hashing with the halves folded: keys are pairs of small ids or aligned addresses.
  const std::uint64_t hash = (key ^ key >> 29) * 0x9E3779B97F4A7C15ULL;
  std::size_t slot = (hash ^ hash >> 32) & mask;
  while (slots_[slot] != kFree && keys_[slots_[slot]] != key) slot = (slot + 1) & mask;
  return slot;
}

void GroupIndex::Grow() {
  slots_.assign(std::max<std::size_t>(64, slots_.size() * 4), kFree);
  for (std::uint32_t id = 0; id < keys_.size(); ++id) slots_[Slot(keys_[id])] = id;
}

std::uint32_t GroupIndex::IdOf(std::uint64_t key) {
  if (last_ != kFree && keys_[last_] == key) return last_;
  if (keys_.size() * 2 >= slots_.size()) Grow();
  std::uint32_t& id = slots_[Slot(key)];
  if (id == kFree) {
    id = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(key);
  }
  return last_ = id;
}

Nanos Percentile(std::span<Nanos> values, double fraction) {
  if (values.empty()) return 0;
  const double rank = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  const double part = rank - static_cast<double>(below);
  if (part == 0 || below + 1 == values.size()) return *at;
  const Nanos next = *std::min_element(at + 1, values.end());
  // The difference of two values of absurd input may not fit the type; as double it does.
  const double step = part * (static_cast<double>(next) - static_cast<double>(*at));
  return SaturatingAdd(*at, step >= 9.2e18 ? INT64_MAX : std::llround(step));
}

std::vector<DurationStats> Summarize(std::span<const Nanos> values,
                                     std::span<const std::uint32_t> group_of, std::size_t groups) {
  std::vector<DurationStats> stats(groups);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (group_of[i] != kNoGroup) ++stats[group_of[i]].count;
  }
  std::vector<std::size_t> next(groups + 1, 0);
  for (std::size_t g = 0; g < groups; ++g) next[g + 1] = next[g] + stats[g].count;
  std::vector<Nanos> sorted(next[groups]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t group = group_of[i];
    if (group == kNoGroup) continue;
    stats[group].total_ns = SaturatingAdd(stats[group].total_ns, values[i]);
    sorted[next[group]++] = values[i];
  }
  for (std::size_t g = 0, begin = 0; g < groups; begin = next[g], ++g) {
    DurationStats& s = stats[g];
    if (s.count == 0) continue;
    const std::span<Nanos> own(sorted.data() + begin, s.count);
    const auto [least, most] = std::minmax_element(own.begin(), own.end());
    s.min_ns = *least;
    s.max_ns = *most;
    s.mean_ns = s.total_ns / static_cast<Nanos>(s.count);
    s.p50_ns = Percentile(own, 0.50);
    s.p95_ns = Percentile(own, 0.95);
  }
  return stats;
}

void Dominant::Add(std::uint32_t group, std::uint32_t member, Nanos weight) {
  const std::uint32_t pair = pairs_.IdOf(PairKey(group, member));
  if (pair == weights_.size()) weights_.push_back(0);
  weights_[pair] = SaturatingAdd(weights_[pair], std::max<Nanos>(weight, 0));
}

std::vector<std::uint32_t> Dominant::Pick(std::size_t groups, std::uint32_t none) const {
  std::vector<std::uint32_t> member(groups, none);
  std::vector<Nanos> most(groups, -1);
  for (std::uint32_t pair = 0; pair < weights_.size(); ++pair) {
    const auto group = static_cast<std::uint32_t>(pairs_.KeyOf(pair) >> 32);
    if (weights_[pair] <= most[group]) continue;
    most[group] = weights_[pair];
    member[group] = static_cast<std::uint32_t>(pairs_.KeyOf(pair));
  }
  return member;
}

}  // namespace hone::analyze
