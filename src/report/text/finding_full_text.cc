// SPDX-License-Identifier: Apache-2.0
#include "report/text/finding_full_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "report/words/finding_sentences.h"
#include "report/words/finding_words.h"
#include "report/words/gain_text.h"
#include "report/words/headline.h"

namespace hone::report {

using doctor::Finding;

namespace {

constexpr std::size_t kFirstReasons = 3;  // why rules did not look, on the first screen
constexpr std::size_t kFirstNamed = 6;    // rules of one reason that are named there

// "no shapes in this trace; record with record_shapes=True" ends with what to do about it.
std::string WayOut(const std::string& why) {
  const std::size_t last = why.rfind("; ");
  return last == std::string::npos ? why : why.substr(last + 2);
}

// One line of code, wrapped where it is wider than `width`: comments stay comments, the rest of
// code is indented.
void WriteCodeLine(const std::string& line, std::size_t width, const Style& style,
                   std::ostream& out) {
  constexpr std::size_t kIndent = kNumberWidth + 4;
  const std::size_t start = std::min({line.find_first_not_of(' '), line.size(), width / 2});
  std::string front(start, ' ');
  std::string text = style.Clean(std::string_view(line).substr(start));
  const bool wide = start + DisplayWidth(text) > width;
  const std::size_t remark = text.rfind(" # ");
  if (wide && remark != std::string::npos) {
    WriteCodeLine(front + text.substr(remark + 1), width, style, out);
    text.erase(text.find_last_not_of(' ', remark) + 1);
  }
  const bool comment = text.rfind("# ", 0) == 0;
  if (comment) {
    front += "# ";
    text.erase(0, 2);
  }
  const bool fits = front.size() + DisplayWidth(text) <= width;
  for (const std::string& part : WrapWords(text, fits ? width : width - front.size() - 4)) {
    std::string row = std::string(kIndent, ' ') + CodeLine(front + part, width, style);
    row.erase(row.find_last_not_of(' ') + 1);
    out << row << '\n';
    if (!comment) front = std::string(start + 4, ' ');
  }
}

void WriteCode(std::string_view code, const Style& style, std::ostream& out) {
  if (!code.empty()) out << "     " << style.Paint(Tone::kFaint, "type") << '\n';
  for (const std::string& line : LinesOf(code)) {
    WriteCodeLine(line, style.width - kNumberWidth - 4, style, out);
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
    gain += finding.predicted->samples == 1
                ? fmt::format(", a step of {} ms ({})", MillisText(finding.predicted->likely_ns),
                              RangeText(*finding.predicted, style))
                : fmt::format(", {} ms ({}) {}: {}", MillisText(finding.predicted->likely_ns),
                              RangeText(*finding.predicted, style), PerStepText(*finding.predicted),
                              LargerStepText(*finding.predicted));
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
    const std::string why = all ? rule.why : WayOut(rule.why);
    const auto found = std::find_if(reasons.begin(), reasons.end(),
                                    [&](const auto& reason) { return reason.first == why; });
    if (found == reasons.end()) {
      reasons.push_back({why, {rule.id}});
    } else {
      found->second.push_back(rule.id);
    }
  }
  // Most programs without device work have no device: what only a device could tell comes last.
  const bool on_host = !report.leading().facts.timeline;
  const auto needs_device = [&](const std::string& why) {
    return on_host && why.find("ProfilerActivity.CUDA") != std::string::npos;
  };
  std::stable_sort(reasons.begin(), reasons.end(), [&](const auto& a, const auto& b) {
    const bool last_a = needs_device(a.first), last_b = needs_device(b.first);
    return last_a != last_b ? last_b : a.second.size() > b.second.size();
  });
  const std::size_t shown = all ? reasons.size() : std::min(reasons.size(), kFirstReasons);
  out << '\n';
  for (std::size_t i = 0; i < shown; ++i) {
    const std::vector<std::string>& ids = reasons[i].second;
    const std::string who = all || ids.size() <= kFirstNamed
                                ? fmt::format("{}", fmt::join(ids, ", "))
                                : fmt::format("{} rules", ids.size());
    WriteLabelled(i == 0 ? "not checked" : "", kLabelWidth,
                  style.Clean(fmt::format("{}: {}", who, reasons[i].first)), style, out);
  }
  if (shown == reasons.size()) return;
  std::size_t rules = 0;
  for (std::size_t i = shown; i < reasons.size(); ++i) rules += reasons[i].second.size();
  WriteLabelled("", kLabelWidth, fmt::format("{} {} more: --all", style.more(), rules), style, out);
}

}  // namespace hone::report
