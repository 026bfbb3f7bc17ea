// SPDX-License-Identifier: Apache-2.0
#include "report/text/finding_full_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "report/text/finding_words.h"
#include "report/text/gain_text.h"
#include "report/text/headline.h"
#include "report/text/kernel_name.h"

namespace hone::report {

using doctor::Finding;

namespace {

constexpr std::size_t kMostName = 60;  // columns of one name among others

std::string PlaceText(const doctor::Place& place, const Style& style) {
  std::vector<std::string> parts;
  for (const std::string& text :
       {place.source, place.op, ShortKernelName(place.kernel), place.thread, place.step}) {
    if (!text.empty()) parts.push_back(ElideMiddle(style.Clean(text), kMostName, style.utf8));
  }
  if (place.duration_ns >= 0) parts.push_back(HumanDuration(place.duration_ns));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Code whole, with its indentation. What is wider than the screen goes on in the next line,
// comments as comments.
void WriteCode(std::string_view code, const Style& style, std::ostream& out) {
  constexpr std::size_t kIndent = kNumberWidth + 4;
  const std::size_t width = style.width - kIndent;
  if (!code.empty()) out << "     " << style.Paint(Tone::kFaint, "type") << '\n';
  for (const std::string& line : LinesOf(code)) {
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    const bool comment = line.compare(start, 2, "# ") == 0;
    const std::string text =
        style.Clean(std::string_view(line).substr(comment ? start + 2 : start));
    std::string front = std::string(std::min(start, width / 2), ' ') + (comment ? "# " : "");
    const bool fits = front.size() + DisplayWidth(text) <= width;
    const std::size_t room = fits ? width : width - front.size() - 4;
    for (const std::string& part : WrapWords(text, room)) {
      std::string row = CodeLine(front + part, width, style);
      row.erase(row.find_last_not_of(' ') + 1);
      out << (row.empty() ? "" : std::string(kIndent, ' ')) << row << '\n';
      if (!comment) front = std::string(std::min(start, width / 2) + 4, ' ');
    }
  }
}

void WriteInFull(const doctor::Diagnosis& diagnosis, const Finding& finding, std::size_t number,
                 const Style& style, std::ostream& out) {
  WriteLabelled(fmt::format("{}", number), kNumberWidth, style.Clean(finding.title), style, out,
                ToneOf(finding.severity));
  constexpr std::size_t kLabel = kNumberWidth + 14;
  const auto line = [&](std::string_view label, const std::string& text) {
    WriteLabelled(fmt::format("   {}", label), kLabel, text, style, out);
  };
  std::string gain = GainText(finding, number, style);
  if (finding.predicted) {
    gain += fmt::format(", a step of {} ms ({})", MillisText(finding.predicted->likely_ns),
                        RangeText(*finding.predicted, style));
  } else if (!finding.recoverable_ns) {
    gain = style.Clean("not predicted: " + WhyNoGain(diagnosis, finding));
  }
  line("gives back", gain);
  line("",
       fmt::format("severity {}, sure {}, effort {}", doctor::SeverityName(finding.severity),
                   doctor::ConfidenceName(finding.confidence), doctor::EffortName(finding.effort)));
  for (std::size_t i = 0; i < finding.evidence.size(); ++i) {
    line(i == 0 ? "evidence" : "", style.Clean(finding.evidence[i]));
  }
  for (std::size_t i = 0; i < finding.where.size(); ++i) {
    line(i == 0 ? "where" : "", PlaceText(finding.where[i], style));
  }
  if (!finding.same_cause.empty()) {
    line("also seen as", style.Clean(fmt::format("{}", fmt::join(finding.same_cause, ", "))));
  }
  WriteCode(finding.remedy, style, out);
  line("more", "hone help " + style.Clean(finding.id));
}

}  // namespace

void WriteFindingsInFull(const Report& report, const Style& style, std::ostream& out) {
  if (!report.diagnosis) return;
  std::size_t number = 0;
  for (const Finding* finding : Advice(*report.diagnosis)) {
    out << '\n';
    WriteInFull(*report.diagnosis, *finding, ++number, style, out);
  }
}

void WriteNotChecked(const Report& report, bool all, const Style& style, std::ostream& out) {
  if (!report.diagnosis || report.diagnosis->not_checked.empty()) return;
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const doctor::NotChecked& rule : report.diagnosis->not_checked) {
    const auto found = std::find_if(reasons.begin(), reasons.end(),
                                    [&](const auto& reason) { return reason.first == rule.why; });
    if (found == reasons.end()) {
      reasons.push_back({rule.why, {rule.id}});
    } else {
      found->second.push_back(rule.id);
    }
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  constexpr std::size_t kFew = 3;
  out << '\n';
  for (std::size_t i = 0; i < reasons.size() && (all || i < kFew); ++i) {
    WriteLabelled(
        i == 0 ? "not checked" : "", kLabelWidth,
        style.Clean(fmt::format("{}: {}", fmt::join(reasons[i].second, ", "), reasons[i].first)),
        style, out);
  }
  if (!all && reasons.size() > kFew) {
    WriteLabelled("", kLabelWidth,
                  fmt::format("{} {} more reasons: --all", style.more(), reasons.size() - kFew),
                  style, out);
  }
}

}  // namespace hone::report
