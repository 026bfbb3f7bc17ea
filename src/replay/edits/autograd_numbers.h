// SPDX-License-Identifier: Apache-2.0
// AutogradNumbers: which operators belong to one node of autograd. PyTorch numbers the nodes; the
// operator that makes one, those inside it, and those of its backward pass carry its number. So do
// operators that make none, with that of the node that comes next: of several the last one counts.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace hone::replay {

class AutogradNumbers {
 public:
  // Linear in host slices.
  explicit AutogradNumbers(const trace::Trace& trace) : numbers_(trace.host.size(), -1) {
    const trace::HostSlices& host = trace.host;
    for (trace::RowId i = 0; i < host.size(); ++i) {
      if (host.parent[i] != trace::kNoRow) numbers_[i] = numbers_[host.parent[i]];
      if (host.kind[i] == trace::SliceKind::kOp && host.link[i] >= 0) {
        numbers_[i] = InProcess(host.link[i], trace.threads[host.thread[i]].process);
      }
    }
  }

  // Of the operator, or of the nearest one around it that has one; -1: none. Numbers of different
  // processes differ.
  std::int64_t Of(trace::RowId row) const { return numbers_[row]; }

 private:
  static std::int64_t InProcess(std::int64_t number, trace::RowId process) {
    constexpr int kProcessShift = 44;
    return number + (static_cast<std::int64_t>(process) << kProcessShift);
  }

  std::vector<std::int64_t> numbers_;  // by row of Trace::host
};

}  // namespace hone::replay
