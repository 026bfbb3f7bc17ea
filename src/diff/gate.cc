// SPDX-License-Identifier: Apache-2.0
#include "diff/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"

namespace hone::diff {
namespace {

struct MetricInfo {
  const char* word;
  Metric metric;
  const char* figure;  // id in Diff::figures; null: the step
  const char* text;
  const char* units;  // for the message
};

constexpr std::array<MetricInfo, 5> kMetrics = {{
    {"slower", Metric::kSlower, nullptr, "the step", "3% or 5ms (us, ms, s)"},
    {"memory", Metric::kMemory, "memory_peak_bytes", "peak memory", "5% or 512MiB (KiB, MiB, GiB)"},
    {"reserved", Metric::kReserved, "memory_reserved_bytes", "peak reserved memory",
     "5% or 512MiB (KiB, MiB, GiB)"},
    {"kernels", Metric::kKernels, "kernels", "kernels a step", "10% or a count such as 50"},
    {"launches", Metric::kLaunches, "launches", "launch calls a step", "10% or a count such as 50"},
}};

const MetricInfo& InfoOf(Metric metric) {
  for (const MetricInfo& info : kMetrics) {
    if (info.metric == metric) return info;
  }
  return kMetrics[0];
}

// What the letters after a number multiply it by; 0: not a unit of that metric.
double Scale(Metric metric, std::string_view unit) {
  struct Row {
    std::string_view unit;
    double scale;
  };
  static constexpr std::array<Row, 3> kTimes = {{{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  static constexpr std::array<Row, 7> kBytes = {{{"B", 1},
                                                 {"KiB", 1024.0},
                                                 {"MiB", 1024.0 * 1024},
                                                 {"GiB", 1024.0 * 1024 * 1024},
                                                 {"KB", 1e3},
                                                 {"MB", 1e6},
                                                 {"GB", 1e9}}};
  const auto find = [&](const auto& rows) {
    for (const Row& row : rows) {
      if (row.unit == unit) return row.scale;
    }
    return 0.0;
  };
  switch (metric) {
    case Metric::kSlower: return find(kTimes);
    case Metric::kMemory:
    case Metric::kReserved: return find(kBytes);
    case Metric::kKernels:
    case Metric::kLaunches: return unit.empty() ? 1 : 0;
  }
  return 0;
}

Result<Condition> ParseOne(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string word(text.substr(0, equals));
  std::vector<std::string> words;
  const MetricInfo* info = nullptr;
  for (const MetricInfo& candidate : kMetrics) {
    words.emplace_back(candidate.word);
    if (word == candidate.word) info = &candidate;
  }
  if (info == nullptr) {
    const auto nearest = NearestSpelling(word, words);
    return Error(fmt::format("--fail-if knows no {}{}; one of {}, each with =AMOUNT",
                             word.empty() ? "empty word" : Printable(word, false),
                             nearest ? ", did you mean " + *nearest + "?" : "",
                             fmt::join(words, ", ")));
  }
  Condition condition{std::string(text), info->metric, true, 0};
  const std::string_view amount =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  const auto [end, error] =
      std::from_chars(amount.data(), amount.data() + amount.size(), condition.amount);
  std::string_view unit(end, static_cast<std::size_t>(amount.data() + amount.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  condition.relative = unit == "%";
  const double scale = condition.relative ? 0.01 : Scale(info->metric, unit);
  if (error != std::errc() || scale == 0 || !(condition.amount >= 0) ||
      !std::isfinite(condition.amount)) {
    return Error(
        fmt::format("--fail-if {}: expected {}={}", Printable(text, false), word, info->units));
  }
  condition.amount *= scale;
  return condition;
}

std::string Shown(Metric metric, double value) {
  switch (metric) {
    case Metric::kSlower: return HumanDuration(static_cast<Nanos>(std::llround(value)));
    case Metric::kMemory:
    case Metric::kReserved: return HumanBytes(value);
    case Metric::kKernels:
    case Metric::kLaunches: break;
  }
  const double whole = std::round(value);
  return std::abs(value - whole) < 0.05 ? WithThousands(static_cast<std::int64_t>(whole))
                                        : Fixed(value, 1);
}

// "the step went from 100 ms to 105 ms (+5.0 %)".
std::string Story(Metric metric, std::string_view what, double before, double after) {
  const std::string from = Shown(metric, before), to = Shown(metric, after);
  if (from == to) return fmt::format("{} stayed at {}", what, to);
  std::string story = fmt::format("{} went from {} to {}", what, from, to);
  if (before > 0) {
    const double change = (after / before - 1) * 100;
    story += fmt::format(" ({}{} %)", change < 0 ? "" : "+",
                         Fixed(change, std::abs(change) >= 100 ? 0 : 1));
  }
  return story;
}

bool Exceeds(const Condition& condition, double before, double after) {
  const double grown = after - before;
  return grown > 0 && grown > (condition.relative ? condition.amount * before : condition.amount);
}

GateResult JudgeStep(const Condition& condition, const Diff& diff) {
  GateResult result{condition, GateState::kUnknown, ""};
  if (!diff.step) {
    result.why = diff.step.why_not();
    return result;
  }
  const StepChange& step = *diff.step;
  const auto before = static_cast<double>(step.before_ns);
  const auto after = static_cast<double>(step.after_ns);
  const std::string story =
      Story(Metric::kSlower, step.by_mean ? "the mean step" : InfoOf(Metric::kSlower).text, before,
            after);
  if (!Exceeds(condition, before, after)) {
    result.state = GateState::kPassed;
    result.why = story;
  } else if (step.verdict == Verdict::kUnsure && step.range) {
    result.why = fmt::format("{}, but steps differ too much to tell", story);
  } else if (step.verdict == Verdict::kUnsure) {
    result.why = fmt::format("{}, but nobody knows the noise: {}", story, step.range.why_not());
  } else if (step.verdict == Verdict::kSlower) {
    result.state = GateState::kFailed;
    result.why = fmt::format("{}, beyond noise", story);
  } else {
    result.state = GateState::kPassed;
    result.why = fmt::format("{}, which is within noise", story);
  }
  return result;
}

}  // namespace

const char* GateStateName(GateState state) {
  switch (state) {
    case GateState::kPassed: return "passed";
    case GateState::kFailed: return "failed";
    case GateState::kUnknown: return "unknown";
  }
  return "unknown";
}

Result<std::vector<Condition>> ParseConditions(std::string_view text) {
  std::vector<Condition> conditions;
  while (true) {
    const std::size_t comma = text.find(',');
    Result<Condition> condition = ParseOne(text.substr(0, comma));
    if (!condition) return std::move(condition).error();
    conditions.push_back(std::move(*condition));
    if (comma == std::string_view::npos) return conditions;
    text.remove_prefix(comma + 1);
  }
}

GateResult Judge(const Condition& condition, const Diff& diff) {
  if (condition.metric == Metric::kSlower) return JudgeStep(condition, diff);
  const MetricInfo& info = InfoOf(condition.metric);
  GateResult result{condition, GateState::kUnknown, ""};
  for (const Figure& figure : diff.figures) {
    if (figure.id != info.figure) continue;
    if (!figure.before || !figure.after) {
      result.why = fmt::format("{}: {} ({} recording)", info.text,
                               figure.before ? figure.after.why_not() : figure.before.why_not(),
                               figure.before ? "second" : "first");
      return result;
    }
    result.state =
        Exceeds(condition, *figure.before, *figure.after) ? GateState::kFailed : GateState::kPassed;
    result.why = Story(info.metric, info.text, *figure.before, *figure.after);
  }
  return result;
}

}  // namespace hone::diff
