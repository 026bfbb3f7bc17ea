// SPDX-License-Identifier: Apache-2.0
// input-bound: the step waits for its batch.
#include "replay/edits/input_bound.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/slice_activity.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/slow_fetch.h"
#include "replay/edits/worker_restart.h"
#include "replay/worker_lane.h"

namespace hone::doctor {
namespace {

using trace::kNoRow;
using trace::RowId;

// Below this share of a step a fetch is the normal cost of taking a ready batch: 0.1 to 1 ms with
// workers on steps of 30 ms and more.
constexpr double kLeastShare = 0.02;
// A device that is idle less than this waits for nobody.
constexpr double kIdleShare = 0.05;
// Items that are rows of tensors, taken one by one and stacked again: as many takings as samples,
// one stack for each field, and hardly anything else.
struct RowByRow {
  double taken = 0, stacked = 0, length_ns = 0;  // a fetch
  bool found() const { return stacked > 0 && taken >= kFewestRows * stacked; }
  static constexpr double kFewestRows = 16;
};

RowByRow FindRowByRow(const replay::Model& model) {
  // What else may stand in a fetch, as a share of what is taken.
  constexpr double kFewOthers = 0.1;
  const trace::Trace& trace = model.trace();
  std::vector<std::uint8_t> inside(trace.host.size(), 0);
  double fetches = 0, others = 0;
  RowByRow found;
  const RowId odd = replay::OddFetch(model);
  for (const RowId row : analyze::FindLoaderSlices(trace)) {
    inside[row] = model.InWindow(row) && row != odd ? 1 : 0;
    fetches += inside[row];
    if (inside[row] != 0) found.length_ns += static_cast<double>(trace.host.duration_ns[row]);
  }
  for (RowId i = 0; i < trace.host.size(); ++i) {
    const RowId parent = trace.host.parent[i];
    if (parent != kNoRow && inside[parent] != 0) inside[i] = 1;
    if (inside[i] == 0 || model.lineage().top_op[i] != i) continue;
    const std::string_view name = trace.HostName(i);
    const bool takes = name == "aten::select" || name == "aten::index";
    (takes ? found.taken : name == "aten::stack" ? found.stacked : others) += 1;
  }
  if (fetches == 0 || others > kFewOthers * found.taken) return {};
  found.taken /= fetches;
  found.stacked /= fetches;
  found.length_ns /= fetches;
  return found;
}

// Steady steps in which a fetch takes longer than a ready batch, and kLeastShare of the step or
// more, as a share of all. Not where the workers have nothing to make: the batch is ready then,
// however long it takes to take it (another process's memory is mapped, the cores are crowded).
double WaitingSteps(const replay::Model& model) {
  const trace::HostSlices& host = model.trace().host;
  const double least =
      std::max(kLeastShare * model.graph().measured_step_ns(), replay::kReadyFetchNs.likely);
  const replay::IdleWorkers idle(model.trace(), model.graph().lanes[0].row);
  std::uint64_t waited = 0, fetches = 0;
  RowId last = kNoRow;
  for (const replay::Task& task : model.graph().tasks) {
    if (task.kind != replay::TaskKind::kInput || task.row == last) continue;
    if (model.graph().lanes[task.lane].kind != replay::LaneKind::kThread) continue;
    last = task.row;
    ++fetches;
    if (idle.At(host.start_ns[task.row])) continue;
    if (static_cast<double>(host.duration_ns[task.row]) >= least) ++waited;
  }
  return fetches == 0 ? 0 : static_cast<double>(waited) / static_cast<double>(fetches);
}

bool HasDevice(const Case& the_case) { return the_case.facts.timeline.has_value(); }

// As many as there were at a time: each epoch may start new ones. 0: unknown.
std::size_t WorkersSeen(const replay::Model& model) {
  const std::vector<trace::Interval> workers = replay::WorkerSpans(model);
  std::size_t most = 0;
  for (const trace::Interval& one : workers) {
    const auto beside = [&](const trace::Interval& other) {
      return other.begin_ns <= one.begin_ns && one.begin_ns < other.end_ns;
    };
    most = std::max(
        most, static_cast<std::size_t>(std::count_if(workers.begin(), workers.end(), beside)));
  }
  return most;
}

// What a trainer asks its loader for is said to the trainer.
std::string OfTrainer(const replay::WorkerChoice& choice, std::size_t now) {
  if (choice.times && now == 0) {
    return fmt::format(
        "TrainingArguments(..., dataloader_num_workers={} * n)   # n: the number it has now\n",
        choice.count);
  }
  return fmt::format(
      "TrainingArguments(..., dataloader_num_workers={})   # and {}\n",
      choice.times ? static_cast<std::size_t>(choice.count) * now
                   : static_cast<std::size_t>(choice.count),
      choice.times ? "dataloader_prefetch_factor=4" : "dataloader_persistent_workers=True");
}

std::string OfLoader(const Case& the_case, const replay::WorkerChoice& choice, std::size_t now) {
  // Without a device there is nothing to pin memory for: torch warns of it.
  const bool device = HasDevice(the_case);
  return choice.times && now > 0
             ? fmt::format("DataLoader(..., num_workers={}, prefetch_factor=4)   # it has {} now\n",
                           static_cast<std::size_t>(choice.count) * now, now)
         : !choice.times && choice.cores <= 0 && !device
             ? fmt::format(
                   "DataLoader(..., num_workers=min({}, os.cpu_count()), "
                   "persistent_workers=True)\n",
                   choice.count)
         : choice.times
             ? fmt::format(
                   "DataLoader(..., num_workers={} * n, prefetch_factor=4)   # n: the number it "
                   "has "
                   "now\n",
                   choice.count)
             : fmt::format("DataLoader(..., num_workers={}, {}persistent_workers=True)\n",
                           choice.count, device ? "pin_memory=True, " : "");
}

void AdviseWorkers(const Case& the_case, const replay::WorkerChoice& choice, std::size_t now,
                   Finding& finding) {
  finding.needed =
      UnderTrainer(the_case) ? OfTrainer(choice, now) : OfLoader(the_case, choice, now);
  if (choice.crowded()) {
    finding.needed += fmt::format(
        "torch.set_num_threads({:.0f})   # else operators and workers fight over {:.0f} "
        "cores\n",
        std::max(1.0, choice.cores - choice.count * choice.on_core), choice.cores);
  }
  finding.remedy = finding.needed;
  finding.remedy +=
      "# an IterableDataset must split its samples by torch.utils.data.get_worker_info()\n";
}

// Where the workers that would hide the fetch have no cores: they gain little, and the same work is
// done as often.
bool FewCores(const replay::WorkerChoice& choice, std::size_t now) {
  if (choice.cores <= 0) return false;
  if (choice.times) return now > 0 && choice.count * static_cast<double>(now) > choice.cores;
  return !choice.enough || choice.crowded();
}

// One function takes most of the fetch.
void LeadWith(const Case& the_case, const SlowFetch& slow, double cores, Finding& finding) {
  const std::string lead =
      fmt::format("# first{}: do beforehand, by {}, or cache what\n# {} does; then, for {}:\n",
                  slow.gain > 1 ? fmt::format(", up to {:.1f}x", slow.gain) : "",
                  HasDevice(the_case) ? "batches on the GPU" : "whole batches", slow.source,
                  Times(cores, "core"));
  finding.remedy = lead + finding.remedy;
  finding.needed = lead + finding.needed;
  finding.effort = Effort::kFewLines;
}

void Remark(const Case& the_case, const replay::WorkerChoice& choice, const SlowFetch& slow,
            Finding& finding) {
  const bool device = HasDevice(the_case);
  const char* cheaper = device ? "decode once and store tensors, or augment on the GPU"
                               : "decode once and store tensors";
  if (choice.times) {
    finding.remedy += fmt::format("# where there are no cores left: {}\n", cheaper);
  } else if (!choice.enough && choice.cores > 0) {
    finding.remedy +=
        fmt::format("# all {:.0f} cores may not be enough: {}\n", choice.cores, cheaper);
  } else if (!choice.enough) {
    finding.remedy += fmt::format("# {} may not be enough: {}\n", choice.count, cheaper);
  }
  if (slow.share < kMostOfFetch) return;
  finding.remedy += fmt::format("# or make {} cheaper: do it once beforehand{}\n", slow.source,
                                device ? ", or on the GPU" : "");
}

void Name(const Case& the_case, const replay::Model& model, Finding& finding) {
  const analyze::LoaderFacts& loader = *the_case.facts.loader;
  switch (loader.mode) {
    case analyze::LoaderMode::kInProcess:
      finding.title = fmt::format("data is loaded in the main process while the {} waits",
                                  HasDevice(the_case) ? "device" : "program");
      break;
    case analyze::LoaderMode::kWorkers: {
      const double waiting = WaitingSteps(model);
      finding.title = waiting >= 0.5 ? "the loader's workers do not keep up"
                                     : "now and then the step waits for its batch";
      finding.evidence.push_back(
          fmt::format("the step waits in {:.0f} % of the fetches", 100 * waiting));
      break;
    }
    case analyze::LoaderMode::kUnknown:
      finding.title = "the step waits for its batch";
      finding.confidence = Confidence::kMedium;
      break;
  }
}

void NameSlow(const Case& the_case, const SlowFetch& slow, Finding& finding) {
  if (slow.source.empty()) return;
  finding.evidence.insert(finding.evidence.end(), slow.evidence.begin(), slow.evidence.end());
  Place place;
  if (slow.example != kNoRow) place = Places(the_case).Of(slow.example);
  place.source = slow.source;
  finding.where.insert(finding.where.begin(), std::move(place));
  if (slow.share < kMostOfFetch) return;
  const bool in_workers = the_case.facts.loader->mode == analyze::LoaderMode::kWorkers;
  finding.title +=
      fmt::format(", most of {} in {}", in_workers ? "their time" : "it", slow.function);
}

// Workers would do the same work, and send it to another process.
bool NameRowByRow(const replay::Model& model, Finding& finding) {
  const RowByRow rows = FindRowByRow(model);
  // Whatever takes longer than getting to the next operator is not the taking.
  const auto most = static_cast<double>(analyze::kDispatchPause);
  if (!rows.found() || rows.length_ns > most * rows.taken) return false;
  finding.title += ", row by row";
  finding.evidence.push_back(
      fmt::format("a fetch takes {} out of tensors, and stacks them again with {}",
                  Times(rows.taken, "row"), Times(rows.stacked, "operator")));
  finding.needed.clear();  // what workers need is a second step now
  finding.remedy =
      "# first: whole batches at a time, dataset[list_of_indices]\n"
      "DataLoader(dataset, sampler=BatchSampler(RandomSampler(dataset), 128, False), "
      "batch_size=None)\n"
      "# where that is not enough:\n" +
      finding.remedy;
  return true;
}

}  // namespace

Judgement JudgeInputBound(const Case& the_case) {
  const Known<analyze::LoaderFacts>& loader = the_case.facts.loader;
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!loader) {
    if (the_case.facts.timeline) {
      const analyze::TimelineSplit& steady = the_case.facts.timeline->main_device().steady;
      if (static_cast<double>(steady.idle_ns) < kIdleShare * static_cast<double>(steady.total_ns)) {
        return Judgement::Quiet();
      }
    }
    return Judgement::Missing(loader.why_not() +
                              "; wrap the fetch: with record_function(\"get_batch\"): ...");
  }
  if (!loader->per_step_ns) return Judgement::Missing(loader->per_step_ns.why_not());
  const double step = the_case.step_ns();
  if (*loader->per_step_ns < kLeastShare * step || !the_case.whatif->Find("input-bound")) {
    return Judgement::Quiet();
  }
  const replay::Model& model = the_case.whatif->model();
  const double fetching = replay::UsualFetching(model);
  if (fetching < kLeastShare * step) return Judgement::Quiet();
  // What workers had ready is only taken.
  if (loader->mode == analyze::LoaderMode::kWorkers && WaitingSteps(model) == 0) {
    return Judgement::Quiet();
  }

  Finding finding;
  finding.id = "input-bound";
  finding.fix = {"input-bound"};
  finding.evidence.push_back(
      fmt::format("fetching a batch takes {:.1f} ms of a {:.1f} ms step ({:.0f} %)", fetching / 1e6,
                  step / 1e6, 100 * fetching / step));
  if (const RowId odd = replay::OddFetch(model); odd != kNoRow) {
    finding.evidence.push_back(
        fmt::format("one fetch of {} is left out: what happens once tells no rate",
                    HumanDuration(the_case.trace.host.duration_ns[odd])));
  }
  if (loader->device_idle_ns) {
    finding.evidence.push_back(fmt::format("the device is idle for {:.1f} ms a step because of it",
                                           static_cast<double>(*loader->device_idle_ns) / 1e6 /
                                               static_cast<double>(the_case.steps())));
  }
  Name(the_case, model, finding);
  const replay::WorkerChoice choice = replay::ChooseWorkers(model);
  if (choice.crowded()) finding.confidence = Confidence::kMedium;
  if (!choice.times && choice.cores <= 0 && !HasDevice(the_case)) {
    finding.confidence = Confidence::kMedium;
    const std::string more =
        choice.count > 2 ? fmt::format(", and at the most for {}", choice.count) : "";
    finding.evidence.push_back("how many cores there are is not in this trace: predicted for two" +
                               more);
  }
  const std::size_t now = WorkersSeen(model);
  AdviseWorkers(the_case, choice, now, finding);
  Place place;
  place.op = std::string(the_case.trace.Name(loader->iterator));
  finding.where.push_back(place);
  const bool by_rows =
      loader->mode == analyze::LoaderMode::kInProcess && NameRowByRow(model, finding);
  const SlowFetch slow = FindSlowFetch(the_case);
  NameSlow(the_case, slow, finding);
  if (!by_rows && slow.share >= kMostOfFetch && FewCores(choice, now)) {
    LeadWith(the_case, slow, choice.cores, finding);
  } else {
    Remark(the_case, choice, slow, finding);
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
