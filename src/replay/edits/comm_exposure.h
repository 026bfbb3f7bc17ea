// SPDX-License-Identifier: Apache-2.0
// How much communication of the replayed steps nothing hides, and how much compute there is to hide
// it behind.
#pragma once

#include <array>
#include <vector>

#include "base/known.h"
#include "replay/edits/comm_roles.h"
#include "replay/graph.h"
#include "replay/model.h"

namespace hone::replay {

struct CommExposure {
  struct Target {
    TaskId task = kNoTask;
    Nanos exposed_ns = 0;   // of the task's measured time, waiting for other ranks left out
    Nanos doubtful_ns = 0;  // exposed too, and may be waiting: the last rank's trace is not here
    double hideable = 0;    // 0 … 1: share of it that compute of the same device could hide
    CommRole role = CommRole::kOther;
  };
  bool on_host = false;  // Gloo, MPI: no collective ran on a device
  // Over the replayed steps, a mean over the devices that communicate. On the host, compute is the
  // operators of the step's thread.
  double comm_ns = 0, exposed_ns = 0, compute_ns = 0;
  double free_compute_ns = 0;  // compute while nothing communicates
  // Of exposed_ns: waiting until the last rank came, where that is known, and what may be.
  double waited_ns = 0, doubtful_ns = 0;
  // Of what is left of exposed_ns, the doubtful part included.
  std::array<double, kCommRoleCount> of_role{};
  // Ranks of the largest group, and how many traces were compared; less: when the last rank came is
  // not known.
  std::int64_t ranks = -1, given = 1;
  std::vector<Target> targets;

  bool all_given() const { return ranks < 0 ? given > 1 : ranks <= given; }
  double hidden_share() const { return comm_ns > 0 ? 1 - exposed_ns / comm_ns : 0; }
  double transfer_ns() const { return exposed_ns - waited_ns; }
  // Whether more than half of the exposed transfer is of this role.
  bool Mostly(CommRole role) const {
    return of_role[static_cast<std::size_t>(role)] > transfer_ns() / 2;
  }
};

// Linear in tasks, rows and intervals. Absent when no collective runs in the window.
Known<CommExposure> MeasureExposure(const Model& model);

}  // namespace hone::replay
