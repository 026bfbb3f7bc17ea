// SPDX-License-Identifier: Apache-2.0
// Forward operators by the sequence number of the autograd node that they made.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace hone::analyze {

// An operator of the backward pass that names the forward one it belongs to.
inline bool IsBackward(const trace::Trace& trace, trace::RowId row) {
  return trace.host.kind[row] == trace::SliceKind::kOp && trace.host.link[row] >= 0 &&
         trace.op_details[trace.host.detail[row]].fwd_thread > 0;
}

class ForwardIndex {
 public:
  explicit ForwardIndex(const trace::Trace& trace);  // a sort of the forward operators at most

  // The forward operator of a backward one (IsBackward): the latest before it, in its process, of
  // the same number (PyTorch's own rule: of the operators that carry a number, the last one made
  // the autograd node). kNoRow: none. O(log n).
  trace::RowId Find(const trace::Trace& trace, trace::RowId backward) const;

 private:
  struct Entry {
    std::int64_t sequence;
    Nanos start_ns;
    trace::RowId process;
    trace::RowId row;
  };
  static bool Before(const Entry& a, const Entry& b);

  std::vector<Entry> entries_;
};

}  // namespace hone::analyze
