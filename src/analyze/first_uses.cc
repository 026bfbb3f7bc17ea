// SPDX-License-Identifier: Apache-2.0
#include "analyze/first_uses.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/median.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;

// Loading took 6.5 ms where the median launch takes 6.6 us (MI250). A launch that lost its core for
// a turn takes as much more, but not just when a kernel comes for the first time.
constexpr Nanos kLeast = kMillisecond;
constexpr Nanos kTimesMedian = 50;

Nanos MedianLaunch(const trace::Trace& trace, const ApiCalls& calls) {
  std::vector<Nanos> launches;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (calls[i] == ApiClass::kLaunch) launches.push_back(trace.host.duration_ns[i]);
  }
  return UpperMedian(std::move(launches));
}

}  // namespace

std::vector<FirstUse> FindFirstUses(const trace::Trace& trace, const ApiCalls& calls) {
  const trace::DeviceWork& device = trace.device;
  const Nanos median = MedianLaunch(trace, calls);
  std::vector<FirstUse> found;
  std::vector<Nanos> first(trace.strings.size(), std::numeric_limits<Nanos>::max());
  const auto first_of = [&](RowId work) -> Nanos& {
    return first[static_cast<std::uint32_t>(device.name[work])];
  };
  for (RowId w = 0; w < device.size(); ++w) {
    first_of(w) = std::min(first_of(w), device.start_ns[w]);
  }
  std::vector<Nanos> busy_until(trace.streams.size(), std::numeric_limits<Nanos>::min());
  for (RowId w = 0; w < device.size(); ++w) {
    Nanos& until = busy_until[device.stream[w]];
    const RowId call = device.api[w];
    if (call != kNoRow && calls[call] == ApiClass::kLaunch && device.start_ns[w] == first_of(w) &&
        trace.host.duration_ns[call] >= kLeast &&
        trace.host.duration_ns[call] / kTimesMedian >= median &&
        device.start_ns[w] >= trace.host.end_ns(call) && until <= trace.host.start_ns[call]) {
      found.push_back({call, trace.host.duration_ns[call] - median});
    }
    until = std::max(until, device.end_ns(w));
  }
  return found;
}

}  // namespace hone::analyze
