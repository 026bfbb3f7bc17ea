// SPDX-License-Identifier: Apache-2.0
#include "report/markdown/markdown_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/markdown/markdown_words.h"
#include "report/words/breakdown.h"
#include "report/words/finding_sentences.h"
#include "report/words/finding_words.h"
#include "report/words/gain_text.h"
#include "report/words/headline.h"

namespace hone::report {
namespace {

using doctor::Finding;

constexpr std::size_t kInFull = 5;        // findings with evidence and code; a comment is read once
constexpr std::size_t kMostEvidence = 3;  // clauses of each

const Style& PlainStyle() {
  static const Style kStyle;
  return kStyle;
}

std::string Joined(const std::vector<std::string>& parts, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < parts.size(); ++i) {
    if (!text.empty()) text += " · ";
    text += Markdown(parts[i]);
  }
  return text;
}

void WriteTrust(const analyze::TrustFacts& trust, std::ostream& out) {
  if (trust.reasons.empty()) return;
  out << "\n> **trust " << analyze::VerdictName(trust.verdict) << "**\n";
  for (const analyze::TrustReason& reason : trust.reasons) {
    out << "> - " << Markdown(reason.text) << '\n';
  }
}

void WriteBreakdownTable(const Known<Breakdown>& breakdown, std::ostream& out) {
  out << '\n';
  if (!breakdown) {
    out << "Where a step goes: " << Markdown(breakdown.why_not()) << '\n';
    return;
  }
  const double steps = breakdown->steps > 0 ? static_cast<double>(breakdown->steps) : 1;
  std::vector<std::vector<std::string>> rows;
  for (const BreakdownRow& row : breakdown->rows) {
    const double share = breakdown->total_ns > 0 ? static_cast<double>(row.time_ns) /
                                                       static_cast<double>(breakdown->total_ns)
                                                 : 0;
    rows.push_back({Markdown(row.label), Fixed(ToMillis(row.time_ns) / steps, 2),
                    share > 0 && share < 0.0005 ? "\\<0.1" : Fixed(share * 100, 1)});
  }
  WriteMarkdownTable({BreakdownTitle(*breakdown), "ms", "%"}, "lrr", rows, out);
}

void WriteAdviceTable(const std::vector<const Finding*>& advice, std::string_view title,
                      std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < advice.size(); ++i) {
    rows.push_back({fmt::to_string(i + 1), Markdown(advice[i]->title),
                    GainText(*advice[i], i + 1, PlainStyle()),
                    doctor::ConfidenceName(advice[i]->confidence), EffortText(advice[i]->effort)});
  }
  out << '\n';
  WriteMarkdownTable({"", std::string(title), "gives back", "sure", "effort"}, "rllll", rows, out);
}

void WriteFinding(const doctor::Diagnosis& diagnosis, const Finding& finding, std::size_t number,
                  std::ostream& out) {
  out << "\n#### " << number << ". " << Markdown(finding.title) << "\n\n";
  std::size_t shown = 0;
  for (const std::string& evidence : finding.evidence) {
    if (shown++ < kMostEvidence) out << "- " << Markdown(evidence) << '\n';
  }
  if (!finding.where.empty()) {
    out << "- where: " << MarkdownCode(PlaceText(finding.where[0], PlainStyle())) << '\n';
  }
  if (finding.predicted) {
    const std::string likely = MillisText(finding.predicted->likely_ns) + " ms";
    const std::string range = " (" + RangeText(*finding.predicted, PlainStyle()) + ")";
    if (finding.predicted->samples == 1) {
      out << "- predicted: a step of " << likely << range << '\n';
    } else {
      out << "- predicted: " << likely << range << ' ' << PerStepText(*finding.predicted) << ": "
          << LargerStepText(*finding.predicted) << '\n';
    }
  } else if (!finding.recoverable_ns) {
    out << "- not predicted: " << Markdown(WhyNoGain(diagnosis, finding)) << '\n';
  }
  out << '\n';
  WriteMarkdownCode("python", finding.remedy, out);
}

void WriteFindings(const Report& report, const Known<Breakdown>& breakdown, std::ostream& out) {
  if (!report.diagnosis) {
    out << "\nFindings: " << Markdown(report.diagnosis.why_not()) << '\n';
    return;
  }
  const doctor::Diagnosis& diagnosis = *report.diagnosis;
  const Style& style = PlainStyle();
  const auto sentence = [&](const std::string& text) { out << '\n' << Markdown(text) << '\n'; };
  const ObserverPlace observer = PlaceOfObserver(diagnosis);
  if (observer == ObserverPlace::kFirst) sentence(ObserverSentence(*diagnosis.replay, style));
  const Finding* healthy = FindingById(diagnosis, "healthy");
  if (healthy != nullptr) sentence(HealthySentence(*healthy, style));
  const std::vector<const Finding*> advice = Advice(diagnosis);
  if (advice.empty() && healthy == nullptr) sentence(NothingSentence(diagnosis, breakdown));
  if (diagnosis.busiest) sentence(BusiestSentence(*diagnosis.busiest, style));
  if (diagnosis.busiest_kernel) sentence(BusiestSentence(*diagnosis.busiest_kernel, style));
  if (!advice.empty()) {
    WriteAdviceTable(
        advice, healthy == nullptr ? "what to do, best first" : "what is left, best first", out);
  }
  if (diagnosis.replay && diagnosis.replay->together) sentence(TogetherSentence(diagnosis, style));
  if (diagnosis.replay && diagnosis.replay->half) sentence(HalfSentence(*diagnosis.replay, style));
  if (observer == ObserverPlace::kLast) sentence(ObserverSentence(*diagnosis.replay, style));
  for (std::size_t i = 0; i < advice.size() && i < kInFull; ++i) {
    WriteFinding(diagnosis, *advice[i], i + 1, out);
  }
}

}  // namespace

void WriteMarkdownHeadline(const Report& report, std::ostream& out) {
  const std::vector<std::string> parts = HeadlineParts(report, PlainStyle());
  out << "### " << MarkdownCode(parts[0]);
  if (parts.size() > 1) out << " · " << Joined(parts, 1);
  out << "\n\n";
}

void WriteMarkdown(const Report& report, std::ostream& out) {
  const analyze::TrustFacts& trust = report.leading().facts.trust;
  WriteMarkdownHeadline(report, out);
  out << "**" << Joined(KeyNumberParts(report), 0) << "** · trust "
      << analyze::VerdictName(trust.verdict) << '\n';
  WriteTrust(trust, out);
  const Known<Breakdown> breakdown = SplitStep(report.leading());
  WriteBreakdownTable(breakdown, out);
  WriteFindings(report, breakdown, out);
  if (report.diagnosis && !report.diagnosis->not_checked.empty()) {
    out << '\n'
        << Count(report.diagnosis->not_checked.size(), "rule")
        << " could not look, for want of data: " << MarkdownCode("hone analyze --all") << '\n';
  }
}

}  // namespace hone::report
