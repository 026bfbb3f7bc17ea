// SPDX-License-Identifier: Apache-2.0
// Launch delay, queue depth and kernel sizes. docs/user/launches.md.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/api_class.h"
#include "base/known.h"
#include "trace/interval.h"
#include "trace/trace.h"

namespace hone::analyze {

struct LaunchFacts {
  std::uint64_t launches = 0;              // FindLaunches
  Nanos call_p50_ns = 0, call_p95_ns = 0;  // how long they take
  // delay = max(0, work start − end of the launching call)
  Nanos delay_p50_ns = 0, delay_p95_ns = 0, delay_max_ns = 0;
  std::uint64_t starved = 0;  // launched while its stream was empty: the device waited for the host
  // Queue depth of a stream: launched, not started. +1 at the call's start, −1 at the work's start.
  std::uint32_t queue_max = 0;
  double queue_mean = 0;         // time-weighted, over the launch window
  std::uint64_t queue_full = 0;  // launches that met a depth of 1,024 or more
};

struct KernelSizes {  // kernels only
  // Bucket i holds durations < kEdges[i]; the last holds the rest.
  static constexpr std::array<Nanos, 7> kEdges = {2'000,   5'000,     10'000,    50'000,
                                                  100'000, 1'000'000, 10'000'000};
  std::array<std::uint64_t, 8> count{};
  std::array<Nanos, 8> time_ns{};
  std::uint64_t kernels = 0, under_10us = 0;
};

// The one definition of a launch: a call of the host that queues device work (kernels, graphs,
// copies, sets), by its name or because work of the file links to it, with no such call around it.
// One value a row of Trace::host; O(host + device rows).
std::vector<bool> FindLaunches(const trace::Trace& trace, const ApiCalls& calls);

// Absent when no device work has its launch in the file.
Known<LaunchFacts> MeasureLaunches(const trace::Trace& trace);
Known<KernelSizes> MeasureKernelSizes(const trace::Trace& trace);

}  // namespace hone::analyze
