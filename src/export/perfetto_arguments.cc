// SPDX-License-Identifier: Apache-2.0
// What slices say about themselves: debug annotations, named as the PyTorch profiler names them.
#include <fmt/format.h>

#include "export/perfetto_rank.h"

namespace hone::exporter {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

namespace {

const char* DirectionName(trace::CopyDirection direction) {
  switch (direction) {
    case trace::CopyDirection::kHostToDevice: return "host to device";
    case trace::CopyDirection::kDeviceToHost: return "device to host";
    case trace::CopyDirection::kDeviceToDevice: return "device to device";
    case trace::CopyDirection::kPeerToPeer: return "peer to peer";
    case trace::CopyDirection::kHostToHost: return "host to host";
    case trace::CopyDirection::kUnknown: break;
  }
  return nullptr;
}

}  // namespace

void PerfettoRank::CollectiveArguments(std::uint32_t row) {
  if (row == 0) return;
  const trace::Collective& c = trace_.collectives[row];
  const auto number = [&](Arg arg, std::int64_t value) {
    if (value >= 0) stream_.Annotate(arg, value);
  };
  stream_.Annotate(Arg::kCollective, c.name);
  stream_.Annotate(Arg::kDtype, c.dtype);
  number(Arg::kInElements, c.in_elements);
  number(Arg::kOutElements, c.out_elements);
  number(Arg::kGroupSize, c.group_size);
  stream_.Annotate(Arg::kGroupName, c.group_name);
  stream_.Annotate(Arg::kGroupDescription, c.group_description);
  stream_.Annotate(Arg::kGroupRanks, c.group_ranks);
  number(Arg::kCollectiveSequence, c.sequence);
  number(Arg::kSourceRank, c.source_rank);
  number(Arg::kTargetRank, c.target_rank);
}

void PerfettoRank::DetailArguments(std::uint32_t row) {
  if (row == 0) return;
  const trace::OpDetail& detail = trace_.op_details[row];
  if (detail.fwd_thread >= 0) stream_.Annotate(Arg::kFwdThread, std::int64_t{detail.fwd_thread});
  stream_.Annotate(Arg::kDims, detail.dims);
  stream_.Annotate(Arg::kTypes, detail.types);
  stream_.Annotate(Arg::kStrides, detail.strides);
  stream_.Annotate(Arg::kConcrete, detail.concrete);
  stream_.Annotate(Arg::kModule, detail.module);
  stream_.Annotate(Arg::kStack, detail.stack);
  if (detail.stream >= 0) stream_.Annotate(Arg::kStream, detail.stream);
  CollectiveArguments(detail.collective);
}

void PerfettoRank::HostArguments(RowId i) {
  const trace::HostSlices& host = trace_.host;
  const std::int64_t id = host.id[i], link = host.link[i];
  switch (host.kind[i]) {
    case SliceKind::kOp:
    case SliceKind::kAnnotation:
      if (id != 0) stream_.Annotate(Arg::kExternalId, id);
      if (host.kind[i] == SliceKind::kOp && link >= 0) stream_.Annotate(Arg::kSequence, link);
      DetailArguments(host.detail[i]);
      break;
    case SliceKind::kApi:
      if (link != 0) stream_.Annotate(Arg::kExternalId, link);
      if (id != 0) stream_.Annotate(Arg::kCorrelation, id);
      break;
    case SliceKind::kPython:
      if (id != 0) stream_.Annotate(Arg::kPythonId, id);
      if (link != 0) stream_.Annotate(Arg::kPythonParent, link);
      break;
    case SliceKind::kGraphNode:
      if (id != 0) stream_.Annotate(Arg::kGraphNode, id);
      break;
    default: break;
  }
}

void PerfettoRank::LaunchArguments(std::uint32_t row) {
  if (row == 0) return;
  const trace::LaunchConfig& launch = trace_.launches[row];
  const auto triple = [&](Arg arg, const std::uint32_t(&value)[3]) {
    if ((value[0] | value[1] | value[2]) == 0) return;
    stream_.Annotate(arg,
                     std::string_view(fmt::format("[{}, {}, {}]", value[0], value[1], value[2])));
  };
  const auto real = [&](Arg arg, float value) {
    if (value >= 0) stream_.Annotate(arg, static_cast<double>(value));
  };
  triple(Arg::kGrid, launch.grid);
  triple(Arg::kBlock, launch.block);
  if (launch.registers_per_thread >= 0) {
    stream_.Annotate(Arg::kRegisters, std::int64_t{launch.registers_per_thread});
  }
  if (launch.shared_memory_bytes >= 0) {
    stream_.Annotate(Arg::kSharedMemory, launch.shared_memory_bytes);
  }
  real(Arg::kBlocksPerSm, launch.blocks_per_sm);
  real(Arg::kWarpsPerSm, launch.warps_per_sm);
  real(Arg::kOccupancy, launch.occupancy_pct);
}

void PerfettoRank::WorkArguments(RowId i) {
  const trace::DeviceWork& device = trace_.device;
  const trace::Stream& stream = trace_.streams[device.stream[i]];
  if (device.external_id[i] != 0) stream_.Annotate(Arg::kExternalId, device.external_id[i]);
  if (device.correlation[i] != 0) stream_.Annotate(Arg::kCorrelation, device.correlation[i]);
  if (device.op[i] != kNoRow) stream_.Annotate(Arg::kOp, trace_.host.name[device.op[i]]);
  stream_.Annotate(Arg::kDevice, trace_.devices[stream.device].id);
  stream_.Annotate(Arg::kStream, stream.id);
  if (device.bytes[i] >= 0) stream_.Annotate(Arg::kBytes, device.bytes[i]);
  if (const char* direction = DirectionName(device.direction[i])) {
    stream_.Annotate(Arg::kDirection, std::string_view(direction));
  }
  LaunchArguments(device.launch[i]);
  if (device.graph[i] != 0) {
    const trace::GraphNode& node = trace_.graph_nodes[device.graph[i]];
    if (node.graph_id != 0) stream_.Annotate(Arg::kGraphId, node.graph_id);
    if (node.node_id != 0) stream_.Annotate(Arg::kGraphNode, node.node_id);
  }
  CollectiveArguments(device.collective[i]);
}

}  // namespace hone::exporter
