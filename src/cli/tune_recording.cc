// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_recording.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/child.h"
#include "cli/job.h"
#include "record/control.h"
#include "replay/whatif.h"
#include "report/bench/bench_words.h"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

// Steady steps that the recorder waits for. 20 give the replay what it needs; the program leaves
// soon after.
constexpr int kSteps = 20;
// A program that does not step in this time is left to its first trial.
constexpr double kTimeoutSeconds = 300;

// Under the recorder the program leaves after its steps too.
Result<bench::ChildOptions> RecordingOf(const tune::ProcessOptions& process,
                                        const std::string& folder) {
  const std::string trial = process.folder + "/recording-trial";
  std::error_code error;
  fs::create_directories(trial, error);
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return Error(fmt::format("{}: {}", trial, error.message()));
  tune::TrialOrder order;
  order.seconds = 1;
  order.recorded = true;
  std::ofstream(trial + "/order.json") << tune::OrderJson(order, "");
  bench::ChildOptions options;
  options.command = {self.string(),  "run",     "--quiet",
                     "--no-analyze", "--steps", std::to_string(kSteps),
                     "--out",        folder,    "--"};
  options.command.insert(options.command.end(), process.command.begin(), process.command.end());
  options.variables = process.variables;
  options.variables.push_back("HONE_BENCH_DIR=" + trial);
  options.variables.push_back("HONE_TUNE=" + trial + "/order.json");
  options.output = trial + "/output.txt";
  options.timeout_s = kTimeoutSeconds;
  options.steppers = trial;
  return options;
}

Status Record(const tune::ProcessOptions& process, const std::string& folder,
              TuneProgress& progress) {
  const Result<bench::ChildOptions> options = RecordingOf(process, folder);
  if (!options) return Error(options.error());
  Result<bench::ChildRunner> runner = bench::ChildRunner::Prepare();
  if (!runner) return Error(runner.error());
  progress.Begin(" 0  as it is, recorded for the doctor");
  const Result<bench::ChildOutcome> outcome = runner->Run(*options, [&] { progress.Tick(); });
  progress.Erase();
  if (!outcome) return Error(outcome.error());
  if (outcome->interrupted) return Error("stopped by Ctrl-C before anything was tried");
  if (process.disk == nullptr) return Ok();
  if (std::optional<Error> full = process.disk->Look()) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);  // half of it is of no use, and a resumed search would take it
    return std::move(*full);
  }
  return Ok();
}

// A recording and the replay of it.
struct Replayed {
  JobResult job;
  Known<std::unique_ptr<replay::Model>> model;
  std::unique_ptr<replay::WhatIf> whatif;
};

// Null: nothing to replay.
std::shared_ptr<const Replayed> Replay(JobResult job) {
  auto replayed = std::make_shared<Replayed>(Replayed{std::move(job), {}, nullptr});
  const report::Input& input = replayed->job.report.leading();
  replayed->model = replay::Model::Build(input.trace, input.facts);
  if (!replayed->model) return nullptr;
  replayed->whatif = std::make_unique<replay::WhatIf>(**replayed->model);
  return replayed;
}

double FactorOf(const replay::WhatIf& whatif, const std::vector<std::string_view>& ids) {
  return whatif.bare().likely_ns / whatif.Predict(ids).likely_ns;
}

// `apart`: rules whose own gain is asked for.
void AddReplay(std::shared_ptr<const Replayed> replayed, const std::vector<std::string>& apart,
               TuneDiagnosis& diagnosis) {
  if (replayed == nullptr) return;
  for (const std::string& rule : apart) {
    if (replay::FindEdit(rule) == nullptr) continue;
    diagnosis.predicted.try_emplace(rule, FactorOf(*replayed->whatif, {rule}));
  }
  // Changes that no rule asks for; treatments name them as if they were rules.
  for (const replay::EditInfo& edit : replay::AllEdits()) {
    if (!edit.offered || !replayed->whatif->Find(edit.id)) continue;
    diagnosis.predicted.try_emplace(edit.id, FactorOf(*replayed->whatif, {edit.id}));
  }
  diagnosis.predict = [replayed](const std::set<std::string>& rules) -> std::optional<double> {
    std::vector<std::string_view> ids;
    for (const std::string& rule : rules) {
      if (replay::FindEdit(rule) == nullptr) return std::nullopt;
      ids.push_back(rule);
    }
    const replay::Prediction step = replayed->whatif->Predict(ids);
    // A batch that tune tries is another than the one that is predicted.
    if (step.samples != 1) return std::nullopt;
    return replayed->whatif->bare().likely_ns / step.likely_ns;
  };
}

void Diagnose(const std::string& folder, TuneDiagnosis& diagnosis) {
  JobOptions job;
  job.paths = {folder};
  job.quiet = true;
  std::ostringstream out, err;
  Console console{out, err};
  Result<JobResult> result = RunJob(job, console);
  if (!result || result->report.inputs.empty()) {
    diagnosis.note = "the recording could not be read, so usual gains led the search";
    return;
  }
  const report::Report& report = result->report;
  diagnosis.diagnosed = report.diagnosis && report.leading().facts.steps.steady_count() > 0;
  if (!diagnosis.diagnosed) {
    diagnosis.note = "no steps in the recording, so usual gains led the search";
    return;
  }
  std::vector<std::string> apart;
  for (const doctor::Finding& finding : report.diagnosis->findings) {
    if (finding.id == "observer-effect") continue;  // nothing that the program could be given
    diagnosis.findings.push_back(finding.id);
    if (!finding.speedup) continue;
    // One batch is predicted and tune tries several: what is usual leads, as for any size.
    if (finding.predicted && finding.predicted->samples != 1) {
      apart.insert(apart.end(), finding.same_cause.begin(), finding.same_cause.end());
      continue;
    }
    diagnosis.predicted[finding.id] = *finding.speedup;
    for (const std::string& same : finding.same_cause) {
      diagnosis.predicted.try_emplace(same, *finding.speedup);
    }
  }
  AddReplay(Replay(std::move(*result)), apart, diagnosis);
}

}  // namespace

std::string TuneDiagnosis::Summary() const {
  if (!diagnosed) return note;
  std::string text;
  int named = 0;
  for (const std::string& id : findings) {
    const auto found = predicted.find(id);
    if (found == predicted.end() || found->second < 1.02 || named == 3) continue;
    text += fmt::format("{}{} ({})", named == 0 ? "" : ", ", id, report::RatioText(found->second));
    ++named;
  }
  return named == 0 ? "the doctor finds nothing that would give back 2 % or more; usual gains lead"
                    : "the doctor expects most of " + text;
}

Result<TuneDiagnosis> RecordAndDiagnose(const tune::ProcessOptions& process,
                                        TuneProgress& progress) {
  const std::string folder = process.folder + "/recording";
  if (!fs::exists(folder)) HONE_RETURN_IF_ERROR(Record(process, folder, progress));
  TuneDiagnosis diagnosis;
  if (record::LookInto(folder).files == 0) {
    diagnosis.note = "the recorder saw no process, so usual gains led the search";
  } else {
    Diagnose(folder, diagnosis);
  }
  return diagnosis;
}

}  // namespace hone::cli
