// SPDX-License-Identifier: Apache-2.0
#include "analyze/collective_source.h"

#include <simdjson.h>

#include <algorithm>

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;
using trace::Trace;

// "gloo:all_reduce": torch.distributed names its annotations "<backend>:<collective>". Of Gloo and
// MPI the annotation spans the collective itself; of NCCL and its kin only the launch.
bool IsHostCollective(std::string_view name) {
  return (name.starts_with("gloo:") || name.starts_with("mpi:")) &&
         name.find(' ') == std::string_view::npos && KindFromName(name) != CollectiveKind::kUnknown;
}

// Named after a collective: torch.distributed's annotations and operators, NCCL's NVTX ranges.
bool IsMark(std::string_view name) {
  constexpr std::string_view kOrigins[] = {"nccl", "rccl", "ccl:", "c10d", "ucc:", "gloo:", "mpi:"};
  return std::any_of(std::begin(kOrigins), std::end(kOrigins),
                     [&](std::string_view origin) {
                       return name.find(origin) != std::string_view::npos;
                     }) &&
         KindFromName(name) != CollectiveKind::kUnknown;
}

struct Tensor {
  std::int64_t elements = -1;
  DataType type;
};

// The one tensor of "[[8, 1024]]" and "[\"float\"]". More than one, or anything else: unknown.
Tensor OnlyTensor(std::string_view dims, std::string_view types) {
  Tensor tensor;
  simdjson::dom::parser parser;
  simdjson::dom::array shapes, names, shape;
  if (parser.parse(dims.data(), dims.size()).get(shapes) || shapes.size() != 1) return tensor;
  if (shapes.at(0).get(shape)) return tensor;
  std::int64_t elements = 1;
  for (const auto dim : shape) {
    std::int64_t size = 0;
    if (dim.get(size) || size < 0 || __builtin_mul_overflow(elements, size, &elements)) {
      return tensor;
    }
  }
  std::string_view name;
  if (parser.parse(types.data(), types.size()).get(names) || names.size() != 1 ||
      names.at(0).get(name)) {
    return tensor;
  }
  tensor.type = DataTypeFromText(name);
  tensor.elements = elements;
  return tensor;
}

Known<double> MessageBytes(CollectiveKind kind, std::int64_t in_elements, std::int64_t out_elements,
                           std::int64_t group_size, DataType type) {
  const Known<double> elements = MessageElements(kind, in_elements, out_elements, group_size);
  if (!elements) return elements;
  if (type.bytes < 0) return Known<double>::Absent("type unknown");
  return *elements * type.bytes;
}

// NCCL has one kernel for all point-to-point traffic and a generic one for the rest.
bool KernelTellsLittle(CollectiveKind kind) {
  return kind == CollectiveKind::kUnknown || kind == CollectiveKind::kSendRecv;
}

}  // namespace

CollectiveSource::CollectiveSource(const Trace& trace) : trace_(trace) {
  for (std::size_t g = 0; g < trace.process_groups.size(); ++g) {
    group_rows_.try_emplace(trace.process_groups[g].name, g);
  }
  const auto& host = trace.host;
  enum : std::uint8_t { kUnseen, kPlain, kMark, kHost };
  std::vector<std::uint8_t> seen(trace.strings.size(), kUnseen);  // by name
  metadata_.resize(host.size(), 0);
  marks_.resize(host.size(), kNoRow);
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    if (parent != kNoRow) {
      metadata_[i] = metadata_[parent];
      marks_[i] = marks_[parent];
    }
    if (host.kind[i] != SliceKind::kOp && host.kind[i] != SliceKind::kAnnotation) continue;
    const std::uint32_t collective = trace.op_details[host.detail[i]].collective;
    if (collective != 0) metadata_[i] = collective;
    std::uint8_t& state = seen[static_cast<std::size_t>(host.name[i])];
    if (state == kUnseen) {
      const std::string_view name = trace.HostName(i);
      state = IsHostCollective(name) ? kHost : IsMark(name) ? kMark : kPlain;
    }
    if (state == kPlain) continue;
    marks_[i] = i;
    if (first_mark_ == kNoRow) first_mark_ = i;
    if (state == kHost && host.kind[i] == SliceKind::kAnnotation) host_collectives_.push_back(i);
  }
}

std::uint32_t CollectiveSource::DescribeWork(RowId work) {
  const auto& device = trace_.device;
  const RowId slice = device.api[work] != kNoRow ? device.api[work] : device.op[work];
  std::uint32_t collective = device.collective[work];
  if (collective == 0 && slice != kNoRow) collective = metadata_[slice];
  return Describe(collective, slice == kNoRow ? kNoRow : marks_[slice], device.name[work]);
}

std::uint32_t CollectiveSource::DescribeSlice(RowId slice) {
  return Describe(metadata_[slice], slice, StringId::kEmpty);
}

std::uint32_t CollectiveSource::Describe(std::uint32_t collective, RowId mark, StringId kernel) {
  const std::uint32_t mark_key =
      mark == kNoRow
          ? 0
          : 1 + mark_index_.IdOf(PairKey(static_cast<std::uint32_t>(trace_.host.name[mark]),
                                         trace_.host.detail[mark]));
  // Metadata and mark first, then the kernel's name.
  const std::uint32_t origin = mark_index_.IdOf(PairKey(collective, mark_key) | 1ULL << 63);
  const std::uint32_t id = index_.IdOf(PairKey(origin, static_cast<std::uint32_t>(kernel)));
  if (id < descriptions_.size()) return id;

  const std::string_view name = trace_.Name(kernel);
  CollectiveDescription out;
  out.message_bytes = Known<double>::Absent("not recorded");
  out.kind = KindFromName(name);
  const DataType named = DataTypeFromKernel(name, out.kind);
  out.dtype = named.name;
  if (KernelTellsLittle(out.kind) && mark != kNoRow) out.kind = KindFromName(trace_.HostName(mark));
  if (collective != 0) {
    FillFromMetadata(trace_.collectives[collective], out);
  } else {
    if (mark != kNoRow) FillFromMark(mark, out);
    FillGroup(out);
  }
  descriptions_.push_back(std::move(out));
  return id;
}

void CollectiveSource::FillFromMetadata(const trace::Collective& metadata,
                                        CollectiveDescription& out) const {
  const CollectiveKind named = KindFromName(trace_.Name(metadata.name));
  if (named != CollectiveKind::kUnknown) out.kind = named;
  const std::string_view text = trace_.Name(metadata.dtype);
  const DataType type = DataTypeFromText(text);
  if (!text.empty()) out.dtype = type.bytes < 0 ? text : type.name;
  out.group = trace_.Name(metadata.group_name);
  out.group_size = metadata.group_size > 0 ? metadata.group_size : -1;
  out.sequence = metadata.sequence;
  FillGroup(out);
  out.message_bytes =
      MessageBytes(out.kind, metadata.in_elements, metadata.out_elements, out.group_size, type);
}

// Old files have no metadata, but the annotation carries the shape of the tensor that goes in.
void CollectiveSource::FillFromMark(RowId mark, CollectiveDescription& out) const {
  switch (out.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllToAll: break;
    default: return;  // of the others it is not said which of the two tensors the shape is of
  }
  const trace::OpDetail& detail = trace_.op_details[trace_.host.detail[mark]];
  const Tensor tensor = OnlyTensor(trace_.Name(detail.dims), trace_.Name(detail.types));
  if (tensor.elements < 0) return;
  if (!tensor.type.name.empty()) out.dtype = tensor.type.name;
  out.message_bytes = MessageBytes(out.kind, tensor.elements, -1, -1, tensor.type);
}

void CollectiveSource::FillGroup(CollectiveDescription& out) const {
  const auto& groups = trace_.process_groups;
  // A collective of no named group belongs to the only one there is.
  if (out.group.empty() && groups.size() == 1) out.group = groups[0].name;
  const auto found = group_rows_.find(out.group);
  if (out.group_size > 0 || out.group.empty() || found == group_rows_.end()) return;
  const trace::ProcessGroup& group = groups[found->second];
  if (group.size > 0) {
    out.group_size = group.size;
  } else if (!group.ranks.empty()) {
    out.group_size = static_cast<std::int64_t>(group.ranks.size());
  }
}

std::string CollectiveSource::BackendFromNames(bool on_device) const {
  if (!on_device) {
    if (host_collectives_.empty()) return {};
    const std::string_view name = trace_.HostName(host_collectives_.front());
    return std::string(name.substr(0, name.find(':')));
  }
  for (const StringId name : trace_.device.name) {
    if (trace_.Name(name).starts_with("nccl")) return "nccl";  // RCCL's kernels are named so too
  }
  return {};
}

}  // namespace hone::analyze
