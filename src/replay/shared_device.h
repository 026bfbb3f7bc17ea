// SPDX-License-Identifier: Apache-2.0
// SharedDevice: streams whose kernels run at the same time (cuDNN's recurrent layers, a program's
// own) and share one device. How long such a kernel takes depends on what runs beside it, so it
// cannot be replayed as it was measured: the work of these streams is replayed as if it had run one
// after the other, each piece with its part of the time, which together is as long as it was.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "trace/trace.h"

namespace hone::analyze {
class WorkClasses;
}

namespace hone::replay {

class SharedDevice {
 public:
  // Linear but for a sort of ends. Streams of another process are left alone, since its work is not
  // replayed, and so is a device that communicates: what waits for other ranks would hold up what
  // does not.
  SharedDevice(const trace::Trace& trace, const analyze::WorkClasses& classes);

  // The stream whose lane it is on: its own where it shares nothing.
  std::uint16_t StreamOf(trace::RowId work) const { return leader_[trace_.device.stream[work]]; }
  Nanos StartOf(trace::RowId work) const {
    return start_ns_.empty() ? trace_.device.start_ns[work] : start_ns_[work];
  }
  Nanos DurationOf(trace::RowId work) const {
    return duration_ns_.empty() ? trace_.device.duration_ns[work] : duration_ns_[work];
  }
  Nanos EndOf(trace::RowId work) const { return StartOf(work) + DurationOf(work); }

  // Whether it is replayed at another time than it ran.
  bool IsMoved(trace::RowId work) const { return StartOf(work) != trace_.device.start_ns[work]; }

 private:
  void Share(const analyze::WorkClasses& classes, std::vector<trace::RowId> work);

  const trace::Trace& trace_;
  std::vector<std::uint16_t> leader_;          // by stream
  std::vector<Nanos> start_ns_, duration_ns_;  // by work; empty: nothing is shared
  std::vector<double> part_;                   // by work
};

}  // namespace hone::replay
