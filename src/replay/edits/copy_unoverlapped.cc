// SPDX-License-Identifier: Apache-2.0
// copy-unoverlapped: batches are copied one ahead, on a stream of their own.
#include "replay/edits/copy_unoverlapped.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/waits.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// When the host began to fetch each batch; without fetches a step is one.
std::vector<Nanos> BatchBegins(const Model& model) {
  const Graph& graph = model.graph();
  const analyze::Steps& steps = model.facts().steps;
  std::vector<Nanos> begins;
  RowId fetch = kNoRow;
  for (const Task& task : graph.tasks) {
    if (task.lane != 0 || task.kind != TaskKind::kInput || task.row == fetch) continue;
    fetch = task.row;
    begins.push_back(task.start_ns);
  }
  if (begins.size() >= graph.steps) return begins;
  begins.clear();
  for (std::size_t i = 0; i < graph.steps; ++i) {
    begins.push_back(steps.steps[steps.warm_up_count + graph.first_step + i].host_span.begin_ns);
  }
  return begins;
}

// By task.
struct Marks {
  std::vector<std::uint8_t> waited;  // a copy that the host waits for
  std::vector<Nanos> results;        // when the host had results of the device brought to it
};

Marks FindMarks(const Model& model) {
  const Graph& graph = model.graph();
  const trace::DeviceWork& device = model.trace().device;
  Marks marks;
  marks.waited.resize(graph.tasks.size(), 0);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const WaitReason reason = ReasonOf(model, graph.tasks[t]);
    if (reason != WaitReason::kPinnedCopy && reason != WaitReason::kResult) continue;
    bool result = false;
    for (const Edge& edge : graph.EdgesOf(t)) {
      const Task& from = graph.tasks[edge.from];
      if (from.kind != TaskKind::kCopy || edge.laps > 0) continue;
      if (reason == WaitReason::kPinnedCopy) marks.waited[edge.from] = 1;
      result |= device.direction[from.row] == trace::CopyDirection::kDeviceToHost;
    }
    if (reason == WaitReason::kResult && result) marks.results.push_back(graph.tasks[t].start_ns);
  }
  return marks;
}

class CopyUnoverlapped : public Edit {
 public:
  explicit CopyUnoverlapped(std::vector<CopyInLine> copies) : copies_(std::move(copies)) {}

  // At least, half of each copy is hidden: as with communication, which is the other thing that
  // runs beside compute.
  void Apply(const Model& /*model*/, Guess guess, Plan& plan) const override {
    for (const CopyInLine& copy : copies_) {
      if (guess == Guess::kLeast) {
        plan.duration_ns[copy.task] /= 2;
      } else {
        plan.SetAhead(copy.task, copy.of_batch + 1);
      }
    }
  }

  std::string Scope(const Model& model) const override {
    const auto steps = static_cast<double>(model.graph().steps);
    double bytes = 0;
    for (const CopyInLine& copy : copies_) {
      bytes += static_cast<double>(
          std::max<Bytes>(0, model.trace().device.bytes[model.graph().tasks[copy.task].row]));
    }
    return fmt::format("{} copies a step ({}) run one batch ahead, on a stream of their own",
                       Fixed(static_cast<double>(copies_.size()) / steps, 1),
                       HumanBytes(bytes / steps));
  }

 private:
  const std::vector<CopyInLine> copies_;
};

}  // namespace

std::vector<CopyInLine> FindCopiesInLine(const Model& model) {
  const Graph& graph = model.graph();
  const trace::Trace& trace = model.trace();
  const trace::DeviceWork& device = trace.device;
  std::vector<std::uint8_t> computes(graph.lanes.size(), 0);
  for (const Task& task : graph.tasks) computes[task.lane] |= task.kind == TaskKind::kKernel;
  const std::vector<Nanos> begins = BatchBegins(model);
  const Marks marks = FindMarks(model);
  const auto until = [](const std::vector<Nanos>& times, Nanos time) {
    return std::upper_bound(times.begin(), times.end(), time) - times.begin();
  };
  std::vector<CopyInLine> copies;
  std::ptrdiff_t batches = 0, batch = -1;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::kCopy || computes[task.lane] == 0 || marks.waited[t] != 0 ||
        device.direction[task.row] != trace::CopyDirection::kHostToDevice ||
        device.source[task.row] != trace::MemoryKind::kPinned ||
        task.duration_ns != device.duration_ns[task.row] || model.InOptimizer(task.row)) {
      continue;
    }
    const RowId call = device.api[task.row];
    if (call == kNoRow || graph.of_host[call] == kNoTask) continue;
    const Nanos launched = trace.host.start_ns[call];
    const std::ptrdiff_t begun = until(begins, launched);
    const Nanos begin = begun > 0 ? begins[static_cast<std::size_t>(begun - 1)] : INT64_MIN;
    if (until(marks.results, launched) > until(marks.results, begin)) continue;
    const bool another = copies.empty() || begun != batch;
    if (another) ++batches;
    batch = begun;
    copies.push_back({t, another ? 0 : copies.back().of_batch + 1});
  }
  // A copy that is made once in a while has no batch before it to run beside.
  if (2 * batches <= static_cast<std::ptrdiff_t>(begins.size())) copies.clear();
  return copies;
}

FoundEdit FindCopyUnoverlapped(const Model& model) {
  std::vector<CopyInLine> copies = FindCopiesInLine(model);
  if (copies.empty()) {
    return FoundEdit::Absent(
        "no copy out of pinned memory stands in line with kernels for every batch");
  }
  return FoundEdit(std::make_unique<CopyUnoverlapped>(std::move(copies)));
}

}  // namespace hone::replay
