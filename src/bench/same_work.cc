// SPDX-License-Identifier: Apache-2.0
#include "bench/same_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "bench/operators.h"
#include "stats/quantile.h"

namespace hone::bench {
namespace {

enum class When { kAlways, kWholeRun, kNeverInvalid };

struct FactRule {
  const char* fact;
  const char* allow;     // word of --allow
  double tolerance = 0;  // of numbers, relative
  When when = When::kAlways;
};

// Numbers over a run of another length may differ by the last, shorter batch.
constexpr double kOneBatch = 0.01;
constexpr FactRule kRules[] = {
    {"steps", "steps", 0, When::kWholeRun},
    {"samples", "steps", 0, When::kWholeRun},
    {"samples a step", "batch", kOneBatch},
    {"values a batch", "batch", kOneBatch},
    {"batch shapes", "batch"},
    {"batch content", "data"},
    {"parameters", "model"},
    {"optimized parameters", "model"},
    {"parameters with gradient", "model"},
    {"modules in training mode", "mode"},
    {"parameter dtypes", "precision"},
    {"autocast", "precision"},
    {"matmul precision", "precision"},
    {"TF32 in cuDNN", "precision"},
    {"deterministic", "precision"},
    {"optimizer", "optimizer"},
    {"layout", "layout"},
    {"compiled", "compile"},
    {"operators over time", "operators"},
    {"operators' shapes", "operators"},
    {"clock", "clock"},
    // The same work with more or other means.
    {"threads", "threads", 0, When::kNeverInvalid},
    {"device", "device", 0, When::kNeverInvalid},
    {"processes", "processes", 0, When::kNeverInvalid},
};
constexpr const char* kOperators = "operators";
constexpr const char* kTail = "CPU time after the last step";

std::optional<double> Number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The values of a fact in an arm's runs, each once, in the order seen.
std::vector<std::string> ValuesOf(const Arm& arm, const std::string& fact) {
  std::vector<std::string> values;
  for (const Run& run : arm.runs) {
    const auto found = run.work.facts.find(fact);
    const std::string value = found == run.work.facts.end() ? "" : found->second;
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

bool Same(const std::string& a, const std::string& b, double tolerance) {
  if (a == b) return true;
  const std::optional<double> x = Number(a), y = Number(b);
  return tolerance > 0 && x && y && std::abs(*x - *y) <= tolerance * std::max(*x, *y);
}

class Check {
 public:
  Check(const Benchmark& benchmark, const CompareOptions& options, Comparison& result)
      : benchmark_(benchmark),
        options_(options),
        a_(benchmark.arms[result.baseline]),
        b_(benchmark.arms[result.arm]),
        work_(result.work),
        trouble_(result.trouble) {}

  void Run() {
    for (const Arm* arm : {&a_, &b_}) {
      for (const struct Run& run : arm->runs) {
        if (!run.work.seen) work_.why_not = fmt::format("{}: {}", arm->name, run.work.why_not);
      }
    }
    CheckClock();
    if (!work_.why_not.empty() || a_.runs.empty() || b_.runs.empty()) return;
    work_.checked = true;
    for (const FactRule& rule : kRules) CheckFact(rule);
    CheckOperators();
    CheckTail();
  }

 private:
  bool Allowed(const std::string& word) const { return options_.allow.contains(word); }

  void Differ(const std::string& what, const std::string& allow, const std::string& sentence,
              bool allowed) {
    work_.differences.push_back({what, sentence, allow, allowed});
  }

  // Whether a difference that is allowed by this word was found.
  bool Found(std::string_view word) const {
    return std::any_of(work_.differences.begin(), work_.differences.end(),
                       [&](const Difference& d) { return d.allow == word && d.allowed; });
  }

  void CheckFact(const FactRule& rule) {
    if (rule.when == When::kWholeRun && !benchmark_.metric.WholeRun()) return;
    if (std::string_view(rule.fact) == "clock") return;
    // Other precision, layout or compiled code means other shapes of helpers' operators too.
    const bool shapes = std::string_view(rule.fact) == "operators' shapes";
    if (shapes && (Rewritten() || Found("batch"))) return;
    const std::vector<std::string> a = ValuesOf(a_, rule.fact), b = ValuesOf(b_, rule.fact);
    if (a.size() == 1 && b.size() == 1 && a[0].empty() && b[0].empty()) return;
    if (a.size() > 1) {
      work_.not_compared.emplace_back(rule.fact);
      return;
    }
    const auto other = std::find_if(b.begin(), b.end(), [&](const std::string& value) {
      return !Same(a[0], value, rule.tolerance);
    });
    if (other == b.end()) {
      work_.equal.emplace_back(rule.fact);
      return;
    }
    const auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
    const bool opaque = shapes || std::string_view(rule.fact) == "batch content";
    std::string sentence =
        opaque ? fmt::format("{} differ: {} and {} do not work on the same {}", rule.fact, a_.name,
                             b_.name, shapes ? "shapes" : "samples")
               : fmt::format("{}: {} in {}, {} in {}", rule.fact, shown(a[0]), a_.name,
                             shown(*other), b_.name);
    Differ(rule.fact, rule.allow, sentence,
           rule.when == When::kNeverInvalid || Allowed(rule.allow));
  }

  // Something was allowed and found that changes which operators run, not what they are for.
  bool Rewritten() const {
    return Found("precision") || Found("layout") || Found("compile") || Found("operators");
  }

  void CheckOperators() {
    const auto& a = a_.runs[0].work.operators;
    const auto& b = b_.runs[0].work.operators;
    if (a.empty() && b.empty()) return;
    for (const struct Run& run : a_.runs) {
      if (run.work.operators != a) {
        work_.not_compared.emplace_back(kOperators);
        return;
      }
    }
    if (Rewritten()) {
      work_.not_compared.emplace_back(kOperators);
      return;
    }
    const std::optional<OperatorDifference> found = FindDifference(a, b);
    if (!found) {
      work_.equal.emplace_back(kOperators);
      return;
    }
    const std::string sentence =
        fmt::format("operators of a step: {} {} in {}, {} in {}{}", found->name,
                    TimesText(found->first), a_.name, TimesText(found->second), b_.name,
                    found->others > 0 ? fmt::format(", and {} more differ", found->others) : "");
    Differ(kOperators, "operators", sentence, Allowed("operators"));
  }

  // A program's own numbers are as good as its clock; ours come from another.
  void CheckClock() {
    const bool own_numbers = benchmark_.metric.kind == MetricKind::kRegex;
    for (const Arm* arm : {&a_, &b_}) {
      for (const std::string& clock : ValuesOf(*arm, "clock")) {
        if (clock.empty() || clock == "the system's") continue;
        const std::string sentence = fmt::format("{}: {}", arm->name, clock);
        const bool broken = clock.starts_with("the program's clock");
        Differ("clock", "clock", sentence, Allowed("clock") || (!own_numbers && !broken));
        return;
      }
    }
  }

  // Steps that end before their work does: a thread that still computes when the last one is over.
  // A fifth of all work after the last step, and much more than in the other arm, is no clean-up.
  void CheckTail() {
    if (!benchmark_.metric.NeedsSteps()) return;
    const auto tail = [](const Arm& arm) {
      std::vector<double> shares;
      for (const struct Run& run : arm.runs) {
        const auto found = run.work.facts.find(kTail);
        if (found != run.work.facts.end()) shares.push_back(Number(found->second).value_or(0));
      }
      return shares.empty() ? 0.0 : stats::Median(shares);
    };
    const double a = tail(a_), b = tail(b_);
    constexpr double kMuch = 0.2;
    if (std::max(a, b) < kMuch || std::abs(a - b) < kMuch / 2) return;
    const Arm& late = b > a ? b_ : a_;
    trouble_.push_back(fmt::format(
        "{} did {} of its work after its last step had ended ({}: {}): it was moved out of the "
        "time that counts; compare --metric wall",
        late.name, Percent(std::max(a, b)), (b > a ? a_ : b_).name, Percent(std::min(a, b))));
  }

  const Benchmark& benchmark_;
  const CompareOptions& options_;
  const Arm& a_;
  const Arm& b_;
  SameWork& work_;
  std::vector<std::string>& trouble_;
};

}  // namespace

std::vector<std::string> AllowWords() {
  std::vector<std::string> words;
  for (const FactRule& rule : kRules) {
    if (rule.when == When::kNeverInvalid) continue;
    if (std::find(words.begin(), words.end(), rule.allow) == words.end()) {
      words.emplace_back(rule.allow);
    }
  }
  return words;
}

bool SameWork::valid() const {
  return std::all_of(differences.begin(), differences.end(),
                     [](const Difference& difference) { return difference.allowed; });
}

void CheckSameWork(const Benchmark& benchmark, const CompareOptions& options, Comparison& result) {
  Check(benchmark, options, result).Run();
}

}  // namespace hone::bench
