// SPDX-License-Identifier: Apache-2.0
// What ran on the GPUs: kernels, copies, sets, and CUDA graphs recorded as one piece.
#include <algorithm>
#include <array>
#include <string>

#include "import/cuda_words.h"
#include "import/nsys/session.h"

namespace hone::importer::nsys {
namespace {

// Every table of device work lists these first.
enum Column { kStart, kEnd, kPid, kDevice, kContext, kStream, kCorrelation, kFirstOwn };
constexpr Session::PlaceColumns kPlace{kPid, kDevice, kContext, kStream};
#define HONE_NSYS_PLACE \
  "start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId"

bool StartWork(Session& session, const Row& row, trace::WorkInput& work) {
  Span span;
  if (!session.ReadSpan(row, kStart, kEnd, span)) return false;
  work.start_ns = span.start_ns;
  work.duration_ns = span.duration_ns;
  work.stream = session.StreamOf(row, kPlace);
  work.correlation = row.Int(kCorrelation);
  return true;
}

Bytes SizeOf(const Row& row, int column) { return std::max<Bytes>(row.Int(column, -1), -1); }

std::uint32_t Dimension(const Row& row, int column) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(row.Int(column), 0, UINT32_MAX));
}

enum KernelColumn {
  kDemangled = kFirstOwn,
  kShort,
  kMangled,
  kPlainName,
  kGrid,
  kBlock = kGrid + 3,
  kRegisters = kBlock + 3,
  kStaticShared,
  kDynamicShared,
  kNode,
  kGraph,
};

std::uint32_t LaunchOf(Session& session, const Row& row, std::uint16_t stream) {
  trace::LaunchConfig launch;
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = Dimension(row, kGrid + i);
    launch.block[i] = Dimension(row, kBlock + i);
  }
  launch.registers_per_thread =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(row.Int(kRegisters, -1), -1, INT32_MAX));
  if (row.Has(kStaticShared) || row.Has(kDynamicShared)) {
    constexpr std::int64_t kMost = INT32_MAX;
    launch.shared_memory_bytes = std::clamp<std::int64_t>(row.Int(kStaticShared), 0, kMost) +
                                 std::clamp<std::int64_t>(row.Int(kDynamicShared), 0, kMost);
  }
  // Blocks and warps per SM as the PyTorch profiler writes them, where the file knows the GPU.
  const trace::Trace& trace = session.builder.trace();
  const trace::Device& device = trace.devices[trace.streams[stream].device];
  const double blocks = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  const double threads = static_cast<double>(launch.block[0]) * launch.block[1] * launch.block[2];
  if (device.sm_count > 0 && blocks > 0 && threads > 0) {
    launch.blocks_per_sm = static_cast<float>(blocks / device.sm_count);
    const int warp = device.warp_size > 0 ? device.warp_size : 32;
    launch.warps_per_sm = static_cast<float>(blocks * threads / warp / device.sm_count);
  }
  return session.builder.Launch(launch);
}

StringId KernelName(Session& session, const Row& row) {
  for (const int column : {kDemangled, kShort, kMangled, kPlainName}) {
    const StringId name = session.strings.Intern(row, column, session.builder.trace().strings);
    if (name != StringId::kEmpty) return name;
  }
  return StringId::kEmpty;
}

void ReadKernels(Session& session) {
  session.database.Scan(
      "CUPTI_ACTIVITY_KIND_KERNEL",
      {HONE_NSYS_PLACE, "demangledName", "shortName", "mangledName", "name", "gridX", "gridY",
       "gridZ", "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
       "dynamicSharedMemory", "graphNodeId", "graphId"},
      [&](const Row& row) {
        trace::WorkInput work;
        if (!StartWork(session, row, work)) return;
        work.name = KernelName(session, row);
        work.launch = LaunchOf(session, row, work.stream);
        work.graph = session.builder.Node({row.Int(kGraph), row.Int(kNode)});
        session.builder.Add(work);
      });
}

// Names of copies and sets, formatted once each.
class WorkNames {
 public:
  explicit WorkNames(trace::Builder& builder) : builder_(builder) {}
  StringId Copy(const trace::WorkInput& work) {
    StringId& name =
        copies_[static_cast<std::size_t>(work.direction)][static_cast<std::size_t>(work.source)]
               [static_cast<std::size_t>(work.target)];
    if (name == StringId::kEmpty) {
      name = builder_.Intern(CopyName(work.direction, work.source, work.target));
    }
    return name;
  }
  StringId Set(trace::MemoryKind target) {
    StringId& name = sets_[static_cast<std::size_t>(target)];
    if (name == StringId::kEmpty) name = builder_.Intern(SetName(target));
    return name;
  }

 private:
  using Kinds = std::array<StringId, 6>;
  trace::Builder& builder_;
  std::array<std::array<Kinds, 6>, 6> copies_{};
  Kinds sets_{};
};

enum CopyColumn {
  kBytes = kFirstOwn,
  kCopyNode,
  kKind,
  kSource,
  kTarget,
  kSourceDevice,
  kTargetDevice
};

void ReadCopies(Session& session, WorkNames& names) {
  const auto memory = [&](const Row& row, int column) {
    return session.words.Memory(row.Int(column, -1));
  };
  session.database.Scan("CUPTI_ACTIVITY_KIND_MEMCPY",
                        {HONE_NSYS_PLACE, "bytes", "graphNodeId", "copyKind", "srcKind", "dstKind",
                         "srcDeviceId", "dstDeviceId"},
                        [&](const Row& row) {
                          trace::WorkInput work;
                          if (!StartWork(session, row, work)) return;
                          work.kind = trace::WorkKind::kCopy;
                          work.bytes = SizeOf(row, kBytes);
                          work.direction = session.words.Direction(row.Int(kKind));
                          // Between two GPUs, whatever the call was named.
                          if (work.direction == trace::CopyDirection::kDeviceToDevice &&
                              row.Has(kSourceDevice) && row.Has(kTargetDevice) &&
                              row.Int(kSourceDevice) != row.Int(kTargetDevice)) {
                            work.direction = trace::CopyDirection::kPeerToPeer;
                          }
                          work.source = memory(row, kSource);
                          work.target = memory(row, kTarget);
                          work.name = names.Copy(work);
                          work.graph = session.builder.Node({0, row.Int(kCopyNode)});
                          session.builder.Add(work);
                        });
}

void ReadSets(Session& session, WorkNames& names) {
  session.database.Scan("CUPTI_ACTIVITY_KIND_MEMSET",
                        {HONE_NSYS_PLACE, "bytes", "graphNodeId", "memKind"}, [&](const Row& row) {
                          trace::WorkInput work;
                          if (!StartWork(session, row, work)) return;
                          work.kind = trace::WorkKind::kSet;
                          work.bytes = SizeOf(row, kBytes);
                          work.target = session.words.Memory(row.Int(kKind, -1));
                          work.name = names.Set(work.target);
                          work.graph = session.builder.Node({0, row.Int(kCopyNode)});
                          session.builder.Add(work);
                        });
}

// Whole graphs: nsys records one row a launch unless --cuda-graph-trace=node was given.
void ReadGraphs(Session& session) {
  session.database.Scan("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                        {HONE_NSYS_PLACE, "graphId", "graphExecId"}, [&](const Row& row) {
                          trace::WorkInput work;
                          if (!StartWork(session, row, work)) return;
                          const std::int64_t graph = row.Int(kFirstOwn, row.Int(kFirstOwn + 1));
                          work.kind = trace::WorkKind::kGraph;
                          work.name = session.builder.Intern("CUDA graph " + std::to_string(graph));
                          work.graph = session.builder.Node({graph, 0});
                          session.builder.trace().losses.Add(LossKind::kGraphOpaque, 1,
                                                             work.duration_ns);
                          session.builder.Add(work);
                        });
}

}  // namespace

void ReadDeviceWork(Session& session) {
  ReadKernels(session);
  WorkNames names(session.builder);
  ReadCopies(session, names);
  ReadSets(session, names);
  ReadGraphs(session);
}

}  // namespace hone::importer::nsys
