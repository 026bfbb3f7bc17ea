// SPDX-License-Identifier: Apache-2.0
// kv-cache-unused: every pass computes its new tokens only.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "analyze/roofline.h"
#include "replay/edits/decoding.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

using trace::RowId;

// Nothing on a device takes less: the shortest kernels of an H200 last 0.6 to 0.8 µs.
constexpr double kShortestNs = 700;
// A product of one row still reads its whole weight. Most: at the bandwidth of the device; likely
// and least: at half of it, as small products do not fill the device.
constexpr Range3 kOfBandwidth = {0.5, 0.5, 1.0};
// What is left of a kernel at least, where its weight or the bandwidth is not known: products of
// few rows are far from proportional.
constexpr Range3 kLeftUnknown = {0.5, 0.25, 0.0};
// And of any kernel: not everything that runs in a pass works on all its rows.
constexpr Range3 kLeftAlways = {0.5, 0.0, 0.0};
// On a host without a device weights come from memory as well, at a bandwidth nobody recorded. A
// decoder of 4 layers took 0.12 of its time with a cache, at 72 tokens on one core.
constexpr Range3 kLeftOnHost = {0.5, 0.15, 0.0};
constexpr std::array kGuesses = {Guess::kLeast, Guess::kLikely, Guess::kMost};

struct Target {
  TaskId task = kNoTask;
  std::array<double, 3> left = {1, 1, 1};  // share of the duration, by guess
};

class KvCache : public Edit {
 public:
  KvCache(std::vector<Target> targets, std::size_t passes)
      : targets_(std::move(targets)), passes_(passes) {}

  void Apply(const Model& /*model*/, Guess guess, Plan& plan) const override {
    for (const Target& target : targets_) {
      Nanos& duration = plan.duration_ns[target.task];
      duration = std::llround(static_cast<double>(duration) *
                              target.left[static_cast<std::size_t>(guess)]);
    }
  }

  std::string Scope(const Model& model) const override {
    return fmt::format("{:.1f} passes a step compute their new tokens only",
                       static_cast<double>(passes_) / static_cast<double>(model.graph().steps));
  }

 private:
  const std::vector<Target> targets_;
  const std::size_t passes_;
};

// The pass that a moment of the host belongs to; null: none.
const Pass* PassAt(const Decoding& decoding, Nanos time) {
  const auto after =
      std::upper_bound(decoding.passes.begin(), decoding.passes.end(), time,
                       [](Nanos t, const Pass& pass) { return t < pass.span.begin_ns; });
  if (after == decoding.passes.begin()) return nullptr;
  const Pass& pass = *(after - 1);
  return time < pass.span.end_ns ? &pass : nullptr;
}

// New rows over all rows of a pass that has grown; 1: everything in it is new.
double NewShare(const Decoding& decoding, const Pass& pass) {
  if (!pass.grown) return 1;
  return static_cast<double>(decoding.new_rows) / static_cast<double>(pass.rows);
}

std::vector<Target> OnDevice(const Model& model, const Decoding& decoding) {
  const trace::Trace& trace = model.trace();
  std::unordered_map<std::uint64_t, double> weight_of;  // by name and arguments of an operator
  const auto weight = [&](RowId op) {
    if (op == trace::kNoRow) return 0.0;
    const std::uint64_t key =
        (static_cast<std::uint64_t>(trace.host.name[op]) << 32) | trace.host.detail[op];
    const auto [found, added] = weight_of.try_emplace(key, 0.0);
    if (added) found->second = WeightBytes(model, op);
    return found->second;
  };
  std::vector<Target> targets;
  for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
    const Task& task = model.graph().tasks[t];
    if (task.kind != TaskKind::kKernel || task.duration_ns <= 0) continue;
    const RowId call = trace.device.api[task.row];
    if (call == trace::kNoRow) continue;
    const Pass* pass = PassAt(decoding, trace.host.start_ns[call]);
    if (pass == nullptr || !pass->grown) continue;
    const auto ns = static_cast<double>(task.duration_ns);
    const bool product = model.Traits(task.row).family == analyze::KernelFamily::kMatmul;
    const double bytes = product ? weight(trace.device.op[task.row]) : 0;
    const double bandwidth = model.peaks() ? model.peaks()->memory_gbytes_per_s : 0;
    Target target;
    target.task = t;
    for (const Guess guess : kGuesses) {
      double left = std::max(NewShare(decoding, *pass), kLeftAlways.At(guess));
      if (bytes > 0 && bandwidth > 0) {  // GB/s are bytes a nanosecond
        left = std::max(left, bytes / (bandwidth * kOfBandwidth.At(guess)) / ns);
      } else if (product) {
        left = std::max(left, kLeftUnknown.At(guess));
      }
      target.left[static_cast<std::size_t>(guess)] =
          std::min(1.0, std::max(left, kShortestNs / ns));
    }
    targets.push_back(target);
  }
  return targets;
}

// Without a device: operators of the step's thread inside the passes.
std::vector<Target> OnHost(const Model& model, const Decoding& decoding) {
  const trace::HostSlices& host = model.trace().host;
  trace::IntervalSet ops;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] == trace::SliceKind::kOp && model.lineage().top_op[i] == i &&
        model.InWindow(i) && model.LaneOf(i) == 0) {
      ops.AppendSorted({host.start_ns[i], host.end_ns(i)});
    }
  }
  std::vector<Target> targets;
  std::size_t next = 0;
  for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
    const Task& task = model.graph().tasks[t];
    if (task.lane != 0 || task.kind != TaskKind::kHost || task.duration_ns <= 0) continue;
    const Nanos end = task.start_ns + task.duration_ns;
    Target target;
    target.task = t;
    while (next < decoding.passes.size() && decoding.passes[next].span.end_ns <= task.start_ns) {
      ++next;
    }
    for (std::size_t p = next; p < decoding.passes.size() && decoding.passes[p].span.begin_ns < end;
         ++p) {
      const Pass& pass = decoding.passes[p];
      if (!pass.grown) continue;
      const auto inside = static_cast<double>(ops.LengthWithin(
          {std::max(task.start_ns, pass.span.begin_ns), std::min(end, pass.span.end_ns)}));
      for (const Guess guess : kGuesses) {
        const double left = std::max(NewShare(decoding, pass), kLeftOnHost.At(guess));
        target.left[static_cast<std::size_t>(guess)] -=
            inside * (1 - left) / static_cast<double>(task.duration_ns);
      }
    }
    if (target.left.back() < 1) targets.push_back(target);
  }
  return targets;
}

}  // namespace

FoundEdit FindKvCache(const Model& model) {
  const Known<Decoding> decoding = FindDecoding(model);
  if (!decoding) return FoundEdit::Absent(decoding.why_not());
  std::vector<Target> targets =
      model.facts().timeline ? OnDevice(model, *decoding) : OnHost(model, *decoding);
  if (targets.empty()) return FoundEdit::Absent("no kernel is launched in the growing passes");
  return FoundEdit(std::make_unique<KvCache>(std::move(targets), decoding->grown));
}

}  // namespace hone::replay
