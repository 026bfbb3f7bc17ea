// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/terminal.h"
#include "base/utf8.h"
#include "cli/tune_files.h"
#include "cli/tune_progress.h"
#include "cli/tune_recording.h"
#include "record/control.h"
#include "record/installation.h"
#include "record/launch.h"
#include "report/tune/tune_report.h"
#include "report/version.h"
#include "tune/batch_flag.h"
#include "tune/batch_search.h"
#include "tune/journal.h"
#include "tune/written_files.h"

namespace hone::cli {
namespace {

constexpr const char* kBatchSize = "batch-size";

void Say(Console& console, std::string_view message) {
  console.err << "hone tune: " << Printable(message, LocaleIsUtf8()) << '\n';
}

CLI::Option* Names(CLI::App& app, const char* option, std::vector<std::string>& names,
                   const char* what) {
  return app.add_option(option, names, what)
      ->option_text("NAME,...")
      ->expected(1)
      ->delimiter(',')
      ->allow_extra_args(false)  // the word after it may be the command
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("what to try");
}

}  // namespace

const VerbInfo& TuneCommand::info() const {
  static const VerbInfo kInfo = {
      "tune",
      "try known optimizations on a script, keep what helps, prove it",
      "hone tune [options] [--] CMD...",
      "Runs CMD unchanged, again and again, each time in a fresh process with known optimizations "
      "put into it from outside: loader workers, pinned memory, TF32, bf16, channels_last, fused "
      "optimizers, torch.compile and others. The doctor's findings say what is tried first. What "
      "is faster stays, as long as the program still learns the same: its loss must stay in the "
      "band of its own runs. The winner is compared with the program as it is in turns, as hone "
      "bench does. Nothing in the program's files is changed.",
      {{"hone tune -- python train.py", "What helps this script, in ten minutes?"},
       {"hone tune --budget 1h --skip fp16-autocast -- torchrun train.py",
        "An hour, without fp16."},
       {"hone tune --only batch-size -- python train.py",
        "Which batch size gives most samples a second, and what memory does it take?"},
       {"hone tune --resume hone-train-1530 -- python train.py",
        "Goes on with a search that was stopped."}},
      "The folder keeps every trial (tune.jsonl), report.html, recipe.json for hone run --recipe, "
      "and recipe.patch for the script. A trial leaves the program after some steps, so it writes "
      "what the program writes until then. hone help tune says how it decides."};
  return kInfo;
}

void TuneCommand::Declare(CLI::App& app) {
  app.add_option("--budget", budget_, "time for everything: 90s, 10m, 1h")
      ->option_text("TIME")
      ->default_str("10m")
      ->check(LengthOfTime())
      ->group("how much to try");
  app.add_option("--seconds", seconds_, "of steady steps in each trial, at least")
      ->option_text("S")
      ->default_str("3")
      ->check(CLI::PositiveNumber)
      ->group("how much to try");
  app.add_option("--timeout", timeout_, "seconds that a trial may take; without it by rule")
      ->option_text("S")
      ->check(CLI::PositiveNumber)
      ->group("how much to try");
  app.add_option("--min-effect", min_effect_, "per cent below which no gain counts")
      ->option_text("PCT")
      ->default_str("2")
      ->check(CLI::Range(0.0, 100.0))
      ->group("how much to try");
  CLI::Option* only = Names(app, "--only", only_, "only these treatments; hone help tune lists");
  Names(app, "--skip", skip_, "not these treatments")->excludes(only);
  app.add_option("--treatments", treatments_, "folder of treatments of your own, to try too")
      ->option_text("DIR")
      ->group("what to try");
  app.add_option("--batch-flag", batch_flag_,
                 "the program's own option for the batch size, in CMD with its value")
      ->option_text("FLAG")
      ->group("what to try");
  app.add_flag("--allow-optimization-changes", allow_optimization_,
               "adopt what changes the training itself: another batch size")
      ->group("what to try");
  app.add_flag("--allow-unchecked", allow_unchecked_,
               "adopt what rounds differently where no loss can be compared")
      ->group("what to try");
  app.add_flag("--no-record", no_record_, "do not ask the doctor first; usual gains lead")
      ->group("what to try");
  app.add_flag("--no-confirm", no_confirm_, "no paired comparison at the end")
      ->group("how much to try");
  DeclareOutput(app);
}

void TuneCommand::DeclareOutput(CLI::App& app) {
  CLI::Option* out = app.add_option("--out", out_, "folder; without it a fresh hone-NAME-TIME here")
                         ->option_text("DIR")
                         ->group("results");
  app.add_option("--resume", resume_, "go on with the search in this folder")
      ->option_text("DIR")
      ->excludes(out)
      ->group("results");
  CLI::Option* json = app.add_flag("--json", json_, "the answer as JSON")->group("results");
  app.add_flag("--markdown", markdown_, "the answer as Markdown")->excludes(json)->group("results");
  DeclareAnswer(app, answer_);
  app.add_flag("--quiet", quiet_, "no line for each trial")->group("other");
}

Status TuneCommand::Check() const {
  if (command_.empty()) return Error("nothing to run; write hone tune -- python train.py");
  if (!treatments_.empty() && !std::filesystem::is_directory(treatments_)) {
    return Error(fmt::format("{}: no such folder; --treatments takes a folder of Python files",
                             treatments_));
  }
  if (!batch_flag_.empty()) {
    const Result<std::int64_t> value = tune::BatchOf(command_, batch_flag_);
    if (!value) return Error(value.error());
  }
  return Ok();
}

Result<std::string> TuneCommand::Folder() const {
  if (resume_.empty()) return record::MakeRunFolder(out_, record::NameOfCommand(command_));
  if (!std::filesystem::exists(resume_ + "/tune.jsonl")) {
    return Error(
        fmt::format("{}: no search to go on with (there is no tune.jsonl in it)", resume_));
  }
  return resume_;
}

std::string TuneCommand::OptionsText() const {
  return fmt::format("--seconds {} --batch-flag '{}' --treatments '{}'", seconds_, batch_flag_,
                     treatments_);
}

Result<tune::TuneResult> TuneCommand::Tune(const std::string& folder, tune::DiskWatch& disk,
                                           Console& console) const {
  const Result<record::Installation> installation = record::FindInstallation();
  if (!installation) return Error(installation.error());
  if (installation->inject.empty()) {
    return Error("hone's Python files are not where they were installed; install hone again");
  }
  Result<std::unique_ptr<tune::Journal>> journal =
      tune::Journal::Open(folder + "/tune.jsonl", {command_, report::Version(), OptionsText()});
  if (!journal) return Error(journal.error());

  TuneProgress progress(console, !quiet_, ParseSeconds(budget_));
  tune::ProcessOptions process;
  process.command = command_;
  process.folder = folder;
  process.inject = installation->inject;
  process.treatments = treatments_;
  process.batch_flag = batch_flag_;
  process.variables = record::OwnVariables();
  process.tick = [&] { progress.Tick(); };
  process.confirm = &progress;
  process.disk = &disk;
  tune::WrittenFiles written(".", folder);
  // The recording and the first trial tell; a look at thousands of files after each would cost.
  int looks = no_record_ ? 1 : 2;
  process.ran = [&] {
    if (looks-- > 0 && written.Look()) progress.Say(written.Note());
  };

  tune::SearchOptions options;
  options.budget_s = ParseSeconds(budget_);
  options.least_effect = min_effect_ / 100;
  options.seconds = seconds_;
  options.timeout_s = timeout_;
  options.only.insert(only_.begin(), only_.end());
  options.skip.insert(skip_.begin(), skip_.end());
  options.allow_optimization = allow_optimization_;
  options.allow_unchecked = allow_unchecked_;
  options.confirm = !no_confirm_;

  std::vector<std::string> notes;
  if (!(*journal)->note().empty()) notes.push_back((*journal)->note());
  TuneDiagnosis diagnosis;
  if (!no_record_) {
    Result<TuneDiagnosis> found = RecordAndDiagnose(process, progress);
    if (!found) return Error(found.error());
    process.ran();
    diagnosis = std::move(*found);
    options.diagnosed = diagnosis.diagnosed;
    options.predicted = diagnosis.predicted;
    options.predict = diagnosis.predict;
    if (!diagnosis.note.empty()) notes.push_back(diagnosis.note);
    progress.Say(diagnosis.Summary());
  }

  Result<std::unique_ptr<tune::ProcessRunner>> runner =
      tune::ProcessRunner::Make(std::move(process));
  if (!runner) return Error(runner.error());
  tune::JournalRunner kept(**runner, **journal);
  tune::JournalListener listener(progress, **journal);
  const bool batch_only = only_.size() == 1 && only_[0] == kBatchSize;
  Result<tune::TuneResult> result = batch_only
                                        ? tune::SearchBatch(options, kBatchSize, kept, listener)
                                        : tune::Search(options, kept, listener);
  progress.Erase();
  if (!result) return result;
  result->command = command_;
  result->folder = folder;
  result->findings = diagnosis.findings;
  if (!written.files().empty()) notes.push_back(written.Note());
  result->notes.insert(result->notes.begin(), notes.begin(), notes.end());
  TellMissingChanges(*result);
  return result;
}

int TuneCommand::Answer(const tune::TuneResult& result, Console& console) const {
  return WriteAnswer(answer_, console, [&](std::ostream& out) {
    if (json_) {
      report::WriteTuneJson(result, out);
    } else if (markdown_) {
      report::WriteTuneMarkdown(result, out);
    } else {
      report::WriteTuneText(result, StyleFor(answer_, console), out);
    }
    return Ok();
  });
}

int TuneCommand::Run(Console& console) {
  if (const Status checked = Check(); !checked) {
    Say(console, checked.error().message());
    return kExitUsage;
  }
  if (const int code = CheckOutputs({answer_.output}, {}, console); code != kExitFine) return code;
  const record::FoundProgram program = record::FindProgram(command_[0], record::OwnVariables());
  if (program.path.empty()) {
    Say(console, program.message);
    return program.exit_code;
  }
  const Result<std::string> folder = Folder();
  if (!folder) {
    Say(console, folder.error().message());
    return kExitFailed;
  }
  const Result<tune::JournalLock> lock = tune::JournalLock::Take(*folder + "/tune.jsonl");
  if (!lock) {
    Say(console, lock.error().message());
    return kExitUsage;
  }
  tune::DiskWatch disk(*folder, command_);
  Result<tune::TuneResult> result = Tune(*folder, disk, console);
  // What could not be written may be the journal's line or the recipe.
  const auto sentence = [&](const std::string& message) {
    if (!disk.found()) disk.Look();
    return disk.found() ? disk.found()->message() : message;
  };
  if (!result) {
    Say(console, sentence(result.error().message()));
    return kExitFailed;
  }
  if (result->failed) result->ended = sentence(result->ended);
  const Status written = WriteTuneFiles(*result);
  const int code = Answer(*result, console);
  if (written && !result->failed && !disk.found()) return code;
  Say(console, sentence(written ? result->ended : written.error().message()));
  return kExitFailed;
}

}  // namespace hone::cli
