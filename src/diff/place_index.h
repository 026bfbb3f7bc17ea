// SPDX-License-Identifier: Apache-2.0
// Rows of a trace gathered into places.
#pragma once

#include <vector>

#include "analyze/grouping.h"
#include "diff/place.h"

namespace hone::diff {

// By class, then by position; the times of one unit are taken in that order.
void MeasureUnits(std::vector<Place>& places, PerUnit unit);

// One place a combination of names.
class PlaceIndex {
 public:
  PlaceIndex(const trace::Trace& trace, HostPlaces& host) : trace_(trace), host_(host) {}

  // `around`: the row whose path it is; `op`: of its operator, or kNoRow; `position`: of its row.
  Place& At(trace::RowId around, trace::RowId op, StringId kernel, analyze::WorkClass work_class,
            trace::RowId position);

  std::vector<Place> places;

 private:
  const trace::Trace& trace_;
  HostPlaces& host_;
  analyze::GroupIndex outer_, inner_, index_;
};

}  // namespace hone::diff
