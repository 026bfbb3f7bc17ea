// SPDX-License-Identifier: Apache-2.0
// Steps marked by the host, told by the device's clock where the host runs ahead of it.
#include <algorithm>
#include <cstdlib>

#include "analyze/step_source.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;

// Marks may lie a little behind or before what the device does; a tenth more device time than host
// time from the first step to the last is a queue that grows.
constexpr double kAhead = 1.1;
// A program that waits for its device now and then (a loss logged every tenth step) lets the queue
// grow and empties it: from first to last both clocks agree, and no single mark does. As much as by
// a queue that only grows must its marks be off, each way of it counted.
constexpr double kMoved = kAhead - 1;

struct DeviceShare {  // work launched in one step
  Nanos first_start_ns = INT64_MAX, last_end_ns = INT64_MIN;
  Nanos first_waited_ns = 0;  // from its call to its start, the first of them
};

std::vector<DeviceShare> ShareOut(const trace::Trace& trace, const std::vector<Step>& steps) {
  std::vector<DeviceShare> shares(steps.size());
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId call = trace.device.api[w];
    if (call == kNoRow) continue;
    const Nanos launched = trace.host.start_ns[call];
    const auto after =
        std::upper_bound(steps.begin(), steps.end(), launched,
                         [](Nanos time, const Step& step) { return time < step.span.begin_ns; });
    if (after == steps.begin() || launched >= (after - 1)->span.end_ns) continue;
    DeviceShare& share = shares[static_cast<std::size_t>(after - 1 - steps.begin())];
    if (trace.device.start_ns[w] < share.first_start_ns) {
      share.first_start_ns = trace.device.start_ns[w];
      share.first_waited_ns = std::max<Nanos>(0, share.first_start_ns - launched);
    }
    share.last_end_ns = std::max(share.last_end_ns, trace.device.end_ns(w));
  }
  return shares;
}

}  // namespace

bool MoveToDeviceClock(const trace::Trace& trace, std::vector<Step>& steps) {
  for (Step& step : steps) step.host_span = step.span;
  const std::vector<DeviceShare> shares = ShareOut(trace, steps);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].last_end_ns == INT64_MIN) return false;
    if (i > 0 && shares[i].last_end_ns <= shares[i - 1].last_end_ns) return false;
  }
  if (steps.empty()) return false;
  const auto leads = [&](std::size_t i) {  // a run of neighbours
    return i == 0 || steps[i].before != Before::kNeighbour;
  };
  // What the device has left to do when the host marks the end of a step.
  const auto queue = [&](std::size_t i) {
    return std::max<Nanos>(0, shares[i].last_end_ns - steps[i].span.end_ns);
  };
  Nanos device = 0, host = 0, moved = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!leads(i)) {
      moved += std::abs(queue(i) - queue(i - 1));
      device += shares[i].last_end_ns - shares[i - 1].last_end_ns;
      host += steps[i].span.end_ns - steps[i - 1].span.end_ns;
    } else if (i + 1 == steps.size() || leads(i + 1)) {
      // With one step there is no growth to see: its own work against its own length.
      device += shares[i].last_end_ns - shares[i].first_start_ns;
      host += steps[i].span.length();
    }
  }
  const bool grows = static_cast<double>(device) > kAhead * static_cast<double>(host);
  const bool breathes = static_cast<double>(moved) > kMoved * static_cast<double>(host);
  if (!grows && !breathes) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].queued_ns = queue(i) - (leads(i) ? shares[i].first_waited_ns : queue(i - 1));
    }
    return false;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Nanos last = i == 0 ? INT64_MIN : shares[i - 1].last_end_ns;
    steps[i].span = {leads(i) ? std::max(last, shares[i].first_start_ns) : last,
                     shares[i].last_end_ns};
  }
  return true;
}

}  // namespace hone::analyze
