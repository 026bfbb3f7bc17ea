// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/host_pauses.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/collective_source.h"
#include "analyze/grouping.h"
#include "analyze/loader.h"
#include "analyze/slice_activity.h"
#include "replay/edits/recompile.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// An operator that makes no call and takes this long computes on the host (ten times what
// dispatching one costs): drawing random numbers, casting or augmenting CPU tensors.
constexpr Nanos kHostComputation = 10 * analyze::kDispatchPause;

// A line that calls a small operator so many times a step does in a loop what one call could do. No
// model has as many layers as that.
constexpr double kLoopCalls = 200;

// What other launching threads do: a pause that they fill is waiting for them (backward passes run
// on threads of their own).
trace::IntervalSet OtherThreads(const Model& model) {
  const trace::Trace& trace = model.trace();
  std::vector<trace::Interval> busy;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (model.LaneOf(i) == 0 || !model.InWindow(i)) continue;
    const RowId top = model.lineage().top_op[i];
    if (top == i || (top == kNoRow && trace.host.kind[i] == SliceKind::kApi)) {
      busy.push_back({trace.host.start_ns[i], trace.host.end_ns(i)});
    }
  }
  return trace::IntervalSet::Union(std::move(busy));
}

// Collectives of back ends that run on the host, on threads of their own.
trace::IntervalSet HostCollectives(const Model& model) {
  const analyze::CollectiveSource source(model.trace());
  std::vector<trace::Interval> spans;
  for (const RowId row : source.HostCollectives()) {
    spans.push_back({model.trace().host.start_ns[row], model.trace().host.end_ns(row)});
  }
  return trace::IntervalSet::Union(std::move(spans));
}

// A pause that something else fills for the most part is waiting for it.
void DropFilled(const trace::IntervalSet& elsewhere, std::vector<Pause>& pauses) {
  std::erase_if(pauses, [&](const Pause& pause) {
    return 2 * elsewhere.LengthWithin(pause.span) > pause.span.length();
  });
}

}  // namespace

HostRowSet OthersBusiness(const Model& model) {
  HostRowSet others(model.trace().host.size(), 0);
  for (const RowId row : analyze::FindLoaderSlices(model.trace())) others[row] = 1;
  for (const RowId row : FindCompiles(model)) others[row] = 1;
  return others;
}

HostRowSet HostComputations(const Model& model) {
  const trace::Trace& trace = model.trace();
  const std::size_t rows = trace.host.size();
  HostRowSet computes(rows, 0), calls(rows, 0);
  if (!model.calls().any()) return computes;
  for (RowId i = 0; i < rows; ++i) {
    const RowId top = model.lineage().top_op[i];
    if (trace.host.kind[i] == SliceKind::kApi && top != kNoRow) calls[top] = 1;
  }
  for (RowId i = 0; i < rows; ++i) {
    const RowId top = model.lineage().top_op[i];
    if (top == kNoRow || calls[top] != 0) continue;
    computes[i] = trace.host.duration_ns[top] >= kHostComputation ? 1 : 0;
  }
  return computes;
}

Computation ComputationIn(const Model& model, const HostCut& cut) {
  const trace::Trace& trace = model.trace();
  const HostRowSet computes = HostComputations(model);
  std::vector<Nanos> total(trace.strings.size(), 0);
  Computation found;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (computes[i] == 0 || model.lineage().top_op[i] != i) continue;
    if (model.LaneOf(i) != 0 || !cut.Contains(0, trace.host.start_ns[i])) continue;
    Nanos& sum = total[static_cast<std::uint32_t>(trace.host.name[i])];
    sum = analyze::SaturatingAdd(sum, trace.host.duration_ns[i]);
    found.all_ns = analyze::SaturatingAdd(found.all_ns, trace.host.duration_ns[i]);
    const auto most = [&] { return total[static_cast<std::uint32_t>(trace.host.name[found.row])]; };
    if (found.row == kNoRow || sum > most()) found.row = i;
  }
  return found;
}

HostRowSet CalledInLoops(const Model& model) {
  const trace::Trace& trace = model.trace();
  HostRowSet in_loop(trace.host.size(), 0);
  if (trace.device.size() > 0) return in_loop;
  const analyze::CallSites sites(trace, model.lineage());
  std::unordered_map<std::string_view, std::uint64_t> lines;
  std::unordered_map<std::uint64_t, std::uint64_t> calls;   // by line and operator
  std::vector<std::uint64_t> called(trace.host.size(), 0);  // the key of each; 0: not from a line
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (model.lineage().top_op[i] != i || model.LaneOf(i) != 0 || !model.InWindow(i)) continue;
    const std::string_view line = sites.Of(i);
    if (line.empty()) continue;
    const std::uint64_t number = lines.try_emplace(line, lines.size() + 1).first->second;
    called[i] = number << 32U | static_cast<std::uint32_t>(trace.host.name[i]);
    // The few that took long were interrupted.
    if (trace.host.duration_ns[i] <= analyze::kDispatchPause) ++calls[called[i]];
  }
  const double least = kLoopCalls * static_cast<double>(model.graph().steps);
  for (RowId i = 0; i < trace.host.size(); ++i) {
    const RowId top = model.lineage().top_op[i];
    if (called[i] != 0) {
      in_loop[i] = static_cast<double>(calls[called[i]]) >= least ? 1 : 0;
    } else if (top != kNoRow && top < i) {
      in_loop[i] = in_loop[top];
    }
  }
  return in_loop;
}

// Pauses that dispatching explains are the cost of getting to the next operator, unless samples
// tell; then operators that are called in loops are part of them too.
std::vector<Pause> CollectPauses(const Model& model, Nanos least, const HostRowSet& in_loop) {
  const trace::Trace& trace = model.trace();
  const HostRowSet others = OthersBusiness(model);
  const HostRowSet computes = HostComputations(model);
  const trace::Thread& thread = trace.threads[model.graph().lanes[0].row];
  std::vector<Pause> pauses;
  RowId first = kNoRow, before = kNoRow, loop = kNoRow;
  Nanos busy_until = model.graph().window.begin_ns, looped_ns = 0;
  std::uint64_t looped = 0;
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    const SliceKind kind = trace.host.kind[i];
    const bool busy = others[i] != 0 || kind == SliceKind::kOp || kind == SliceKind::kApi ||
                      kind == SliceKind::kOverhead || kind == SliceKind::kOs;
    if (!busy || computes[i] != 0 || !model.InWindow(i)) continue;
    if (!in_loop.empty() && in_loop[i] != 0) {
      if (loop == kNoRow) loop = i;
      looped += model.lineage().top_op[i] == i ? 1 : 0;
      looped_ns += model.lineage().top_op[i] == i ? trace.host.duration_ns[i] : 0;
      continue;
    }
    if (first == kNoRow) first = i;
    const Nanos start = trace.host.start_ns[i];
    if (start - busy_until > least) {
      pauses.push_back({before, i, {busy_until, start}, looped_ns, looped});
    }
    looped_ns = 0;
    looped = 0;
    if (trace.host.end_ns(i) > busy_until) {
      if (start >= busy_until) before = i;
      busy_until = trace.host.end_ns(i);
    }
  }
  // After the last step comes the first operator of the next; of a loop where there is no other.
  if (first == kNoRow) first = loop;
  const Nanos end = model.graph().window.end_ns;
  if (first != kNoRow && end - busy_until > least) {
    pauses.push_back({before, first, {busy_until, end}, looped_ns, looped});
  }
  DropFilled(OtherThreads(model), pauses);
  return pauses;
}

std::vector<Pause> PausesWithoutFrames(const Model& model, Nanos least, const HostRowSet& in_loop) {
  std::vector<Pause> pauses = CollectPauses(model, least, in_loop);
  DropFilled(HostCollectives(model), pauses);
  return pauses;
}

}  // namespace hone::replay
