// SPDX-License-Identifier: Apache-2.0
#include "bench/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <regex>

#include "base/text.h"

namespace hone::bench {

std::string Metric::Title() const {
  switch (kind) {
    case MetricKind::kWall: return "wall time";
    case MetricKind::kStep: return "step time";
    case MetricKind::kSamples: return "samples a second";
    case MetricKind::kMemory: return "peak memory";
    case MetricKind::kEnergy: return "energy";
    case MetricKind::kRegex: return pattern;
  }
  return name;
}

std::string Metric::Show(double value) const {
  switch (kind) {
    case MetricKind::kWall:
    case MetricKind::kStep: return HumanDuration(static_cast<Nanos>(std::llround(value * 1e9)));
    case MetricKind::kMemory: return HumanBytes(value);
    case MetricKind::kEnergy: return ThreeDigits(value) + " J";
    case MetricKind::kSamples: return ThreeDigits(value) + "/s";
    case MetricKind::kRegex: break;
  }
  return ThreeDigits(value);
}

std::string Metric::Better() const {
  if (kind == MetricKind::kMemory || kind == MetricKind::kEnergy) return "smaller";
  return kind == MetricKind::kRegex ? "better" : "faster";
}

std::string Metric::Worse() const {
  if (kind == MetricKind::kMemory || kind == MetricKind::kEnergy) return "larger";
  return kind == MetricKind::kRegex ? "worse" : "slower";
}

Result<Metric> ParseMetric(const std::string& text, bool higher_is_better) {
  Metric metric;
  metric.name = text;
  metric.higher_is_better = higher_is_better;
  constexpr std::string_view kRegexPrefix = "regex:";
  static const std::pair<const char*, MetricKind> kNames[] = {{"wall", MetricKind::kWall},
                                                              {"step", MetricKind::kStep},
                                                              {"samples", MetricKind::kSamples},
                                                              {"memory", MetricKind::kMemory},
                                                              {"energy", MetricKind::kEnergy}};
  std::vector<std::string> words;
  for (const auto& [name, kind] : kNames) {
    words.emplace_back(name);
    if (text != name) continue;
    metric.kind = kind;
    metric.higher_is_better = kind == MetricKind::kSamples;
    return metric;
  }
  if (!text.starts_with(kRegexPrefix)) {
    const auto nearest = NearestSpelling(text, words);
    return Error(fmt::format("no metric {}; {}", text,
                             nearest
                                 ? "did you mean " + *nearest + "?"
                                 : "one of wall, step, samples, memory, energy, regex:PATTERN"));
  }
  metric.kind = MetricKind::kRegex;
  metric.pattern = text.substr(kRegexPrefix.size());
  try {
    const std::regex compiled(metric.pattern);
  } catch (const std::regex_error& error) {
    return Error(fmt::format("{}: not a regular expression: {}", metric.pattern, error.what()));
  }
  if (metric.pattern.empty())
    return Error("regex: is empty; write --metric 'regex:loss ([0-9.]+)'");
  return metric;
}

namespace {

// "1,234,567" -> "1234567"; anything else with a comma between digits is left as it is.
std::string WithoutGroups(const std::string& text) {
  static const std::regex kGrouped("([0-9]{1,3})((?:,[0-9]{3})+)(?![0-9,])");
  std::smatch match;
  if (!std::regex_search(text, match, kGrouped)) return text;
  std::string digits = match.str();
  std::erase(digits, ',');
  return match.prefix().str() + digits + match.suffix().str();
}

// The one number of a text, with what is no digit around it. None where a part of it would be lost:
// "1.2k" is not 1.2, and "1,5" is not 1.
std::optional<double> NumberIn(const std::string& found) {
  const std::string text = WithoutGroups(found);
  const std::size_t start = text.find_first_of("+-.0123456789");
  if (start == std::string::npos) return std::nullopt;
  const char* first = text.data() + start;
  const char* last = text.data() + text.size();
  if (*first == '+') ++first;
  double value = 0;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc()) return std::nullopt;
  const bool unit = end != last && (std::isalpha(static_cast<unsigned char>(*end)) != 0);
  const bool more = std::any_of(
      end, last, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  if (unit || more) return std::nullopt;
  return value;
}

}  // namespace

Result<double> FindNumber(const Metric& metric, const std::string& output) {
  const auto none = [&](const std::string& why) {
    return Error(
        fmt::format("{}: {}; try it with grep -E on the program's output", metric.pattern, why));
  };
  std::string found;
  std::size_t matches = 0;
  try {
    const std::regex pattern(metric.pattern);
    // Line by line: the library's matcher goes deep on long texts.
    for (std::size_t at = 0; at < output.size();) {
      const std::size_t end = std::min(output.find_first_of("\r\n", at), output.size());
      const std::string line = output.substr(at, std::min<std::size_t>(end - at, 4096));
      for (std::sregex_iterator match(line.begin(), line.end(), pattern), last; match != last;
           ++match) {
        found = match->size() > 1 ? match->str(1) : match->str();
        ++matches;
      }
      at = end + 1;
    }
  } catch (const std::regex_error& error) {
    return none(error.what());
  }
  if (matches == 0) return none("no line of the output matches");
  const std::optional<double> number = NumberIn(found);
  if (!number) {
    return none(fmt::format("'{}' is not a plain number; let the parentheses hold the digits alone",
                            found));
  }
  const double value = *number;
  if (!std::isfinite(value) || value <= 0) {
    return none(fmt::format("{} cannot stand in a ratio, which needs numbers above 0", found));
  }
  return value;
}

}  // namespace hone::bench
