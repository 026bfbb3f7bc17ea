// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/comm_roles.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "analyze/autograd_engine.h"
#include "analyze/forward_index.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Of a group's reductions, by their bytes: less is a metric that is averaged in the forward pass.
constexpr double kLeastForward = 0.1;

bool TellsOfBackward(const trace::Trace& trace, RowId op) {
  return analyze::IsBackward(trace, op) || analyze::IsEngineSlice(trace.HostName(op));
}

bool Reduces(std::string_view kind) {
  return kind == "all_reduce" || kind == "reduce_scatter" || kind == "reduce";
}

CommRole RoleOf(std::string_view kind, bool of_layers) {
  if (kind == "send" || kind == "recv" || kind == "send_recv") return CommRole::kPipeline;
  if (kind == "all_to_all") return CommRole::kActivations;
  if (Reduces(kind)) return of_layers ? CommRole::kActivations : CommRole::kGradients;
  if (kind == "all_gather") return of_layers ? CommRole::kActivations : CommRole::kParameters;
  return CommRole::kOther;
}

}  // namespace

CommRoles::CommRoles(const Model& model) : trace_(model.trace()), lineage_(model.lineage()) {
  FindPasses(model);
  if (!model.facts().comm) return;
  const std::vector<analyze::CollectiveRun>& runs = model.facts().comm->runs;
  struct Bytes {
    double forward = 0, all = 0;
  };
  std::map<std::string_view, Bytes> of_group;
  for (const analyze::CollectiveRun& run : runs) {
    if (run.work == kNoRow || !told() || !Reduces(run.kind)) continue;
    const double bytes = run.message_bytes ? std::max(1.0, *run.message_bytes) : 1.0;
    Bytes& group = of_group[run.group];
    group.all += bytes;
    if (!InBackward(run.work)) group.forward += bytes;
  }
  of_run_.reserve(runs.size());
  for (const analyze::CollectiveRun& run : runs) {
    const auto group = of_group.find(run.group);
    const bool of_layers =
        group != of_group.end() && group->second.forward >= kLeastForward * group->second.all;
    of_run_.push_back(RoleOf(run.kind, of_layers));
  }
}

void CommRoles::FindPasses(const Model& model) {
  const trace::HostSlices& host = trace_.host;
  std::vector<std::uint8_t> engine(trace_.strings.size(), 0);  // by name: 1 no, 2 yes
  bool any = false;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != trace::SliceKind::kOp || model.LaneOf(i) == UINT16_MAX) continue;
    std::uint8_t& name = engine[static_cast<std::uint32_t>(host.name[i])];
    if (name == 0) name = analyze::IsEngineSlice(trace_.HostName(i)) ? 2 : 1;
    const bool backward = name == 2 || analyze::IsBackward(trace_, i);
    if (!backward && host.link[i] < 0) continue;
    any = any || backward;
    changes_.push_back({host.start_ns[i], backward});
  }
  if (!any) {
    changes_.clear();
    return;
  }
  std::stable_sort(changes_.begin(), changes_.end(),
                   [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
  const auto same = [](const Change& a, const Change& b) { return a.backward == b.backward; };
  changes_.erase(std::unique(changes_.begin(), changes_.end(), same), changes_.end());
}

bool CommRoles::BackwardAt(Nanos time) const {
  const auto after = std::partition_point(
      changes_.begin(), changes_.end(), [&](const Change& change) { return change.at_ns <= time; });
  // What stands before the first belongs to the step before it.
  return after == changes_.begin() ? !changes_.empty() : (after - 1)->backward;
}

bool CommRoles::InBackward(RowId work) const {
  const RowId call = trace_.device.api[work];
  return BackwardAt(call == kNoRow ? trace_.device.start_ns[work] : trace_.host.start_ns[call]);
}

bool CommRoles::OfBackward(RowId work) const {
  const RowId call = trace_.device.api[work];
  const RowId top = call == kNoRow ? kNoRow : lineage_.top_op[call];
  return top != kNoRow && TellsOfBackward(trace_, top);
}

}  // namespace hone::replay
