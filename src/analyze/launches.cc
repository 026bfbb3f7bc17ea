// SPDX-License-Identifier: Apache-2.0
#include "analyze/launches.h"

#include <algorithm>

#include "analyze/grouping.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;

// The driver blocks launches when a stream's queue holds about this many (HTA uses the same).
constexpr std::uint64_t kQueueLimit = 1'024;

// One entry of a stream's queue: a call, and the first work it starts there. A CUDA graph is one
// entry, however many kernels it holds.
struct Queued {
  Nanos launched_ns, started_ns;
};

struct Queue {
  std::uint64_t max = 0, full = 0;
  double mean = 0;
};

// The queue holds, at a launch, the entries launched before it and not yet started. Entries come
// in order of start, which is the order of launch unless threads share a stream.
Queue MeasureQueue(std::vector<Queued>& entries) {
  Queue queue;
  if (entries.empty()) return queue;
  double waiting = 0;
  std::vector<Nanos> launched;
  launched.reserve(entries.size());
  for (const Queued& entry : entries) {
    launched.push_back(entry.launched_ns);
    // The difference first: times since 1970 do not fit a double to the nanosecond.
    waiting += static_cast<double>(entry.started_ns - entry.launched_ns);
  }
  if (!std::is_sorted(launched.begin(), launched.end())) {
    std::sort(launched.begin(), launched.end());
  }
  std::size_t started = 0;
  for (std::size_t k = 0; k < launched.size(); ++k) {
    while (started < k && entries[started].started_ns <= launched[k]) ++started;
    const std::uint64_t depth = k - started;
    if (depth >= kQueueLimit) ++queue.full;
    queue.max = std::max(queue.max, depth + 1);
  }
  // Little's law: time-weighted mean depth = summed waiting time / length of the window.
  const auto window = static_cast<double>(entries.back().started_ns - launched.front());
  if (window > 0) queue.mean = waiting / window;
  return queue;
}

bool QueuesWork(ApiClass what) {
  return what == ApiClass::kLaunch || what == ApiClass::kGraphLaunch || what == ApiClass::kCopy ||
         what == ApiClass::kBlockingCopy;
}

}  // namespace

std::vector<bool> FindLaunches(const trace::Trace& trace, const ApiCalls& calls) {
  const trace::HostSlices& host = trace.host;
  std::vector<bool> launches(host.size(), false), inside(host.size(), false);
  for (const RowId call : trace.device.api) {
    if (call != kNoRow) launches[call] = true;
  }
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    inside[i] = parent != kNoRow && (launches[parent] || inside[parent]);
    launches[i] = !inside[i] && (launches[i] || QueuesWork(calls[i]));
  }
  return launches;
}

Known<LaunchFacts> MeasureLaunches(const trace::Trace& trace) {
  const trace::DeviceWork& device = trace.device;
  const trace::HostSlices& host = trace.host;
  LaunchFacts facts;
  std::vector<Nanos> calls, delays;
  std::vector<std::uint8_t> seen(host.size(), 0);
  std::vector<Nanos> stream_end(trace.streams.size(), INT64_MIN);
  std::vector<std::vector<Queued>> queues(trace.streams.size());
  for (RowId w = 0; w < device.size(); ++w) {
    Nanos& busy_until = stream_end[device.stream[w]];
    const RowId call = device.api[w];
    if (call != kNoRow) {
      delays.push_back(std::max<Nanos>(0, device.start_ns[w] - host.end_ns(call)));
      if (seen[call] == 0) {
        seen[call] = 1;
        if (busy_until != INT64_MIN && busy_until <= host.start_ns[call]) ++facts.starved;
        queues[device.stream[w]].push_back(
            {std::min(host.start_ns[call], device.start_ns[w]), device.start_ns[w]});
      }
    }
    busy_until = std::max(busy_until, device.end_ns(w));
  }
  if (delays.empty()) {
    return Known<LaunchFacts>::Absent(device.size() == 0
                                          ? "no device work in this trace"
                                          : "no device work in this trace has its launching call");
  }
  const std::vector<bool> launches = FindLaunches(trace, ApiCalls(trace));
  for (RowId i = 0; i < host.size(); ++i) {
    if (launches[i]) calls.push_back(host.duration_ns[i]);
  }
  facts.launches = calls.size();
  facts.call_p50_ns = Percentile(calls, 0.50);
  facts.call_p95_ns = Percentile(calls, 0.95);
  facts.delay_p50_ns = Percentile(delays, 0.50);
  facts.delay_p95_ns = Percentile(delays, 0.95);
  facts.delay_max_ns = *std::max_element(delays.begin(), delays.end());
  std::size_t busiest = 0;
  for (std::vector<Queued>& entries : queues) {
    const Queue queue = MeasureQueue(entries);
    facts.queue_max = std::max(facts.queue_max, static_cast<std::uint32_t>(queue.max));
    facts.queue_full += queue.full;
    if (entries.size() > busiest) {
      busiest = entries.size();
      facts.queue_mean = queue.mean;
    }
  }
  return facts;
}

Known<KernelSizes> MeasureKernelSizes(const trace::Trace& trace) {
  KernelSizes sizes;
  for (RowId w = 0; w < trace.device.size(); ++w) {
    if (trace.device.kind[w] != trace::WorkKind::kKernel) continue;
    const Nanos duration = trace.device.duration_ns[w];
    const auto bucket = static_cast<std::size_t>(
        std::upper_bound(KernelSizes::kEdges.begin(), KernelSizes::kEdges.end(), duration) -
        KernelSizes::kEdges.begin());
    ++sizes.count[bucket];
    sizes.time_ns[bucket] = SaturatingAdd(sizes.time_ns[bucket], duration);
    ++sizes.kernels;
    if (duration < 10 * kMicrosecond) ++sizes.under_10us;
  }
  if (sizes.kernels == 0) return Known<KernelSizes>::Absent("no kernels in this trace");
  return sizes;
}

}  // namespace hone::analyze
