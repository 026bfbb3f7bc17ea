// SPDX-License-Identifier: Apache-2.0
#include "report/text/findings_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "report/text/gain_text.h"
#include "report/text/headline.h"

namespace hone::report {
namespace {

using doctor::Finding;

constexpr std::size_t kSure = 6, kEffort = 9, kGap = 2, kNumberWidth = 3;
// A gain that changes by less once the findings above are fixed is told once.
constexpr double kSameGain = 0.05;

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

// "1.4x", or "1.4x, 1.9x after 1" where the findings above change it.
std::string GainText(const Finding& finding, std::size_t number, const Style& style) {
  if (!finding.speedup) return "?";
  std::string text = SpeedupText(*finding.speedup);
  if (number < 2 || !finding.speedup_after) return text;
  const double after = *finding.speedup_after;
  if (std::abs(after / *finding.speedup - 1) <= kSameGain) return text;
  const std::string above = number == 2 ? "1" : fmt::format("1{}{}", style.dash(), number - 1);
  return fmt::format("{}, {} after {}", text, SpeedupText(after), above);
}

std::string FirstSource(const Finding& finding) {
  for (const doctor::Place& place : finding.where) {
    if (!place.source.empty()) return place.source;
  }
  return "";
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The first line that can be typed; a comment where there is none.
std::string FirstRemedyLine(const Finding& finding) {
  const std::vector<std::string> lines = Lines(finding.remedy);
  for (const std::string& line : lines) {
    if (!line.empty() && line[0] != '#') return line;
  }
  return lines.empty() ? "" : lines[0];
}

std::vector<const Finding*> Advice(const doctor::Diagnosis& diagnosis) {
  std::vector<const Finding*> advice;
  for (const Finding& finding : diagnosis.findings) {
    if (IsAdvice(finding)) advice.push_back(&finding);
  }
  return advice;
}

const Finding* Find(const doctor::Diagnosis& diagnosis, std::string_view id) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
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
  AdviceList(std::vector<const Finding*> advice, const Style& style, std::ostream& out)
      : advice_(std::move(advice)), style_(style), out_(out) {
    for (std::size_t i = 0; i < advice_.size(); ++i) {
      gain_ = std::max(gain_, DisplayWidth(GainText(*advice_[i], i + 1, style_)));
    }
    const std::size_t right = gain_ + kGap + kSure + kGap + kEffort;
    title_ = style_.width - 2 - kNumberWidth - kGap - right;
  }

  void Write() const {
    out_ << "  "
         << style_.Paint(Tone::kStrong, PadRight("what to do, best first", kNumberWidth + title_))
         << style_.Paint(Tone::kFaint, Figures("gives back", "sure", "effort")) << '\n';
    for (std::size_t i = 0; i < advice_.size(); ++i) WriteOne(*advice_[i], i + 1);
  }

 private:
  std::string Figures(std::string_view gain, std::string_view sure, std::string_view effort) const {
    const std::string gap(kGap, ' ');
    return gap + PadRight(gain, gain_) + gap + PadRight(sure, kSure) + gap + std::string(effort);
  }

  void WriteOne(const Finding& finding, std::size_t number) const {
    const std::vector<std::string> title = WrapWords(style_.Clean(finding.title), title_);
    for (std::size_t i = 0; i < title.size(); ++i) {
      const std::string line = ElideMiddle(title[i], title_, style_.utf8);
      if (i > 0) {
        out_ << "  " << std::string(kNumberWidth, ' ') << line << '\n';
        continue;
      }
      out_ << "  "
           << style_.Paint(ToneOf(finding.severity),
                           PadRight(fmt::format("{}", number), kNumberWidth))
           << style_.Paint(Tone::kStrong, PadRight(line, title_))
           << Figures(GainText(finding, number, style_), doctor::ConfidenceName(finding.confidence),
                      EffortText(finding.effort))
           << '\n';
    }
    std::string second = style_.Clean(FirstSource(finding));
    const std::string remedy = style_.Clean(FirstRemedyLine(finding));
    if (!second.empty() && !remedy.empty()) second += "  ";
    second += remedy;
    if (second.empty()) return;
    out_ << "  " << std::string(kNumberWidth, ' ')
         << style_.Paint(Tone::kFaint,
                         ElideMiddle(second, style_.width - 2 - kNumberWidth, style_.utf8))
         << '\n';
  }

  const std::vector<const Finding*> advice_;
  const Style& style_;
  std::ostream& out_;
  std::size_t gain_ = 10;  // "gives back"
  std::size_t title_ = 0;
};

// "together: 191 → 29.1 ms predicted (26–33); the replay reproduces …".
void WriteTogether(const doctor::ReplayFacts& replay, std::size_t fixes, const Style& style,
                   std::ostream& out) {
  if (!replay.together) return;
  WriteSentence(fmt::format("{}: {}{}{} ms a step predicted ({}); the replay reproduces the "
                            "measured step within {}",
                            fixes > 1 ? "together" : "with it", MillisText(replay.bare.likely_ns),
                            style.arrow(), MillisText(replay.together->likely_ns),
                            RangeText(*replay.together, style), Percent(std::abs(replay.error))),
                style, out);
}

void WriteNothing(const doctor::Diagnosis& diagnosis, const Known<Breakdown>& breakdown,
                  const Style& style, std::ostream& out) {
  std::string text =
      fmt::format("nothing found by {} rules", diagnosis.rules - diagnosis.not_checked.size());
  const BreakdownRow* idle = nullptr;
  if (breakdown) {
    for (const BreakdownRow& row : breakdown->rows) {
      if (row.cause && (idle == nullptr || row.time_ns > idle->time_ns)) idle = &row;
    }
  }
  if (idle != nullptr && breakdown->total_ns > 0) {
    text += fmt::format(
        " explains the idle time; most of it ({} of the time) is {}; see --table idle",
        Percent(static_cast<double>(idle->time_ns) / static_cast<double>(breakdown->total_ns)),
        analyze::IdleCauseText(*idle->cause));
  }
  WriteSentence(text, style, out);
}

}  // namespace

void WriteFindings(const Report& report, const Known<Breakdown>& breakdown, bool all,
                   const Style& style, std::ostream& out) {
  if (!report.diagnosis) return;
  const doctor::Diagnosis& diagnosis = *report.diagnosis;
  std::vector<const Finding*> advice = Advice(diagnosis);
  const Finding* healthy = Find(diagnosis, "healthy");
  out << '\n';
  if (healthy != nullptr) {
    std::string text = style.Clean(healthy->title);
    for (const std::string& evidence : healthy->evidence) text += "; " + style.Clean(evidence);
    WriteSentence(text, style, out, Tone::kGood);
  }
  if (advice.empty() && healthy == nullptr) WriteNothing(diagnosis, breakdown, style, out);
  const std::size_t found = advice.size();
  if (!advice.empty()) {
    if (healthy != nullptr) out << '\n';
    if (!all && advice.size() > kFirstFindings) advice.resize(kFirstFindings);
    AdviceList(advice, style, out).Write();
    if (found > advice.size()) {
      out << "  "
          << style.Paint(Tone::kFaint,
                         fmt::format("{}  {} more: --all", style.more(), found - advice.size()))
          << '\n';
    }
  }
  const Finding* observer = Find(diagnosis, "observer-effect");
  const bool together = diagnosis.replay && diagnosis.replay->together;
  if (observer == nullptr && !together) return;
  out << '\n';
  if (together) WriteTogether(*diagnosis.replay, found, style, out);
  if (observer != nullptr && diagnosis.replay) {
    const doctor::ReplayFacts& replay = *diagnosis.replay;
    WriteSentence(fmt::format("the profiler slows this program: {} ms recorded, about {} ms "
                              "without it ({}), which is what gains count from",
                              MillisText(replay.measured_ns), MillisText(replay.bare.likely_ns),
                              RangeText(replay.bare, style)),
                  style, out);
  }
}

namespace {

std::string PlaceText(const doctor::Place& place, const Style& style) {
  std::vector<std::string> parts;
  for (const std::string* text :
       {&place.source, &place.op, &place.kernel, &place.thread, &place.step}) {
    if (!text->empty()) parts.push_back(style.Clean(*text));
  }
  if (place.duration_ns >= 0) parts.push_back(HumanDuration(place.duration_ns));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void WriteInFull(const Finding& finding, std::size_t number, const Style& style,
                 std::ostream& out) {
  WriteLabelled(fmt::format("{}", number), kNumberWidth, style.Clean(finding.title), style, out,
                ToneOf(finding.severity));
  constexpr std::size_t kLabel = kNumberWidth + 12;
  const auto line = [&](std::string_view label, const std::string& text) {
    WriteLabelled(fmt::format("   {}", label), kLabel, text, style, out);
  };
  std::string gain;
  if (finding.speedup && finding.predicted) {
    gain =
        fmt::format("{}, a step of {} ms ({})", GainText(finding, number, style),
                    MillisText(finding.predicted->likely_ns), RangeText(*finding.predicted, style));
  } else {
    gain = style.Clean("not predicted: " + finding.speedup.why_not());
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
  const std::vector<std::string> remedy = Lines(finding.remedy);
  for (std::size_t i = 0; i < remedy.size(); ++i) {
    out << "  " << style.Paint(Tone::kFaint, PadRight(i == 0 ? "   type" : "", kLabel))
        << ElideMiddle(style.Clean(remedy[i]), style.width - 2 - kLabel, style.utf8) << '\n';
  }
  if (!finding.same_cause.empty()) {
    line("also seen as", fmt::format("{}", fmt::join(finding.same_cause, ", ")));
  }
  line("more", fmt::format("hone help {}", finding.id));
}

}  // namespace

void WriteFindingsInFull(const Report& report, const Style& style, std::ostream& out) {
  if (!report.diagnosis) return;
  std::size_t number = 0;
  for (const Finding* finding : Advice(*report.diagnosis)) {
    out << '\n';
    WriteInFull(*finding, ++number, style, out);
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
