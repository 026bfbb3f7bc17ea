// SPDX-License-Identifier: Apache-2.0
// RowClock: tells the caller of an export how far it is.
#pragma once

#include <cstdint>

#include "export/exported.h"

namespace hone::exporter {

class RowClock {
 public:
  explicit RowClock(const Exported& rank) : rank_(rank) {
    const trace::Trace& t = rank.trace;
    total_ = t.host.size() + t.device.size() + t.syncs.size() + t.memory.size() +
             t.counters.size() + t.samples.size();
  }
  void Tick() {
    if ((++done_ & 8191U) == 0 && rank_.progress) rank_.progress(done_, total_);
  }

 private:
  const Exported& rank_;
  std::uint64_t done_ = 0, total_ = 0;
};

}  // namespace hone::exporter
