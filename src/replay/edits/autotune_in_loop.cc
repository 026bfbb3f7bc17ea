// SPDX-License-Identifier: Apache-2.0
// autotune-in-loop: a convolution runs the algorithm it has chosen before.
#include "replay/edits/autotune_in_loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/median.h"
#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

using analyze::ApiClass;
using trace::kNoRow;
using trace::RowId;

// Kernels of a call that begin to look like candidates. A chosen algorithm is one kernel, or two in
// a backward call, with conversions of the layout around it; the host waits for none of them. So a
// call without a wait (not every recording has those) must run this many different convolutions.
constexpr std::uint32_t kCandidates = 4;
// "Far more than the same operator otherwise", for kernels and for host time.
constexpr std::uint32_t kManyTimes = 4;
constexpr Nanos kMuchLonger = 10;
// Host time of a convolution call where no calm one is in the trace: forward 35 us, backward 106 us
// (medians under the profiler, ResNet-50, host of an H200).
constexpr Nanos kTypicalCall = 80 * kMicrosecond;

bool IsConvolution(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return name.starts_with("aten::") &&
         (has("cudnn_convolution") || has("miopen_convolution") || has("convolution_backward"));
}

struct Call {
  AlgorithmSearch found;
  std::vector<StringId>
      algorithms;  // names of different convolutions and products, kCandidates at most
  bool searches = false;
};

bool IsAlgorithm(const analyze::KernelTraits& traits) {
  return traits.family == analyze::KernelFamily::kConvolution ||
         traits.family == analyze::KernelFamily::kMatmul;
}

// All convolutions of the window with what they launch and call.
std::vector<Call> CollectCalls(const Model& model) {
  const trace::Trace& trace = model.trace();
  std::vector<Call> calls;
  std::vector<std::uint32_t> index(trace.host.size(), UINT32_MAX);
  for (const RowId row : model.HostRows(trace::SliceKind::kOp, IsConvolution)) {
    index[row] = static_cast<std::uint32_t>(calls.size());
    calls.push_back({.found = {.op = row}, .algorithms = {}});
  }
  if (calls.empty()) return calls;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    const RowId parent = trace.host.parent[i];
    if (index[i] == UINT32_MAX && parent != kNoRow) index[i] = index[parent];
    if (index[i] == UINT32_MAX) continue;
    AlgorithmSearch& found = calls[index[i]].found;
    switch (model.calls()[i]) {
      case ApiClass::kSync: ++found.syncs; break;
      case ApiClass::kAllocate:
      case ApiClass::kFree: ++found.allocations; break;
      default: break;
    }
  }
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId api = trace.device.api[w];
    if (api == kNoRow || trace.device.kind[w] != trace::WorkKind::kKernel) continue;
    if (index[api] == UINT32_MAX) continue;
    Call& call = calls[index[api]];
    ++call.found.kernels;
    const StringId name = trace.device.name[w];
    std::vector<StringId>& known = call.algorithms;
    if (known.size() < kCandidates && IsAlgorithm(model.Traits(w)) &&
        std::find(known.begin(), known.end(), name) == known.end()) {
      known.push_back(name);
    }
  }
  return calls;
}

// Decides which of the calls of one operator (or of all) search.
void Judge(const Model& model, std::vector<Call*>& calls) {
  const trace::HostSlices& host = model.trace().host;
  std::vector<std::uint32_t> kernels;
  std::vector<Nanos> lengths;
  for (const Call* call : calls) {
    kernels.push_back(call->found.kernels);
    lengths.push_back(host.duration_ns[call->found.op]);
  }
  const std::uint32_t usual = UpperMedian(kernels);
  const Nanos usual_ns = UpperMedian(lengths);
  for (Call* call : calls) {
    const AlgorithmSearch& found = call->found;
    const bool many = found.kernels >= kCandidates;
    call->searches = (many && found.syncs > 0) ||
                     (call->algorithms.size() >= kCandidates &&
                      found.kernels >= kManyTimes * std::max(1U, usual)) ||
                     (host.duration_ns[found.op] >= kMuchLonger * std::max<Nanos>(1, usual_ns) &&
                      found.syncs + found.allocations > 0);
  }
}

struct Calm {
  std::uint32_t kernels = 0;
  Nanos length_ns = 0;
};
Calm CalmOf(const Model& model, const std::vector<Call*>& calls) {
  std::vector<std::uint32_t> kernels;
  std::vector<Nanos> lengths;
  for (const Call* call : calls) {
    if (call->searches) continue;
    kernels.push_back(call->found.kernels);
    lengths.push_back(model.trace().host.duration_ns[call->found.op]);
  }
  return {UpperMedian(std::move(kernels)), UpperMedian(std::move(lengths))};
}

class Autotune : public Edit {
 public:
  Autotune(HostCut cut, std::vector<TaskId> candidates, std::size_t searches)
      : cut_(std::move(cut)), candidates_(std::move(candidates)), searches_(searches) {}

  void Apply(const Model& model, Guess /*guess*/, Plan& plan) const override {
    cut_.Apply(model.graph(), 1.0, plan);
    cut_.DropWaits(model.graph(), plan);
    for (const TaskId task : candidates_) plan.RemoveWork(task);
  }

  std::string Scope(const Model& model) const override {
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format("{} searches and {} kernels a step go",
                       ThreeDigits(static_cast<double>(searches_) / steps),
                       ThreeDigits(static_cast<double>(candidates_.size()) / steps));
  }

 private:
  const HostCut cut_;
  const std::vector<TaskId> candidates_;  // device work of algorithms that were only tried
  const std::size_t searches_;
};

}  // namespace

std::vector<AlgorithmSearch> FindSearches(const Model& model) {
  std::vector<Call> calls = CollectCalls(model);
  std::vector<std::vector<Call*>> by_name(model.trace().strings.size());
  std::vector<Call*> all;
  for (Call& call : calls) {
    by_name[static_cast<std::uint32_t>(model.trace().host.name[call.found.op])].push_back(&call);
    all.push_back(&call);
  }
  for (std::vector<Call*>& same : by_name) {
    if (!same.empty()) Judge(model, same);
  }
  const Calm any = CalmOf(model, all);
  for (std::vector<Call*>& same : by_name) {
    if (same.empty()) continue;
    Calm calm = CalmOf(model, same);
    if (calm.length_ns == 0) calm = any;
    for (Call* call : same) {
      call->found.calm_kernels = calm.kernels;
      call->found.calm_ns = calm.length_ns > 0 ? calm.length_ns : kTypicalCall;
    }
  }
  std::vector<AlgorithmSearch> searches;
  for (const Call& call : calls) {
    if (call.searches) searches.push_back(call.found);
  }
  return searches;
}

FoundEdit FindAutotune(const Model& model) {
  const trace::Trace& trace = model.trace();
  const std::vector<AlgorithmSearch> searches = FindSearches(model);
  if (searches.empty()) return FoundEdit::Absent("no convolution in the steps tries algorithms");
  std::vector<HostSpan> spans;
  std::vector<std::uint32_t> search_of(trace.host.size(), UINT32_MAX);
  for (std::uint32_t s = 0; s < searches.size(); ++s) {
    const RowId op = searches[s].op;
    search_of[op] = s;
    spans.push_back(
        {model.LaneOf(op), {trace.host.start_ns[op], trace.host.end_ns(op)}, searches[s].calm_ns});
  }
  for (RowId i = 0; i < trace.host.size(); ++i) {
    const RowId parent = trace.host.parent[i];
    if (search_of[i] == UINT32_MAX && parent != kNoRow) search_of[i] = search_of[parent];
  }
  // The last kernels are the algorithm that was chosen.
  std::vector<std::vector<TaskId>> works(searches.size());
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId api = trace.device.api[w];
    const TaskId task = model.graph().of_device[w];
    if (api != kNoRow && task != kNoTask && search_of[api] != UINT32_MAX) {
      works[search_of[api]].push_back(task);
    }
  }
  std::vector<TaskId> candidates;
  for (std::size_t s = 0; s < searches.size(); ++s) {
    const std::size_t keep = std::max<std::size_t>(1, searches[s].calm_kernels);
    for (std::size_t i = 0; i + keep < works[s].size(); ++i) candidates.push_back(works[s][i]);
  }
  return FoundEdit(std::make_unique<Autotune>(HostCut(model.graph(), std::move(spans)),
                                              std::move(candidates), searches.size()));
}

}  // namespace hone::replay
