// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "bench/result_file.h"
#include "bench/same_work.h"
#include "cli/bench_progress.h"
#include "record/installation.h"
#include "report/bench/bench_svg.h"
#include "report/bench/bench_text.h"

namespace hone::cli {
namespace {

// "90", "90s", "10m", "1h", "1.5h" -> seconds; below 0 for what is no length of time.
double ParseSeconds(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0) || number > 1e7) return -1;
  const std::string unit(end, text.data() + text.size());
  if (unit.empty() || unit == "s") return number;
  if (unit == "m" || unit == "min") return number * 60;
  return unit == "h" ? number * 3600 : -1;
}

CLI::Validator LengthOfTime() {
  CLI::Validator validator{std::string()};
  validator.operation([](std::string& value) -> std::string {
    if (ParseSeconds(value) > 0) return {};
    return fmt::format("{} is not a length of time; write 90s, 10m or 1h", Printable(value, false));
  });
  return validator;
}

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

// Outputs of the programs; gone with the object unless it is kept.
class Folder {
 public:
  static Result<Folder> Make() {
    const char* base = std::getenv("TMPDIR");
    std::string path =
        fmt::format("{}/hone-bench-XXXXXX", base != nullptr && *base != '\0' ? base : "/tmp");
    if (::mkdtemp(path.data()) == nullptr) {
      return Error(fmt::format("{}: cannot be made: {}; set TMPDIR", path, std::strerror(errno)));
    }
    return Folder(path);
  }
  Folder(Folder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty() && !kept_) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  void Keep() { kept_ = true; }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
  bool kept_ = false;
};

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
  app.add_option("--warmup", warmup_, "steps given away first; without it by rule, at least 10")
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

Status BenchCommand::UseMetric(bench::Benchmark& benchmark, const std::string& whose) const {
  const Result<bench::Metric> metric = bench::ParseMetric(metric_, higher_);
  if (!metric) return Error(metric.error());
  if (metric->name == benchmark.metric.name) return Ok();
  for (bench::Arm& arm : benchmark.arms) {
    for (bench::Run& run : arm.runs) {
      run.value.reset();
      const Known<double> value = bench::ValueOf(run, *metric);
      if (!value) return Error(fmt::format("{}: {}", whose, value.why_not()));
      run.value = *value;
    }
  }
  benchmark.metric = *metric;
  return Ok();
}

Result<bench::Benchmark> BenchCommand::Against(const bench::Benchmark& saved,
                                               bench::Benchmark measured) const {
  measured.arms.insert(measured.arms.begin(), saved.arms[0]);
  measured.arms[0].name = "A";
  measured.arms[1].name = "B";
  measured.paired = false;
  const std::size_t runs = std::min(measured.arms[0].runs.size(), measured.arms[1].runs.size());
  if (runs == 0) return measured;
  bench::CompareAll(measured, {{static_cast<int>(runs), stats::kAlpha}}, Comparing());
  return measured;
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
  Result<Folder> folder = Folder::Make();
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
  return Against(saved[0], std::move(*benchmark));
}

Result<bench::Benchmark> BenchCommand::Read(int& code) const {
  code = kExitUsage;
  HONE_RETURN_IF_ERROR(Check(0));
  code = kExitUnreadable;
  std::vector<bench::Benchmark> read;
  for (const std::string& path : files_) {
    Result<bench::Benchmark> one = bench::ReadBenchJson(path);
    if (!one) return one;
    if (metric_option_->count() > 0) HONE_RETURN_IF_ERROR(UseMetric(*one, path));
    if (files_.size() > 1 && one->arms.size() > 1) {
      return Error(fmt::format(
          "{}: holds {} arms; of several files each must hold one (--save with one command)", path,
          one->arms.size()));
    }
    read.push_back(std::move(*one));
  }
  bench::Benchmark benchmark = std::move(read[0]);
  for (std::size_t i = 1; i < read.size(); ++i) {
    if (read[i].metric.name != benchmark.metric.name) {
      return Error(fmt::format("{} holds {}, {} holds {}; choose one with --metric", files_[0],
                               benchmark.metric.name, files_[i], read[i].metric.name));
    }
    benchmark.arms.push_back(std::move(read[i].arms[0]));
    benchmark.paired = false;
  }
  if (benchmark.arms.size() < 2) {
    return Error(
        fmt::format("{}: holds one arm; name a second file to compare it with", files_[0]));
  }
  std::size_t pairs = SIZE_MAX;
  for (std::size_t i = 0; i < benchmark.arms.size(); ++i) {
    benchmark.arms[i].name = bench::ArmName(i);
    pairs = std::min(pairs, benchmark.arms[i].runs.size());
  }
  const int arms = static_cast<int>(benchmark.arms.size());
  // Taken in turns, the looks were taken too; of two files nobody looked before.
  const auto looks =
      benchmark.paired
          ? stats::PlanLooks(std::max(20, static_cast<int>(pairs)), arms - 1)
          : std::vector<stats::Look>{{static_cast<int>(pairs), stats::kAlpha / (arms - 1)}};
  bench::CompareAll(benchmark, looks, Comparing());
  return benchmark;
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
  int code = kExitFine;
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
