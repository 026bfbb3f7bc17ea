// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/host_growth.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "analyze/autograd_engine.h"
#include "analyze/grouping.h"
#include "analyze/slice_activity.h"
#include "analyze/slice_times.h"
#include "replay/edits/batch_work.h"
#include "replay/edits/host_pauses.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// What one core does of products, FLOPs a nanosecond in fp32, and how many bytes a nanosecond it
// moves through other operators. Measured with torch 2.13 on one core with AVX-512: products of
// 256 rows 110 to 130, of 64 rows 75 to 100. A faster one is seen in the recording itself.
constexpr Range3 kProductRate = {30, 90, 140};
constexpr Range3 kTraffic = {4, 10, 20};
// What does not depend on the samples is no more than this for calling an operator, and for each
// byte of its weights, which a product of few rows reads (and packs) at 6 to 25 a nanosecond.
constexpr Range3 kCallNs = {2'000, 8'000, 16'000};
constexpr Range3 kWeightNs = {1.0 / 20, 1.0 / 10, 1.0 / 6};  // a byte
// A gradient of weights is written into new memory, whose pages the kernel clears at the first
// touch: 1024 x 1024 from two samples took 540 to 680 us, and as many bytes in place 110.
constexpr Range3 kGradientNs = {1.0 / 20, 1.0 / 5, 1.0 / 4};

constexpr std::array kGuesses = {Guess::kLeast, Guess::kLikely, Guess::kMost};

bool IsDouble(analyze::Precision precision) { return precision == analyze::Precision::kFp64; }

// What goes to the samples: in the limit of many of them, what each further batch takes.
double SamplesOf(const HostGrowth::Growth& growth) {
  constexpr std::size_t kLikely = 1, kLast = HostGrowth::kDoublings - 1;
  return (growth[kLikely][kLast] - growth[kLikely][kLast - 1]) / std::exp2(kLast);
}

// By operator and sizes: how often they come in a step.
std::vector<double> TimesAStep(const Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::HostSlices& host = trace.host;
  const auto key = [&](RowId i) {
    return analyze::PairKey(static_cast<std::uint32_t>(host.name[i]),
                            static_cast<std::uint32_t>(trace.op_details[host.detail[i]].dims));
  };
  std::unordered_map<std::uint64_t, double> counts;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] == SliceKind::kOp && model.InWindow(i)) ++counts[key(i)];
  }
  std::vector<double> times(host.size(), 0);
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != SliceKind::kOp || !model.InWindow(i)) continue;
    times[i] = counts[key(i)] / static_cast<double>(model.graph().steps);
  }
  return times;
}

using Growth = HostGrowth::Growth;

Growth Linear(std::size_t guess, double ns) {
  Growth growth{};
  for (std::size_t d = 0; d < HostGrowth::kDoublings; ++d) {
    growth[guess][d] = ns * (std::exp2(d + 1) - 1);
  }
  return growth;
}

void Add(const Growth& part, Growth& sum) {
  for (std::size_t g = 0; g < sum.size(); ++g) {
    for (std::size_t d = 0; d < sum[g].size(); ++d) sum[g][d] += part[g][d];
  }
}

struct Reader {
  double product_rate = 0;  // the fastest that was seen

  // What of an operator's time does not depend on the samples is bounded from both sides: by what
  // its own work leaves at the core's pace, and by what calls and weights take at most. A product
  // reads its weights while it computes: beside more samples they cost nothing of their own.
  Growth Of(const BatchWork& work, double ns) const {
    Growth growth{};
    if (work.role == BatchRole::kParameters) return growth;
    for (std::size_t g = 0; g < growth.size(); ++g) {
      const Guess guess = kGuesses[g];
      double rate = std::max(kProductRate.At(guess), guess == Guess::kLeast ? 0.0 : product_rate);
      if (IsDouble(work.precision)) rate /= 2;
      const double bytes = std::max(0.0, work.bytes - work.kept_bytes);
      const double own = work.product ? work.flops / rate : bytes / kTraffic.At(guess);
      const Range3& kept = work.role == BatchRole::kWeightGradient ? kGradientNs : kWeightNs;
      const double call = kCallNs.At(guess);
      const double fixed = std::clamp(ns - own, 0.0, call + work.kept_bytes * kept.At(guess));
      const bool hides = work.product && guess != Guess::kLeast;
      for (std::size_t d = 0; d < growth[g].size(); ++d) {
        const double times = std::exp2(d + 1), samples = times * (ns - fixed);
        growth[g][d] =
            hides ? std::max(0.0, std::min(fixed, call) + samples - ns) : fixed + samples - ns;
      }
    }
    return growth;
  }

  // Of an operator whose work nobody models: all but the call.
  static Growth OfUnknown(double ns) {
    Growth growth{};
    for (std::size_t g = 0; g < growth.size(); ++g) {
      Add(Linear(g, std::max(0.0, ns - kCallNs.At(kGuesses[g]))), growth);
    }
    return growth;
  }

  // All of it, for each batch more.
  static Growth OfAll(double ns) {
    Growth growth{};
    for (std::size_t g = 0; g < growth.size(); ++g) Add(Linear(g, ns), growth);
    return growth;
  }
};

}  // namespace

// Layers have a weight each, and so a gradient; a loop over samples has few weights and many
// products.
void HostGrowth::CountRounds(const HostBatch& batch) {
  const trace::Trace& trace = model_.trace();
  const trace::HostSlices& host = trace.host;
  constexpr double kLeastRounds = 3, kFlopsOfOneRow = 0.6;  // 2 FLOPs for 4 bytes of a weight
  std::set<std::pair<StringId, StringId>> kinds;
  double products = 0, one_row_ns = 0, all_ns = 0, gradients = 0;
  for (const HostBatch::Call& call : batch.calls) {
    if (!call.work.product || call.work.kept_bytes <= 0) continue;
    const RowId top = model_.lineage().top_op[call.row];
    if (top != kNoRow && analyze::IsEngineSlice(trace.HostName(top))) continue;
    ++products;
    kinds.emplace(host.name[call.row], trace.op_details[host.detail[call.row]].dims);
    all_ns += call.work.call_ns;
    if (call.work.flops <= kFlopsOfOneRow * call.work.kept_bytes) one_row_ns += call.work.call_ns;
  }
  for (RowId i = 0; i < host.size(); ++i) {
    if (model_.lineage().top_op[i] != i || !model_.InWindow(i)) continue;
    gradients += analyze::EngineNode(trace.HostName(i)).ends_with("AccumulateGrad") ? 1 : 0;
  }
  const auto steps = static_cast<double>(model_.graph().steps);
  // A layer has two: its weight's and its bias's.
  const double weights = std::max(static_cast<double>(kinds.size()), gradients / 2 / steps);
  if (gradients <= 0 || weights <= 0 || 2 * one_row_ns < all_ns) return;
  const double rounds = products / steps / weights;
  if (rounds >= kLeastRounds) rounds_ = rounds;
}

HostGrowth::HostGrowth(const Model& model) : model_(model), grows_(model.graph().tasks.size()) {
  const trace::Trace& trace = model.trace();
  const trace::HostSlices& host = trace.host;
  const HostBatch batch = ReadHostBatch(model);
  CountRounds(batch);
  const std::vector<double> times = rounds_ > 1 ? TimesAStep(model) : std::vector<double>();
  Reader reader;
  constexpr double kLongEnough = 20'000;  // ns: of shorter ones the call is a part
  for (const HostBatch::Call& call : batch.calls) {
    const auto ns = static_cast<double>(host.duration_ns[call.row]);
    if (!call.work.product || call.work.batched || ns < kLongEnough) continue;
    const double rate = call.work.flops / ns * (IsDouble(call.work.precision) ? 2 : 1);
    reader.product_rate = std::max(reader.product_rate, rate);
  }

  // Tasks of the host by lane, in time order as they stand.
  const std::vector<Task>& tasks = model.graph().tasks;
  std::vector<std::vector<TaskId>> of_lane(model.graph().lanes.size());
  for (TaskId t = 0; t < tasks.size(); ++t) {
    if (model.graph().lanes[tasks[t].lane].kind == LaneKind::kThread) {
      of_lane[tasks[t].lane].push_back(t);
    }
  }
  // Loading grows as a whole.
  const auto task_at = [&](std::uint16_t lane, Nanos at) {
    const std::vector<TaskId>& on = of_lane[lane];
    const auto after = std::upper_bound(
        on.begin(), on.end(), at, [&](Nanos time, TaskId t) { return time < tasks[t].start_ns; });
    if (after == on.begin() || tasks[*(after - 1)].kind == TaskKind::kInput) return kNoTask;
    return *(after - 1);
  };

  const std::vector<Nanos> self = analyze::SelfTimes(trace);
  std::vector<double> fixed_of_name(trace.strings.size(), 0);
  double most_fixed = 0;
  auto call = batch.calls.begin();
  RowId inside = kNoRow;  // a modelled call
  for (RowId i = 0; i < host.size(); ++i) {
    if (!model.InWindow(i) || host.kind[i] != SliceKind::kOp) continue;
    while (call != batch.calls.end() && call->row < i) ++call;
    const TaskId task = task_at(model.LaneOf(i), host.start_ns[i]);
    if (task == kNoTask) continue;
    if (model.lineage().top_op[i] == i) operators_ns_ += static_cast<double>(host.duration_ns[i]);
    if (inside != kNoRow && host.thread[inside] == host.thread[i] &&
        host.start_ns[i] < host.end_ns(inside)) {
      continue;
    }
    inside = kNoRow;
    Growth growth{};
    if (call != batch.calls.end() && call->row == i) {
      inside = i;
      const auto ns = static_cast<double>(host.duration_ns[i]);
      growth = reader.Of(call->work, ns);
      double& fixed = fixed_of_name[static_cast<std::uint32_t>(host.name[i])];
      fixed += call->work.role == BatchRole::kParameters ? 0 : ns - SamplesOf(growth);
      if (fixed > most_fixed) {
        most_fixed = fixed;
        example_ = i;
      }
    } else if (batch.about_parameters[i] == 0) {
      growth = Reader::OfUnknown(static_cast<double>(self[i]));
    }
    // What comes once a step comes once for each of the rounds that go together.
    if (!times.empty() && times[i] < rounds_ / 2) {
      growth = Reader::OfAll(static_cast<double>(inside == i ? host.duration_ns[i] : self[i]));
    }
    samples_ns_ += SamplesOf(growth);
    Add(growth, grows_[task]);
  }

  // Code outside operators beyond what dispatching takes may go over the samples one by one.
  for (const Pause& pause : CollectPauses(model, analyze::kDispatchPause, {})) {
    const TaskId task = task_at(0, pause.span.begin_ns);
    const auto own = static_cast<double>(pause.span.length() - analyze::kDispatchPause);
    if (task == kNoTask) continue;
    Add(Linear(0, own), grows_[task]);
    Add(Linear(1, own), grows_[task]);
  }
}

void HostGrowth::Apply(Guess guess, double times, Plan& plan) const {
  const std::vector<Task>& tasks = model_.graph().tasks;
  const auto doublings = static_cast<std::size_t>(std::lround(std::log2(times)));
  const std::size_t d = std::clamp<std::size_t>(doublings, 1, kDoublings) - 1;
  const bool together = rounds_ > 1;
  for (TaskId t = 0; t < tasks.size(); ++t) {
    if (tasks[t].kind == TaskKind::kInput) continue;
    // Other edits may have left less of it.
    const auto ns = static_cast<double>(plan.duration_ns[t]);
    const double most = ns * (times - 1);
    const double grown = ns + std::min(most, grows_[t][static_cast<std::size_t>(guess)][d]);
    plan.duration_ns[t] = std::llround(together ? grown / times : grown);
  }
  if (together) return;
  GrowInput(model_.graph(), times, plan);
  plan.samples *= times;
}

}  // namespace hone::replay
