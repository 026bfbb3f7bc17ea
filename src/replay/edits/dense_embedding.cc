// SPDX-License-Identifier: Apache-2.0
// dense-embedding-gradients: gradients of tables hold the rows that were looked up, and optimizers
// go over those alone.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/embedding_tables.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Of what sparse updates were measured to take (embedding_tables.cc): caches are cold or warm, and
// cores differ.
constexpr Range3 kRemains = {2.0, 1.0, 0.6};
constexpr Nanos kCallNs = 2'000, kResetNs = 50'000;
// Of a node of the backward pass beside its whole-table operators: sorting, and adding rows up,
// which the optimizer then does.
constexpr Range3 kNodeLeft = {1.0, 0.5, 0.2};
constexpr Nanos kNodeNs = 50'000;
// What code costs behind others that drove it out of the caches: as in replay/warm_code.cc, fully
// where tables are larger than the caches of most cores.
constexpr Range3 kColdNs = {0, 1.2e6, 1.9e6};
constexpr double kPaidWithinNs = 0.85e6, kMostOfOneNs = 10'000, kMostWarm = 0.5;
constexpr double kCachesBytes = 16e6;
// On a device, for each table: SparseAdam calls some thirty operators where dense ones share a few,
// and sorts the indices. Not measured: no recording of a pair on a device is at hand.
constexpr Range3 kHostMoreNs = {600'000, 300'000, 150'000};
constexpr Range3 kKernelsNs = {300'000, 150'000, 60'000};
constexpr double kKernelLatencyNs = 1'500;

constexpr Guess kGuesses[] = {Guess::kLeast, Guess::kLikely, Guess::kMost};

class SparseGradients : public Edit {
 public:
  SparseGradients(const Model& model, EmbeddingTables tables) : tables_(std::move(tables)) {
    if (model.trace().device.size() == 0) {
      for (const Guess guess : kGuesses) {
        host_[static_cast<std::size_t>(guess)] = HostCut(model.graph(), SpansOf(model, guess));
      }
    } else {
      FindWork(model);
    }
  }

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const HostCut& host = host_[static_cast<std::size_t>(guess)];
    host.Apply(model.graph(), 1.0, plan);
    host.Settle(plan);
    if (!host.empty()) WarmUp(model, guess, plan);
    for (const Work& work : work_) {
      const auto duration = static_cast<double>(plan.duration_ns[work.task]);
      const double moves = std::max(0.0, duration - kKernelLatencyNs);
      plan.duration_ns[work.task] =
          static_cast<Nanos>(duration - work.share * moves + work.tables * kKernelsNs.At(guess));
      if (work.call == kNoTask) continue;
      plan.duration_ns[work.call] += static_cast<Nanos>(work.tables * kHostMoreNs.At(guess));
    }
  }

  std::string Scope(const Model& /*model*/) const override {
    double tables = 0, rows = 0, indices = 0;
    for (const EmbeddingTables::Shape& shape : tables_.shapes) {
      tables += shape.tables;
      rows += shape.tables * static_cast<double>(shape.rows);
      indices += shape.tables * shape.indices;
    }
    return fmt::format("of {} rows in {} a step looks up {} at most", Grouped(rows),
                       tables > 1.5 ? fmt::format("{:.0f} tables", tables) : "a table",
                       Grouped(indices));
  }

 private:
  struct Work {
    TaskId task = kNoTask, call = kNoTask;
    double share = 1;   // of the work, what is tables
    double tables = 0;  // that are updated instead
  };

  // Going over tables drives everything else out of the caches, as a long pause does; what comes
  // behind it runs warm once they are left alone.
  void WarmUp(const Model& model, Guess guess, Plan& plan) const {
    const Graph& graph = model.graph();
    double bytes = 0;
    for (const EmbeddingTables::Shape& shape : tables_.shapes) {
      bytes += shape.tables * shape.Elements() * sizeof(float);
    }
    double left = 0, operators = 0;
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.lane != 0 || task.kind == TaskKind::kInput) continue;
      left += static_cast<double>(plan.duration_ns[t]);
      operators += task.ops;
    }
    if (left <= 0) return;
    const auto steps = static_cast<double>(graph.steps);
    const double cold = kColdNs.At(guess) * std::min(1.0, bytes / kCachesBytes);
    // Of w when warm, w + cold * (1 - e^(-w / within)) is taken behind it (replay/warm_code.cc).
    const double saves = cold * (1 - std::exp(-left / steps / (kPaidWithinNs + cold)));
    const double most = std::min(kMostOfOneNs * operators / steps, kMostWarm * left / steps);
    const double stays = 1 - std::min(saves, most) * steps / left;
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.lane != 0 || task.kind == TaskKind::kInput) continue;
      plan.duration_ns[t] = std::llround(static_cast<double>(plan.duration_ns[t]) * stays);
    }
  }

  static std::string Grouped(double count) {
    return WithThousands(static_cast<std::int64_t>(std::llround(count)));
  }

  // An optimizer frees what it made of a table (roots, quotients) before it calls the next
  // operator: in recsys_adam (120,000 x 48) a fifth of its step. To where that begins, or the step
  // ends.
  static Nanos EndWithFreeing(const Model& model, RowId row) {
    const trace::HostSlices& host = model.trace().host;
    const Nanos end = host.end_ns(row);
    const std::vector<OptimizerStep>& marks = model.optimizer_steps();
    const auto mark =
        std::upper_bound(marks.begin(), marks.end(), row,
                         [](RowId at, const OptimizerStep& step) { return at < step.row; });
    if (mark == marks.begin()) return end;
    const RowId last = model.trace().threads[host.thread[row]].last_slice;
    RowId next = row + 1;
    while (next < last && (host.start_ns[next] < end || host.kind[next] != trace::SliceKind::kOp)) {
      ++next;
    }
    const Nanos step_end = std::max(end, host.end_ns((mark - 1)->row));
    return next < last ? std::min(step_end, host.start_ns[next]) : step_end;
  }

  std::vector<HostSpan> SpansOf(const Model& model, Guess guess) const {
    const trace::HostSlices& host = model.trace().host;
    std::vector<HostSpan> spans;
    for (const EmbeddingTables::Call& call : tables_.calls) {
      const Nanos begin = host.start_ns[call.row];
      const Nanos end = call.updates ? EndWithFreeing(model, call.row) : host.end_ns(call.row);
      const double rest = (1 - call.share) * static_cast<double>(end - begin);
      const double remains = call.updates ? call.remains_ns * kRemains.At(guess) : 0;
      spans.push_back({model.LaneOf(call.row),
                       {begin, end},
                       static_cast<Nanos>(rest + remains) + (call.updates ? 0 : kCallNs)});
    }
    AddNodes(model, guess, spans);
    AddResets(model, guess, spans);
    return spans;
  }

  // What lies between the operators on whole tables, each stretch by itself.
  void AddNodes(const Model& model, Guess guess, std::vector<HostSpan>& spans) const {
    const trace::HostSlices& host = model.trace().host;
    auto call = tables_.calls.begin();
    for (const RowId node : tables_.nodes) {
      Nanos at = host.start_ns[node];
      const Nanos length = host.duration_ns[node];
      const auto add = [&](Nanos until) {
        if (until <= at) return;
        const double share = static_cast<double>(until - at) / static_cast<double>(length);
        spans.push_back({model.LaneOf(node),
                         {at, until},
                         static_cast<Nanos>(share * static_cast<double>(kNodeNs)),
                         kNodeLeft.At(guess)});
      };
      while (call != tables_.calls.end() && call->row < node) ++call;
      for (; call != tables_.calls.end() && host.thread[call->row] == host.thread[node] &&
             host.start_ns[call->row] < host.end_ns(node);
           ++call) {
        add(host.start_ns[call->row]);
        at = host.end_ns(call->row);
      }
      add(host.end_ns(node));
    }
  }

  // zero_grad() frees gradients: of 19 MB, as large as a table of 150,000 x 32, in 0.3 to 1.1 ms.
  static void AddResets(const Model& model, Guess guess, std::vector<HostSpan>& spans) {
    if (guess == Guess::kLeast) return;
    const trace::HostSlices& host = model.trace().host;
    const auto resets = model.HostRows(trace::SliceKind::kAnnotation, [](std::string_view name) {
      return name.starts_with("Optimizer.zero_grad");
    });
    for (const RowId row : resets) {
      spans.push_back({model.LaneOf(row), {host.start_ns[row], host.end_ns(row)}, kResetNs});
    }
  }

  void FindWork(const Model& model) {
    const trace::Trace& trace = model.trace();
    std::vector<std::uint32_t> call_of(trace.host.size(), 0);  // 1 + index of the one around it
    auto next = tables_.calls.begin();
    for (RowId i = 0; i < trace.host.size(); ++i) {
      const RowId parent = trace.host.parent[i];
      if (parent != kNoRow) call_of[i] = call_of[parent];
      if (next == tables_.calls.end() || next->row != i) continue;
      call_of[i] = static_cast<std::uint32_t>(++next - tables_.calls.begin());
    }
    std::vector<std::uint8_t> priced(tables_.calls.size(), 0);
    for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
      const Task& task = model.graph().tasks[t];
      if (task.kind != TaskKind::kKernel && task.kind != TaskKind::kCopy) continue;
      const RowId launch = trace.device.api[task.row], op = trace.device.op[task.row];
      const std::uint32_t at = op == kNoRow ? 0 : call_of[op];
      if (at == 0) continue;
      const EmbeddingTables::Call& call = tables_.calls[at - 1];
      Work work{t, launch == kNoRow ? kNoTask : model.graph().of_host[launch], call.share};
      if (std::exchange(priced[at - 1], 1) == 0) work.tables = call.tables;
      work_.push_back(work);
    }
  }

  const EmbeddingTables tables_;
  std::array<HostCut, 3> host_;  // by Guess; without a device
  std::vector<Work> work_;
};

}  // namespace

FoundEdit FindDenseEmbedding(const Model& model) {
  if (!HasDenseEmbeddings(model)) {
    return FoundEdit::Absent("no embedding table gets a dense gradient in the steps");
  }
  if (!model.facts().trust.present.shapes) {
    return FoundEdit::Absent("the sizes of tensors are not in this trace");
  }
  EmbeddingTables tables = LookAtEmbeddingTables(model);
  if (tables.empty()) {
    return FoundEdit::Absent(fmt::format(
        "no embedding table of a megabyte or more of which a step looks up {:.0f} % of the rows or "
        "fewer, and that nothing else has a gradient for",
        kMostTouched * 100));
  }
  return FoundEdit(std::make_unique<SparseGradients>(model, std::move(tables)));
}

}  // namespace hone::replay
