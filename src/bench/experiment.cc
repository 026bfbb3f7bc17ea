// SPDX-License-Identifier: Apache-2.0
#include "bench/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "bench/gpu_watch.h"
#include "bench/probe.h"
#include "bench/probe_variables.h"

namespace hone::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A run that takes this much longer than any before hangs.
constexpr double kHangFactor = 10, kHangSeconds = 10;

class Course {
 public:
  Course(const ExperimentPlan& plan, ExperimentListener& listener, ChildRunner& runner)
      : plan_(plan), listener_(listener), runner_(runner) {}

  Result<Benchmark> Run() {
    benchmark_.metric = plan_.metric;
    benchmark_.minimum_effect = plan_.compare.minimum_effect;
    const int arms = static_cast<int>(plan_.commands.size());
    for (std::size_t arm = 0; arm < plan_.commands.size(); ++arm) {
      benchmark_.arms.push_back({ArmName(arm), plan_.commands[arm], {}});
    }
    looks_ = stats::PlanLooks(plan_.pairs, std::max(1, arms - 1));
    for (int pair = 1; pair <= plan_.pairs && benchmark_.ended.empty(); ++pair) {
      if (OverBudget(pair)) break;
      HONE_RETURN_IF_ERROR(RunPair(pair));
      if (benchmark_.ended.empty() && LookNow(pair)) break;
    }
    DropHalfPairs();
    CompareAll(benchmark_, looks_, plan_.compare);
    benchmark_.seconds = Elapsed();
    return std::move(benchmark_);
  }

 private:
  double Elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  bool OverBudget(int pair) {
    if (plan_.budget_s <= 0 || pair == 1) return false;
    if (Elapsed() + Elapsed() / (pair - 1) <= plan_.budget_s) return false;
    benchmark_.ended = fmt::format("the budget of {} was spent",
                                   HumanDuration(static_cast<Nanos>(plan_.budget_s * 1e9)));
    return true;
  }

  // A B C, then C B A: what the place in the pair does to a run cancels out.
  Status RunPair(int pair) {
    const std::size_t arms = plan_.commands.size();
    for (std::size_t slot = 0; slot < arms; ++slot) {
      const std::size_t arm = pair % 2 == 1 ? slot : arms - 1 - slot;
      if (runner_.interrupted()) benchmark_.ended = "stopped by Ctrl-C";
      if (!benchmark_.ended.empty()) break;
      HONE_RETURN_IF_ERROR(RunOne(pair, static_cast<int>(slot), arm));
    }
    return Ok();
  }

  Result<ChildOptions> OptionsOf(const std::string& run_folder, std::size_t arm) const {
    ChildOptions options;
    options.command = plan_.commands[arm];
    options.variables = plan_.variables;
    if (arm < plan_.arm_variables.size()) {
      for (const std::string& variable : plan_.arm_variables[arm]) {
        SetVariable(options.variables, variable);
      }
    }
    options.output = run_folder + "/output.txt";
    options.timeout_s = plan_.timeout_s;
    options.steppers = run_folder;
    if (options.timeout_s <= 0 && longest_s_ > 0) {
      options.timeout_s = kHangFactor * longest_s_ + kHangSeconds;
    }
    std::error_code error;
    std::filesystem::create_directories(run_folder, error);
    if (error) return Error(fmt::format("{}: cannot be made: {}", run_folder, error.message()));
    if (!plan_.inject.empty()) AddProbe(options.variables, plan_.inject, run_folder);
    return options;
  }

  Status RunOne(int pair, int slot, std::size_t arm) {
    const std::string folder =
        fmt::format("{}/{}-{}", plan_.folder, benchmark_.arms[arm].name, pair);
    const Result<ChildOptions> prepared = OptionsOf(folder, arm);
    if (!prepared) return Error(prepared.error());
    const ChildOptions& options = *prepared;
    struct Run run;
    run.pair = pair;
    run.slot = slot;
    run.start_s = Elapsed();
    gpu_.Begin();
    const Result<ChildOutcome> outcome = runner_.Run(options, [&] {
      gpu_.Sample();
      TellProgress(pair, slot, arm);
    });
    if (!outcome) return Error(outcome.error());
    run.gpu = gpu_.End();
    if (outcome->interrupted) {
      benchmark_.ended = "stopped by Ctrl-C";
      return Ok();
    }
    if (!outcome->fine()) return Error(WhatFailed(arm, pair, *outcome, options));
    longest_s_ = std::max(longest_s_, outcome->wall_s);
    run.wall_s = outcome->wall_s;
    run.cpu_s = outcome->cpu_s;
    run.peak_rss_bytes = outcome->peak_rss_bytes;
    TakeProbes(folder, *outcome, run);
    HONE_RETURN_IF_ERROR(SetValue(arm, options, run));
    benchmark_.arms[arm].runs.push_back(std::move(run));
    return Ok();
  }

  void TakeProbes(const std::string& folder, const ChildOutcome& outcome, struct Run& run) const {
    const std::vector<Probe> probes = ReadProbes(folder);
    run.steps = SteadySteps(probes, plan_.warmup, outcome.start_ns);
    run.work = WorkOf(probes, outcome.start_ns, outcome.end_ns);
    if (plan_.inject.empty()) run.work.why_not = "--no-probe";
    std::int64_t device = -1;
    for (const Probe& probe : probes) {
      if (probe.peak_device_bytes >= 0)
        device = std::max<std::int64_t>(device, 0) + probe.peak_device_bytes;
    }
    if (device > 0) run.peak_device_bytes = device;
  }

  Status SetValue(std::size_t arm, const ChildOptions& options, struct Run& run) {
    if (plan_.metric.kind == MetricKind::kRegex) {
      const Result<double> found = FindNumber(plan_.metric, ReadWhole(options.output));
      if (!found) return Error(found.error()).WithContext(Who(arm));
      run.value = *found;
      return Ok();
    }
    const Known<double> value = ValueOf(run, plan_.metric);
    if (!value) return Error(fmt::format("{}: {}", Who(arm), value.why_not()));
    run.value = *value;
    return Ok();
  }

  std::string Who(std::size_t arm) const {
    return fmt::format("{} ({})", benchmark_.arms[arm].name, fmt::join(plan_.commands[arm], " "));
  }

  std::string WhatFailed(std::size_t arm, int pair, const ChildOutcome& outcome,
                         const ChildOptions& options) const {
    std::string how = fmt::format("ended with exit code {}", outcome.exit_code);
    if (outcome.signal != 0) {
      how = fmt::format("was ended by signal {} ({})", outcome.signal, ::strsignal(outcome.signal));
    }
    if (outcome.waited_for_lost) how = "waits in vain: " + outcome.lost->Words();
    if (outcome.timed_out) {
      how = fmt::format("ran longer than {} and was stopped (--timeout)",
                        HumanDuration(static_cast<Nanos>(options.timeout_s * 1e9)));
    }
    const std::string last = LastLines(options.output, 3);
    return fmt::format(
        "{} {} in pair {}; {}", Who(arm), how, pair,
        last.empty() ? "it printed nothing"
                     : fmt::format("its last lines: {} (all of them: {})", last, options.output));
  }

  void TellProgress(int pair, int slot, std::size_t arm) {
    ExperimentProgress progress;
    progress.pair = pair;
    progress.pairs = plan_.pairs;
    progress.arm = benchmark_.arms[arm].name;
    progress.elapsed_s = Elapsed();
    const double arms = static_cast<double>(plan_.commands.size());
    const double done = pair - 1 + slot / arms;
    if (done > 0) {
      double left = run_ends_s_ / done * (plan_.pairs - done) - (Elapsed() - run_ends_s_);
      if (plan_.budget_s > 0) left = std::min(left, plan_.budget_s - Elapsed());
      progress.left_s = std::max(left, 0.0);
    }
    if (!benchmark_.comparisons.empty()) progress.latest = &benchmark_.comparisons.back();
    listener_.Progress(progress);
  }

  // Whether this look ends the experiment.
  bool LookNow(int pair) {
    run_ends_s_ = Elapsed();
    const bool look = std::any_of(looks_.begin(), looks_.end(),
                                  [&](const stats::Look& l) { return l.pairs == pair; });
    if (!look || benchmark_.arms.size() < 2) return false;
    CompareAll(benchmark_, looks_, plan_.compare);
    return std::all_of(benchmark_.comparisons.begin(), benchmark_.comparisons.end(),
                       [](const Comparison& c) { return c.judgement.decided(); });
  }

  // A pair that was stopped in the middle has runs without a partner.
  void DropHalfPairs() {
    std::size_t least = SIZE_MAX;
    for (const Arm& arm : benchmark_.arms) least = std::min(least, arm.runs.size());
    for (Arm& arm : benchmark_.arms) arm.runs.resize(least);
  }

  const ExperimentPlan& plan_;
  ExperimentListener& listener_;
  ChildRunner& runner_;
  GpuWatch gpu_;
  Benchmark benchmark_;
  std::vector<stats::Look> looks_;
  double longest_s_ = 0, run_ends_s_ = 0;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

std::string ArmName(std::size_t arm) {
  const std::string letter(1, static_cast<char>('A' + arm % 26));
  return arm < 26 ? letter : letter + std::to_string(arm / 26 + 1);
}

Result<Benchmark> RunExperiment(const ExperimentPlan& plan, ExperimentListener& listener) {
  Result<ChildRunner> runner = ChildRunner::Prepare();
  if (!runner) return std::move(runner).error();
  return RunExperiment(plan, listener, *runner);
}

Result<Benchmark> RunExperiment(const ExperimentPlan& plan, ExperimentListener& listener,
                                ChildRunner& runner) {
  return Course(plan, listener, runner).Run();
}

}  // namespace hone::bench
