// SPDX-License-Identifier: Apache-2.0
// What the export says about itself and its machine, and the names of threads and processes.
#include <algorithm>
#include <charconv>

#include "import/nsys/diagnostics.h"
#include "import/nsys/session.h"

namespace hone::importer::nsys {
namespace {

std::int64_t ToNumber(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void ReadExport(Session& session) {
  trace::TraceInfo& info = session.builder.trace().info;
  info.recorder = "Nsight Systems";
  bool since_1970 = false;
  std::int64_t shift = 0;
  session.database.Scan("META_DATA_EXPORT", {"name", "value"}, [&](const Row& row) {
    const std::string name(row.Text(0));
    const std::string_view value = row.Text(1);
    if (name == "EXPORT_PRODUCT_VERSION" && !value.empty()) {
      info.recorder = "Nsight Systems " + std::string(value.substr(0, 64));
    } else if (name == "EXPORT_PARAM_INPUT_FILE") {
      info.trace_name = value;
    } else if (name == "EXPORT_PARAM_TIME_NORMALIZE") {
      since_1970 = value == "true";
    } else if (name == "EXPORT_PARAM_TIME_SHIFT") {
      shift = ToNumber(value);
    }
  });
  session.database.Scan("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](const Row& row) {
    const std::int64_t start = row.Int(0);
    constexpr std::int64_t kFarFuture = std::int64_t{1} << 62;
    if (start > 0 && start < kFarFuture && !since_1970) info.base_time_ns = start;
  });
  if (info.base_time_ns > 0 && shift > -kSecond * 1'000'000 && shift < kSecond * 1'000'000) {
    info.base_time_ns -= shift;
  }
  session.database.Scan("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [&](const Row& row) {
    if (row.Text(0) == "CudaDriverVersion") info.cuda_driver_version = row.Text(1);
  });
}

int SmallInt(const Row& row, int column) {
  const std::int64_t value = row.Int(column, -1);
  return value > 0 && value < INT32_MAX ? static_cast<int>(value) : -1;
}

void ReadDevices(Session& session) {
  // Which GPU a process means by "device 0".
  session.database.Scan("TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"}, [&](const Row& row) {
    if (!row.Has(0) || !row.Has(1) || !row.Has(2)) return;
    session.MapGpu(row.Int(0), row.Int(1), std::clamp<std::int64_t>(row.Int(2), -1, INT32_MAX));
  });
  enum Column {
    kId,
    kCudaDevice,
    kName,
    kChip,
    kMemory,
    kSms,
    kWarp,
    kMajor,
    kMinor,
    kSmMajor,
    kSmMinor,
    kWarpsPerSm,
    kThreadsPerBlock,
    kRegistersPerSm,
    kSharedPerSm,
    kCapability
  };
  session.database.Scan(
      "TARGET_INFO_GPU",
      {"id", "cuDevice", "name", "chipName", "totalMemory", "smCount", "threadsPerWarp",
       "computeMajor", "computeMinor", "smMajor", "smMinor", "maxWarpsPerSm", "maxThreadsPerBlock",
       "maxRegistersPerSm", "maxShmemPerSm", "computeCapability"},
      [&](const Row& row) {
        // Kernels name the CUDA device unless the map above translates them.
        const int id_column = !session.HasGpuMap() && row.Has(kCudaDevice) ? kCudaDevice : kId;
        const std::int64_t id = row.Int(id_column, -1);
        if (id < 0 || id >= INT32_MAX) return;
        trace::Trace& trace = session.builder.trace();
        trace::Device& device = trace.devices[session.builder.DeviceFor(id)];
        device.name = row.Text(row.Has(kName) ? kName : kChip);
        if (row.Int(kMemory) > 0) device.memory_bytes = row.Int(kMemory);
        device.sm_count = SmallInt(row, kSms);
        device.warp_size = SmallInt(row, kWarp);
        if (row.Has(kMajor) || row.Has(kSmMajor)) {
          device.compute_major = SmallInt(row, row.Has(kMajor) ? kMajor : kSmMajor);
          const std::int64_t minor = row.Int(row.Has(kMajor) ? kMinor : kSmMinor);
          device.compute_minor = static_cast<int>(std::clamp<std::int64_t>(minor, 0, 99));
        } else if (row.Has(kCapability)) {  // "9.0"
          const std::string_view text = row.Text(kCapability);
          const std::size_t dot = std::min(text.find('.'), text.size());
          device.compute_major =
              static_cast<int>(std::clamp<std::int64_t>(ToNumber(text.substr(0, dot)), -1, 99));
          device.compute_minor = static_cast<int>(std::clamp<std::int64_t>(
              dot < text.size() ? ToNumber(text.substr(dot + 1)) : 0, 0, 99));
        }
        const int warps = SmallInt(row, kWarpsPerSm);
        if (warps > 0 && warps < 4096) {
          device.max_threads_per_sm = warps * std::clamp(device.warp_size, 32, 64);
        }
        device.max_threads_per_block = SmallInt(row, kThreadsPerBlock);
        device.registers_per_sm = SmallInt(row, kRegistersPerSm);
        device.shared_memory_per_sm = SmallInt(row, kSharedPerSm);
      });
}

// Its columns are named after the fields of CUPTI's device record.
void ReadOldDevices(Session& session) {
  enum Column { kDevice, kId, kName, kMemory, kSms, kWarp, kMajor, kMinor, kWarpsPerSm };
  session.database.Scan(
      kOldGpuTable,
      {"deviceId", "id", "name", "globalMemorySize", "numMultiprocessors", "numThreadsPerWarp",
       "computeCapabilityMajor", "computeCapabilityMinor", "maxWarpsPerMultiprocessor",
       "maxThreadsPerBlock", "maxRegistersPerMultiprocessor", "maxSharedMemoryPerMultiprocessor"},
      [&](const Row& row) {
        const std::int64_t id = row.Int(row.Has(kDevice) ? kDevice : kId, -1);
        if (id < 0 || id >= INT32_MAX) return;
        trace::Trace& trace = session.builder.trace();
        trace::Device& device = trace.devices[session.builder.DeviceFor(id)];
        device.name = row.Text(kName);
        if (row.Int(kMemory) > 0) device.memory_bytes = row.Int(kMemory);
        device.sm_count = SmallInt(row, kSms);
        device.warp_size = SmallInt(row, kWarp);
        device.compute_major = SmallInt(row, kMajor);
        device.compute_minor = static_cast<int>(std::clamp<std::int64_t>(row.Int(kMinor), 0, 99));
        const int warps = SmallInt(row, kWarpsPerSm);
        if (warps > 0 && warps < 4096) {
          device.max_threads_per_sm = warps * std::clamp(device.warp_size, 32, 64);
        }
        device.max_threads_per_block = SmallInt(row, kWarpsPerSm + 1);
        device.registers_per_sm = SmallInt(row, kWarpsPerSm + 2);
        device.shared_memory_per_sm = SmallInt(row, kWarpsPerSm + 3);
      });
}

void ReadContexts(Session& session) {
  session.database.Scan(
      "TARGET_INFO_CUDA_CONTEXT_INFO", {"processId", "deviceId", "contextId"}, [&](const Row& row) {
        if (!session.joins_by_process || !row.Has(0) || !row.Has(1) || !row.Has(2)) return;
        const std::int64_t device = row.Int(1);
        if (device < 0 || device >= INT32_MAX) return;
        session.MapContext(session.builder.ProcessFor(row.Int(0)), row.Int(2),
                           session.GpuOf(row.Int(0), device));
      });
}

void ReadDiagnostics(Session& session) {
  session.database.Scan("DIAGNOSTIC_EVENT", {"text"}, [&](const Row& row) {
    const std::string_view text = row.Text(0);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // so that counts can be added up
    session.builder.trace().losses.Add(LossKind::kDroppedByRecorder,
                                       std::min(DroppedRecords(text), kMost), 0,
                                       text.substr(0, 200));
  });
}

}  // namespace

void ReadMetadata(Session& session) {
  ReadExport(session);
  session.words.Load(session.database);
  ReadDevices(session);
  if (!session.database.HasTable("TARGET_INFO_GPU")) ReadOldDevices(session);
  ReadContexts(session);
  ReadDiagnostics(session);
}

void NameThreads(Session& session) {
  // The file names every thread of the machine's process tree; only those with events matter.
  trace::Trace& trace = session.builder.trace();
  std::unordered_map<std::uint64_t, std::size_t> threads, processes;
  for (std::size_t i = 0; i < trace.processes.size(); ++i) {
    processes.emplace(static_cast<std::uint64_t>(trace.processes[i].pid), i);
  }
  for (std::size_t i = 0; i < trace.threads.size(); ++i) {
    const trace::Thread& thread = trace.threads[i];
    const std::int64_t pid = trace.processes[thread.process].pid;
    if (pid < 0 || thread.tid < 0) continue;
    threads.emplace(static_cast<std::uint64_t>(pid << 24 | thread.tid), i);
  }
  session.database.Scan("ThreadNames", {"globalTid", "nameId"}, [&](const Row& row) {
    if (!row.Has(0)) return;
    const std::int64_t id = row.Int(0);
    const auto found = threads.find(static_cast<std::uint64_t>(PidOf(id) << 24 | TidOf(id)));
    if (found != threads.end()) {
      trace.threads[found->second].name = session.strings.Resolve(row, 1);
    }
  });
  session.database.Scan("PROCESSES", {"globalPid", "pid", "name"}, [&](const Row& row) {
    const std::int64_t pid = row.Has(0) ? PidOf(row.Int(0)) : row.Int(1, -1);
    const auto found = processes.find(static_cast<std::uint64_t>(pid));
    if (found != processes.end()) {
      trace.processes[found->second].name = session.strings.Resolve(row, 2);
    }
  });
}

}  // namespace hone::importer::nsys
