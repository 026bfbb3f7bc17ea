// SPDX-License-Identifier: Apache-2.0
// What the probe inside a program wrote (python/hone/_bench.py), one file a process, and what
// follows from it: the steady window and the work that was done.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/known.h"
#include "base/result.h"
#include "bench/result.h"

namespace hone::bench {

// Times in nanoseconds, steps from `begin_ns` on, which is the system's monotonic clock.
struct Probe {
  struct Edge {
    std::int64_t step = 0, time_ns = 0, cpu_ns = 0, reserved_bytes = -1;
  };
  std::int64_t pid = 0, begin_ns = 0, end_ns = 0;
  std::optional<double> uptime_s;  // passed in its life, by the kernel's own count
  std::string trouble;
  std::vector<std::int64_t> steps_ns, samples, waits_ns;
  std::vector<Edge> edges;
  std::vector<std::int64_t> growth;  // steps that compiled something
  std::vector<std::int64_t> looked;  // the step after this one was looked at
  std::int64_t stock = 0;  // batches that loaders' workers have ready after a step that took long
  double cpu_s = 0, tail_cpu_s = 0, tail_sync_s = 0;
  std::vector<std::string> clocks;  // functions of `time` that the program replaced
  std::map<std::string, std::string> facts;
  std::vector<std::map<std::string, std::int64_t>> operators;  // one a look
  std::vector<std::int64_t> operator_shapes;
  std::int64_t batches = 0, elements = 0, peak_device_bytes = -1;
};

Result<Probe> ReadProbe(const std::string& path);
// All probe-*.json of a run's folder, the leading process first: that with the most steps.
std::vector<Probe> ReadProbes(const std::string& folder);

// The window in which the program had settled. Warm-up, by the same rule in every run: `given`
// steps; or, below 0, at least 10, the last that compiled or let the device's memory grow in the
// first half, those that found their batch ready since the first step, and what a change-point test
// calls not settled; at most half of the steps. Steps that were looked at are left out, and with
// them as many as then found their batch ready (where half of the steps stay). With a GPU the
// window begins and ends at a block's edge, where the device had been waited for. `start_ns`: when
// the program was started.
inline constexpr std::int64_t kLeastWarmup = 10;
Known<Steps> SteadySteps(const std::vector<Probe>& probes, std::int64_t given,
                         std::int64_t start_ns);

// Facts for the same-work check, the probe's own and those that its numbers give.
// `start_ns`, `end_ns`: the launcher's clock around the program's life.
Work WorkOf(const std::vector<Probe>& probes, std::int64_t start_ns, std::int64_t end_ns);

}  // namespace hone::bench
