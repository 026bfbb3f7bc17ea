// SPDX-License-Identifier: Apache-2.0
#include "report/bench/bench_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace hone::report {
namespace {

using bench::Benchmark;
using bench::Comparison;

// Decimals at which both ends of the interval can be told apart, two at least, four at most.
int Decimals(const Comparison& comparison) {
  const stats::Interval& interval = comparison.judgement.interval;
  if (!comparison.judgement.known) return 2;
  const double width = interval.high - interval.low;
  return width < 0.002 ? 4 : width < 0.02 ? 3 : 2;
}

double LargestDifference(const Comparison& comparison) {
  const stats::Interval& interval = comparison.judgement.interval;
  return std::max(std::abs(interval.high - 1), std::abs(1 / interval.low - 1));
}

std::string PairsText(const Benchmark& benchmark, const Comparison& comparison) {
  const auto pairs = static_cast<std::uint64_t>(comparison.judgement.pairs);
  return benchmark.paired ? Count(pairs, "pair") : Count(pairs, "run") + " each";
}

}  // namespace

std::string RatioText(double ratio) {
  return fmt::format("{:.{}f}x", ratio, std::abs(ratio - 1) < 0.02 ? 3 : 2);
}

std::string IntervalText(const Comparison& comparison, std::string_view dash) {
  if (!comparison.judgement.known) return "";
  const int decimals = Decimals(comparison);
  return fmt::format("({:.{}f}{}{:.{}f})", comparison.judgement.interval.low, decimals, dash,
                     comparison.judgement.interval.high, decimals);
}

std::string VerdictWord(const Comparison& comparison) {
  if (!comparison.valid()) return "invalid";
  return std::string(stats::WordOf(comparison.verdict()));
}

std::string VerdictLine(const Benchmark& benchmark, const Comparison& comparison,
                        std::string_view dash) {
  const std::string& a = benchmark.arms[comparison.baseline].name;
  const std::string& b = benchmark.arms[comparison.arm].name;
  if (!comparison.valid()) {
    return fmt::format("INVALID: {} and {} did not do the same work; no verdict", a, b);
  }
  const stats::Judgement& judgement = comparison.judgement;
  if (judgement.pairs == 0) return "cannot tell: nothing was measured";
  const std::string ratio = fmt::format("{:.{}f}x", judgement.ratio, Decimals(comparison));
  const std::string numbers = fmt::format("{} {}, {}", ratio, IntervalText(comparison, dash),
                                          PairsText(benchmark, comparison));
  const stats::Verdict verdict = comparison.verdict();
  if (verdict == stats::Verdict::kCannotTell) {
    if (!judgement.known) {
      return fmt::format("cannot tell: {} {} in {}, too few for an interval", b, ratio,
                         PairsText(benchmark, comparison));
    }
    return fmt::format("cannot tell: {} {}", b, numbers);
  }
  const bench::Metric& metric = benchmark.metric;
  return fmt::format("{} is {}: {}", b,
                     verdict == stats::Verdict::kFaster ? metric.Better() : metric.Worse(),
                     numbers);
}

namespace {

// Why it cannot be told, and what would help; empty when it can.
std::string WhyNot(const Benchmark& benchmark, const Comparison& comparison) {
  const stats::Judgement& judgement = comparison.judgement;
  if (!comparison.valid() || comparison.verdict() != stats::Verdict::kCannotTell) return "";
  if (comparison.cycles_disagree) {
    return fmt::format(
        "time says {}, but counted in GPU cycles it is {}: the clock differed between the arms; "
        "lock it (nvidia-smi -lgc) and measure again",
        stats::WordOf(judgement.verdict), RatioText(comparison.in_cycles->ratio));
  }
  if (!judgement.known) return "three pairs are the least, five or more can decide (--pairs)";
  const std::string most = Percent(LargestDifference(comparison));
  if (judgement.no_difference) return fmt::format("no difference larger than {}", most);
  if (!judgement.interval.Holds(1)) {
    return fmt::format(
        "there is a difference, but a small one: below the {} that count (--min-effect)",
        Percent(benchmark.minimum_effect));
  }
  return fmt::format(
      "up to {} may hide in the noise; more pairs (--pairs), longer runs or a quieter "
      "machine would tell",
      most);
}

std::string SameWorkRemark(const Benchmark& benchmark, const Comparison& comparison) {
  const bench::SameWork& work = comparison.work;
  std::string text = "same work: ";
  if (benchmark.comparisons.size() > 1) text += benchmark.arms[comparison.arm].name + ": ";
  if (!work.checked) return text + fmt::format("not checked ({})", work.why_not);
  std::string names;
  for (const char* fact :
       {"operators", "batch shapes", "batch content", "parameters", "samples", "steps"}) {
    if (std::find(work.equal.begin(), work.equal.end(), fact) == work.equal.end()) continue;
    names += (names.empty() ? "" : ", ") + std::string(fact);
  }
  if (work.equal.size() > 0 && names.empty()) names = work.equal[0];
  text += fmt::format("{}, {} of {} facts agree", comparison.valid() ? "yes" : "no",
                      work.equal.size(), work.equal.size() + work.differences.size());
  if (!names.empty()) text += fmt::format(" ({}, ...)", names);
  if (!work.not_compared.empty()) {
    text += fmt::format("; not compared, as A's own runs differ in it: {}",
                        fmt::join(work.not_compared, ", "));
  }
  return text;
}

// NVML's bits.
std::string ThrottleText(std::uint64_t reasons) {
  std::vector<std::string> words;
  const std::pair<std::uint64_t, const char*> kBits[] = {
      {4, "power cap"}, {8, "hardware slowdown"}, {32, "heat"}, {64, "heat"}, {128, "power brake"}};
  for (const auto& [bit, word] : kBits) {
    if ((reasons & bit) != 0 && std::find(words.begin(), words.end(), word) == words.end()) {
      words.emplace_back(word);
    }
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

void RemarkThrottling(const Benchmark& benchmark, std::vector<std::string>& remarks) {
  for (const bench::Arm& arm : benchmark.arms) {
    std::size_t runs = 0;
    std::uint64_t reasons = 0;
    for (const bench::Run& run : arm.runs) {
      if (!run.gpu || run.gpu->throttle_reasons == 0) continue;
      ++runs;
      reasons |= run.gpu->throttle_reasons;
    }
    if (runs > 0) {
      remarks.push_back(fmt::format("throttled: the GPU was held back in {} of {} runs of {} ({})",
                                    runs, arm.runs.size(), arm.name, ThrottleText(reasons)));
    }
  }
}

}  // namespace

std::vector<std::string> Reasons(const Benchmark& benchmark, const Comparison& comparison) {
  std::vector<std::string> reasons = comparison.trouble;
  for (const bench::Difference& difference : comparison.work.differences) {
    if (difference.allowed) continue;
    reasons.push_back(
        fmt::format("{}; meant so? --allow {}", difference.sentence, difference.allow));
  }
  const std::string why = WhyNot(benchmark, comparison);
  if (!why.empty()) reasons.push_back(why);
  return reasons;
}

std::vector<std::string> Remarks(const Benchmark& benchmark) {
  std::vector<std::string> remarks;
  for (const Comparison& comparison : benchmark.comparisons) {
    remarks.push_back(SameWorkRemark(benchmark, comparison));
    for (const bench::Difference& difference : comparison.work.differences) {
      if (difference.allowed) remarks.push_back("differs: " + difference.sentence);
    }
    if (!comparison.far.empty()) {
      remarks.push_back(fmt::format(
          "outliers: {} further than 10 MADs from the rest; kept in the numbers",
          comparison.far.size() == 1 ? fmt::format("pair {} is", comparison.far[0] + 1)
                                     : fmt::format("{} pairs are", comparison.far.size())));
    }
    if (comparison.in_cycles && !comparison.cycles_disagree) {
      remarks.push_back(
          fmt::format("in GPU cycles: {}, which agrees", RatioText(comparison.in_cycles->ratio)));
    }
  }
  RemarkThrottling(benchmark, remarks);
  if (!benchmark.paired) {
    remarks.emplace_back(
        "not in turns: the arms were measured one after the other, so a change of the machine in "
        "between counts as a difference too");
  }
  if (!benchmark.ended.empty()) remarks.push_back("ended early: " + benchmark.ended);
  remarks.insert(remarks.end(), benchmark.notes.begin(), benchmark.notes.end());
  return remarks;
}

}  // namespace hone::report
