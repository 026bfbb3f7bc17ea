// SPDX-License-Identifier: Apache-2.0
#include "analyze/transfers.h"

#include <algorithm>
#include <array>

#include "analyze/device_peaks.h"
#include "analyze/grouping.h"

namespace hone::analyze {
namespace {

using trace::CopyDirection;
using trace::Interval;
using trace::kNoRow;
using trace::MemoryKind;
using trace::RowId;

constexpr std::size_t kDirections = 6, kKinds = 6;

// Exposed copy time of one device, handed out copy by copy in order of start: what no compute or
// communication covers, and no earlier copy has been given.
class Exposure {
 public:
  explicit Exposure(trace::IntervalSet cover) : cover_(std::move(cover)) {}

  Nanos Take(Interval copy) {
    copy.begin_ns = std::max(copy.begin_ns, given_until_);
    if (copy.begin_ns >= copy.end_ns) return 0;
    given_until_ = copy.end_ns;
    const auto covers = cover_.span();
    while (next_ < covers.size() && covers[next_].end_ns <= copy.begin_ns) ++next_;
    Nanos exposed = copy.length();
    for (; next_ < covers.size() && covers[next_].begin_ns < copy.end_ns; ++next_) {
      exposed -= std::min(copy.end_ns, covers[next_].end_ns) -
                 std::max(copy.begin_ns, covers[next_].begin_ns);
      if (covers[next_].end_ns > copy.end_ns) break;  // may cover the next copy too
    }
    return exposed;
  }

 private:
  trace::IntervalSet cover_;
  std::size_t next_ = 0;
  Nanos given_until_ = INT64_MIN;
};

// By device row, and one more for copies whose device nobody knows.
std::vector<Exposure> Exposures(const trace::Trace& trace, const Known<Timeline>& timeline) {
  std::vector<trace::IntervalSet> covers(trace.devices.size() + 1);
  if (timeline) {
    for (const DeviceTimeline& device : timeline->devices) {
      if (device.device < trace.devices.size()) {
        covers[device.device] = trace::Unite(device.compute, device.comm);
      }
    }
  }
  std::vector<Exposure> exposures;
  for (trace::IntervalSet& cover : covers) exposures.emplace_back(std::move(cover));
  return exposures;
}

Known<double> LinkShare(const trace::Trace& trace, const TransferRow& row) {
  if (row.direction != CopyDirection::kHostToDevice &&
      row.direction != CopyDirection::kDeviceToHost) {
    return Known<double>::Absent("does not cross the host link");
  }
  if (!row.gbytes_per_s) return Known<double>::Absent(row.gbytes_per_s.why_not());
  const RowId device = trace.streams[trace.device.stream[row.largest]].device;
  if (device >= trace.devices.size() || trace.devices[device].name.empty()) {
    return Known<double>::Absent("the trace does not name the device");
  }
  const Known<DevicePeaks> peaks = FindDevicePeaks(trace.devices[device].name);
  if (!peaks) return Known<double>::Absent(peaks.why_not());
  if (peaks->host_link_gbytes_per_s <= 0) {
    return Known<double>::Absent("the link of this device is not in the table");
  }
  return *row.gbytes_per_s / peaks->host_link_gbytes_per_s;
}

}  // namespace

const char* DirectionName(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::kHostToDevice: return "host to device";
    case CopyDirection::kDeviceToHost: return "device to host";
    case CopyDirection::kDeviceToDevice: return "device to device";
    case CopyDirection::kPeerToPeer: return "peer to peer";
    case CopyDirection::kHostToHost: return "host to host";
    case CopyDirection::kUnknown: break;
  }
  return "unknown";
}

const char* MemoryKindName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kPageable: return "pageable";
    case MemoryKind::kPinned: return "pinned";
    case MemoryKind::kDevice: return "device";
    case MemoryKind::kManaged: return "managed";
    case MemoryKind::kArray: return "array";
    case MemoryKind::kUnknown: break;
  }
  return "unknown";
}

Known<TransferFacts> MeasureTransfers(const trace::Trace& trace, const Known<Timeline>& timeline) {
  const trace::DeviceWork& device = trace.device;
  struct Group {
    TransferRow row;
    Nanos sized_ns = 0;  // time of the copies whose size is known
  };
  std::array<Group, kDirections * kKinds * kKinds> groups;
  std::vector<Exposure> exposures = Exposures(trace, timeline);
  TransferFacts facts;
  for (RowId w = 0; w < device.size(); ++w) {
    if (device.kind[w] != trace::WorkKind::kCopy) continue;
    const std::size_t key = (static_cast<std::size_t>(device.direction[w]) * kKinds +
                             static_cast<std::size_t>(device.source[w])) *
                                kKinds +
                            static_cast<std::size_t>(device.target[w]);
    Group& group = groups[key];
    TransferRow& row = group.row;
    row.direction = device.direction[w];
    row.source = device.source[w];
    row.target = device.target[w];
    ++row.count;
    row.total_ns = SaturatingAdd(row.total_ns, device.duration_ns[w]);
    facts.total_ns = SaturatingAdd(facts.total_ns, device.duration_ns[w]);
    const std::size_t on =
        std::min<std::size_t>(trace.streams[device.stream[w]].device, trace.devices.size());
    row.exposed_ns += exposures[on].Take({device.start_ns[w], device.end_ns(w)});
    if (row.largest == kNoRow || device.bytes[w] > device.bytes[row.largest]) row.largest = w;
    if (device.bytes[w] < 0) continue;
    ++row.sized;
    row.bytes = SaturatingAdd(row.bytes, device.bytes[w]);
    facts.bytes = SaturatingAdd(facts.bytes, device.bytes[w]);
    group.sized_ns = SaturatingAdd(group.sized_ns, device.duration_ns[w]);
  }
  for (Group& group : groups) {
    if (group.row.count == 0) continue;
    // A byte a nanosecond is a gigabyte a second.
    group.row.gbytes_per_s =
        group.sized_ns > 0     ? Known<double>(static_cast<double>(group.row.bytes) /
                                           static_cast<double>(group.sized_ns))
        : group.row.sized == 0 ? Known<double>::Absent("the trace has no sizes of these copies")
                               : Known<double>::Absent("these copies have no duration");
    group.row.link_share = LinkShare(trace, group.row);
    facts.rows.push_back(std::move(group.row));
  }
  if (facts.rows.empty()) return Known<TransferFacts>::Absent("no copies in this trace");
  std::sort(facts.rows.begin(), facts.rows.end(), [](const TransferRow& a, const TransferRow& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.count > b.count;
  });
  return facts;
}

}  // namespace hone::analyze
