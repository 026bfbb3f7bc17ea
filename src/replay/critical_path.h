// SPDX-License-Identifier: Apache-2.0
// The critical path: the chain of tasks that decides how long the window takes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "replay/graph.h"
#include "replay/plan.h"

namespace hone::replay {

// What a moment of the critical path goes to.
enum class PathKind : std::uint8_t {
  kInput,
  kHost,
  kLaunch,
  kCompute,
  kCopy,
  kCommunication,
  kSync,
  kDeviceOverhead,  // turn-around between queued kernels
};
inline constexpr std::size_t kPathKindCount = 8;
const char* PathKindId(PathKind kind);    // "input", stable
const char* PathKindText(PathKind kind);  // "waiting for data"

struct PathPiece {
  TaskId task = kNoTask;
  PathKind kind = PathKind::kHost;
  Nanos length_ns = 0;
};

struct CriticalPath {
  std::vector<PathPiece> pieces;                 // in time order
  std::array<Nanos, kPathKindCount> total_ns{};  // sums to the length of the path
  Nanos length_ns = 0;
};

// Of the window as replayed with this plan: from the end back to the beginning, always along what
// came last.
CriticalPath FindCriticalPath(const Graph& graph, const Plan& plan);

}  // namespace hone::replay
