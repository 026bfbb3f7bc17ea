// SPDX-License-Identifier: Apache-2.0
// Running: of some host slices, which one a thread is in. Where slices cross, that is not what
// parents tell: a parent holds all of its child, a slice that crosses its end is not inside it.
#pragma once

#include <algorithm>
#include <vector>

#include "trace/trace.h"

namespace hone::trace {

// Of two slices of which the second begins while the first runs. Children overrun parents by up to
// a few hundred ns where clocks of two sources meet, and by a whole microsecond in files of the
// integer-time era; they lie inside for the most part all the same.
inline bool Holds(const HostSlices& host, RowId around, RowId row) {
  constexpr Nanos kRounding = 1'000;
  const Nanos over = host.end_ns(row) - host.end_ns(around);
  return over <= std::min(kRounding, host.duration_ns[row] / 2);
}

// To be asked and told in the order of rows. Constant time each, over all rows.
class Running {
 public:
  explicit Running(const HostSlices& host) : host_(host) {}

  // Of the slices told before, on the thread of `row`: the last that began and still runs when
  // `row` begins. kNoRow: none.
  RowId Around(RowId row) {
    while (!open_.empty() && HasEnded(open_.back(), row)) open_.pop_back();
    return open_.empty() ? kNoRow : open_.back();
  }
  void Begin(RowId row) { open_.push_back(row); }

 private:
  bool HasEnded(RowId slice, RowId row) const {
    return host_.thread[slice] != host_.thread[row] || host_.end_ns(slice) <= host_.start_ns[row];
  }

  const HostSlices& host_;
  std::vector<RowId> open_;
};

// Of `row`, what lies in a slice that runs when it begins.
inline Nanos TimeInside(const HostSlices& host, RowId row, RowId around) {
  return std::min(host.end_ns(row), host.end_ns(around)) - host.start_ns[row];
}

}  // namespace hone::trace
