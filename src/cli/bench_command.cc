// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_command.h"

#include <fmt/format.h>

#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "bench/recorded.h"
#include "bench/result_file.h"
#include "bench/same_work.h"
#include "cli/bench_progress.h"
#include "cli/work_folder.h"
#include "record/installation.h"
#include "report/bench/bench_html.h"
#include "report/bench/bench_svg.h"
#include "report/bench/bench_text.h"

namespace hone::cli {
namespace {

// A B, from "A.. -- B..".
std::vector<std::vector<std::string>> Split(const std::vector<std::string>& words,
                                            const std::string& separator) {
  std::vector<std::vector<std::string>> commands;
  if (!words.empty()) commands.emplace_back();
  for (const std::string& word : words) {
    if (word == separator) {
      commands.emplace_back();
    } else {
      commands.back().push_back(word);
    }
  }
  return commands;
}

void Say(Console& console, std::string_view message) {
  console.err << "hone bench: " << Printable(message, LocaleIsUtf8()) << '\n';
}

}  // namespace

const VerbInfo& BenchCommand::info() const {
  static const VerbInfo kInfo = {
      "bench",
      "is B really faster than A? measure both in turns, and say how sure",
      "hone bench [options] -- CMD_A -- CMD_B [-- CMD_C ...]",
      "Runs the commands in turns (A B, B A, ...), a fresh process each time, and says faster, "
      "slower or cannot tell, from the ratio in each pair with an interval of 95 %. It looks after "
      "5, 10 and 20 pairs and stops as soon as the answer stands. Step time and samples a second "
      "are read from a running Python program without a change to it, and so is whether both did "
      "the same work: less work makes the comparison invalid.",
      {{"hone bench -- python train.py -- python train.py --compile",
        "Is the second one faster, from start to end?"},
       {"hone bench --metric samples --budget 10m -- python a.py -- python b.py",
        "By samples a second of the steady part, in ten minutes at most."},
       {"hone bench --against main.json -- ./job",
        "For CI: exit code 4 when it got slower than what --save main.json kept."},
       {"hone bench A.json B.json", "The same from two saved results."}},
      "Exit codes: 0 measured, 4 slower than --against, 5 not the same work. hone help bench says "
      "how the verdict is found and what can make it wrong."};
  return kInfo;
}

void BenchCommand::Declare(CLI::App& app) {
  app.add_option("FILE", files_, "results of --save or --json to compare")->option_text("FILE");
  metric_option_ =
      app.add_option("--metric", metric_,
                     "what is compared: wall, step, samples, memory, energy or regex:PATTERN")
          ->option_text("METRIC")
          ->default_str("wall")
          ->group("what to measure");
  app.add_flag("--higher-is-better", higher_, "of what regex:PATTERN finds")
      ->group("what to measure");
  app.add_option("--warmup", warmup_, "steps discarded first; without it by rule, at least 10")
      ->option_text("N")
      ->check(WholeNumber())
      ->group("what to measure");
  app.add_option("--allow", allow_, "differences in the work that are meant")
      ->option_text("WHAT,...")
      ->expected(1)
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)  // the word after it may be a file
      ->check(OneOf(bench::AllowWords()))
      ->group("what to measure");
  app.add_flag("--no-probe", no_probe_, "leave Python programs alone: no steps, no check of work")
      ->group("what to measure");
  pairs_option_ = app.add_option("--pairs", pairs_, "pairs of runs at most")
                      ->option_text("N")
                      ->default_str("20")
                      ->check(WholeNumber())
                      ->group("how much to measure");
  app.add_option("--budget", budget_, "start no pair that would end later than this: 90s, 10m, 1h")
      ->option_text("TIME")
      ->check(LengthOfTime())
      ->group("how much to measure");
  app.add_option("--timeout", timeout_, "seconds that one run may take")
      ->option_text("S")
      ->check(CLI::PositiveNumber)
      ->group("how much to measure");
  app.add_option("--min-effect", min_effect_, "per cent below which no difference counts")
      ->option_text("PCT")
      ->default_str("2")
      ->check(CLI::Range(0.0, 100.0))
      ->group("how much to measure");
  app.add_flag("--aa", aa_, "one command against itself: how well can this machine tell?")
      ->group("how much to measure");
  DeclareOutput(app);
}

void BenchCommand::DeclareOutput(CLI::App& app) {
  app.add_option("--save", save_, "keep all runs in a file; with one command, measure it alone")
      ->option_text("FILE")
      ->group("results");
  app.add_option("--against", against_, "compare one command with a file of --save")
      ->option_text("FILE")
      ->group("results");
  CLI::Option* json = app.add_flag("--json", json_, "the answer as JSON")->group("results");
  app.add_flag("--markdown", markdown_, "the answer as Markdown")->excludes(json)->group("results");
  app.add_option("--svg", svg_, "also a picture of all runs and pairs")
      ->option_text("FILE")
      ->group("results");
  app.add_option("--html", html_, "also a page with picture and table")
      ->option_text("FILE")
      ->group("results");
  app.add_option("--separator", separator_, "word between the commands")
      ->option_text("WORD")
      ->default_str("--")
      ->group("other");
  DeclareAnswer(app, answer_);
  app.add_flag("--quiet", quiet_, "no progress bar")->group("other");
}

bench::CompareOptions BenchCommand::Comparing() const {
  bench::CompareOptions options;
  options.minimum_effect = min_effect_ / 100;
  options.allow.insert(allow_.begin(), allow_.end());
  return options;
}

Status BenchCommand::Check(std::size_t commands) const {
  if (!files_.empty() && commands > 0) {
    return Error("files and commands together; for a command against a file write --against FILE");
  }
  if (!files_.empty()) return Ok();
  if (commands == 0) return Error("nothing to run; write hone bench -- CMD_A -- CMD_B");
  if (aa_ && commands != 1) return Error("--aa takes one command, and runs it against itself");
  if (!against_.empty() && commands != 1) {
    return Error("--against compares one command with what was saved; write one");
  }
  if (commands == 1 && !aa_ && save_.empty() && against_.empty()) {
    return Error(
        "one command alone; write hone bench -- CMD_A -- CMD_B, or --aa, --save or --against");
  }
  return Ok();
}

Result<bench::ExperimentPlan> BenchCommand::Plan() const {
  bench::ExperimentPlan plan;
  plan.commands = Split(words_, separator_);
  HONE_RETURN_IF_ERROR(Check(plan.commands.size()));
  for (std::size_t i = 0; i < plan.commands.size(); ++i) {
    if (plan.commands[i].empty()) {
      return Error(fmt::format("command {} is empty; write hone bench -- CMD_A -- CMD_B",
                               bench::ArmName(i)));
    }
  }
  if (aa_) plan.commands.push_back(plan.commands[0]);
  Result<bench::Metric> metric = bench::ParseMetric(metric_, higher_);
  if (!metric) return std::move(metric).error();
  plan.metric = *metric;
  if (pairs_ < 1 || pairs_ > 10000) return Error("--pairs must be from 1 to 10,000");
  if (no_probe_ && plan.metric.NeedsSteps()) {
    return Error(fmt::format("--metric {} is read by the probe; drop --no-probe", metric_));
  }
  plan.pairs = static_cast<int>(pairs_);
  plan.budget_s = budget_.empty() ? 0 : ParseSeconds(budget_);
  plan.timeout_s = timeout_;
  plan.warmup = warmup_;
  plan.compare = Comparing();
  plan.variables = record::OwnVariables();
  return plan;
}

Result<bench::Benchmark> BenchCommand::Measure(Console& console, int& code) const {
  code = kExitUsage;
  Result<bench::ExperimentPlan> plan = Plan();
  if (!plan) return std::move(plan).error();
  std::vector<bench::Benchmark> saved;
  if (!against_.empty()) {
    code = kExitUnreadable;
    Result<bench::Benchmark> read = bench::ReadBenchJson(against_);
    if (!read) return std::move(read).error();
    if (metric_option_->count() == 0) plan->metric = read->metric;
    if (metric_option_->count() > 0) HONE_RETURN_IF_ERROR(UseMetric(*read, against_));
    if (pairs_option_->count() == 0) plan->pairs = static_cast<int>(read->arms[0].runs.size());
    saved.push_back(std::move(*read));
  }
  code = kExitFailed;
  Result<WorkFolder> folder = WorkFolder::Make("hone-bench");
  if (!folder) return std::move(folder).error();
  plan->folder = folder->path();
  const Result<record::Installation> installation = record::FindInstallation();
  if (installation && !no_probe_) plan->inject = installation->inject;
  BenchProgress progress(console.err, !quiet_ && IsTerminal(console.err_fd),
                         TerminalWidth(console.err_fd), LocaleIsUtf8());
  Result<bench::Benchmark> benchmark = bench::RunExperiment(*plan, progress);
  progress.Erase();
  if (!benchmark) folder->Keep();
  if (!benchmark || saved.empty()) return benchmark;
  return bench::Against(saved[0], std::move(*benchmark), Comparing());
}

Result<bench::Benchmark> BenchCommand::Read(int& code) const {
  code = kExitUsage;
  HONE_RETURN_IF_ERROR(Check(0));
  code = kExitUnreadable;
  std::vector<bench::Recording> recordings;
  for (const std::string& path : files_) {
    Result<bench::Benchmark> one = bench::ReadBenchJson(path);
    if (!one) return one;
    if (metric_option_->count() > 0) HONE_RETURN_IF_ERROR(UseMetric(*one, path));
    recordings.push_back({path, std::move(*one)});
  }
  return bench::Together(std::move(recordings), Comparing());
}

Status BenchCommand::UseMetric(bench::Benchmark& benchmark, const std::string& whose) const {
  const Result<bench::Metric> metric = bench::ParseMetric(metric_, higher_);
  if (!metric) return Error(metric.error());
  return bench::UseMetric(benchmark, *metric, whose);
}

int BenchCommand::WritePictures(const bench::Benchmark& benchmark, Console& console) const {
  using Writer = void (*)(const bench::Benchmark&, std::ostream&);
  const std::pair<std::string, Writer> files[] = {{save_, bench::WriteBenchJson},
                                                  {svg_, report::WriteBenchSvg},
                                                  {html_, report::WriteBenchHtml}};
  for (const auto& [path, write] : files) {
    if (path.empty()) continue;
    AnswerOptions options;
    options.output = path;
    const int written = WriteAnswer(options, console, [&, writer = write](std::ostream& out) {
      writer(benchmark, out);
      return Ok();
    });
    if (written != kExitFine) return written;
  }
  return kExitFine;
}

int BenchCommand::Answer(const bench::Benchmark& benchmark, Console& console) const {
  const int pictures = WritePictures(benchmark, console);
  const int written = WriteAnswer(answer_, console, [&](std::ostream& out) {
    if (json_) {
      bench::WriteBenchJson(benchmark, out);
    } else if (markdown_) {
      report::WriteBenchMarkdown(benchmark, out);
    } else {
      report::WriteBenchText(benchmark, StyleFor(answer_, console), out);
    }
    return Ok();
  });
  if (written != kExitFine) return written;
  if (pictures != kExitFine) return pictures;
  bool slower = false;
  for (const bench::Comparison& comparison : benchmark.comparisons) {
    if (!comparison.valid()) return kExitInvalid;
    slower = slower || comparison.verdict() == stats::Verdict::kSlower;
  }
  return slower && !against_.empty() ? kExitGate : kExitFine;
}

int BenchCommand::Run(Console& console) {
  int code = CheckOutputs({save_, svg_, html_, answer_.output}, {}, console);
  if (code != kExitFine) return code;
  const Result<bench::Benchmark> benchmark =
      files_.empty() || !words_.empty() ? Measure(console, code) : Read(code);
  if (!benchmark) {
    Say(console, benchmark.error().message());
    return code;
  }
  if (benchmark->arms[0].runs.empty()) {
    Say(console, benchmark->ended + " before a pair was done; nothing was measured");
    return kExitFailed;
  }
  return Answer(*benchmark, console);
}

}  // namespace hone::cli
