// SPDX-License-Identifier: Apache-2.0
// DoublePrecision: what the steps compute in float64.
#pragma once

#include <array>
#include <vector>

#include "replay/edit.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {

struct DoublePrecision {
  struct Work {
    TaskId task = kNoTask;
    Range3 left;  // of its time beyond a kernel's latency
  };
  // Without a device: outermost operators on float64 tensors, and what float32 leaves of them, for
  // each Guess. With one: its kernels.
  std::array<std::vector<HostSpan>, 3> spans;
  std::vector<Work> work;
  double time_ns = 0;                    // in float64, of all steps
  trace::RowId longest = trace::kNoRow;  // row of Trace::host, with a device of Trace::device

  bool empty() const { return work.empty() && spans[0].empty(); }
};

// Linear in host slices and device work; arguments are parsed once per distinct combination.
DoublePrecision LookAtDoublePrecision(const Model& model);

}  // namespace hone::replay
