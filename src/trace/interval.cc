// SPDX-License-Identifier: Apache-2.0
#include "trace/interval.h"

#include <algorithm>

namespace hone::trace {

IntervalSet IntervalSet::Union(std::vector<Interval> intervals) {
  const auto by_begin = [](const Interval& a, const Interval& b) {
    return a.begin_ns < b.begin_ns;
  };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_begin)) {
    std::sort(intervals.begin(), intervals.end(), by_begin);
  }
  IntervalSet set;
  for (const Interval& interval : intervals) set.AppendSorted(interval);
  return set;
}

void IntervalSet::AppendSorted(Interval interval) {
  if (interval.end_ns <= interval.begin_ns) return;
  if (!intervals_.empty() && interval.begin_ns <= intervals_.back().end_ns) {
    intervals_.back().end_ns = std::max(intervals_.back().end_ns, interval.end_ns);
    return;
  }
  intervals_.push_back(interval);
}

Nanos IntervalSet::length() const {
  Nanos sum = 0;
  for (const Interval& interval : intervals_) sum += interval.length();
  return sum;
}

Interval IntervalSet::hull() const {
  if (intervals_.empty()) return {};
  return {intervals_.front().begin_ns, intervals_.back().end_ns};
}

Nanos IntervalSet::LengthWithin(Interval window) const {
  auto it = std::upper_bound(intervals_.begin(), intervals_.end(), window.begin_ns,
                             [](Nanos t, const Interval& i) { return t < i.end_ns; });
  Nanos sum = 0;
  for (; it != intervals_.end() && it->begin_ns < window.end_ns; ++it) {
    sum += std::min(it->end_ns, window.end_ns) - std::max(it->begin_ns, window.begin_ns);
  }
  return sum;
}

IntervalSet Unite(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto ia = a.begin();
  auto ib = b.begin();
  while (ia != a.end() || ib != b.end()) {
    const bool take_a = ib == b.end() || (ia != a.end() && ia->begin_ns <= ib->begin_ns);
    out.AppendSorted(take_a ? *ia++ : *ib++);
  }
  return out;
}

IntervalSet Intersect(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto ia = a.begin();
  auto ib = b.begin();
  while (ia != a.end() && ib != b.end()) {
    out.AppendSorted({std::max(ia->begin_ns, ib->begin_ns), std::min(ia->end_ns, ib->end_ns)});
    if (ia->end_ns < ib->end_ns) {
      ++ia;
    } else {
      ++ib;
    }
  }
  return out;
}

IntervalSet Subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto ib = b.begin();
  for (const Interval& interval : a) {
    Nanos begin = interval.begin_ns;
    while (ib != b.end() && ib->end_ns <= begin) ++ib;
    for (auto cut = ib; cut != b.end() && cut->begin_ns < interval.end_ns; ++cut) {
      out.AppendSorted({begin, cut->begin_ns});
      begin = std::max(begin, cut->end_ns);
      // A cut that ends inside this interval is spent; one that reaches past it may cut the next.
      if (cut->end_ns <= interval.end_ns) ib = cut;
    }
    out.AppendSorted({begin, interval.end_ns});
  }
  return out;
}

IntervalSet Complement(const IntervalSet& a, Interval within) {
  IntervalSet whole;
  whole.AppendSorted(within);
  return Subtract(whole, a);
}

Nanos IntersectLength(const IntervalSet& a, const IntervalSet& b) {
  return Intersect(a, b).length();
}

}  // namespace hone::trace
