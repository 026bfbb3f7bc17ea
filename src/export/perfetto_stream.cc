// SPDX-License-Identifier: Apache-2.0
#include "export/perfetto_stream.h"

#include <iterator>
#include <protozero/pbf_writer.hpp>

#include "base/utf8.h"

namespace hone::exporter {
namespace {

using protozero::pbf_writer;

constexpr std::size_t kPiece = std::size_t{256} << 10;
// Frames of a stack that are written, the innermost: Python's own limit on recursion. A bound keeps
// the cost of a deep tree linear.
constexpr std::size_t kMostDepth = 1000;

// By Category and Arg. Names of arguments are those of the PyTorch profiler, where it has them.
constexpr std::string_view kCategoryNames[] = {
    "cpu_op",       "user_annotation",
    "cuda_runtime", "python_function",
    "os_runtime",   "overhead",
    "other",        "cuda_graph_node",
    "kernel",       "gpu_memcpy",
    "gpu_memset",   "gpu_graph",
    "cuda_sync",    "gpu_user_annotation",
    "cuda_event",   "step",
    "idle",         "memory",
    "counter",      "mark",
};
constexpr std::string_view kArgNames[] = {
    "External id",
    "correlation",
    "Sequence number",
    "Fwd thread id",
    "Input Dims",
    "Input type",
    "Input Strides",
    "Concrete Inputs",
    "Module Hierarchy",
    "Call stack",
    "Python id",
    "Python parent id",
    "device",
    "stream",
    "op",
    "bytes",
    "direction",
    "grid",
    "block",
    "registers per thread",
    "shared memory",
    "blocks per SM",
    "warps per SM",
    "est. achieved occupancy %",
    "graph id",
    "graph node id",
    "Collective name",
    "dtype",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
    "Seq",
    "Src Rank",
    "Dst Rank",
    "wait_on_stream",
    "event_id",
    "number",
    "warm_up",
    "because of",
    "next work",
    "Addr",
    "whole duration (ns)",
};
static_assert(std::size(kCategoryNames) == static_cast<std::size_t>(Category::kMark) + 1);
static_assert(std::size(kArgNames) == static_cast<std::size_t>(Arg::kWholeDuration) + 1);

std::uint64_t IidOf(StringId id) { return static_cast<std::uint64_t>(id) + 1; }
std::uint64_t IidOf(Category category) { return static_cast<std::uint64_t>(category) + 1; }
std::uint64_t IidOf(Arg arg) { return static_cast<std::uint64_t>(arg) + 1; }

// True the first time.
bool Mark(std::vector<bool>& seen, std::size_t at) {
  if (seen[at]) return false;
  seen[at] = true;
  return true;
}

}  // namespace

PerfettoStream::PerfettoStream(const trace::Trace& trace, std::uint32_t sequence, std::ostream& out)
    : trace_(trace), sequence_(sequence), out_(out) {
  buffer_.reserve(kPiece + (std::size_t{4} << 10));
  ClearState();
}

void PerfettoStream::Flush() {
  out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
}

void PerfettoStream::Emit() {
  pbf_writer(buffer_).add_message(proto::kPacket, packet_);
  if (buffer_.size() >= kPiece) Flush();
}

void PerfettoStream::Packet(std::uint32_t field, const std::string& data, std::uint64_t time_ns,
                            std::uint32_t flags) {
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint64(proto::kTimestamp, time_ns);
  packet.add_uint32(proto::kSequenceId, sequence_);
  packet.add_uint32(proto::kSequenceFlags, flags);
  if (!interned_.empty()) packet.add_message(proto::kInternedData, interned_);
  packet.add_message(field, data);
  interned_.clear();
  Emit();
}

void PerfettoStream::ClearState() {
  names_.assign(trace_.strings.size(), false);
  texts_ = functions_ = names_;
  frames_.assign(trace_.stack_frames.size(), false);
  stacks_ = frames_;
  interned_bytes_ = 0;
  std::string defaults, interned;
  pbf_writer(defaults).add_uint32(proto::kTimestampClockId, proto::kBoottime);
  interned_.clear();
  for (std::size_t i = 0; i < std::size(kCategoryNames); ++i) {
    AddInterned(proto::kEventCategories, i + 1, kCategoryNames[i]);
  }
  for (std::size_t i = 0; i < std::size(kArgNames); ++i) {
    AddInterned(proto::kDebugAnnotationNames, i + 1, kArgNames[i]);
  }
  // Every frame lies in one "library".
  AddInterned(proto::kMappingPaths, 1, "python");
  part_.clear();
  pbf_writer mapping(part_);
  mapping.add_uint64(proto::kIid, 1);
  mapping.add_uint64(proto::kMappingPathIds, 1);
  pbf_writer(interned_).add_message(proto::kMappings, part_);
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint32(proto::kSequenceId, sequence_);
  packet.add_uint32(proto::kSequenceFlags, proto::kStateCleared);
  packet.add_message(proto::kDefaults, defaults);
  packet.add_message(proto::kInternedData, interned_);
  if (first_) packet.add_bool(proto::kFirstPacketOnSequence, true);
  first_ = false;
  interned_.clear();
  Emit();
}

void PerfettoStream::AddInterned(std::uint32_t field, std::uint64_t iid, std::string_view text) {
  part_.clear();
  pbf_writer part(part_);
  part.add_uint64(proto::kIid, iid);
  part.add_string(proto::kText, ValidUtf8(text));
  pbf_writer(interned_).add_message(field, part_);
  interned_bytes_ += text.size();
}

void PerfettoStream::Clocks(std::uint64_t trace_ns, std::uint64_t realtime_ns) {
  std::string snapshot, clock;
  const auto add = [&](std::uint32_t id, std::uint64_t time) {
    clock.clear();
    pbf_writer fields(clock);
    fields.add_uint32(proto::kClockId, id);
    fields.add_uint64(proto::kClockTimestamp, time);
    pbf_writer(snapshot).add_message(proto::kClocks, clock);
  };
  add(proto::kBoottime, trace_ns);
  add(proto::kRealtime, realtime_ns);
  pbf_writer(snapshot).add_enum(proto::kPrimaryTraceClock, proto::kBoottime);
  Packet(proto::kClockSnapshot, snapshot, trace_ns, 0);
}

void PerfettoStream::Descriptor(const std::string& fields) {
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint32(proto::kSequenceId, sequence_);
  packet.add_message(proto::kTrackDescriptor, fields);
  Emit();
}

void PerfettoStream::Begin(proto::TrackEventType type, std::uint64_t track, std::uint64_t time_ns) {
  if (interned_bytes_ > kMostInterned) ClearState();
  event_.clear();
  event_time_ns_ = time_ns;
  pbf_writer event(event_);
  event.add_enum(proto::kType, static_cast<std::int32_t>(type));
  event.add_uint64(proto::kTrackUuid, track);
}

void PerfettoStream::End() {
  Packet(proto::kTrackEvent, event_, event_time_ns_, proto::kNeedsState);
}

void PerfettoStream::Name(StringId name) {
  if (Mark(names_, static_cast<std::uint32_t>(name))) {
    AddInterned(proto::kEventNames, IidOf(name), trace_.Name(name));
  }
  pbf_writer(event_).add_uint64(proto::kNameIid, IidOf(name));
}

void PerfettoStream::Name(std::string_view name) {
  pbf_writer(event_).add_string(proto::kName, ValidUtf8(name));
}

void PerfettoStream::InCategory(Category category) {
  pbf_writer(event_).add_uint64(proto::kCategoryIids, IidOf(category));
}

void PerfettoStream::Flow(std::uint64_t id) { pbf_writer(event_).add_fixed64(proto::kFlowIds, id); }
void PerfettoStream::EndFlow(std::uint64_t id) {
  pbf_writer(event_).add_fixed64(proto::kTerminatingFlowIds, id);
}
void PerfettoStream::Count(std::int64_t value) {
  pbf_writer(event_).add_int64(proto::kCounterValue, value);
}
void PerfettoStream::Count(double value) {
  pbf_writer(event_).add_double(proto::kDoubleCounterValue, value);
}

void PerfettoStream::Annotate(Arg arg, std::int64_t value) {
  part_.clear();
  pbf_writer part(part_);
  part.add_uint64(proto::kAnnotationNameIid, IidOf(arg));
  part.add_int64(proto::kIntValue, value);
  pbf_writer(event_).add_message(proto::kDebugAnnotations, part_);
}

void PerfettoStream::Annotate(Arg arg, double value) {
  part_.clear();
  pbf_writer part(part_);
  part.add_uint64(proto::kAnnotationNameIid, IidOf(arg));
  part.add_double(proto::kDoubleValue, value);
  pbf_writer(event_).add_message(proto::kDebugAnnotations, part_);
}

void PerfettoStream::Annotate(Arg arg, std::string_view text) {
  part_.clear();
  pbf_writer part(part_);
  part.add_uint64(proto::kAnnotationNameIid, IidOf(arg));
  part.add_string(proto::kStringValue, ValidUtf8(text));
  pbf_writer(event_).add_message(proto::kDebugAnnotations, part_);
}

void PerfettoStream::Annotate(Arg arg, StringId text) {
  if (text == StringId::kEmpty) return;
  if (Mark(texts_, static_cast<std::uint32_t>(text))) {
    AddInterned(proto::kDebugAnnotationStringValues, IidOf(text), trace_.Name(text));
  }
  part_.clear();
  pbf_writer part(part_);
  part.add_uint64(proto::kAnnotationNameIid, IidOf(arg));
  part.add_uint64(proto::kStringValueIid, IidOf(text));
  pbf_writer(event_).add_message(proto::kDebugAnnotations, part_);
}

// A stack is named by its innermost frame: the tree holds each stack once.
void PerfettoStream::InternFrames(std::uint32_t leaf) {
  const trace::StackFrames& frames = trace_.stack_frames;
  std::vector<std::uint32_t> stack;
  for (std::uint32_t at = leaf; at != 0 && stack.size() < kMostDepth; at = frames.caller[at]) {
    stack.push_back(at);
    if (!Mark(frames_, at)) continue;
    const StringId place = frames.place[at];
    if (Mark(functions_, static_cast<std::uint32_t>(place))) {
      AddInterned(proto::kFunctionNames, IidOf(place), trace_.Name(place));
    }
    part_.clear();
    pbf_writer part(part_);
    part.add_uint64(proto::kIid, at);
    part.add_uint64(proto::kFunctionNameId, IidOf(place));
    part.add_uint64(proto::kMappingId, 1);
    pbf_writer(interned_).add_message(proto::kFrames, part_);
  }
  part_.clear();
  pbf_writer part(part_);
  part.add_uint64(proto::kIid, leaf);
  for (auto at = stack.rbegin(); at != stack.rend(); ++at) part.add_uint64(proto::kFrameIds, *at);
  pbf_writer(interned_).add_message(proto::kCallstacks, part_);
  interned_bytes_ += stack.size() * 4;
}

void PerfettoStream::Sample(std::int64_t pid, std::int64_t tid, std::uint32_t frame,
                            std::uint64_t time_ns, std::uint64_t weight) {
  if (interned_bytes_ > kMostInterned) ClearState();
  if (Mark(stacks_, frame)) InternFrames(frame);
  event_.clear();
  pbf_writer sample(event_);
  sample.add_uint32(proto::kSamplePid, static_cast<std::uint32_t>(pid));
  sample.add_uint32(proto::kSampleTid, static_cast<std::uint32_t>(tid));
  sample.add_uint64(proto::kSampleCallstackIid, frame);
  sample.add_enum(proto::kCpuMode, proto::kModeUser);
  sample.add_uint64(proto::kTimebaseCount, weight);
  Packet(proto::kPerfSample, event_, time_ns, proto::kNeedsState);
}

}  // namespace hone::exporter
