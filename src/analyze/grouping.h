// SPDX-License-Identifier: Apache-2.0
// Grouping rows of a table: dense group numbers for 64-bit keys, and the statistics of each group,
// without a container per group or an allocation per row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/tables.h"
#include "base/units.h"

namespace hone::analyze {

// Sums of absurd input stop at the limit of the type; overflow would be undefined.
inline std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return b > 0 ? INT64_MAX : INT64_MIN;
  return sum;
}

// Hands out 0, 1, 2, … to keys in the order of their first sight. Open addressing; a run of equal
// keys costs one comparison each.
class GroupIndex {
 public:
  std::uint32_t IdOf(std::uint64_t key);
  std::size_t size() const { return keys_.size(); }
  std::uint64_t KeyOf(std::uint32_t id) const { return keys_[id]; }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  std::size_t Slot(std::uint64_t key) const;
  void Grow();

  std::vector<std::uint32_t> slots_;  // ids; a power of two, at most half full
  std::vector<std::uint64_t> keys_;   // by id
  std::uint32_t last_ = kFree;
};

inline std::uint64_t PairKey(std::uint32_t high, std::uint32_t low) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}
inline std::uint64_t PairKey(StringId high, StringId low) {
  return PairKey(static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(low));
}

// Linear interpolation between the two nearest ranks, as numpy and pandas do by default. Reorders
// `values`. O(n). 0 for no values.
Nanos Percentile(std::span<Nanos> values, double fraction);

// Statistics of values[i] over the rows with group_of[i] == g, for every g < groups. Rows of
// kNoGroup are left out. One counting sort, then a selection within each group: O(rows).
inline constexpr std::uint32_t kNoGroup = UINT32_MAX;
std::vector<DurationStats> Summarize(std::span<const Nanos> values,
                                     std::span<const std::uint32_t> group_of, std::size_t groups);

// For each group, which of its members has most weight in all (the first seen on a tie). Weights
// below zero count as zero.
class Dominant {
 public:
  void Add(std::uint32_t group, std::uint32_t member, Nanos weight);
  // Member by group; `none` for groups that were never added to.
  std::vector<std::uint32_t> Pick(std::size_t groups, std::uint32_t none) const;

 private:
  GroupIndex pairs_;
  std::vector<Nanos> weights_;
};

}  // namespace hone::analyze
