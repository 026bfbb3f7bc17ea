// SPDX-License-Identifier: Apache-2.0
// How much communication of the replayed steps nothing hides, and how much compute there is to hide
// it behind.
#pragma once

#include <vector>

#include "base/known.h"
#include "replay/graph.h"
#include "replay/model.h"

namespace hone::replay {

struct CommExposure {
  struct Target {
    TaskId task = kNoTask;
    Nanos exposed_ns = 0;  // of the task's measured time
    double hideable = 0;   // 0 … 1: share of it that compute of the same device could hide
  };
  bool on_host = false;  // Gloo, MPI: no collective ran on a device
  // Over the replayed steps, a mean over the devices that communicate. On the host, compute is the
  // operators of the step's thread.
  double comm_ns = 0, exposed_ns = 0, compute_ns = 0;
  double free_compute_ns = 0;  // compute while nothing communicates
  std::vector<Target> targets;

  double hidden_share() const { return comm_ns > 0 ? 1 - exposed_ns / comm_ns : 0; }
};

// Linear in tasks, rows and intervals. Absent when no collective runs in the window.
Known<CommExposure> MeasureExposure(const Model& model);

}  // namespace hone::replay
