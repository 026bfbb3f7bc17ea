// SPDX-License-Identifier: Apache-2.0
#include "analyze/slice_activity.h"

#include <string_view>

#include "analyze/grouping.h"
#include "analyze/loader.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

enum class CommName : std::uint8_t { kUnseen, kNo, kDevice, kHost };

// Operators and annotations around collectives. Those of CPU backends are the communication
// itself; around those of device backends only a blocking call is.
CommName ClassifyCommName(std::string_view name) {
  for (const std::string_view head : {"gloo:", "mpi:"}) {
    if (name.starts_with(head)) return CommName::kHost;
  }
  for (const std::string_view head :
       {"c10d::", "record_param_comms", "nccl:", "rccl:", "ucc:", "xccl:", "hccl:"}) {
    if (name.starts_with(head)) return CommName::kDevice;
  }
  return CommName::kNo;
}

IdleCause OfCall(ApiClass call, bool inside_collective) {
  switch (call) {
    case ApiClass::kSync: return inside_collective ? IdleCause::kCommunication : IdleCause::kSync;
    case ApiClass::kBlockingCopy: return IdleCause::kCopy;
    case ApiClass::kAllocate:
    case ApiClass::kFree: return IdleCause::kAllocator;
    case ApiClass::kLaunch:
    case ApiClass::kGraphLaunch:
    case ApiClass::kCopy: return IdleCause::kLaunch;
    case ApiClass::kEvent:
    case ApiClass::kOther: break;
  }
  return IdleCause::kHostWork;
}

}  // namespace

// One forward pass: a slice is what its surroundings make it, unless it says more itself.
SliceActivity::SliceActivity(const trace::Trace& trace, const Lineage& lineage,
                             const ApiCalls& calls)
    : what(trace.host.size(), IdleCause::kHostWork), blamed(trace.host.size(), kNoRow) {
  const trace::HostSlices& host = trace.host;
  std::vector<std::uint8_t> collective(host.size(), 0);  // inside a collective
  std::vector<CommName> comm_names(trace.strings.size(), CommName::kUnseen);
  const std::vector<RowId> loaders = FindLoaderSlices(trace);
  auto loader = loaders.begin();

  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    const SliceKind kind = host.kind[i];
    const bool starts_loader = loader != loaders.end() && *loader == i;
    if (starts_loader) ++loader;
    if (parent != kNoRow) {
      collective[i] = collective[parent];
      if (!IsWeak(what[parent])) {
        what[i] = what[parent];
        blamed[i] = blamed[parent];
      }
    }
    if (what[i] != IdleCause::kHostWork && what[i] != IdleCause::kLaunch) continue;
    IdleCause own = IdleCause::kHostWork;
    if (starts_loader) {
      own = IdleCause::kLoader;
    } else if (kind == SliceKind::kApi) {
      own = OfCall(calls[i], collective[i] != 0);
    } else if (kind == SliceKind::kOp || kind == SliceKind::kAnnotation) {
      CommName& comm = comm_names[static_cast<std::uint32_t>(host.name[i])];
      if (comm == CommName::kUnseen) comm = ClassifyCommName(trace.HostName(i));
      if (comm != CommName::kNo) collective[i] = 1;
      if (comm == CommName::kHost) {
        own = IdleCause::kCommunication;
      } else if (kind == SliceKind::kOp) {
        own = IdleCause::kLaunch;
      }
    }
    if (own != IdleCause::kHostWork && own != what[i]) {
      what[i] = own;
      blamed[i] = i;
    } else if (what[i] == IdleCause::kHostWork) {
      blamed[i] = lineage.python[i] != kNoRow ? lineage.python[i] : lineage.annotation[i];
      if (blamed[i] == kNoRow) blamed[i] = i;
    }
  }
  // Without recorded calls nobody can tell an operator that launches from one that does not.
  if (calls.any()) FindHostComputation(trace, lineage);
}

// An operator that makes no call and stays in its own code for longer than dispatch takes, on
// average between the operators inside it, computes on the host: augmenting, casting or drawing
// random numbers on CPU tensors, checking the guards of a compiled region.
void SliceActivity::FindHostComputation(const trace::Trace& trace, const Lineage& lineage) {
  const trace::HostSlices& host = trace.host;
  std::vector<Nanos> self(host.duration_ns.begin(), host.duration_ns.end());
  std::vector<std::uint32_t> pieces(host.size(), 1);
  std::vector<std::uint8_t> calls(host.size(), 0);
  // Backwards: children stand after their parents.
  for (auto i = static_cast<RowId>(host.size()); i-- > 0;) {
    const RowId around = host.parent[i] == kNoRow ? kNoRow : lineage.op[host.parent[i]];
    if (around == kNoRow) continue;
    if (host.kind[i] == SliceKind::kApi || calls[i] != 0) calls[around] = 1;
    if (host.kind[i] == SliceKind::kOp) {
      self[around] = SaturatingAdd(self[around], -host.duration_ns[i]);
      ++pieces[around];
    }
  }
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId op = lineage.op[i];
    if (what[i] == IdleCause::kLaunch && op != kNoRow && calls[op] == 0 &&
        self[op] / pieces[op] > kDispatchPause) {
      what[i] = IdleCause::kHostWork;
      blamed[i] = op;
    }
  }
}

}  // namespace hone::analyze
