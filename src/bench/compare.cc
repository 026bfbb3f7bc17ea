// SPDX-License-Identifier: Apache-2.0
#include "bench/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/same_work.h"
#include "stats/quantile.h"

namespace hone::bench {
namespace {

using Pairs = std::vector<stats::PairedRun>;

// Ratios pair by pair: how many times the second arm is better. `value` gives nothing for a run
// without the number.
template <typename Value>
Pairs PairUp(const Arm& a, const Arm& b, bool paired, bool higher_is_better, const Value& value) {
  Pairs pairs;
  for (std::size_t i = 0; i < std::min(a.runs.size(), b.runs.size()); ++i) {
    const std::optional<double> x = value(a.runs[i]), y = value(b.runs[i]);
    if (!x || !y || *x <= 0 || *y <= 0) continue;
    const double ratio = higher_is_better ? *y / *x : *x / *y;
    pairs.push_back({std::log(ratio), !paired || a.runs[i].slot < b.runs[i].slot});
  }
  return pairs;
}

std::vector<stats::Judgement> TakeLooks(const Pairs& pairs, const std::vector<stats::Look>& looks,
                                        double minimum_effect) {
  std::vector<stats::Judgement> taken;
  double left = 0;
  for (const stats::Look& look : looks) left += look.alpha;
  const auto judge = [&](std::size_t count, double alpha) {
    taken.push_back(stats::Judge(std::span(pairs).first(count), alpha, minimum_effect));
    left -= alpha;
  };
  for (const stats::Look& look : looks) {
    if (look.pairs > static_cast<int>(pairs.size())) break;
    judge(static_cast<std::size_t>(look.pairs), look.alpha);
    if (taken.back().decided()) return taken;
  }
  // The end came between two looks (a budget, Ctrl-C): it does not depend on what was measured.
  const std::size_t seen = taken.empty() ? 0 : static_cast<std::size_t>(taken.back().pairs);
  if (pairs.size() > seen) judge(pairs.size(), left);
  return taken;
}

std::optional<double> Cycles(const Run& run) {
  if (!run.gpu || !run.gpu->sm_clock_mhz || !run.value) return std::nullopt;
  return *run.value * *run.gpu->sm_clock_mhz;
}

// The same verdict on time times clock (nvbench does so): a clock that differed between the arms is
// not the program's doing.
void JudgeCycles(const Benchmark& benchmark, const CompareOptions& options, Comparison& result) {
  const Metric& metric = benchmark.metric;
  if (metric.kind != MetricKind::kWall && metric.kind != MetricKind::kStep) return;
  const Pairs pairs = PairUp(benchmark.arms[result.baseline], benchmark.arms[result.arm],
                             benchmark.paired, false, Cycles);
  if (pairs.size() < result.ratios.size() || pairs.empty()) return;
  result.in_cycles = stats::Judge(pairs, result.judgement.alpha, options.minimum_effect);
  const stats::Verdict time = result.judgement.verdict, cycles = result.in_cycles->verdict;
  // The other way round, or nothing that counts is left of it: the clock made the difference.
  result.cycles_disagree =
      time != stats::Verdict::kCannotTell && cycles != time &&
      (cycles != stats::Verdict::kCannotTell ||
       std::abs(std::log(result.in_cycles->ratio)) < std::log1p(options.minimum_effect));
}

}  // namespace

Known<double> ValueOf(const Run& run, const Metric& metric) {
  switch (metric.kind) {
    case MetricKind::kWall: return run.wall_s;
    case MetricKind::kStep:
      if (!run.steps) return Known<double>::Absent(run.steps.why_not() + "; or use --metric wall");
      return run.steps->mean_s;
    case MetricKind::kSamples:
      if (!run.steps) return Known<double>::Absent(run.steps.why_not() + "; or use --metric wall");
      if (!run.steps->samples_per_s) {
        return Known<double>::Absent(
            "no DataLoader handed out batches, so nobody counted samples; use --metric step");
      }
      return *run.steps->samples_per_s;
    case MetricKind::kMemory:
      if (run.peak_device_bytes) return static_cast<double>(*run.peak_device_bytes);
      return static_cast<double>(run.peak_rss_bytes);
    case MetricKind::kEnergy:
      if (!run.gpu || !run.gpu->energy_j) {
        return Known<double>::Absent("no GPU here counts energy (NVML); use --metric wall");
      }
      return *run.gpu->energy_j;
    case MetricKind::kRegex: break;
  }
  if (!run.value) return Known<double>::Absent("the recording holds no value for it");
  return *run.value;
}

Comparison Compare(const Benchmark& benchmark, std::size_t arm,
                   const std::vector<stats::Look>& looks, const CompareOptions& options) {
  Comparison result;
  result.arm = arm;
  const Arm& a = benchmark.arms[result.baseline];
  const Arm& b = benchmark.arms[arm];
  const Pairs pairs = PairUp(a, b, benchmark.paired, benchmark.metric.higher_is_better,
                             [](const Run& run) { return run.value; });
  result.looks = TakeLooks(pairs, looks, options.minimum_effect);
  if (!result.looks.empty()) result.judgement = result.looks.back();
  std::vector<double> logs;
  for (const stats::PairedRun& pair : pairs) {
    logs.push_back(pair.log_ratio);
    result.ratios.push_back(std::exp(pair.log_ratio));
  }
  result.far = stats::FarFromRest(logs);
  JudgeCycles(benchmark, options, result);
  CheckSameWork(benchmark, options, result);
  return result;
}

void CompareAll(Benchmark& benchmark, const std::vector<stats::Look>& looks,
                const CompareOptions& options) {
  benchmark.comparisons.clear();
  benchmark.minimum_effect = options.minimum_effect;
  for (std::size_t arm = 1; arm < benchmark.arms.size(); ++arm) {
    benchmark.comparisons.push_back(Compare(benchmark, arm, looks, options));
  }
}

}  // namespace hone::bench
