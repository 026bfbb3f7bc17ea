// SPDX-License-Identifier: Apache-2.0
#include "report/words/finding_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "report/report.h"
#include "report/words/gain_text.h"

namespace hone::report {

using doctor::Finding;

namespace {

// A gain that changes by less once the findings above are fixed is told once.
constexpr double kSameGain = 0.05;

}  // namespace

const char* EffortText(doctor::Effort effort) {
  switch (effort) {
    case doctor::Effort::kNone: return "-";
    case doctor::Effort::kOneWord: return "1 word";
    case doctor::Effort::kOneLine: return "1 line";
    case doctor::Effort::kFewLines: return "few lines";
    case doctor::Effort::kRework: return "rework";
  }
  return "-";
}

Tone ToneOf(doctor::Severity severity) {
  switch (severity) {
    case doctor::Severity::kHigh: return Tone::kBad;
    case doctor::Severity::kMedium: return Tone::kWarn;
    default: return Tone::kPlain;
  }
}

std::string GainText(const Finding& finding, std::size_t number, const Style& style) {
  if (!finding.speedup) {
    return finding.recoverable_ns ? MillisText(*finding.recoverable_ns) + " ms" : "-";
  }
  std::string text = (finding.at_most ? "up to " : "") + SpeedupText(*finding.speedup);
  if (number < 2 || !finding.speedup_after) return text;
  const double after = *finding.speedup_after;
  if (std::abs(after / *finding.speedup - 1) <= kSameGain) return text;
  const std::string above = number == 2 ? "1" : fmt::format("1{}{}", style.dash(), number - 1);
  return fmt::format("{}, {} after {}", text, SpeedupText(after), above);
}

std::vector<const Finding*> Advice(const doctor::Diagnosis& diagnosis) {
  std::vector<const Finding*> advice;
  for (const Finding& finding : diagnosis.findings) {
    if (IsAdvice(finding)) advice.push_back(&finding);
  }
  return advice;
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string CodeLine(std::string_view line, std::size_t width, const Style& style) {
  const std::size_t text = std::min(line.find_first_not_of(' '), line.size());
  const std::string code = std::string(text, ' ') + style.Clean(line.substr(text));
  if (DisplayWidth(code) <= width) return code;
  const std::string_view mark = style.more();
  std::string cut;
  std::size_t used = DisplayWidth(mark);
  for (std::size_t at = 0; at < code.size();) {
    const Utf8Char c = DecodeUtf8(code, at);
    const std::string_view bytes = std::string_view(code).substr(at, c.size);
    used += DisplayWidth(bytes);
    if (used > width) break;
    cut += bytes;
    at += c.size;
  }
  return cut + std::string(mark);
}

std::string WithinText(double error) { return Percent(std::max(std::abs(error), 0.001)); }

}  // namespace hone::report
