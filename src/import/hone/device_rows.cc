// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "import/cuda_words.h"
#include "import/hone/session.h"

namespace hone::importer::hone_file {
namespace {

using trace::WorkKind;

constexpr std::int64_t kNoStream = 0xFFFFFFFF;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE

std::int64_t DeviceId(std::int64_t id) { return id >= 0 && id < INT32_MAX ? id : -1; }
Bytes SizeOf(std::int64_t bytes) { return std::max<Bytes>(bytes, -1); }

std::uint32_t Dimension(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, UINT32_MAX));
}

// Blocks and warps per SM as the PyTorch profiler writes them, where the file knows the GPU.
void AddPerSm(const trace::Device& device, trace::LaunchConfig& launch) {
  const double blocks = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  const double threads = static_cast<double>(launch.block[0]) * launch.block[1] * launch.block[2];
  if (device.sm_count <= 0 || blocks <= 0 || threads <= 0) return;
  launch.blocks_per_sm = static_cast<float>(blocks / device.sm_count);
  const int warp = device.warp_size > 0 ? device.warp_size : 32;
  launch.warps_per_sm = static_cast<float>(blocks * threads / warp / device.sm_count);
}

struct KernelColumns {
  Numbers grid[3], block[3], registers, static_shared, dynamic_shared;
  bool has_shared;

  explicit KernelColumns(const wire::Chunk& chunk)
      : grid{{chunk.Integers("grid_x")}, {chunk.Integers("grid_y")}, {chunk.Integers("grid_z")}},
        block{
            {chunk.Integers("block_x")}, {chunk.Integers("block_y")}, {chunk.Integers("block_z")}},
        registers{chunk.Integers("registers"), -1},
        static_shared{chunk.Integers("static_shared")},
        dynamic_shared{chunk.Integers("dynamic_shared")},
        has_shared(!static_shared.values.empty() || !dynamic_shared.values.empty()) {}

  trace::LaunchConfig At(std::size_t row) const {
    trace::LaunchConfig launch;
    for (int i = 0; i < 3; ++i) {
      launch.grid[i] = Dimension(grid[i][row]);
      launch.block[i] = Dimension(block[i][row]);
    }
    launch.registers_per_thread =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(registers[row], -1, INT32_MAX));
    if (has_shared) {
      launch.shared_memory_bytes = std::clamp<std::int64_t>(static_shared[row], 0, INT32_MAX) +
                                   std::clamp<std::int64_t>(dynamic_shared[row], 0, INT32_MAX);
    }
    return launch;
  }
};

}  // namespace

bool DeviceReader::Take(const wire::Chunk& chunk) {
  if (chunk.table() == "kernels") {
    TakeKernels(chunk);
  } else if (chunk.table() == "copies") {
    TakeCopies(chunk);
  } else if (chunk.table() == "sets") {
    TakeSets(chunk);
  } else if (chunk.table() == "graphs") {
    TakeGraphs(chunk);
  } else if (chunk.table() == "syncs") {
    TakeSyncs(chunk);
  } else if (chunk.table() == "devices") {
    TakeDevices(chunk);
  } else {
    return false;
  }
  return true;
}

DeviceReader::Place DeviceReader::PlaceOf(const wire::Chunk& chunk) {
  return {{chunk.Integers("start")},      {chunk.Integers("duration")},
          {chunk.Integers("device"), -1}, {chunk.Integers("context"), -1},
          {chunk.Integers("stream"), -1}, {chunk.Integers("correlation")},
          {chunk.Integers("graph")},      {chunk.Integers("graph_node")}};
}

bool DeviceReader::Start(const Place& place, std::size_t row, trace::WorkInput& work) {
  const std::int64_t device = DeviceId(place.device[row]);
  // All ones is CUPTI's word for it, too, which recorders used to pass on.
  const bool has_start = place.start[row] != 0 && place.start[row] != -1;
  if (!has_start && place.duration[row] == 0) {
    session_.builder.trace().losses.Add(LossKind::kBadTime, 1, 0,
                                        "device work whose time was not collected");
    return false;
  }
  Session::Time time;
  if (!session_.ReadSpan(place.start[row], place.duration[row], time)) return false;
  work.start_ns = time.start_ns;
  work.duration_ns = time.duration_ns;
  work.stream = session_.builder.StreamFor(device, place.stream[row], session_.process);
  work.correlation = place.correlation[row];
  if (place.context[row] >= 0) session_.context_devices[place.context[row]] = device;
  if (place.graph[row] != 0 || place.node[row] != 0) {
    work.graph = session_.builder.Node({place.graph[row], place.node[row]});
  }
  return true;
}

void DeviceReader::TakeKernels(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"start", "duration", "name"})) return;
  const Place place = PlaceOf(chunk);
  const KernelColumns columns(chunk);
  const Numbers name{chunk.Integers("name")};
  const trace::Trace& trace = session_.builder.trace();
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    trace::WorkInput work;
    if (!Start(place, i, work)) continue;
    work.name = session_.dictionary.KernelName(name[i], session_.builder);
    trace::LaunchConfig launch = columns.At(i);
    AddPerSm(trace.devices[trace.streams[work.stream].device], launch);
    work.launch = session_.builder.Launch(launch);
    session_.builder.Add(work);
  }
}

void DeviceReader::TakeCopies(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"start", "duration"})) return;
  const Place place = PlaceOf(chunk);
  const Numbers bytes{chunk.Integers("bytes"), -1}, kind{chunk.Integers("copy_kind")};
  const Numbers source{chunk.Integers("source_kind")}, target{chunk.Integers("target_kind")};
  const Numbers target_device{chunk.Integers("target_device"), -1};
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    trace::WorkInput work;
    if (!Start(place, i, work)) continue;
    work.kind = WorkKind::kCopy;
    work.bytes = SizeOf(bytes[i]);
    work.direction = CuptiDirection(kind[i]);
    // Between two GPUs, whatever the call was named.
    if (work.direction == trace::CopyDirection::kDeviceToDevice && target_device[i] >= 0 &&
        target_device[i] != place.device[i]) {
      work.direction = trace::CopyDirection::kPeerToPeer;
    }
    work.source = CuptiMemory(source[i]);
    work.target = CuptiMemory(target[i]);
    work.name = session_.builder.Intern(CopyName(work.direction, work.source, work.target));
    session_.builder.Add(work);
  }
}

void DeviceReader::TakeSets(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"start", "duration"})) return;
  const Place place = PlaceOf(chunk);
  const Numbers bytes{chunk.Integers("bytes"), -1}, kind{chunk.Integers("memory_kind")};
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    trace::WorkInput work;
    if (!Start(place, i, work)) continue;
    work.kind = WorkKind::kSet;
    work.bytes = SizeOf(bytes[i]);
    work.target = CuptiMemory(kind[i]);
    work.name = session_.builder.Intern(SetName(work.target));
    session_.builder.Add(work);
  }
}

void DeviceReader::TakeGraphs(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"start", "duration"})) return;
  const Place place = PlaceOf(chunk);
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    trace::WorkInput work;
    if (!Start(place, i, work)) continue;
    work.kind = WorkKind::kGraph;
    work.name = session_.builder.Intern("CUDA graph " + std::to_string(place.graph[i]));
    session_.builder.trace().losses.Add(LossKind::kGraphOpaque, 1, work.duration_ns);
    session_.builder.Add(work);
  }
}

void DeviceReader::TakeSyncs(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"start", "duration"})) return;
  const Numbers start{chunk.Integers("start")}, duration{chunk.Integers("duration")};
  const Numbers type{chunk.Integers("type")}, context{chunk.Integers("context"), -1};
  const Numbers stream{chunk.Integers("stream"), -1}, correlation{chunk.Integers("correlation")};
  const Numbers event{chunk.Integers("event")};
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    Session::Time time;
    if (!session_.ReadSpan(start[i], duration[i], time)) continue;
    Sync sync{{}, context[i], stream[i]};
    sync.input.start_ns = time.start_ns;
    sync.input.duration_ns = time.duration_ns;
    sync.input.name = session_.builder.Intern(CuptiSync(type[i]));
    sync.input.correlation = correlation[i];
    sync.input.event_id = std::max<std::int64_t>(event[i], 0);
    syncs_.push_back(sync);
  }
}

void DeviceReader::Finish() {
  for (Sync& sync : syncs_) {
    const auto device = session_.context_devices.find(sync.context);
    if (sync.stream >= 0 && sync.stream < kNoStream && device != session_.context_devices.end()) {
      sync.input.stream = session_.builder.StreamFor(device->second, sync.stream, session_.process);
    }
    session_.builder.Add(sync.input);
  }
}

void DeviceReader::TakeDevices(const wire::Chunk& chunk) {
  const auto ids = chunk.Integers("device");
  const auto keys = chunk.Texts("key"), values = chunk.Texts("value");
  if (ids.empty() || keys.empty() || values.empty()) return;
  trace::Trace& trace = session_.builder.trace();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    constexpr std::int64_t kMostDevices = 1024;
    if (ids[i] < 0 || ids[i] >= kMostDevices) continue;
    trace::Device& device = trace.devices[session_.builder.DeviceFor(ids[i])];
    if (keys[i] == "name") {
      device.name = values[i];
      continue;
    }
    std::int64_t number = -1;
    std::from_chars(values[i].data(), values[i].data() + values[i].size(), number);
    if (number < 0) continue;
    const int small = number < INT32_MAX ? static_cast<int>(number) : -1;
    if (keys[i] == "memory_bytes") device.memory_bytes = number;
    if (keys[i] == "compute_major") device.compute_major = small;
    if (keys[i] == "compute_minor") device.compute_minor = small;
    if (keys[i] == "sm_count") device.sm_count = small;
    if (keys[i] == "warp_size") device.warp_size = small;
    if (keys[i] == "max_threads_per_sm") device.max_threads_per_sm = small;
    if (keys[i] == "max_threads_per_block") device.max_threads_per_block = small;
    if (keys[i] == "registers_per_sm") device.registers_per_sm = number;
    if (keys[i] == "shared_memory_per_sm") device.shared_memory_per_sm = number;
  }
}

}  // namespace hone::importer::hone_file
