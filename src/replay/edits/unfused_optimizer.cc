// SPDX-License-Identifier: Apache-2.0
// unfused-optimizer: fused=True, a few kernels for all parameters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"
#include "replay/edits/host_optimizer.h"
#include "replay/edits/optimizer_kernels.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Fewer launches than this in an optimizer step are what a fused one needs.
constexpr std::size_t kFewLaunches = 20;
// As recorded on the host of an H200 with fused Adam, torch 2.11: 0.36 ms for 48 parameters, 0.92
// for 161, 1.16 for 148. The recorder's share of it goes with the recorder.
constexpr double kFusedHostNs = 0.15e6, kFusedHostPerParameterNs = 5'000;
// A kernel over one small parameter is latency; what is above it is traffic, of which a fused
// kernel needs 0.35 to 0.5 (seven passes over the parameters instead of about twenty). A fused one
// serves some 36 parameters and takes 5 us at least.
constexpr double kKernelLatencyNs = 1'500;
constexpr double kFusedLatencyNs = 5'000, kParametersPerLaunch = 36;
constexpr Range3 kTrafficLeft = {0.8, 0.4, 0.3};
// foreach=True already launches for many parameters at once; its host time falls to this share.
constexpr double kForeachHostLeft = 0.4;

struct ManyLaunches {  // of one optimizer step
  OptimizerStep mark;
  std::vector<TaskId> work;
  double parameters = 0;  // 0: not known, the kernels serve many at once
};

class UnfusedOptimizer : public Edit {
 public:
  UnfusedOptimizer(const Model& model, std::vector<ManyLaunches> steps)
      : steps_(std::move(steps)), host_(model.graph(), SpansOf(model)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    host_.Apply(model.graph(), 1.0, plan);
    for (const ManyLaunches& step : steps_) {
      double fused = std::ceil(step.parameters / kParametersPerLaunch) * kFusedLatencyNs;
      for (const TaskId work : step.work) {
        const auto duration = static_cast<double>(plan.duration_ns[work]);
        fused += kTrafficLeft.At(guess) * std::max(0.0, duration - kKernelLatencyNs);
        plan.RemoveWork(work);
      }
      // The first launch stays and carries the time of all.
      plan.duration_ns[step.work.front()] = static_cast<Nanos>(fused);
      plan.held[step.work.front()] = Held::kByAll;
    }
  }

  std::string Scope(const Model& /*model*/) const override {
    std::size_t launches = 0;
    for (const ManyLaunches& step : steps_) launches += step.work.size();
    return fmt::format("{} launches an optimizer step become a few",
                       launches / std::max<std::size_t>(steps_.size(), 1));
  }

 private:
  // Host time of each optimizer step, and what a fused one keeps of it.
  std::vector<HostSpan> SpansOf(const Model& model) const {
    const trace::HostSlices& host = model.trace().host;
    std::vector<HostSpan> spans;
    for (const ManyLaunches& step : steps_) {
      HostSpan span{model.LaneOf(step.mark.row), {step.mark.begin_ns, host.end_ns(step.mark.row)}};
      if (step.parameters > 0) {
        span.keep_ns =
            static_cast<Nanos>(kFusedHostNs + step.parameters * kFusedHostPerParameterNs);
      } else {
        span.keep_share = kForeachHostLeft;
      }
      spans.push_back(span);
    }
    return spans;
  }

  const std::vector<ManyLaunches> steps_;
  const HostCut host_;
};

// Each parameter takes the same few operators: the typical number of calls of one of them.
double CountParameters(const Model& model, const ManyLaunches& step) {
  std::unordered_map<std::uint32_t, std::size_t> calls;
  for (const TaskId work : step.work) {
    const RowId op = model.trace().device.op[model.graph().tasks[work].row];
    if (op != kNoRow) ++calls[static_cast<std::uint32_t>(model.trace().host.name[op])];
  }
  std::vector<std::size_t> counts;
  counts.reserve(calls.size());
  for (const auto& [name, count] : calls) counts.push_back(count);
  if (counts.empty()) return static_cast<double>(step.work.size()) / 7;
  std::sort(counts.begin(), counts.end());
  return static_cast<double>(counts[counts.size() / 2]);
}

}  // namespace

FoundEdit FindUnfusedOptimizer(const Model& model) {
  const trace::Trace& trace = model.trace();
  if (model.optimizer_steps().empty())
    return FoundEdit::Absent("no optimizer step is marked in the steps");
  if (trace.device.size() == 0) return FindHostOptimizer(model);
  std::vector<ManyLaunches> steps;
  bool fused = false;
  for (const OptimizerStep& mark : model.optimizer_steps()) {
    const RowId row = mark.row;
    ManyLaunches step;
    step.mark = mark;
    bool many_at_once = false;
    const auto last = trace.threads[trace.host.thread[row]].last_slice;
    for (RowId i = row; i < last && trace.host.start_ns[i] < trace.host.end_ns(row); ++i) {
      const RowId work = trace.host.kind[i] == trace::SliceKind::kApi ? model.WorkOf(i) : kNoRow;
      if (work == kNoRow || trace.device.kind[work] != trace::WorkKind::kKernel) continue;
      if (trace.host.start_ns[i] < mark.begin_ns) continue;
      const TaskId task = model.graph().of_device[work];
      if (task == kNoTask) continue;
      fused = fused || IsFusedOptimizer(trace.DeviceName(work));
      many_at_once = many_at_once || ServesManyParameters(trace.DeviceName(work));
      step.work.push_back(task);
    }
    if (step.work.size() < kFewLaunches) continue;
    if (!many_at_once) step.parameters = CountParameters(model, step);
    steps.push_back(std::move(step));
  }
  if (fused) return FoundEdit::Absent("the optimizer is fused already");
  if (steps.empty()) {
    return FoundEdit::Absent(
        fmt::format("no optimizer step launches {} kernels or more", kFewLaunches));
  }
  return FoundEdit(std::make_unique<UnfusedOptimizer>(model, std::move(steps)));
}

}  // namespace hone::replay
