// SPDX-License-Identifier: Apache-2.0
// Copies between host and device, and what they reach of the link. docs/user/transfers.md.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/timeline.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

struct TransferRow {
  trace::CopyDirection direction = trace::CopyDirection::kUnknown;
  trace::MemoryKind source = trace::MemoryKind::kUnknown, target = trace::MemoryKind::kUnknown;
  std::uint64_t count = 0;
  std::uint64_t sized = 0;     // of them with a recorded size
  Bytes bytes = 0;             // of those
  Nanos total_ns = 0;          // summed; copies of one row seldom overlap
  Nanos exposed_ns = 0;        // part of the device's exposed copy time that falls to this row
  Known<double> gbytes_per_s;  // bytes / total; absent without sizes or durations
  Known<double> link_share;    // of the link's peak by device name (PCIe or NVLink-C2C)
  trace::RowId largest = trace::kNoRow;  // device row of the largest copy
};

struct TransferFacts {
  std::vector<TransferRow> rows;  // by total time
  Nanos total_ns = 0;
  Bytes bytes = 0;
};
const char* DirectionName(trace::CopyDirection direction);
const char* MemoryKindName(trace::MemoryKind kind);

// All devices; each copy is held against the compute and communication of its own device. Absent
// when the trace has no copies. Without a timeline every copy counts as exposed.
Known<TransferFacts> MeasureTransfers(const trace::Trace& trace, const Known<Timeline>& timeline);

}  // namespace hone::analyze
