// SPDX-License-Identifier: Apache-2.0
// Trace: what one recorded file says, as columnar tables. The centre of the house: every importer
// builds one, every analysis reads one, nothing changes it after trace::Finish (trace/finish.h).
//
// Rows are named by 32-bit RowIds, strings by StringIds of the trace's own pool. Times are
// nanoseconds on the file's own clock; add info.base_time_ns for time since the Unix epoch.
// 0 stands for "absent" in id columns unless said otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/column.h"
#include "base/loss.h"
#include "base/string_pool.h"
#include "base/units.h"

namespace hone::trace {

using RowId = std::uint32_t;
inline constexpr RowId kNoRow = UINT32_MAX;

enum class Format : std::uint8_t { kKineto, kNsys, kHone };
const char* FormatName(Format format);

// What the file says about itself. Empty strings and negative numbers mean "not in the file".
// What a step took while `hone run` recorded it and right after, when it recorded nothing.
struct TimedSteps {
  Nanos recorded_ns = 0, bare_ns = 0;
  std::int64_t bare_steps = 0;  // 0: not timed

  // As a part of the recorded step; only where it was timed.
  double bare_part() const {
    return static_cast<double>(bare_ns) / static_cast<double>(recorded_ns);
  }
};

struct TraceInfo {
  std::string path;
  Format format = Format::kKineto;
  Nanos base_time_ns = 0;
  std::string trace_name;
  std::string recorder;  // "PyTorch profiler", "Nsight Systems 2026.2.1"
  std::string cuda_runtime_version, cuda_driver_version, cupti_version, nccl_version;
  // torch.profiler settings; -1 unknown, 0 off, 1 on.
  int with_stack = -1, record_shapes = -1, profile_memory = -1, with_flops = -1, with_modules = -1;
  TimedSteps timed_steps;
  std::int64_t rank = -1, world_size = -1;
  std::string backend;               // of torch.distributed
  std::uint64_t input_bytes = 0;     // on disk
  std::uint64_t raw_bytes = 0;       // after decompression
  std::uint64_t events_seen = 0;     // records in the file, kept or not
  bool compression_damaged = false;  // the answer covers only what stands before the damage
};

struct ProcessGroup {
  std::string name, description, backend;
  std::vector<std::int64_t> ranks;  // as far as the file lists them
  std::int64_t size = -1;
};

struct Process {
  std::int64_t pid = -1;  // -1 when the file names it by text only
  std::string name;       // "python3"; for text pids, that text
};

struct Thread {
  RowId process = kNoRow;
  std::int64_t tid = -1;
  std::string name;
  RowId first_slice = 0, last_slice = 0;  // [first, last) in Trace::host, set by Finish
};

struct Device {
  std::int64_t id = -1;
  std::string name;  // "NVIDIA H200"
  Bytes memory_bytes = -1;
  int compute_major = -1, compute_minor = -1;
  int sm_count = -1, warp_size = -1;
  int max_threads_per_sm = -1, max_threads_per_block = -1;
  std::int64_t registers_per_sm = -1, shared_memory_per_sm = -1;
};

struct Stream {
  RowId device = kNoRow;
  RowId process = kNoRow;  // where the format says so (nsys); else kNoRow
  std::int64_t id = -1;    // as the vendor numbers it
};

enum class SliceKind : std::uint8_t {
  kOp,          // an operator of the framework: aten::mm, autograd nodes, Triton launches
  kAnnotation,  // record_function, NVTX range, ProfilerStep#N, Optimizer.step#…, DataLoader
  kApi,         // CUDA/HIP runtime or driver call
  kPython,      // a Python or built-in function
  kOs,          // an operating-system call (nsys OSRT)
  kOverhead,    // the profiler's own work
  kOther,
  kGraphNode,  // the moment at which a node of a CUDA graph was made; no length
};
inline constexpr std::size_t kSliceKindCount = 8;

// Everything that happens on host threads. After Finish: sorted by (thread, start, longest first),
// so a thread is one contiguous range, a parent stands before its children, and anything inherited
// from ancestors takes one forward pass. Never walk up the parent chain per row: depth is input.
struct HostSlices {
  Column<Nanos> start_ns, duration_ns;
  Column<StringId> name;
  Column<SliceKind> kind;
  Column<std::uint16_t> thread;  // index into Trace::threads
  Column<std::int64_t> id;       // op, annotation: External id; API: correlation; Python: id;
                                 // graph node: node id
  Column<std::int64_t> link;     // op: sequence number (-1 none); API: External id;
                                 // Python: parent id; annotation: 0; graph node: the node it
                                 // was copied from when the graph was instantiated (0: none)
  Column<std::uint32_t> detail;  // row of Trace::op_details; 0: none
  Column<RowId> parent;          // nearest slice around it on its thread; kNoRow at the root

  std::size_t size() const { return start_ns.size(); }
  Nanos end_ns(RowId i) const { return start_ns[i] + duration_ns[i]; }
};

// Arguments of operators, one row per distinct combination; row 0 is "none". The strings are the
// JSON text of the file ("[[64, 3, 224, 224], []]"), parsed only by the analyses that need them.
struct OpDetail {
  StringId dims = StringId::kEmpty, types = StringId::kEmpty, strides = StringId::kEmpty;
  StringId concrete = StringId::kEmpty;  // "Concrete Inputs"
  StringId module = StringId::kEmpty;    // "Module Hierarchy"
  StringId stack = StringId::kEmpty;     // "Call stack", frames separated by ";"
  std::uint32_t collective = 0;          // row of Trace::collectives
  std::int32_t fwd_thread = -1;          // "Fwd thread id": > 0 marks a backward operator
  std::int64_t stream = -1;              // "stream", which Triton launches carry
  friend bool operator==(const OpDetail&, const OpDetail&) = default;
};

enum class WorkKind : std::uint8_t {
  kKernel,
  kCopy,
  kSet,
  kGraph,  // a whole CUDA graph recorded as one piece (nsys default)
};
enum class CopyDirection : std::uint8_t {
  kUnknown,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kPeerToPeer,
  kHostToHost
};
enum class MemoryKind : std::uint8_t { kUnknown, kPageable, kPinned, kDevice, kManaged, kArray };

// Everything that runs on a device. After Finish: sorted by start (longer first on a tie).
struct DeviceWork {
  Column<Nanos> start_ns, duration_ns;
  Column<StringId> name;
  Column<WorkKind> kind;
  Column<std::uint16_t> stream;       // index into Trace::streams
  Column<std::int64_t> correlation;   // 0: none
  Column<std::int64_t> external_id;   // 0: none
  Column<Bytes> bytes;                // copies and sets; -1 unknown
  Column<CopyDirection> direction;    // copies
  Column<MemoryKind> source, target;  // copies; for sets, target
  Column<std::uint32_t> launch;       // row of Trace::launches; 0: none
  Column<std::uint32_t> graph;        // row of Trace::graph_nodes; 0: not from a graph
  Column<std::uint32_t> collective;   // row of Trace::collectives; 0: none
  Column<RowId> api;                  // launching call in Trace::host; kNoRow: not in the file
  Column<RowId> op;                   // innermost kOp around the launch; kNoRow: none

  std::size_t size() const { return start_ns.size(); }
  Nanos end_ns(RowId i) const { return start_ns[i] + duration_ns[i]; }
};

// Launch geometry of kernels, one row per distinct combination; row 0 is "none".
struct LaunchConfig {
  std::uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
  std::int32_t registers_per_thread = -1;
  std::int64_t shared_memory_bytes = -1;
  float blocks_per_sm = -1, warps_per_sm = -1;
  float occupancy_pct = -1;  // "est. achieved occupancy %"
  friend bool operator==(const LaunchConfig&, const LaunchConfig&) = default;
};

struct GraphNode {
  std::int64_t graph_id = 0, node_id = 0;  // 0: not given
  friend bool operator==(const GraphNode&, const GraphNode&) = default;
};

// One collective as its metadata describes it, one row per distinct combination; row 0 is "none".
struct Collective {
  StringId name = StringId::kEmpty;   // "allreduce", "_allgather_base"
  StringId dtype = StringId::kEmpty;  // "Float", "BFloat16"
  std::int64_t in_elements = -1, out_elements = -1, group_size = -1;
  StringId in_split = StringId::kEmpty, out_split = StringId::kEmpty;
  StringId group_name = StringId::kEmpty, group_description = StringId::kEmpty;
  StringId group_ranks = StringId::kEmpty;  // text, may be cut by the writer: "[0, 1, ...]"
  std::int64_t sequence = -1, source_rank = -1, target_rank = -1;
  friend bool operator==(const Collective&, const Collective&) = default;
};

// Synchronization as the device side records it ("cuda_sync"). Host calls that block are kApi.
struct SyncRecords {
  Column<Nanos> start_ns, duration_ns;
  Column<StringId> name;         // "Stream Sync", "Event Sync", "Stream Wait Event", …
  Column<std::uint16_t> stream;  // UINT16_MAX: whole context
  Column<std::int64_t> correlation;
  Column<std::int64_t> wait_on_stream;            // -1: none
  Column<std::int64_t> event_id;                  // nsys: eventSyncId, which is unique; 0: none
  Column<std::int64_t> event_record_correlation;  // call that recorded the event; 0: none
  std::size_t size() const { return start_ns.size(); }
};

// Event records (cudaEventRecord as the device saw it).
struct EventRecords {
  Column<Nanos> time_ns;  // 0: not collected
  Column<std::uint16_t> stream;
  Column<std::int64_t> correlation, event_id;
  std::size_t size() const { return time_ns.size(); }
};

enum class MemoryDevice : std::uint8_t { kHost, kGpu, kOther };

// Allocator events ("[memory]"). After Finish: sorted by time.
struct MemoryEvents {
  Column<Nanos> time_ns;
  Column<std::uint16_t> thread;
  Column<MemoryDevice> device_type;
  Column<std::int16_t> device_id;
  Column<std::uint64_t> address;
  Column<Bytes> bytes;                            // negative: freed
  Column<Bytes> total_allocated, total_reserved;  // after the event; -1: not given
  Column<std::uint32_t>
      frame;  // that called for it, innermost; row of Trace::stack_frames, 0: none
  std::size_t size() const { return time_ns.size(); }
};

struct Counters {
  Column<Nanos> time_ns;
  Column<StringId> track, series;
  Column<double> value;
  std::size_t size() const { return time_ns.size(); }
};

// Call stacks as a tree, each place once: a line of a function, called from `caller`. Row 0 is
// "none" and the caller of outermost frames; a caller stands before its callees.
struct StackFrames {
  Column<std::uint32_t> caller;
  Column<StringId> function;  // "train.py(12): main", the line of its definition
  Column<StringId> place;     // "train.py(46): main", the line that ran
  std::size_t size() const { return caller.size(); }
};

enum class ThreadState : std::uint8_t { kUnknown, kRunning, kWaiting };

// Moments at which a recorder looked where a thread was. After Finish: sorted by time.
struct StackSamples {
  Column<Nanos> time_ns;
  Column<std::uint16_t> thread;
  Column<std::uint32_t> frame;  // innermost; row of Trace::stack_frames
  Column<ThreadState> state;
  Column<Nanos> period_ns;  // what this sample stands for
  std::size_t size() const { return time_ns.size(); }
};

struct Instants {
  Column<Nanos> time_ns;
  Column<StringId> name;
  Column<std::uint16_t> thread;  // UINT16_MAX: whole trace
  std::size_t size() const { return time_ns.size(); }
};

// Forward→backward arrows ("fwdbwd"). Launch arrows are not kept: correlation ids say the same.
struct Flows {
  Column<std::int64_t> id;
  Column<Nanos> time_ns;
  Column<std::uint16_t> thread;
  Column<std::uint8_t> finish;  // 0: start, 1: finish
  std::size_t size() const { return id.size(); }
};

// Annotations as the device side sees them ("gpu_user_annotation").
struct DeviceAnnotations {
  Column<Nanos> start_ns, duration_ns;
  Column<StringId> name;
  Column<std::uint16_t> stream;
  std::size_t size() const { return start_ns.size(); }
};

struct Trace {
  Trace() : op_details(1), launches(1), graph_nodes(1), collectives(1) {
    stack_frames.caller.push_back(0);
    stack_frames.function.push_back(StringId::kEmpty);
    stack_frames.place.push_back(StringId::kEmpty);
  }
  Trace(Trace&&) = default;
  Trace& operator=(Trace&&) = default;

  TraceInfo info;
  StringPool strings;
  LossLog losses;

  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Device> devices;
  std::vector<Stream> streams;
  std::vector<ProcessGroup> process_groups;

  HostSlices host;
  DeviceWork device;
  SyncRecords syncs;
  EventRecords events;
  MemoryEvents memory;
  Counters counters;
  StackFrames stack_frames;
  StackSamples samples;
  Instants instants;
  Flows flows;
  DeviceAnnotations device_annotations;

  std::vector<OpDetail> op_details;
  std::vector<LaunchConfig> launches;
  std::vector<GraphNode> graph_nodes;
  std::vector<Collective> collectives;

  // Frees the tables of rows. Strings, losses, devices and what the file says about itself stay;
  // row ids kept elsewhere name nothing any more.
  void ReleaseRows();

  std::string_view Name(StringId id) const { return strings[id]; }
  std::string_view HostName(RowId i) const { return strings[host.name[i]]; }
  std::string_view DeviceName(RowId i) const { return strings[device.name[i]]; }
};

}  // namespace hone::trace
