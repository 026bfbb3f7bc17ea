// SPDX-License-Identifier: Apache-2.0
#include "report/bench/bench_words.h"

#include <fmt/format.h>

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

std::string WhyNot(const Benchmark& benchmark, const Comparison& comparison) {
  const stats::Judgement& judgement = comparison.judgement;
  if (!comparison.valid() || comparison.verdict() != stats::Verdict::kCannotTell) return "";
  if (comparison.cycles_disagree) {
    return fmt::format(
        "time says {}, but counted in GPU cycles the difference is gone ({}): the clock differed "
        "between the arms; lock it (nvidia-smi -lgc) and measure again",
        stats::WordOf(judgement.verdict), RatioText(comparison.in_cycles->ratio));
  }
  if (!judgement.known) return "three pairs are the least; five or more can decide";
  if (judgement.no_difference) {
    return fmt::format("no difference larger than {}", Percent(LargestDifference(comparison)));
  }
  const std::string least = Percent(benchmark.minimum_effect);
  if (!judgement.interval.Holds(1)) {
    return fmt::format(
        "there is a difference, but it may be below the least that counts ({}, "
        "--min-effect)",
        least);
  }
  return fmt::format("a difference of up to {} may hide in the noise; {}",
                     Percent(LargestDifference(comparison)),
                     benchmark.ended.empty() ? "more pairs (--pairs), longer runs or a quieter "
                                               "machine would tell"
                                             : "it ended early: " + benchmark.ended);
}

}  // namespace hone::report
