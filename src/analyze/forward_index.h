// SPDX-License-Identifier: Apache-2.0
// Which forward operator a backward operator belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace hone::analyze {

// Forward operators by the sequence number of the autograd node that they made. Of those that carry
// one number, the last one before the backward operator made the node (PyTorch's own rule).
class ForwardIndex {
 public:
  explicit ForwardIndex(const trace::Trace& trace);  // O(n log n), O(n) with one forward thread

  static bool IsBackward(const trace::Trace& trace, trace::RowId row) {
    return trace.host.kind[row] == trace::SliceKind::kOp && trace.host.link[row] >= 0 &&
           trace.op_details[trace.host.detail[row]].fwd_thread > 0;
  }

  // `backward` is a row for which IsBackward holds. kNoRow: not in the file.
  trace::RowId Find(const trace::Trace& trace, trace::RowId backward) const;

 private:
  struct Entry {
    std::int64_t sequence;
    Nanos start_ns;
    trace::RowId process;
    trace::RowId row;
  };
  static bool Before(const Entry& a, const Entry& b);

  std::vector<Entry> entries_;  // sorted by Before
};

}  // namespace hone::analyze
