// SPDX-License-Identifier: Apache-2.0
// CallIndex: host slices by their id column (correlation of API calls, External id of operators).
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace hone::trace {

// Ids may repeat (merged files, ids reused): the latest slice that starts no later than the asked
// time wins, else the earliest. A lookup is O(1) while ids are unique and dense, as CUPTI's are,
// and O(log n) otherwise; ten thousand slices of one id cost no more than others.
class CallIndex {
 public:
  CallIndex(const Trace& trace, SliceKind kind);

  // `process` narrows the search where ids are unique per process only (nsys, merged ranks);
  // kNoRow: any.
  // id 0 is "none".
  RowId Find(std::int64_t id, RowId process, Nanos no_later_than_ns) const;

  // Slices whose id another slice of the same process has too.
  std::uint64_t duplicates() const { return duplicates_; }

 private:
  struct Entry {
    std::int64_t id;
    RowId process;
    RowId row;
    Nanos start_ns;
  };

  std::int64_t first_id_ = 0;
  std::vector<RowId> dense_;   // by id − first_id_; empty when sorted_ is used
  std::vector<Entry> sorted_;  // by (id, process, start)
  std::uint64_t duplicates_ = 0;
};

}  // namespace hone::trace
