// SPDX-License-Identifier: Apache-2.0
// input-bound: the step waits for its batch.
#include "replay/edits/input_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/slice_activity.h"
#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
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
// One function with at least this share of the loading is worth its name in the title.
constexpr double kSlowTransform = 0.5;

// Of Python code inside fetches: the function with most time of its own (operators and built-ins
// that it calls count as its own). The user's functions come before those of libraries.
struct Transform {
  std::string_view frame;
  RowId example = kNoRow;
  Nanos self_ns = 0;
};

Transform FindTransform(const replay::Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::HostSlices& host = trace.host;
  enum : std::uint8_t { kUnseen, kBuiltin, kLibrary, kUser };
  std::vector<std::uint8_t> names(trace.strings.size(), kUnseen), inside(host.size(), 0);
  std::vector<Nanos> self(trace.strings.size(), 0);
  std::vector<RowId> example(trace.strings.size(), kNoRow), frame(host.size(), kNoRow);
  for (const RowId row : analyze::FindLoaderSlices(trace))
    inside[row] = model.InWindow(row) ? 1 : 0;
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    if (parent != kNoRow && inside[parent] != 0) {
      inside[i] = 1;
      frame[i] = frame[parent];
    }
    if (inside[i] == 0 || host.kind[i] != trace::SliceKind::kPython) continue;
    const auto name = static_cast<std::uint32_t>(host.name[i]);
    if (names[name] == kUnseen) {
      const analyze::SourceFrame parsed = analyze::ParseFrame(trace.HostName(i));
      names[name] = parsed.file.empty()            ? kBuiltin
                    : analyze::IsUserFrame(parsed) ? kUser
                                                   : kLibrary;
    }
    if (names[name] == kBuiltin) continue;
    if (frame[i] != kNoRow) {
      self[static_cast<std::uint32_t>(host.name[frame[i]])] -= host.duration_ns[i];
    }
    self[name] += host.duration_ns[i];
    example[name] = i;
    frame[i] = i;
  }
  Transform best[2];  // libraries, users
  for (std::uint32_t name = 0; name < self.size(); ++name) {
    if (example[name] == kNoRow) continue;
    Transform& of = best[names[name] == kUser ? 1 : 0];
    if (self[name] > of.self_ns) {
      of = {trace.HostName(example[name]), example[name], self[name]};
    }
  }
  return 2 * best[1].self_ns >= best[0].self_ns ? best[1] : best[0];
}

// Of samples inside fetches: the line of the user's code that most are at or were called from.
struct SampledLine {
  StringId line = StringId::kEmpty;
  std::uint64_t samples = 0, all = 0;
};

// In the loop of the steps, or in the processes of the loader's workers.
SampledLine FindSampledLine(const replay::Model& model, bool in_workers) {
  const trace::Trace& trace = model.trace();
  const trace::StackFrames& frames = trace.stack_frames;
  // Below the loader only: the loop that asks it for a batch is not what loads, and neither is that
  // of a worker, which waits for the next one to be wanted.
  const std::string_view folder =
      in_workers ? "torch/utils/data/_utils/fetch.py" : "torch/utils/data/";
  const std::uint32_t steps = model.graph().lanes[0].row;
  std::vector<std::uint8_t> loads(frames.size(), 0);
  std::vector<std::uint32_t> user(frames.size(), 0);
  for (std::uint32_t f = 1; f < frames.size(); ++f) {
    const analyze::SourceFrame source = analyze::ParseFrame(trace.Name(frames.place[f]));
    const std::uint32_t caller = frames.caller[f];
    const bool loader = source.file.find(folder) != std::string_view::npos;
    loads[f] = loads[caller] != 0 || loader ? 1 : 0;
    user[f] = loads[f] != 0 && analyze::IsUserFrame(source) ? f : user[caller];
  }
  SampledLine best;
  std::map<StringId, std::uint64_t> lines;
  for (std::size_t i = 0; i < trace.samples.size(); ++i) {
    const std::uint32_t frame = trace.samples.frame[i];
    const std::uint32_t thread = trace.samples.thread[i];
    const bool here = in_workers ? trace.threads[thread].process != trace.threads[steps].process
                                 : thread == steps;
    if (!here || loads[frame] == 0) continue;
    const Nanos at = trace.samples.time_ns[i];
    if (at < model.graph().window.begin_ns || at >= model.graph().window.end_ns) continue;
    ++best.all;
    if (user[frame] == 0) continue;
    const StringId line = frames.place[user[frame]];
    if (const std::uint64_t count = ++lines[line]; count > best.samples) {
      best.samples = count;
      best.line = line;
    }
  }
  return best;
}

// Fewer samples could be anywhere; a line with less than a fifth of them is one of many.
constexpr std::uint64_t kLeastSamples = 5;
constexpr double kLeastSampled = 0.2;

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

void AdviseWorkers(const Case& the_case, const replay::WorkerChoice& choice, std::size_t now,
                   Finding& finding) {
  // Without a device there is nothing to pin memory for: torch warns of it.
  const bool device = HasDevice(the_case);
  finding.needed =
      choice.times && now > 0
          ? fmt::format("DataLoader(..., num_workers={}, prefetch_factor=4)   # it has {} now\n",
                        static_cast<std::size_t>(choice.count) * now, now)
      : !choice.times && choice.cores <= 0 && !device
          ? fmt::format(
                "DataLoader(..., num_workers=min({}, os.cpu_count()), persistent_workers=True)\n",
                choice.count)
      : choice.times
          ? fmt::format(
                "DataLoader(..., num_workers={} * n, prefetch_factor=4)   # n: the number it has "
                "now\n",
                choice.count)
          : fmt::format("DataLoader(..., num_workers={}, {}persistent_workers=True)\n",
                        choice.count, device ? "pin_memory=True, " : "");
  if (choice.crowded()) {
    finding.needed += fmt::format(
        "torch.set_num_threads({:.0f})   # else operators and workers fight over {:.0f} "
        "cores\n",
        std::max(1.0, choice.cores - choice.count * choice.on_core), choice.cores);
  }
  finding.remedy = finding.needed;
  finding.remedy +=
      "# an IterableDataset must split its samples by torch.utils.data.get_worker_info()\n";
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

void NameSampledLine(const Case& the_case, const replay::Model& model, Finding& finding) {
  const bool in_workers = the_case.facts.loader->mode == analyze::LoaderMode::kWorkers;
  const SampledLine found = FindSampledLine(model, in_workers);
  if (found.samples < kLeastSamples) return;
  const double share = static_cast<double>(found.samples) / static_cast<double>(found.all);
  if (share < kLeastSampled) return;
  const std::string source = analyze::SourceText(the_case.trace.Name(found.line));
  finding.evidence.push_back(fmt::format("{} of {} samples of {} are at {} and in what it calls",
                                         found.samples, found.all,
                                         in_workers ? "the workers' fetches" : "it", source));
  Place place;
  place.source = source;
  finding.where.insert(finding.where.begin(), std::move(place));
  if (share < kSlowTransform) return;
  finding.title +=
      fmt::format(", most of {} in {}", in_workers ? "their time" : "it",
                  analyze::WrittenFunction(analyze::ParseFrame(the_case.trace.Name(found.line))));
  finding.remedy += fmt::format("# or make {} cheaper: do it once beforehand{}\n", source,
                                HasDevice(the_case) ? ", or on the GPU" : "");
}

void NameTransform(const Case& the_case, const replay::Model& model, Finding& finding) {
  const analyze::LoaderFacts& loader = *the_case.facts.loader;
  if (the_case.trace.samples.size() > 0 && the_case.facts.trust.present.python == 0) {
    return NameSampledLine(the_case, model, finding);
  }
  if (loader.mode == analyze::LoaderMode::kWorkers) return;  // their frames are not in the trace
  const Transform transform = FindTransform(model);
  if (transform.example == kNoRow) return;
  const double self_ns =
      static_cast<double>(transform.self_ns) / static_cast<double>(model.graph().steps);
  const double share = self_ns / *loader.per_step_ns;
  const std::string source = analyze::SourceText(transform.frame);
  finding.evidence.push_back(
      fmt::format("{} takes {:.1f} ms of it ({:.0f} %)", source, self_ns / 1e6, 100 * share));
  Place place = Places(the_case).Of(transform.example);
  place.source = source;
  finding.where.insert(finding.where.begin(), std::move(place));
  if (share < kSlowTransform) return;
  finding.title += fmt::format(", most of it in {}", analyze::ParseFrame(transform.frame).function);
  finding.remedy += fmt::format("# or make {} cheaper: do it once beforehand{}\n", source,
                                HasDevice(the_case) ? ", or on the GPU" : "");
}

// Workers would do the same work, and send it to another process.
void NameRowByRow(const replay::Model& model, Finding& finding) {
  const RowByRow rows = FindRowByRow(model);
  // Whatever takes longer than getting to the next operator is not the taking.
  const auto most = static_cast<double>(analyze::kDispatchPause);
  if (!rows.found() || rows.length_ns > most * rows.taken) return;
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
  AdviseWorkers(the_case, choice, WorkersSeen(model), finding);
  Place place;
  place.op = std::string(the_case.trace.Name(loader->iterator));
  finding.where.push_back(place);
  if (loader->mode == analyze::LoaderMode::kInProcess) NameRowByRow(model, finding);
  NameTransform(the_case, model, finding);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
