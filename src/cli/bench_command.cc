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
#include "cli/bench_progress.h"
#include "record/installation.h"
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
std::vector<std::vector<std::string>> Split(const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> commands;
  if (!words.empty()) commands.emplace_back();
  for (const std::string& word : words) {
    if (word == "--") {
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
      "5, 10 and 20 pairs and stops as soon as the answer stands.",
      {{"hone bench -- python train.py -- python train.py --compile",
        "Is the second one faster, from start to end?"},
       {"hone bench --budget 10m -- ./before -- ./after", "Ten minutes at most."}},
      "Exit codes: 0 measured, 5 the programs did not do the same work. hone help bench says how "
      "the verdict is found and what can make it wrong."};
  return kInfo;
}

void BenchCommand::Declare(CLI::App& app) {
  app.add_option("--metric", metric_,
                 "what is compared: wall, step, samples, memory, energy or regex:PATTERN")
      ->option_text("METRIC")
      ->default_str("wall")
      ->group("what to measure");
  app.add_flag("--higher-is-better", higher_, "of what regex:PATTERN finds")
      ->group("what to measure");
  app.add_option("--pairs", pairs_, "pairs of runs at most")
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
  DeclareAnswer(app, answer_);
  app.add_flag("--quiet", quiet_, "no progress bar")->group("other");
}

Result<bench::ExperimentPlan> BenchCommand::Plan() const {
  bench::ExperimentPlan plan;
  plan.commands = Split(words_);
  for (std::size_t i = 0; i < plan.commands.size(); ++i) {
    if (plan.commands[i].empty()) {
      return Error(fmt::format("command {} is empty; write hone bench -- CMD_A -- CMD_B",
                               bench::ArmName(i)));
    }
  }
  if (plan.commands.size() < 2) {
    return Error("two commands are needed; write hone bench -- CMD_A -- CMD_B");
  }
  Result<bench::Metric> metric = bench::ParseMetric(metric_, higher_);
  if (!metric) return std::move(metric).error();
  plan.metric = *metric;
  if (pairs_ < 1 || pairs_ > 10000) return Error("--pairs must be from 1 to 10,000");
  plan.pairs = static_cast<int>(pairs_);
  plan.budget_s = budget_.empty() ? 0 : ParseSeconds(budget_);
  plan.timeout_s = timeout_;
  plan.compare.minimum_effect = min_effect_ / 100;
  plan.variables = record::OwnVariables();
  return plan;
}

int BenchCommand::Measure(Console& console) {
  Result<bench::ExperimentPlan> plan = Plan();
  if (!plan) {
    Say(console, plan.error().message());
    return kExitUsage;
  }
  Result<Folder> folder = Folder::Make();
  if (!folder) {
    Say(console, folder.error().message());
    return kExitFailed;
  }
  plan->folder = folder->path();
  BenchProgress progress(console.err, !quiet_ && IsTerminal(console.err_fd),
                         TerminalWidth(console.err_fd), LocaleIsUtf8());
  const Result<bench::Benchmark> benchmark = bench::RunExperiment(*plan, progress);
  progress.Erase();
  if (!benchmark) {
    folder->Keep();
    Say(console, benchmark.error().message());
    return kExitFailed;
  }
  return Answer(*benchmark, console);
}

int BenchCommand::Answer(const bench::Benchmark& benchmark, Console& console) const {
  const int written = WriteAnswer(answer_, console, [&](std::ostream& out) {
    report::WriteBenchText(benchmark, StyleFor(answer_, console), out);
    return Ok();
  });
  if (written != kExitFine) return written;
  for (const bench::Comparison& comparison : benchmark.comparisons) {
    if (!comparison.valid()) return kExitInvalid;
  }
  return kExitFine;
}

int BenchCommand::Run(Console& console) { return Measure(console); }

}  // namespace hone::cli
