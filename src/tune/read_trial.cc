// SPDX-License-Identifier: Apache-2.0
// From the files of a trial and the way it ended to a Trial.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/text.h"
#include "bench/probe.h"
#include "tune/child_report.h"
#include "tune/process_runner.h"

namespace hone::tune {
namespace {

using bench::ChildOutcome;
using bench::Probe;

// One step that compiles in the steady window can be a last, shorter batch; more are a storm.
constexpr std::int64_t kRecompiles = 2;

// The exception that tells most: one for memory, then that of a process that stepped, then any
// (torchrun's agent only says that a child failed).
const ChildReport* WhoFailed(const std::vector<ChildReport>& reports) {
  const ChildReport* best = nullptr;
  for (const ChildReport& report : reports) {
    if (!report.exception) continue;
    if (report.exception->kind == "oom") return &report;
    if (best == nullptr || (report.world > 1 && best->world <= 1)) best = &report;
  }
  return best;
}

void SetException(const ChildReport::Exception& exception, Trial& trial) {
  trial.ending = exception.kind == "oom" ? Ending::kOutOfMemory : Ending::kError;
  trial.disk_full = exception.kind == "disk";
  trial.error_type = exception.type;
  trial.error = exception.message;
  if (!exception.where.empty()) trial.error += fmt::format(" ({})", exception.where);
}

std::string Said(const std::string& folder) {
  const std::string last = bench::LastLines(folder + "/output.txt", 3);
  return last.empty() ? "it printed nothing" : "its last lines: " + last;
}

// Left as it was meant: whatever a launcher around it makes of that does not matter.
bool AllLeft(const std::vector<ChildReport>& reports) {
  return !reports.empty() && reports[0].stepped &&
         std::all_of(reports.begin(), reports.end(), [](const ChildReport& report) {
           return !report.stepped || report.ended == "steps";
         });
}

// `seen`: steps of the process that has most.
void Classify(const ChildOutcome& outcome, const std::vector<ChildReport>& reports,
              std::size_t seen, Trial& trial) {
  const ChildReport* failed = WhoFailed(reports);
  trial.left = AllLeft(reports);
  if (outcome.interrupted) {
    trial.ending = Ending::kInterrupted;
  } else if (failed != nullptr && !trial.left) {
    SetException(*failed->exception, trial);
  } else if (outcome.lost && !outcome.done && !trial.left &&
             (outcome.signal == 0 || outcome.waited_for_lost)) {
    trial.ending = Ending::kKilled;
    trial.error =
        fmt::format("{}{}; {}", outcome.lost->Words(),
                    outcome.waited_for_lost ? ", and the program went on waiting for it" : "",
                    Said(trial.folder));
  } else if (outcome.timed_out) {
    trial.ending = Ending::kHang;
    trial.error = fmt::format("ran longer than {} and was stopped; {}",
                              HumanDuration(static_cast<Nanos>(trial.order.timeout_s * 1e9)),
                              Said(trial.folder));
  } else if (outcome.signal != 0 && !outcome.done) {
    trial.ending = Ending::kKilled;
    trial.error = fmt::format(
        "was ended by signal {} ({}){}; {}", outcome.signal, ::strsignal(outcome.signal),
        outcome.signal == 9 ? ", as the kernel does when memory is full" : "", Said(trial.folder));
  } else if (outcome.exit_code != 0 && !trial.left) {
    trial.ending = Ending::kError;
    trial.error = fmt::format("ended with exit code {}; {}", outcome.exit_code, Said(trial.folder));
  } else if (!trial.steps) {
    trial.ending = Ending::kNoSteps;
    trial.error =
        seen == 0 ? "no optimizer stepped and no DataLoader handed out a batch; call hone.step() "
                    "once an iteration"
                  : fmt::format("{} seen, too few to measure after warm-up; let it run for 30",
                                Count(seen, "step was", "steps were"));
  }
}

void TakeMemory(const std::vector<ChildReport>& reports, const std::vector<Probe>& probes,
                Trial& trial) {
  for (const ChildReport& report : reports) {
    if (!report.peak_device_bytes) continue;
    trial.peak_device_bytes = trial.peak_device_bytes.value_or(0) + *report.peak_device_bytes;
    if (!report.device_bytes || *report.device_bytes <= 0) continue;
    trial.device_bytes = trial.device_bytes.value_or(0) + *report.device_bytes;
    const double share =
        static_cast<double>(*report.peak_device_bytes) / static_cast<double>(*report.device_bytes);
    trial.device_share = std::max(trial.device_share.value_or(0), share);
  }
  if (trial.peak_device_bytes) return;
  for (const Probe& probe : probes) {
    if (probe.peak_device_bytes <= 0) continue;
    trial.peak_device_bytes = trial.peak_device_bytes.value_or(0) + probe.peak_device_bytes;
  }
}

void TakeRate(const std::vector<ChildReport>& reports, Trial& trial) {
  if (!trial.steps || trial.steps->mean_s <= 0) return;
  const bench::Steps& steps = *trial.steps;
  if (steps.samples_per_s) {  // counted by a loader, over all ranks
    trial.rate = *steps.samples_per_s;
    trial.samples_per_step = static_cast<double>(steps.samples) / static_cast<double>(steps.count);
    trial.counts_samples = true;
    return;
  }
  for (const ChildReport& report : reports) {
    if (!report.stepped || !report.samples_per_step || *report.samples_per_step <= 0) continue;
    trial.samples_per_step = trial.samples_per_step.value_or(0) + *report.samples_per_step;
  }
  trial.counts_samples = trial.samples_per_step.has_value();
  trial.rate = trial.samples_per_step.value_or(1) / steps.mean_s;
}

void TakeReport(const ChildReport& report, Trial& trial) {
  trial.losses = report.losses;
  trial.gradient_norms = report.gradient_norms;
  trial.skipped_steps = report.skipped_steps;
  trial.batches = report.batches;
  trial.effects = report.effects;
  trial.device = report.device;
  trial.torch = report.torch;
  trial.patch = report.patch;
}

}  // namespace

Result<Trial> ReadTrial(const std::string& folder, const ChildOutcome& outcome,
                        const TrialOrder& order, Description& description) {
  const std::vector<Probe> probes = bench::ReadProbes(folder);
  std::set<std::int64_t> stepped;
  for (const Probe& probe : probes) {
    if (!probe.steps_ns.empty()) stepped.insert(probe.pid);
  }
  const std::vector<ChildReport> reports = ReadChildReports(folder, stepped);
  if (reports.empty() && outcome.fine()) {
    return Error(fmt::format(
        "the program ran {} and nothing of ours ran inside of it: it is no Python that loads "
        "start-up files (python -I, -E and -S do not); {}; hone tune needs a Python program",
        HumanDuration(static_cast<Nanos>(outcome.wall_s * 1e9)), Said(folder)));
  }
  Trial trial;
  trial.order = order;
  trial.folder = folder;
  trial.wall_s = outcome.wall_s;
  trial.peak_rss_bytes = outcome.peak_rss_bytes;
  trial.steps = bench::SteadySteps(probes, -1, outcome.start_ns);
  if (!reports.empty()) TakeReport(reports[0], trial);
  for (const ChildReport& report : reports) {
    if (report.stepped && report.world > trial.world) trial.world = report.world;
    if (!report.description.candidates.empty() || !report.description.inapplicable.empty()) {
      if (description.candidates.empty()) description = report.description;
    }
  }
  TakeMemory(reports, probes, trial);
  TakeRate(reports, trial);
  if (trial.steps) {
    const auto warmup = static_cast<std::int64_t>(trial.steps->warmup);
    trial.recompiles = std::count_if(probes[0].growth.begin(), probes[0].growth.end(),
                                     [&](std::int64_t step) { return step > warmup; });
  }
  Classify(outcome, reports, probes.empty() ? 0 : probes[0].steps_ns.size(), trial);
  if (trial.ending == Ending::kFine && trial.recompiles >= kRecompiles && !order.recipe.empty()) {
    trial.ending = Ending::kRecompiling;
    trial.error = fmt::format("{} of its {} steady steps still compiled", trial.recompiles,
                              trial.steps->steady);
  }
  // The report could not be made up; nothing is known of what the treatments did.
  if (trial.ending == Ending::kFine && reports[0].ended.empty()) {
    trial.ending = Ending::kError;
    trial.error = "the trial went wrong on our side: " + reports[0].trouble;
  }
  return trial;
}

}  // namespace hone::tune
