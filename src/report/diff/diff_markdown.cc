// SPDX-License-Identifier: Apache-2.0
#include "report/diff/diff_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "report/diff/diff_rows.h"
#include "report/diff/diff_words.h"
#include "report/markdown/markdown_words.h"

namespace hone::report {
namespace {

constexpr std::size_t kCauses = 5;

class MarkdownDiff {
 public:
  MarkdownDiff(const DiffReport& report, std::size_t limit, std::ostream& out)
      : report_(report), diff_(report.diff), limit_(limit), out_(out) {
    style_.utf8 = true;
    if (diff_.total) {
      decimals_ = MillisDecimals(std::max(diff_.total->before_ns, diff_.total->after_ns));
    }
  }

  void Write() {
    out_ << "### hone: " << Markdown(VerdictText(diff_)) << "\n\n";
    if (diff_.step) {
      out_ << "**" << Markdown(StepText(*diff_.step, style_)) << "**, "
           << Markdown(NoiseText(*diff_.step, style_)) << "\n\n";
    }
    out_ << MarkdownCode(style_.Clean(report_.before.name)) << " → "
         << MarkdownCode(style_.Clean(report_.after.name));
    for (const std::string& text : RunTexts(report_, style_)) out_ << " · " << Markdown(text);
    out_ << "\n\n";
    WriteNotes();
    if (diff_.total) {
      WriteCauses();
      WriteSplit();
    }
    WriteFigures();
    WriteGates();
    if (diff_.total) {
      WriteOps();
      WriteKernels();
    }
  }

 private:
  std::string Millis(Nanos time) const { return Fixed(ToMillis(time), decimals_); }

  void Begin(const std::string& title) {
    heads_ = {title, "before", "after", "change"};
    rows_.clear();
  }
  void End() {
    WriteMarkdownTable(heads_, "lrrr", rows_, out_);
    out_ << '\n';
  }

  // `label` is Markdown already.
  void Row(const std::string& label, const diff::Change& change, bool strong = false) {
    rows_.push_back({label, Millis(change.before_ns), Millis(change.after_ns),
                     SignedMillis(change.delta_ns(), decimals_, style_)});
    if (!strong) return;
    for (std::string& cell : rows_.back()) cell = "**" + cell + "**";
  }

  void WriteNotes() {
    const std::string lead = LeadText(report_);
    for (const diff::SetupDifference& difference : diff_.setup.differences) {
      out_ << fmt::format("- not the same setup: {}: {} → {}{}\n", difference.what,
                          MarkdownCode(style_.Clean(difference.before)),
                          MarkdownCode(style_.Clean(difference.after)),
                          difference.so.empty() ? "" : " (" + difference.so + ")");
    }
    std::vector<std::string> notes;
    if (!lead.empty()) notes.push_back(lead);
    for (const TrustNote& note : TrustNotes(report_)) {
      notes.push_back(
          fmt::format("trust {}: {}", analyze::VerdictName(note.verdict), style_.Clean(note.text)));
    }
    for (const std::string& note : BasisNotes(diff_)) notes.push_back(note);
    for (const std::string& note : notes) out_ << "- " << Markdown(note) << '\n';
    if (!notes.empty() || !diff_.setup.differences.empty()) out_ << '\n';
  }

  void WriteCauses() {
    if (diff_.contributions.empty()) return;
    Begin(fmt::format("{}, ms a {}", CausesTitle(diff_), UnitWord(diff_)));
    for (const CauseRow& row : ShownCauses(diff_, kCauses, style_)) {
      std::string label = row.label_is_name ? MarkdownCode(row.label) : Markdown(row.label);
      if (!row.story.empty()) {
        label += "<br>" + (row.story_is_names ? MarkdownCode(row.story) : Markdown(row.story));
      }
      Row(label, row.time);
    }
    End();
  }

  void WriteSplit() {
    Begin(fmt::format("where a {} goes, ms", UnitWord(diff_)));
    for (const PartRow& row : ShownParts(diff_)) Row(Markdown(row.label), row.time);
    Row(diff_.basis == diff::Basis::kStep ? "mean step" : "one second", *diff_.total, true);
    End();
  }

  void WriteFigures() {
    Begin("besides");
    for (const diff::Figure& figure : diff_.figures) {
      if (!figure.before && !figure.after) continue;
      const FigureText row = Shown(figure, style_);
      rows_.push_back({row.text, row.before, row.after, row.change});
    }
    if (!rows_.empty()) End();
    for (const UnknownFigure& figure : UnknownFigures(diff_, false)) {
      out_ << "- " << Markdown(figure.text + " " + figure.why) << '\n';
    }
    if (!UnknownFigures(diff_, false).empty()) out_ << '\n';
  }

  void WriteGates() {
    for (const diff::GateResult& gate : report_.gates) {
      const char* mark = gate.state == diff::GateState::kFailed   ? "❌"
                         : gate.state == diff::GateState::kPassed ? "✅"
                                                                  : "❔";
      out_ << "- " << mark << ' ' << Markdown(style_.Clean(GateText(gate))) << '\n';
    }
    if (!report_.gates.empty()) out_ << '\n';
  }

  std::size_t Rows(std::size_t all) const { return limit_ == 0 ? all : std::min(all, limit_); }

  void Fold(const std::string& title, std::size_t all) {
    const std::size_t rows = Rows(all);
    out_ << "<details><summary>" << title;
    if (rows < all) out_ << ", the first " << rows << " of " << all;
    out_ << "</summary>\n\n";
  }

  void WriteOps() {
    if (diff_.ops.empty()) return;
    Fold("operators", diff_.ops.size());
    Begin(fmt::format("operator, ms a {}", UnitWord(diff_)));
    for (std::size_t i = 0; i < Rows(diff_.ops.size()); ++i) {
      Row(MarkdownCode(OpName(diff_, diff_.ops[i], style_)), diff_.ops[i].time);
    }
    End();
    out_ << "</details>\n\n";
  }

  void WriteKernels() {
    if (diff_.places.empty() || diff_.account == diff::Account::kHost) return;
    Fold("kernels", diff_.places.size());
    Begin(fmt::format("kernel, ms a {}", UnitWord(diff_)));
    for (std::size_t i = 0; i < Rows(diff_.places.size()); ++i) {
      const diff::PlaceChange& place = diff_.places[i];
      std::string label = MarkdownCode(PlaceText(diff_, place, style_));
      if (place.fate != diff::Fate::kReplaced) {
        label += "<br>" + MarkdownCode(ElideMiddle(KernelName(diff_, place, style_), 80, true));
      }
      const std::string story = Story(diff_, place, style_);
      const bool names = place.fate == diff::Fate::kReplaced;
      Row(label + "<br>" + (names ? MarkdownCode(story) : Markdown(story)),
          {place.before.exposed_ns, place.after.exposed_ns});
    }
    End();
    out_ << "</details>\n\n";
  }

  const DiffReport& report_;
  const diff::Diff& diff_;
  std::size_t limit_;
  std::ostream& out_;
  Style style_;
  int decimals_ = 2;
  std::vector<std::string> heads_;  // of the table being made
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

void WriteDiffMarkdown(const DiffReport& report, std::size_t limit, std::ostream& out) {
  MarkdownDiff(report, limit, out).Write();
}

}  // namespace hone::report
