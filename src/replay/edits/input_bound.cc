// SPDX-License-Identifier: Apache-2.0
// input-bound: batches come as fast as the proposed workers make them.
#include "replay/edits/input_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyze/machine_counters.h"
#include "replay/edits/edits.h"
#include "replay/worker_lane.h"

namespace hone::replay {
namespace {

// More workers than this seldom help one program.
constexpr double kMostWorkers = 16;
// What making a batch takes in a worker, of what it took as recorded. The first is assumed. A
// worker's process is not profiled: beside a device, steps that mostly load took 2.4, 2.5 and 4.5
// times as long under torch.profiler in three labelled programs, and about as long in a ResNet-50.
// The second is set from those same programs, so their score does not test it.
constexpr Range3 kWorkOfRecorded = {1.25, 1.0, 0.9};
constexpr Range3 kWorkOfProfiled = {1.25, 0.4, 0.2};
// Workers that exist are not profiled; without the profiler one labelled program's step took 0.7
// times as long.
constexpr Range3 kWorkOfWorkers = {1.25, 1.0, 0.7};

// Where nobody told how many cores there are, and no device does the rest: what next to every
// machine has. Only the most that it may help counts on a core for each worker.
constexpr double kSureCores = 2;

// With fewer, one that is longer than all others is nothing odd.
constexpr std::uint64_t kFetchesToJudge = 8;

struct Fetches {
  double count = 0;
  double work_ns = 0;      // of one, in the process itself
  double measured_ns = 0;  // of one, as recorded
};

Fetches CountFetches(const Graph& graph, const Plan& plan, trace::RowId odd) {
  Fetches fetches;
  trace::RowId last = trace::kNoRow;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::kInput || task.lane != 0 || task.row == odd) continue;
    // A fetch may be cut into pieces by calls inside it.
    if (task.row != last) ++fetches.count;
    last = task.row;
    fetches.work_ns += static_cast<double>(plan.duration_ns[t]);
    fetches.measured_ns += static_cast<double>(task.duration_ns);
  }
  if (fetches.count > 0) {
    fetches.work_ns /= fetches.count;
    fetches.measured_ns /= fetches.count;
  }
  return fetches;
}

class InputBound : public Edit {
 public:
  InputBound(WorkerChoice choice, IdleWorkers idle, trace::RowId odd)
      : choice_(choice), idle_(std::move(idle)), odd_(odd) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    const Pace pace =
        choice_.times ? Pace{} : PaceOf(model, guess, CountFetches(graph, plan, odd_));
    plan.apart_share = pace.share;
    plan.apart_least_ns = pace.least_ns;
    trace::RowId fetch = trace::kNoRow;
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.kind != TaskKind::kInput || task.row == odd_) continue;
      if (graph.lanes[task.lane].kind == LaneKind::kWorkers) {
        plan.duration_ns[t] = std::llround(static_cast<double>(plan.duration_ns[t]) *
                                           kWorkOfWorkers.At(guess) / choice_.count);
        continue;
      }
      // What was ready is taken no faster from more workers.
      if (choice_.times && idle_.At(model.trace().host.start_ns[task.row])) continue;
      // Of a fetch in pieces only one pays.
      const bool first = task.row != fetch;
      const auto ready = static_cast<Nanos>(kReadyFetchNs.At(guess));
      const Nanos measured = std::max(task.duration_ns, model.trace().host.duration_ns[task.row]);
      plan.duration_ns[t] = first ? std::min(ready, measured) : 0;
      if (first && task.lane == 0) plan.apart_ns[t] = pace.apart_ns;
      fetch = task.row;
    }
  }

  std::string Scope(const Model& model) const override {
    Nanos waited = 0;
    const Graph& graph = model.graph();
    for (const Task& task : graph.tasks) {
      if (task.kind == TaskKind::kInput && graph.lanes[task.lane].kind == LaneKind::kThread) {
        waited += model.trace().host.duration_ns[task.row];
      }
    }
    const double each = static_cast<double>(waited) / 1e6 / static_cast<double>(graph.steps);
    return choice_.times ? fmt::format("{:.2f} ms a step of fetching batches, {} times the workers",
                                       each, choice_.count)
                         : fmt::format("{:.2f} ms a step of fetching batches, {} workers", each,
                                       choice_.count);
  }

 private:
  // From one batch to the next when new workers make them; `share` and the least as in a plan.
  struct Pace {
    Nanos apart_ns = 0, least_ns = 0;
    double share = 0;
  };
  Pace PaceOf(const Model& model, Guess guess, const Fetches& fetches) const {
    if (fetches.count == 0) return {};
    const bool device = model.facts().timeline.has_value();
    const bool profiled = device && model.trace().info.format == trace::Format::kKineto;
    const double work = fetches.work_ns * (profiled ? kWorkOfProfiled : kWorkOfRecorded).At(guess);
    const double workers = choice_.count;
    double apart = work / workers, share = 0;
    const double least = apart;
    const double cores = choice_.cores > 0 || device ? choice_.cores : kSureCores;
    if (cores > 0 && guess != Guess::kMost) {
      const Nanos once = odd_ == trace::kNoRow ? 0 : model.trace().host.duration_ns[odd_];
      // Both as recorded: what the plan has taken out of a fetch (the recorder's cost) is no rest.
      const double between =
          static_cast<double>(model.graph().window.length() - once) / fetches.count -
          fetches.measured_ns;
      // What waits for a disk takes no core; where that was not seen, at most it does (kMost).
      // Operators of the host may use every core, so that at the least nothing runs beside them.
      const double at_once = cores / choice_.on_core;
      share = guess == Guess::kLeast && !device ? 1 : choice_.rest_cores / cores;
      apart = guess == Guess::kLeast && !device
                  ? work / std::min(workers, at_once) + between
                  : std::max(apart, work * choice_.on_core / cores + between * share);
      // Workers never make it slower than loading in the process itself.
      apart = std::min(apart, fetches.work_ns + between);
    }
    return {static_cast<Nanos>(apart), static_cast<Nanos>(least), share};
  }

  const WorkerChoice choice_;
  const IdleWorkers idle_;
  const trace::RowId odd_;
};

// At least: making tensors and sending them to another process takes a core.
constexpr double kLeastOnCore = 0.1;

// Share of loading in the step's own thread that it wanted a core for, at most: all that the thread
// wanted may have been for loading. 1 where nobody counted.
double OnCore(const Known<analyze::StepDemand>& demand, double step_ns, double loading_ns) {
  if (!demand || loading_ns <= 0) return 1;
  return std::clamp((demand->running + demand->waiting) * step_ns / loading_ns, kLeastOnCore, 1.0);
}

// Operators on the host run on several cores at once, which new workers then have to share: what
// the process wanted of them in the rest of the step. Loading itself may have used more than one,
// so this is the most.
double RestCores(const Known<analyze::StepDemand>& demand, double step_ns,
                 double loading_on_core_ns, double rest_ns, double cores) {
  if (!demand || cores <= 0) return 1;
  return std::clamp((demand->process_wanted * step_ns - loading_on_core_ns) / rest_ns, 1.0,
                    std::max(1.0, cores));
}

}  // namespace

trace::RowId OddFetch(const Model& model) {
  const trace::HostSlices& host = model.trace().host;
  trace::RowId longest = trace::kNoRow, last = trace::kNoRow;
  std::uint64_t fetches = 0;
  Nanos all = 0;
  for (const Task& task : model.graph().tasks) {
    if (task.kind != TaskKind::kInput || task.lane != 0 || task.row == last) continue;
    last = task.row;
    ++fetches;
    all += host.duration_ns[last];
    if (longest == trace::kNoRow || host.duration_ns[last] > host.duration_ns[longest]) {
      longest = last;
    }
  }
  const bool odd = fetches >= kFetchesToJudge && 2 * host.duration_ns[longest] > all;
  return odd ? longest : trace::kNoRow;
}

double UsualFetching(const Model& model) {
  const double all = *model.facts().loader->per_step_ns;
  const trace::RowId odd = OddFetch(model);
  if (odd == trace::kNoRow) return all;
  const auto once = static_cast<double>(model.trace().host.duration_ns[odd]);
  return std::max(0.0, all - once / static_cast<double>(model.facts().steps.steady_count()));
}

WorkerChoice ChooseWorkers(const Model& model) {
  const analyze::LoaderFacts& loader = *model.facts().loader;
  const analyze::Steps& steps = model.facts().steps;
  WorkerChoice choice;
  choice.times = loader.mode == analyze::LoaderMode::kWorkers;
  choice.cores = analyze::ReadCounter(model.trace(), steps.host_window.hull(), "cpu_cores").mean();
  const double step =
      static_cast<double>(steps.steady_window.length()) / static_cast<double>(steps.steady_count());
  const double loading = UsualFetching(model);
  const double rest = std::max(step - *loader.per_step_ns, 1.0);
  // Enough to make a batch in the time that the rest of the step takes, and one to spare. A worker
  // has one thread where the main process may use all, so it is given twice the time (assumed).
  const double needed = choice.times ? std::ceil(step / rest) : std::ceil(2 * loading / rest) + 1;
  if (!choice.times) {
    const auto demand = model.StepDemand();
    choice.on_core = OnCore(demand, step, loading);
    choice.rest_cores = RestCores(demand, step, loading * choice.on_core, rest, choice.cores);
  }
  // More workers than cores only wait for each other, as far as they compute.
  const double most = choice.cores > 0
                          ? std::clamp(std::floor(choice.cores / choice.on_core), 2.0, kMostWorkers)
                          : kMostWorkers;
  choice.count = static_cast<int>(std::clamp(needed, 2.0, most));
  choice.enough = needed <= most;
  return choice;
}

FoundEdit FindInputBound(const Model& model) {
  const Graph& graph = model.graph();
  const bool any = std::any_of(graph.tasks.begin(), graph.tasks.end(),
                               [](const Task& task) { return task.kind == TaskKind::kInput; });
  if (!any || !model.facts().loader || !model.facts().loader->per_step_ns) {
    return FoundEdit::Absent("no loader was seen fetching a batch in the steps");
  }
  return FoundEdit(std::make_unique<InputBound>(
      ChooseWorkers(model), IdleWorkers(model.trace(), graph.lanes[0].row), OddFetch(model)));
}

}  // namespace hone::replay
