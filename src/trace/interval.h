// SPDX-License-Identifier: Apache-2.0
// Interval algebra. An IntervalSet is sorted and disjoint: the union of some time spans. Every
// "time spent" in hone is the length of one, so that overlap is never counted twice.
#pragma once

#include <span>
#include <vector>

#include "base/units.h"

namespace hone::trace {

struct Interval {
  Nanos begin_ns = 0, end_ns = 0;  // half-open: [begin, end)
  Nanos length() const { return end_ns - begin_ns; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

class IntervalSet {
 public:
  IntervalSet() = default;

  // Any order, overlaps and empty ones allowed. O(n) when sorted by begin, else O(n log n).
  static IntervalSet Union(std::vector<Interval> intervals);

  // Extends the set by an interval that begins no earlier than every one before it. O(1).
  void AppendSorted(Interval interval);

  Nanos length() const;
  bool empty() const { return intervals_.empty(); }
  std::size_t size() const { return intervals_.size(); }
  std::span<const Interval> span() const { return intervals_; }
  auto begin() const { return intervals_.begin(); }
  auto end() const { return intervals_.end(); }
  Interval hull() const;  // {0, 0} when empty

  bool Holds(Nanos time) const { return LengthWithin({time, time + 1}) > 0; }  // O(log n)

  // Length of the part inside `window`. O(log n + parts).
  Nanos LengthWithin(Interval window) const;

  friend bool operator==(const IntervalSet&, const IntervalSet&) = default;

 private:
  std::vector<Interval> intervals_;
};

// Linear in the sizes of both.
IntervalSet Unite(const IntervalSet& a, const IntervalSet& b);
IntervalSet Intersect(const IntervalSet& a, const IntervalSet& b);
IntervalSet Subtract(const IntervalSet& a, const IntervalSet& b);
IntervalSet Complement(const IntervalSet& a, Interval within);
Nanos IntersectLength(const IntervalSet& a, const IntervalSet& b);

}  // namespace hone::trace
