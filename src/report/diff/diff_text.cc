// SPDX-License-Identifier: Apache-2.0
#include "report/diff/diff_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "report/diff/diff_rows.h"
#include "report/diff/diff_words.h"
#include "report/text/text_report.h"
#include "report/words/headline.h"
#include "report/words/kernel_name.h"

namespace hone::report {
namespace {

constexpr std::size_t kFirstCauses = 3;  // on the first screen
constexpr std::size_t kTime = 10;        // columns of a time: "1,234.56"

class DiffWriter {
 public:
  DiffWriter(const DiffReport& report, const DiffTextOptions& options, std::ostream& out)
      : report_(report), diff_(report.diff), options_(options), style_(options.style), out_(out) {
    if (diff_.total) {
      decimals_ = MillisDecimals(std::max(diff_.total->before_ns, diff_.total->after_ns));
    }
    label_ = std::min<std::size_t>(style_.width - 2 - 3 * kTime, 50);
  }

  void Write() {
    WriteTop();
    WriteVerdict();
    if (diff_.total) {
      WriteCauses();
      WriteSplit();
      if (options_.all) {
        WritePhases();
        WriteOps();
        WritePlaces();
      }
    }
    WriteFigures();
    WriteGates();
    WriteEnd();
  }

 private:
  void Line(std::string_view label, std::string_view text, Tone tone = Tone::kFaint) {
    WriteLabelled(label, kLabelWidth, style_.Clean(text), style_, out_, tone);
  }

  void WriteTop() {
    WriteParts({NamesText(report_, style_)}, {Tone::kStrong}, 2, style_, out_);
    WriteParts(RunTexts(report_, style_), {}, 2, style_, out_);
    const std::string lead = LeadText(report_);
    if (!lead.empty()) WriteParts({lead}, {}, 2, style_, out_);
    if (diff_.setup.differences.empty()) return;
    out_ << "\n  " << style_.Paint(Tone::kWarn, "not the same setup") << '\n';
    for (const diff::SetupDifference& difference : diff_.setup.differences) {
      std::string text = difference.before + std::string(style_.arrow()) + difference.after;
      if (!difference.so.empty()) text += fmt::format(" ({})", difference.so);
      Line(difference.what, text);
    }
  }

  void WriteVerdict() {
    out_ << '\n';
    const std::string verdict = VerdictText(diff_);
    if (!diff_.step) {
      out_ << "  " << style_.Paint(ToneOf(diff_), verdict) << '\n';
    } else {
      WriteParts({verdict, StepText(*diff_.step, style_)}, {ToneOf(diff_), Tone::kStrong}, 2,
                 style_, out_);
      Line("noise", NoiseText(*diff_.step, style_));
    }
    for (const TrustNote& note : TrustNotes(report_)) {
      Line(fmt::format("trust {}", analyze::VerdictName(note.verdict)), note.text, Tone::kWarn);
    }
    for (const std::string& note : BasisNotes(diff_)) Line("note", note);
  }

  void Header(const std::string& title) {
    out_ << "\n  "
         << style_.Paint(Tone::kStrong, PadRight(ElideMiddle(title, label_, style_.utf8), label_))
         << style_.Paint(Tone::kFaint, PadLeft("before", kTime) + PadLeft("after", kTime) +
                                           PadLeft("change", kTime))
         << '\n';
  }

  void Row(const std::string& label, const diff::Change& change, Tone tone = Tone::kPlain) {
    const Nanos delta = change.delta_ns();
    const std::string shown = SignedMillis(delta, decimals_, style_);
    const bool zero = shown.find_first_not_of("0.") == std::string::npos;
    const Tone change_tone = zero ? Tone::kFaint : delta < 0 ? Tone::kGood : Tone::kBad;
    out_ << "  "
         << style_.Paint(
                tone, PadRight(ElideMiddle(style_.Clean(label), label_ - 1, style_.utf8), label_) +
                          PadLeft(Fixed(ToMillis(change.before_ns), decimals_), kTime) +
                          PadLeft(Fixed(ToMillis(change.after_ns), decimals_), kTime))
         << style_.Paint(change_tone, PadLeft(shown, kTime)) << '\n';
  }

  // Under a row. A replacement that is too long for one line breaks at its arrow.
  void Below(const std::string& story) {
    if (story.empty()) return;
    const std::size_t room = style_.width - 6;
    const std::size_t arrow = story.find(style_.arrow());
    std::vector<std::string> lines = {story};
    if (DisplayWidth(story) > room && arrow != std::string::npos) {
      lines = {story.substr(0, arrow), story.substr(arrow + 1)};
    }
    for (const std::string& line : lines) {
      out_ << "    " << style_.Paint(Tone::kFaint, ElideMiddle(line, room, style_.utf8)) << '\n';
    }
  }

  void WriteCauses() {
    if (diff_.contributions.empty()) return;
    Header(fmt::format("{}, ms a {}", CausesTitle(diff_), UnitWord(diff_)));
    const std::size_t most = diff_.contributions.size() == kFirstCauses + 1
                                 ? kFirstCauses + 1  // the row that would say "1 smaller"
                                 : kFirstCauses;
    for (const CauseRow& row : ShownCauses(diff_, most, style_)) {
      Row(row.label, row.time);
      Below(row.story);
    }
  }

  void WriteSplit() {
    Header(fmt::format("where a {} goes, ms", UnitWord(diff_)));
    for (const PartRow& row : ShownParts(diff_)) Row(row.label, row.time);
    Row(diff_.basis == diff::Basis::kStep ? "mean step" : "one second", *diff_.total,
        Tone::kStrong);
  }

  void WritePhases() {
    if (!diff_.phases) {
      out_ << '\n';
      Line("no phases", diff_.phases.why_not());
      return;
    }
    Header("by phase, idle time before it included, ms");
    for (const diff::PhaseChange& phase : *diff_.phases) Row(PhaseText(phase), phase.time);
  }

  std::size_t Rows(std::size_t all) const {
    return options_.limit == 0 ? all : std::min(all, options_.limit);
  }

  void More(std::size_t all, const char* what) {
    const std::size_t shown = Rows(all);
    if (shown == all) return;
    out_ << "  "
         << style_.Paint(Tone::kFaint,
                         fmt::format("{} {} more {}: --limit 0", style_.more(), all - shown, what))
         << '\n';
  }

  void WriteOps() {
    const bool host = diff_.account == diff::Account::kHost;
    Header(fmt::format("operators, {} time, ms a {}", host ? "own" : "device", UnitWord(diff_)));
    for (std::size_t i = 0; i < Rows(diff_.ops.size()); ++i) {
      Row(OpName(diff_, diff_.ops[i], style_), diff_.ops[i].time);
      if (diff_.ops[i].time.delta_ns() != 0) Below(Story(diff_, diff_.ops[i], style_));
    }
    More(diff_.ops.size(), "operators");
  }

  void WritePlaces() {
    if (diff_.account == diff::Account::kHost) return;
    Header(fmt::format("kernels, ms a {}", UnitWord(diff_)));
    for (std::size_t i = 0; i < Rows(diff_.places.size()); ++i) {
      const diff::PlaceChange& place = diff_.places[i];
      Row(PlaceText(diff_, place, style_), {place.before.exposed_ns, place.after.exposed_ns});
      const std::string story = Story(diff_, place, style_);
      if (place.fate == diff::Fate::kReplaced) {
        Below(story);
        continue;
      }
      const std::size_t room = style_.width - 6 - DisplayWidth(style_.dot());
      const std::size_t left = room - std::min(room, DisplayWidth(story));
      Below(ElideMiddle(KernelName(diff_, place, style_), left, style_.utf8) +
            std::string(style_.dot()) + story);
    }
    More(diff_.places.size(), "kernels");
  }

  void WriteFigures() {
    std::vector<FigureText> rows;
    for (const diff::Figure& figure : diff_.figures) {
      if (figure.before || figure.after) rows.push_back(Shown(figure, style_));
    }
    if (rows.empty()) return;
    const std::size_t label = label_ - 10;
    out_ << "\n  " << style_.Paint(Tone::kStrong, PadRight("besides", label))
         << style_.Paint(Tone::kFaint, PadLeft("before", kTime + 2) + PadLeft("after", kTime + 2) +
                                           PadLeft("change", kTime + 6))
         << '\n';
    for (const FigureText& row : rows) {
      out_ << "  " << PadRight(row.text, label) << PadLeft(row.before, kTime + 2)
           << PadLeft(row.after, kTime + 2);
      if (!row.change.empty()) out_ << PadLeft(row.change, kTime + 6);
      out_ << '\n';
    }
    for (const UnknownFigure& figure : UnknownFigures(diff_, options_.all)) {
      Line(figure.text, figure.why);
    }
  }

  void WriteGates() {
    if (report_.gates.empty()) return;
    out_ << '\n';
    for (const diff::GateResult& gate : report_.gates) {
      const Tone tone = gate.state == diff::GateState::kFailed   ? Tone::kBad
                        : gate.state == diff::GateState::kPassed ? Tone::kGood
                                                                 : Tone::kWarn;
      const char* word = gate.state == diff::GateState::kFailed   ? "failed"
                         : gate.state == diff::GateState::kPassed ? "passed"
                                                                  : "not known";
      Line(word, gate.condition.text + ": " + gate.why, tone);
    }
  }

  void WriteEnd() {
    if (options_.all || !diff_.total) return;
    out_ << "\n  "
         << style_.Paint(Tone::kFaint,
                         "next: --all for every operator and kernel, --markdown for a "
                         "pull request")
         << '\n';
  }

  const DiffReport& report_;
  const diff::Diff& diff_;
  const DiffTextOptions& options_;
  const Style& style_;
  std::ostream& out_;
  int decimals_ = 2;
  std::size_t label_ = 40;
};

}  // namespace

void WriteDiffText(const DiffReport& report, const DiffTextOptions& options, std::ostream& out) {
  DiffTextOptions wide = options;
  wide.style.width = std::max(options.style.width, kLeastWidth);
  DiffWriter(report, wide, out).Write();
}

}  // namespace hone::report
