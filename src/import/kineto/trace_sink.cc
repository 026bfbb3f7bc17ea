// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/trace_sink.h"

#include <algorithm>
#include <charconv>

#include "import/kineto/copy_name.h"
#include "import/kineto/metadata.h"
#include "import/kineto/scalar.h"
#include "import/kineto/window_reader.h"

namespace hone::importer::kineto {
namespace {

using trace::SliceKind;

// "[132, 1, 1]" -> three numbers; missing ones stay 0.
void ParseTriple(std::string_view json, std::uint32_t (&out)[3]) {
  const char* at = json.data();
  const char* const end = at + json.size();
  for (std::uint32_t& value : out) {
    while (at != end && (*at < '0' || *at > '9')) ++at;
    at = std::from_chars(at, end, value).ptr;
  }
}

// The number in "stream 7" or "7".
std::int64_t TrailingNumber(std::string_view text) {
  const std::size_t digit = text.find_last_not_of("0123456789") + 1;
  return ParseInteger(text.substr(digit)).value_or(-1);
}

std::int64_t IdNumber(const IdValue& id) {
  return id.is_number() ? id.number : TrailingNumber(id.text);
}

}  // namespace

TraceSink::TraceSink(trace::Builder& builder)
    : builder_(builder), trace_(builder.trace()), tracks_(builder) {}

Category TraceSink::CategoryOf(std::string_view text) {
  // Files alternate between a handful of categories: the last few are remembered.
  for (const auto& [name, category] : recent_categories_) {
    if (name == text) return category;
  }
  const Category category = FindCategory(text);
  auto& slot = recent_categories_[next_recent_];
  next_recent_ = (next_recent_ + 1) % recent_categories_.size();
  slot = {std::string(text), category};
  return category;
}

StringId TraceSink::InternRaw(std::string_view raw) {
  const StringId id = builder_.Intern(raw);
  if (raw.find('\\') == std::string_view::npos) return id;
  const auto [found, added] = cleaned_.try_emplace(static_cast<std::uint32_t>(id), id);
  if (added) found->second = builder_.Intern(Unescape(raw));
  return found->second;
}

// "<built-in method add_ of Tensor object at 0x7f88d9945680>" differs at every call; without the
// address it is a name.
StringId TraceSink::InternPythonName(std::string_view raw) {
  const std::size_t address = raw.find(" at 0x");
  if (address == std::string_view::npos) return InternRaw(raw);
  std::size_t end = address + 6;
  while (end < raw.size() && std::isxdigit(static_cast<unsigned char>(raw[end])) != 0) ++end;
  scratch_.assign(raw.substr(0, address));
  scratch_.append(raw.substr(end));
  return InternRaw(scratch_);
}

std::uint16_t TraceSink::ThreadOf(const RawEvent& event) {
  const auto known = [](const IdValue& id) { return !id.present() || id.is_number(); };
  if (known(event.pid) && known(event.tid)) {
    return builder_.ThreadFor(event.pid.number, event.tid.number);
  }
  const auto text = [](const IdValue& id) {
    return id.is_number() ? std::to_string(id.number) : std::string(id.text);
  };
  return builder_.ThreadFor(text(event.pid), text(event.tid));
}

// Device records sit on "process" = device and "thread" = stream; newer files say both in args.
std::uint16_t TraceSink::StreamOf(const RawEvent& event) {
  const std::int64_t device = event.device != INT64_MIN ? event.device : IdNumber(event.pid);
  const std::int64_t stream = event.stream != INT64_MIN ? event.stream : IdNumber(event.tid);
  return tracks_.StreamFor(event.pid, device, stream);
}

std::uint32_t TraceSink::CollectiveOf(const RawEvent& event) {
  if (!event.has_collective) return 0;
  trace::Collective collective;
  collective.name = InternRaw(event.collective_name);
  collective.dtype = InternRaw(event.dtype);
  collective.in_elements = event.in_elements;
  collective.out_elements = event.out_elements;
  collective.group_size = event.group_size;
  collective.in_split = InternRaw(event.in_split);
  collective.out_split = InternRaw(event.out_split);
  collective.group_name = InternRaw(event.group_name);
  collective.group_description = InternRaw(event.group_description);
  collective.group_ranks = InternRaw(event.group_ranks);
  collective.sequence = event.collective_sequence;
  collective.source_rank = event.source_rank;
  collective.target_rank = event.target_rank;
  return builder_.CollectiveRow(collective);
}

std::uint32_t TraceSink::DetailOf(const RawEvent& event) {
  trace::OpDetail detail;
  detail.dims = builder_.Intern(event.dims);
  detail.types = builder_.Intern(event.types);
  detail.strides = builder_.Intern(event.strides);
  detail.concrete = builder_.Intern(event.concrete);
  detail.module = InternRaw(event.module);
  detail.stack = InternRaw(event.stack);
  detail.collective = CollectiveOf(event);
  detail.fwd_thread =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(event.fwd_thread, -1, INT32_MAX));
  if (event.stream != INT64_MIN) detail.stream = event.stream;
  return builder_.Detail(detail);
}

std::uint32_t TraceSink::LaunchOf(const RawEvent& event) {
  trace::LaunchConfig launch;
  ParseTriple(event.grid, launch.grid);
  ParseTriple(event.block, launch.block);
  launch.registers_per_thread =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(event.registers, -1, INT32_MAX));
  launch.shared_memory_bytes = event.shared_memory;
  launch.blocks_per_sm = static_cast<float>(event.blocks_per_sm);
  launch.warps_per_sm = static_cast<float>(event.warps_per_sm);
  launch.occupancy_pct = static_cast<float>(event.occupancy);
  return builder_.Launch(launch);
}

trace::SliceInput TraceSink::SliceOf(const RawEvent& event, SliceKind kind) {
  trace::SliceInput slice;
  slice.start_ns = event.time_ns;
  slice.duration_ns = event.duration_ns;
  slice.name = kind == SliceKind::kPython ? InternPythonName(event.name) : InternRaw(event.name);
  slice.kind = kind;
  slice.thread = ThreadOf(event);
  switch (kind) {
    case SliceKind::kOp:
    case SliceKind::kAnnotation:
      slice.id = event.external_id;
      slice.link = kind == SliceKind::kOp ? event.sequence : 0;
      slice.detail = DetailOf(event);
      break;
    case SliceKind::kApi:
      slice.id = event.correlation;
      slice.link = event.external_id;
      break;
    case SliceKind::kPython:
      slice.id = event.python_id;
      slice.link = event.python_parent;
      break;
    case SliceKind::kGraphNode:
      slice.id = event.graph_node_id;
      slice.link = event.original_node_id;
      break;
    default: break;
  }
  return slice;
}

void TraceSink::AddWork(const RawEvent& event, Category category) {
  trace::WorkInput work;
  work.start_ns = event.time_ns;
  work.duration_ns = event.duration_ns;
  work.name = InternRaw(event.name);
  work.stream = StreamOf(event);
  work.correlation = event.correlation;
  work.external_id = event.external_id;
  if (event.graph_id != 0 || event.graph_node_id != 0) {
    work.graph = builder_.Node({event.graph_id, event.graph_node_id});
  }
  if (category == Category::kKernel) {
    work.launch = LaunchOf(event);
    work.collective = CollectiveOf(event);
  } else if (category == Category::kGraph) {
    work.kind = trace::WorkKind::kGraph;
  } else {
    work.kind = category == Category::kCopy ? trace::WorkKind::kCopy : trace::WorkKind::kSet;
    if (event.bytes != INT64_MIN) work.bytes = event.bytes;
    const auto [found, added] = copies_.try_emplace(static_cast<std::uint32_t>(work.name));
    if (added) {
      const CopyName name = ParseCopyName(builder_.trace().strings[work.name]);
      found->second = {name.direction, name.source, name.target};
    }
    work.direction = found->second.direction;
    work.source = found->second.source;
    work.target = found->second.target;
  }
  builder_.Add(work);
}

void TraceSink::AddSync(const RawEvent& event) {
  trace::SyncInput sync;
  sync.start_ns = event.time_ns;
  sync.duration_ns = event.duration_ns;
  sync.name = InternRaw(event.name);
  // Streams of synchronization records may be parked at stream + 1,000,000 to keep viewers happy.
  if (event.stream >= 0) sync.stream = StreamOf(event);
  sync.correlation = event.correlation;
  sync.wait_on_stream = event.wait_on_stream;
  sync.event_id = event.event_id;
  sync.event_record_correlation = event.event_record_correlation;
  builder_.Add(sync);
}

bool TraceSink::HasUsableTime(RawEvent& event) {
  if (event.has_time && (event.has_duration || event.phase != 'X')) {
    return builder_.Admit(event.time_ns, event.duration_ns, event.name);
  }
  trace_.losses.Add(LossKind::kBadTime, 1, 0, event.name);
  return false;
}

void TraceSink::OnComplete(RawEvent& event) {
  if (!HasUsableTime(event)) return;
  const Category category = CategoryOf(event.category);
  if (category != Category::kUnknown && category != Category::kNone) ++recognized_;
  if (const auto kind = HostKindOf(category, event.name)) {
    if (*kind == SliceKind::kOther) CountUnknown(event);
    return builder_.Add(SliceOf(event, *kind));
  }
  switch (category) {
    case Category::kKernel:
    case Category::kCopy:
    case Category::kSet:
    case Category::kGraph: return AddWork(event, category);
    case Category::kDeviceAnnotation:
      return builder_.AddDeviceAnnotation(event.time_ns, event.duration_ns, InternRaw(event.name),
                                          StreamOf(event));
    case Category::kSync: return AddSync(event);
    case Category::kEvent:
      return builder_.AddEventRecord(event.time_ns, StreamOf(event), event.correlation,
                                     event.event_id);
    default: return;
  }
}

// An event without a category is named by itself.
void TraceSink::CountUnknown(const RawEvent& event) {
  trace_.losses.Add(LossKind::kUnknownEvent, 1, 0,
                    event.category.empty() ? std::string(event.name) + ", without a category"
                                           : std::string(event.category));
}

// "B" and "E" are the two ends of what "X" says at once; they nest on each thread. Profilers write
// the host's side so at most.
void TraceSink::OnBegin(RawEvent& event) {
  if (!event.has_time) return trace_.losses.Add(LossKind::kBadTime, 1, 0, event.name);
  const Category category = CategoryOf(event.category);
  const auto kind = HostKindOf(category, event.name);
  const bool unknown = !kind || *kind == SliceKind::kOther;
  if (!kind) {
    trace_.losses.Add(LossKind::kUnknownEvent, 1, 0, "phase B");
  } else if (unknown) {
    CountUnknown(event);
  }
  const std::uint16_t thread = ThreadOf(event);
  if (open_.size() <= thread) open_.resize(thread + std::size_t{1});
  open_[thread].push_back(
      {SliceOf(event, kind.value_or(SliceKind::kOther)), !unknown, kind.has_value()});
}

void TraceSink::OnEnd(RawEvent& event) {
  if (!event.has_time) return trace_.losses.Add(LossKind::kBadTime, 1, 0, event.name);
  const std::uint16_t thread = ThreadOf(event);
  if (open_.size() <= thread || open_[thread].empty()) {
    return trace_.losses.Add(LossKind::kUnknownEvent, 1, 0, "phase E without its B");
  }
  OpenSlice begun = std::move(open_[thread].back());
  open_[thread].pop_back();
  trace::SliceInput& slice = begun.slice;
  // Out of limits the difference could overflow; Admit refuses such a start.
  const bool near =
      slice.start_ns > -trace::Builder::kLatest && slice.start_ns < trace::Builder::kLatest &&
      event.time_ns > -trace::Builder::kLatest && event.time_ns < trace::Builder::kLatest;
  slice.duration_ns = near ? event.time_ns - slice.start_ns : 0;
  if (!begun.kept || !builder_.Admit(near ? slice.start_ns : INT64_MAX, slice.duration_ns,
                                     trace_.strings[slice.name])) {
    return;
  }
  if (begun.recognized) ++recognized_;
  builder_.Add(slice);
}

void TraceSink::CountUnclosed() {
  for (const std::vector<OpenSlice>& thread : open_) {
    for (const OpenSlice& open : thread) {
      trace_.losses.Add(LossKind::kUnclosedRange, 1, 0, trace_.strings[open.slice.name]);
    }
  }
}

// torch_npu writes what an Ascend device did without a category, on a track of this name. Read as
// slices of the host it would be in nobody's sum.
void TraceSink::CountUnreadDevice() {
  constexpr std::string_view kTrack = "Ascend Hardware";
  std::uint64_t tasks = 0;
  for (trace::RowId i = 0; i < trace_.host.size(); ++i) {
    if (trace_.host.kind[i] != SliceKind::kOther) continue;
    const trace::Thread& thread = trace_.threads[trace_.host.thread[i]];
    if (trace_.processes[thread.process].name == kTrack) ++tasks;
  }
  trace_.losses.Add(LossKind::kUnreadDevice, tasks, 0, kTrack);
}

void TraceSink::Settle() {
  tracks_.Settle();
  CountUnclosed();
  CountUnreadDevice();
}

bool TraceSink::of_autograd_profiler() const {
  return std::any_of(trace_.processes.begin(), trace_.processes.end(), [](const auto& process) {
    return process.pid == -1 && process.name == "CPU functions";
  });
}

void TraceSink::OnInstant(RawEvent& event) {
  if (!HasUsableTime(event)) return;
  if (event.name == "[memory]" || (event.name == "Memory" && event.bytes != INT64_MIN)) {
    ++recognized_;
    trace::MemoryInput memory;
    memory.time_ns = event.time_ns;
    memory.thread = ThreadOf(event);
    // c10::DeviceType: 0 CPU, 1 CUDA (and HIP under its CUDA name); others are accelerators too.
    memory.device_type = event.device_type == 0   ? trace::MemoryDevice::kHost
                         : event.device_type == 1 ? trace::MemoryDevice::kGpu
                                                  : trace::MemoryDevice::kOther;
    memory.device_id =
        static_cast<std::int16_t>(std::clamp<std::int64_t>(event.device_id, -1, INT16_MAX));
    memory.address = event.address;
    memory.bytes = event.bytes == INT64_MIN ? 0 : event.bytes;
    memory.total_allocated = event.total_allocated;
    memory.total_reserved = event.total_reserved;
    builder_.Add(memory);
    return;
  }
  const bool whole_trace = !event.pid.is_number();
  builder_.AddInstant(event.time_ns, InternRaw(event.name),
                      whole_trace ? std::uint16_t{UINT16_MAX} : ThreadOf(event));
}

void TraceSink::OnCounter(RawEvent& event) {
  if (!HasUsableTime(event)) return;
  const StringId track = InternRaw(event.name);
  for (const auto& [key, token] : event.scalars) {
    if (const auto value = ParseDouble(token)) {
      builder_.AddCounter(event.time_ns, track, InternRaw(key), *value);
    }
  }
}

void TraceSink::OnNameRecord(const RawEvent& event) {
  if (event.name != "process_name" && event.name != "thread_name") return;
  if (!event.pid.is_number()) return;
  for (const auto& [key, token] : event.scalars) {
    if (key != "name") continue;
    const std::string name = Unescape(Unquote(token));
    if (event.name == "thread_name" && event.tid.is_number()) {
      trace_.threads[builder_.ThreadFor(event.pid.number, event.tid.number)].name = name;
    } else if (event.name == "process_name") {
      trace_.processes[builder_.ProcessFor(event.pid.number)].name = name;
    }
  }
}

void TraceSink::OnEvent(RawEvent& event) {
  ++events_;
  switch (event.phase) {
    case 'X': return OnComplete(event);
    case 'B': return OnBegin(event);
    case 'E': return OnEnd(event);
    case 'i':
    case 'I': return OnInstant(event);
    case 'C': return OnCounter(event);
    case 'M': return OnNameRecord(event);
    case 's':
    case 'f':
    case 't': {
      const Category category = CategoryOf(event.category);
      if (category == Category::kFlow && event.has_time && event.id.is_number()) {
        builder_.AddFlow(event.id.number, event.time_ns, ThreadOf(event), event.phase == 'f');
      }
      return;
    }
    case 0:
      // An empty object ends some files; anything with a name and no phase is lost.
      if (!event.name.empty()) {
        trace_.losses.Add(LossKind::kUnreadableEvent, 1, 0, "an event without a phase");
      }
      return;
    default: trace_.losses.Add(LossKind::kUnknownEvent, 1, 0, std::string("phase ") + event.phase);
  }
}

void TraceSink::OnStray() {
  ++events_;
  trace_.losses.Add(LossKind::kUnreadableEvent, 1, 0,
                    "an element of traceEvents that is no object");
}

void TraceSink::OnMetadata(std::string_view key, std::string_view json) {
  // {"data": {"traceEvents": […]}}: services hand out traces inside an answer of theirs.
  if (events_ == 0 && !inside_ && json.starts_with('{') &&
      json.find("\"traceEvents\"") != std::string_view::npos) {
    inside_ = true;
    std::string document(json);
    document.append(kWindowPadding, ' ');
    EventParser parser;
    parser.Index(std::string_view(document).substr(0, json.size()));
    if (!parser.Walk(*this).complete) {
      trace_.losses.Add(LossKind::kUnreadableMetadata, 1, 0, key);
    }
    inside_ = false;
    return;
  }
  ReadMetadata(key, json, builder_);
}

}  // namespace hone::importer::kineto
