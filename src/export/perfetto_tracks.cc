// SPDX-License-Identifier: Apache-2.0
#include "export/perfetto_tracks.h"

#include <fmt/format.h>

#include <protozero/pbf_writer.hpp>

#include "base/utf8.h"

namespace hone::exporter {
namespace {

using protozero::pbf_writer;
using trace::kNoRow;
using trace::RowId;

// Devices and processes without a usable number get one that no system gives out: Linux stops at
// 2^22, and Perfetto keeps pid 0 for itself.
constexpr std::int64_t kDevicePids = 900'000'000, kOtherPids = 800'000'000,
                       kOtherTids = 1'000'000'000;

bool Fits(std::int64_t id) { return id > 0 && id <= INT32_MAX; }

// The process whose threads did most; any, where none did anything.
RowId LeadingProcess(const trace::Trace& trace) {
  std::vector<std::uint64_t> slices(trace.processes.size());
  for (const trace::Thread& thread : trace.threads) {
    if (thread.process != kNoRow) slices[thread.process] += thread.last_slice - thread.first_slice;
  }
  RowId lead = 0;
  for (RowId i = 0; i < slices.size(); ++i) {
    if (slices[i] > slices[lead]) lead = i;
  }
  return lead;
}

}  // namespace

PerfettoTracks::PerfettoTracks(const Exported& rank, ProcessIds& ids, PerfettoStream& stream)
    : rank_(rank),
      trace_(rank.trace),
      ids_(ids),
      stream_(stream),
      // Ranks of one file have tracks of their own, and none is track 0, which is everybody's.
      last_uuid_((static_cast<std::uint64_t>(rank.index) + 1) << 32),
      lead_(LeadingProcess(rank.trace)),
      threads_(trace_.threads.size()),
      processes_(trace_.processes.size() + 1),
      devices_(trace_.devices.size()),
      streams_(trace_.streams.size()) {
  if (!rank.several_ranks) return;
  const std::int64_t number = trace_.info.rank;
  prefix_ = fmt::format("rank {}: ", number >= 0 ? number : static_cast<std::int64_t>(rank.index));
}

std::int64_t PerfettoTracks::SmallPid(std::int64_t pid, std::int64_t otherwise) {
  return ids_.For(Fits(pid) ? pid : otherwise);
}

void PerfettoTracks::DescribeProcess(std::uint64_t uuid, std::int64_t pid, const std::string& name,
                                     int order, bool ordered_children) {
  std::string fields, process;
  pbf_writer inner(process);
  inner.add_int32(proto::kPid, static_cast<std::int32_t>(pid));
  inner.add_string(proto::kProcessName, ValidUtf8(prefix_ + name));
  inner.add_int32(proto::kProcessSortIndex, static_cast<std::int32_t>(rank_.index) * 1000 + order);
  pbf_writer descriptor(fields);
  descriptor.add_uint64(proto::kUuid, uuid);
  descriptor.add_message(proto::kProcess, process);
  if (ordered_children) descriptor.add_enum(proto::kChildOrdering, proto::kExplicitOrder);
  stream_.Descriptor(fields);
}

std::uint64_t PerfettoTracks::ForProcess(RowId process) {
  std::uint64_t& uuid = processes_[process];
  if (uuid != 0) return uuid;
  uuid = NextUuid();
  // A trace without any process still has a place for what belongs to no thread.
  const bool known = process < trace_.processes.size();
  const std::int64_t pid = known ? trace_.processes[process].pid : -1;
  const std::string name = known ? trace_.processes[process].name : "";
  DescribeProcess(uuid, SmallPid(pid, kOtherPids + process), name.empty() ? "program" : name, 0,
                  false);
  return uuid;
}

PerfettoTracks::Thread PerfettoTracks::IdsOf(std::uint16_t thread) {
  const trace::Thread& row = trace_.threads[thread];
  const std::int64_t pid =
      SmallPid(trace_.processes[row.process].pid, kOtherPids + std::int64_t{row.process});
  return {pid, Fits(row.tid) ? row.tid : kOtherTids + thread};
}

std::uint64_t PerfettoTracks::ForThread(std::uint16_t thread) {
  std::uint64_t& uuid = threads_[thread];
  if (uuid != 0) return uuid;
  const trace::Thread& row = trace_.threads[thread];
  const std::uint64_t parent = ForProcess(row.process);
  uuid = NextUuid();
  const Thread ids = IdsOf(thread);
  std::string fields, inner;
  pbf_writer descriptor(inner);
  descriptor.add_int32(proto::kThreadPid, static_cast<std::int32_t>(ids.pid));
  descriptor.add_int64(proto::kTid, ids.tid);
  descriptor.add_string(proto::kThreadName,
                        ValidUtf8(row.name.empty() ? fmt::format("thread {}", row.tid) : row.name));
  pbf_writer track(fields);
  track.add_uint64(proto::kUuid, uuid);
  track.add_uint64(proto::kParentUuid, parent);
  track.add_message(proto::kThread, inner);
  stream_.Descriptor(fields);
  return uuid;
}

std::uint64_t PerfettoTracks::ForDevice(RowId device) {
  std::uint64_t& uuid = devices_[device];
  if (uuid != 0) return uuid;
  uuid = NextUuid();
  const trace::Device& row = trace_.devices[device];
  DescribeProcess(uuid, ids_.For(kDevicePids + device),
                  fmt::format("GPU {}{}{}", row.id, row.name.empty() ? "" : ": ", row.name),
                  1 + static_cast<int>(device), true);
  return uuid;
}

std::uint64_t PerfettoTracks::ForStream(std::uint16_t stream) {
  std::uint64_t& uuid = streams_[stream];
  if (uuid != 0) return uuid;
  const trace::Stream& row = trace_.streams[stream];
  return uuid = Below(ForDevice(row.device), fmt::format("stream {}", row.id), 10 + stream);
}

std::uint64_t PerfettoTracks::Below(std::uint64_t parent, const std::string& name, int order) {
  const std::uint64_t uuid = NextUuid();
  std::string fields;
  pbf_writer track(fields);
  track.add_uint64(proto::kUuid, uuid);
  track.add_uint64(proto::kParentUuid, parent);
  track.add_string(proto::kTrackName, ValidUtf8(name));
  track.add_int32(proto::kSiblingOrderRank, order);
  // Two processes may both have a stream 7 on one device: tracks of one name stay two.
  track.add_enum(proto::kSiblingMergeBehavior, proto::kMergeNone);
  stream_.Descriptor(fields);
  return uuid;
}

std::uint64_t PerfettoTracks::Counter(std::uint64_t parent, const std::string& name,
                                      proto::CounterUnit unit) {
  const std::uint64_t uuid = NextUuid();
  std::string fields, counter;
  if (unit != proto::kUnitUnspecified) {
    pbf_writer(counter).add_enum(proto::kUnit, static_cast<std::int32_t>(unit));
  }
  pbf_writer track(fields);
  track.add_uint64(proto::kUuid, uuid);
  track.add_uint64(proto::kParentUuid, parent);
  track.add_string(proto::kTrackName, ValidUtf8(name));
  track.add_message(proto::kCounterDescriptor, counter);
  stream_.Descriptor(fields);
  return uuid;
}

}  // namespace hone::exporter
