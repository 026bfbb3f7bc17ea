// SPDX-License-Identifier: Apache-2.0
#include "report/text/findings_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "report/words/finding_sentences.h"
#include "report/words/finding_words.h"

namespace hone::report {
namespace {

using doctor::Finding;

constexpr std::size_t kGain = 10, kSure = 6, kEffort = 9, kGap = 2;  // columns
constexpr std::size_t kLeastTitle = 30, kTitleLines = 3;

std::string FirstSource(const Finding& finding) {
  for (const doctor::Place& place : finding.where) {
    if (!place.source.empty()) return place.source;
  }
  return "";
}

// What the gain takes, else the first line that can be typed. Where there is none, the first of the
// comment, without the mark by which it goes on in the next: what is shown must not look cut.
std::vector<std::string> FirstRemedyLines(const Finding& finding) {
  if (!finding.needed.empty()) return LinesOf(finding.needed);
  const std::vector<std::string> lines = LinesOf(finding.remedy);
  for (const std::string& line : lines) {
    if (!line.empty() && line[0] != '#') return {line};
  }
  if (lines.empty()) return {};
  return {lines[0].substr(0, lines[0].find_last_not_of(",;:") + 1)};
}

void WriteSentence(const std::string& text, const Style& style, std::ostream& out,
                   Tone tone = Tone::kPlain) {
  for (const std::string& line : WrapWords(text, style.width - 2)) {
    out << "  " << style.Paint(tone, ElideMiddle(line, style.width - 2, style.utf8)) << '\n';
  }
}

// The rows of "what to do": figures in columns to the right, the title wrapped to their left.
class AdviceList {
 public:
  AdviceList(std::vector<const Finding*> advice, bool remedies, const Style& style,
             std::ostream& out)
      : advice_(std::move(advice)), remedies_(remedies), style_(style), out_(out) {
    for (std::size_t i = 0; i < advice_.size(); ++i) {
      gains_.push_back(GainText(*advice_[i], i + 1, style_));
      gain_ = std::max(gain_, DisplayWidth(gains_.back()));
    }
    if (TitleWidth() >= kLeastTitle) return;
    // What is left after the findings above is told elsewhere too (--all).
    gain_ = kGain;
    for (std::size_t i = 0; i < advice_.size(); ++i) gains_[i] = GainText(*advice_[i], 1, style_);
  }

  void Write(std::string_view title) const {
    out_ << "  " << style_.Paint(Tone::kStrong, PadRight(title, kNumberWidth + TitleWidth()))
         << style_.Paint(Tone::kFaint, Figures("gives back", "sure", "effort")) << '\n';
    for (std::size_t i = 0; i < advice_.size(); ++i) WriteOne(*advice_[i], i + 1);
  }

 private:
  std::string Figures(std::string_view gain, std::string_view sure, std::string_view effort) const {
    const std::string gap(kGap, ' ');
    return gap + PadRight(gain, gain_) + gap + PadRight(sure, kSure) + gap + std::string(effort);
  }

  std::size_t TitleWidth() const {
    const std::size_t right = kGap + gain_ + kGap + kSure + kGap + kEffort;
    const std::size_t left = 2 + kNumberWidth;
    return style_.width - std::min(style_.width, left + right);
  }

  void WriteOne(const Finding& finding, std::size_t number) const {
    const std::size_t width = TitleWidth();
    std::vector<std::string> title = WrapWords(style_.Clean(finding.title), width);
    if (title.size() > kTitleLines) {
      title[kTitleLines - 1] += style_.more();
      title.resize(kTitleLines);
    }
    for (std::size_t i = 0; i < title.size(); ++i) {
      const std::string line = ElideMiddle(title[i], width, style_.utf8);
      if (i > 0) {
        out_ << "  " << std::string(kNumberWidth, ' ') << style_.Paint(Tone::kStrong, line) << '\n';
        continue;
      }
      out_ << "  "
           << style_.Paint(ToneOf(finding.severity),
                           PadRight(fmt::format("{}", number), kNumberWidth))
           << style_.Paint(Tone::kStrong, PadRight(line, width))
           << Figures(gains_[number - 1], doctor::ConfidenceName(finding.confidence),
                      EffortText(finding.effort))
           << '\n';
    }
    if (remedies_) WriteRemedy(finding);
  }

  static std::size_t Indent(const std::string& line) {
    return std::min(line.find_first_not_of(' '), line.size());
  }

  // A line of code without what stands in front of the first one, and without a remark that does
  // not fit.
  std::string Code(const std::string& line, std::size_t indent, std::size_t width) const {
    const std::string_view text = std::string_view(line).substr(std::min(indent, Indent(line)));
    std::string code = CodeLine(text, line.size(), style_);
    code.erase(code.find_last_not_of(' ') + 1);
    const std::size_t remark = code.find(" #");
    if (DisplayWidth(code) > width && remark != std::string::npos) code.resize(remark);
    code.erase(code.find_last_not_of(' ') + 1);
    return code;
  }

  // Where, and what to type at the least: in one line where both fit whole, so that code can be
  // copied.
  void WriteRemedy(const Finding& finding) const {
    const std::size_t width = style_.width - 2 - kNumberWidth;
    const auto write = [&](std::string_view line) {
      if (line.empty()) return;
      out_ << "  " << std::string(kNumberWidth, ' ') << style_.Paint(Tone::kFaint, line) << '\n';
    };
    const std::string place = ElideStart(style_.Clean(FirstSource(finding)), width, style_.utf8);
    std::vector<std::string> lines;
    std::size_t indent = 0;
    for (const std::string& line : FirstRemedyLines(finding)) {
      if (lines.empty()) indent = Indent(line);
      lines.push_back(Code(line, indent, width));
    }
    if (!place.empty() && lines.size() == 1 && !lines[0].empty() &&
        DisplayWidth(place) + 2 + DisplayWidth(lines[0]) <= width) {
      return write(place + "  " + lines[0]);
    }
    write(place);
    for (const std::string& line : lines) write(CodeLine(line, width, style_));
  }

  const std::vector<const Finding*> advice_;
  const bool remedies_;
  const Style& style_;
  std::ostream& out_;
  std::vector<std::string> gains_;
  std::size_t gain_ = kGain;  // columns
};

}  // namespace

void WriteFindings(const Report& report, const Known<Breakdown>& breakdown, bool all,
                   const Style& style, std::ostream& out) {
  if (!report.diagnosis) return;
  const doctor::Diagnosis& diagnosis = *report.diagnosis;
  std::vector<const Finding*> advice = Advice(diagnosis);
  const Finding* healthy = FindingById(diagnosis, "healthy");
  const ObserverPlace observer = PlaceOfObserver(diagnosis);
  out << '\n';
  if (observer == ObserverPlace::kFirst) {
    WriteSentence(ObserverSentence(*diagnosis.replay, style), style, out);
    out << '\n';
  }
  if (healthy != nullptr) {
    WriteSentence(HealthySentence(*healthy, style), style, out, Tone::kGood);
  }
  if (advice.empty() && healthy == nullptr) {
    WriteSentence(NothingSentence(diagnosis, breakdown), style, out);
  }
  if (diagnosis.busiest) {
    WriteSentence(BusiestSentence(*diagnosis.busiest, style), style, out);
    if (!advice.empty()) out << '\n';
  }
  if (diagnosis.busiest_kernel) {
    WriteSentence(BusiestSentence(*diagnosis.busiest_kernel, style), style, out);
    if (!advice.empty() && healthy == nullptr) out << '\n';
  }
  const std::size_t found = advice.size();
  if (!advice.empty()) {
    if (healthy != nullptr) out << '\n';
    if (!all && advice.size() > kFirstFindings) advice.resize(kFirstFindings);
    AdviceList(advice, !all, style, out)
        .Write(healthy == nullptr ? "what to do, best first" : "what is left, best first");
    if (found > advice.size()) {
      out << "  "
          << style.Paint(Tone::kFaint,
                         fmt::format("{}  {} more: --all", style.more(), found - advice.size()))
          << '\n';
    }
  }
  const bool together = diagnosis.replay && diagnosis.replay->together;
  const bool observer_last = observer == ObserverPlace::kLast;
  const bool half = diagnosis.replay && diagnosis.replay->half;
  if (!together && !half && !observer_last) return;
  out << '\n';
  if (together) WriteSentence(TogetherSentence(diagnosis, style), style, out);
  if (half) WriteSentence(HalfSentence(*diagnosis.replay, style), style, out);
  if (observer_last) WriteSentence(ObserverSentence(*diagnosis.replay, style), style, out);
}

}  // namespace hone::report
