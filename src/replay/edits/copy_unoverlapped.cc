// SPDX-License-Identifier: Apache-2.0
// copy-unoverlapped: batches are copied one ahead, on a stream of their own.
#include "replay/edits/copy_unoverlapped.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/waits.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// When the host began to fetch each batch; without fetches a step is one.
struct Batches {
  std::vector<Nanos> begins;
  bool fetched = false;
};

Batches FindBatches(const Model& model) {
  const Graph& graph = model.graph();
  const analyze::Steps& steps = model.facts().steps;
  Batches found;
  RowId fetch = kNoRow;
  for (const Task& task : graph.tasks) {
    if (task.lane != 0 || task.kind != TaskKind::kInput || task.row == fetch) continue;
    fetch = task.row;
    found.begins.push_back(task.start_ns);
  }
  found.fetched = found.begins.size() >= graph.steps;
  if (found.fetched) return found;
  found.begins.clear();
  for (std::size_t i = 0; i < graph.steps; ++i) {
    found.begins.push_back(
        steps.steps[steps.warm_up_count + graph.first_step + i].host_span.begin_ns);
  }
  return found;
}

// Of sorted times, how many there are until then.
std::size_t Until(const std::vector<Nanos>& times, Nanos time) {
  return static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), time) -
                                  times.begin());
}

struct Marks {
  std::vector<std::uint8_t> waited;  // by task: a copy that the host waits for
  std::vector<Nanos> results;        // when the host came to know results of the device, sorted
};

// The host knows a result when it has waited for its copy, or for anything after the copy was done.
Marks FindMarks(const Model& model) {
  const Graph& graph = model.graph();
  const trace::DeviceWork& device = model.trace().device;
  const auto to_host = [&](RowId work) {
    return device.direction[work] == trace::CopyDirection::kDeviceToHost;
  };
  std::vector<Nanos> brought;
  for (RowId work = 0; work < device.size(); ++work) {
    if (to_host(work)) brought.push_back(device.end_ns(work));
  }
  std::sort(brought.begin(), brought.end());
  Marks marks;
  marks.waited.resize(graph.tasks.size(), 0);
  std::size_t known = Until(brought, graph.window.begin_ns);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const WaitReason reason = ReasonOf(model, graph.tasks[t]);
    if (reason == WaitReason::kNone) continue;
    const std::size_t before = std::exchange(known, Until(brought, graph.tasks[t].start_ns));
    bool result = known > before;
    for (const Edge& edge : graph.EdgesOf(t)) {
      const Task& from = graph.tasks[edge.from];
      if (from.kind != TaskKind::kCopy) continue;
      if (reason == WaitReason::kPinnedCopy && edge.laps == 0) marks.waited[edge.from] = 1;
      result = result || to_host(from.row);
    }
    if (result) marks.results.push_back(graph.tasks[t].start_ns);
  }
  return marks;
}

struct Candidate {
  TaskId task = kNoTask;
  Nanos launched_ns = 0;
  std::size_t batch = 0;    // 0: begun before the window
  std::size_t kernels = 0;  // that its device ran in the window before it
};

// Copies to the device, out of pinned memory, that stand in line and that nobody waits for.
std::vector<Candidate> FindCandidates(const Model& model, const std::vector<Nanos>& begins,
                                      const std::vector<std::uint8_t>& waited) {
  const Graph& graph = model.graph();
  const trace::Trace& trace = model.trace();
  const trace::DeviceWork& device = trace.device;
  std::vector<std::uint8_t> computes(graph.lanes.size(), 0);
  for (const Task& task : graph.tasks) computes[task.lane] |= task.kind == TaskKind::kKernel;
  std::vector<Candidate> found;
  std::vector<std::size_t> kernels(trace.devices.size(), 0);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind == TaskKind::kKernel) ++kernels[graph.lanes[task.lane].device];
    if (task.kind != TaskKind::kCopy || computes[task.lane] == 0 || waited[t] != 0 ||
        device.direction[task.row] != trace::CopyDirection::kHostToDevice ||
        device.source[task.row] != trace::MemoryKind::kPinned ||
        task.duration_ns != device.duration_ns[task.row] || model.InOptimizer(task.row)) {
      continue;
    }
    const RowId call = device.api[task.row];
    if (call == kNoRow || graph.of_host[call] == kNoTask) continue;
    const Nanos launched = trace.host.start_ns[call];
    found.push_back({t, launched, Until(begins, launched), kernels[graph.lanes[task.lane].device]});
  }
  return found;
}

// What a batch holds was known when its fetch began. Where nobody fetches, it may hold what the
// host came to know since it copied the batch before: the action or the token that was chosen last.
class MayHoldResults {
 public:
  MayHoldResults(const Batches& batches, const std::vector<Candidate>& candidates,
                 const std::vector<Nanos>& results)
      : batches_(batches), results_(results), first_(batches.begins.size() + 1, INT64_MAX) {
    for (const Candidate& copy : candidates) {
      first_[copy.batch] = std::min(first_[copy.batch], copy.launched_ns);
    }
  }

  bool operator()(const Candidate& copy) const {
    if (batches_.fetched) {
      const Nanos begin = copy.batch == 0 ? INT64_MIN : batches_.begins[copy.batch - 1];
      return Until(results_, copy.launched_ns) > Until(results_, begin);
    }
    // Before the first batch of the window comes the last one of its repetition.
    std::size_t before = copy.batch, turns = 0;
    do {
      turns += before == 0 ? 1 : 0;
      before = (before + first_.size() - 1) % first_.size();
    } while (first_[before] == INT64_MAX);
    return Until(results_, copy.launched_ns) + turns * results_.size() >
           Until(results_, first_[before]);
  }

 private:
  const Batches& batches_;
  const std::vector<Nanos>& results_;
  std::vector<Nanos> first_;  // by batch: when its first copy was launched; INT64_MAX: has none
};

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
  const Batches batches = FindBatches(model);
  const Marks marks = FindMarks(model);
  const std::vector<Candidate> candidates = FindCandidates(model, batches.begins, marks.waited);
  const MayHoldResults may_hold_results(batches, candidates, marks.results);
  std::vector<CopyInLine> copies;
  std::vector<std::uint8_t> has_copies(batches.begins.size() + 1, 0);
  struct Last {
    std::size_t batch = SIZE_MAX, kernels = SIZE_MAX;
    std::uint32_t copies = 0;
  };
  std::vector<Last> last(model.trace().devices.size());
  for (const Candidate& candidate : candidates) {
    if (may_hold_results(candidate)) continue;
    Last& of_device = last[graph.lanes[graph.tasks[candidate.task].lane].device];
    // What two loaders give is one batch where no kernel runs between their copies.
    if (of_device.batch != candidate.batch && of_device.kernels != candidate.kernels) {
      of_device.copies = 0;
    }
    of_device.batch = candidate.batch;
    of_device.kernels = candidate.kernels;
    copies.push_back({candidate.task, of_device.copies++});
    has_copies[candidate.batch] = 1;
  }
  // A copy that is made once in a while has no batch before it to run beside.
  const auto with = std::count(has_copies.begin(), has_copies.end(), std::uint8_t{1});
  if (2 * static_cast<std::size_t>(with) <= graph.steps) copies.clear();
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
