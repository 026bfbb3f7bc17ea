// SPDX-License-Identifier: Apache-2.0
#include "report/diff/diff_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "report/diff/diff_words.h"

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
    out_ << "### hone: " << MarkdownText(VerdictText(diff_)) << "\n\n";
    if (diff_.step) {
      out_ << "**" << MarkdownText(StepText(*diff_.step, style_)) << "**, "
           << MarkdownText(NoiseText(*diff_.step, style_)) << "\n\n";
    }
    out_ << MarkdownCode(style_.Clean(report_.before.name)) << " → "
         << MarkdownCode(style_.Clean(report_.after.name));
    for (const std::string& text : RunTexts(report_, style_)) out_ << " · " << MarkdownText(text);
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

  void Header(const std::string& title) {
    out_ << "| " << title << " | before | after | change |\n|---|--:|--:|--:|\n";
  }

  // `label` is Markdown already.
  void Row(const std::string& label, const diff::Change& change, bool strong = false) {
    const char* mark = strong ? "**" : "";
    out_ << fmt::format("| {0}{1}{0} | {0}{2}{0} | {0}{3}{0} | {0}{4}{0} |\n", mark, label,
                        Millis(change.before_ns), Millis(change.after_ns),
                        SignedMillis(change.delta_ns(), decimals_, style_));
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
    for (const std::string& note : notes) out_ << "- " << MarkdownText(note) << '\n';
    if (!notes.empty() || !diff_.setup.differences.empty()) out_ << '\n';
  }

  void WriteCauses() {
    if (diff_.contributions.empty()) return;
    Header(fmt::format("{}, ms a {}", CausesTitle(diff_), UnitWord(diff_)));
    for (const CauseRow& row : ShownCauses(diff_, kCauses, style_)) {
      std::string label = row.label_is_name ? MarkdownCode(row.label) : MarkdownText(row.label);
      if (!row.story.empty()) {
        label += "<br>" + (row.story_is_names ? MarkdownCode(row.story) : MarkdownText(row.story));
      }
      Row(label, row.time);
    }
    out_ << '\n';
  }

  void WriteSplit() {
    Header(fmt::format("where a {} goes, ms", UnitWord(diff_)));
    for (const PartRow& row : ShownParts(diff_)) Row(MarkdownText(row.label), row.time);
    Row(diff_.basis == diff::Basis::kStep ? "mean step" : "one second", *diff_.total, true);
    out_ << '\n';
  }

  void WriteFigures() {
    bool first = true;
    for (const diff::Figure& figure : diff_.figures) {
      if (!figure.before && !figure.after) continue;
      if (first) Header("besides");
      first = false;
      const FigureText row = Shown(figure, style_);
      out_ << fmt::format("| {} | {} | {} | {} |\n", MarkdownText(row.text),
                          MarkdownText(row.before), MarkdownText(row.after),
                          MarkdownText(row.change));
    }
    if (!first) out_ << '\n';
  }

  void WriteGates() {
    for (const diff::GateResult& gate : report_.gates) {
      const char* mark = gate.state == diff::GateState::kFailed   ? "❌"
                         : gate.state == diff::GateState::kPassed ? "✅"
                                                                  : "❔";
      out_ << "- " << mark << ' ' << MarkdownText(style_.Clean(GateText(gate))) << '\n';
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
    Header(fmt::format("operator, ms a {}", UnitWord(diff_)));
    for (std::size_t i = 0; i < Rows(diff_.ops.size()); ++i) {
      Row(MarkdownCode(OpName(diff_, diff_.ops[i], style_)), diff_.ops[i].time);
    }
    out_ << "\n</details>\n\n";
  }

  void WriteKernels() {
    if (diff_.places.empty() || diff_.account == diff::Account::kHost) return;
    Fold("kernels", diff_.places.size());
    Header(fmt::format("kernel, ms a {}", UnitWord(diff_)));
    for (std::size_t i = 0; i < Rows(diff_.places.size()); ++i) {
      const diff::PlaceChange& place = diff_.places[i];
      std::string label = MarkdownCode(PlaceText(diff_, place, style_));
      if (place.fate != diff::Fate::kReplaced) {
        label += "<br>" + MarkdownCode(ElideMiddle(KernelName(diff_, place, style_), 80, true));
      }
      const std::string story = Story(diff_, place, style_);
      const bool names = place.fate == diff::Fate::kReplaced;
      Row(label + "<br>" + (names ? MarkdownCode(story) : MarkdownText(story)),
          {place.before.exposed_ns, place.after.exposed_ns});
    }
    out_ << "\n</details>\n\n";
  }

  const DiffReport& report_;
  const diff::Diff& diff_;
  std::size_t limit_;
  std::ostream& out_;
  Style style_;
  int decimals_ = 2;
};

}  // namespace

std::string MarkdownText(std::string_view text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (std::string_view("<>&|").find(c) != std::string_view::npos) {
      safe += fmt::format("&#{};", static_cast<int>(c));
    } else if (std::string_view("\\`*_{}[]~$").find(c) != std::string_view::npos) {
      safe += '\\';
      safe += c;
    } else {
      safe += c;
      // Sites make mentions, references and links of plain text after all escapes are undone; a
      // blank of no width keeps them apart.
      const bool link = (c == ':' && text.substr(i + 1, 2) == "//") ||
                        (c == '.' && i >= 3 && text.substr(i - 3, 3) == "www");
      if (c == '@' || c == '#' || link) safe += "\u200b";
    }
  }
  return safe;
}

std::string MarkdownCode(std::string_view text) {
  if (text.empty()) return "";
  const bool plain = text.find_first_of("`|\\") == std::string_view::npos;
  if (plain && text.front() != ' ' && text.back() != ' ') return fmt::format("`{}`", text);
  // Backticks cannot hold themselves, nor a pipe in a table's cell.
  std::string safe;
  for (const char c : text) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool beyond_ascii = (static_cast<unsigned char>(c) & 0x80) != 0;
    safe += word || beyond_ascii || c == ' ' ? std::string(1, c)
                                             : fmt::format("&#{};", static_cast<int>(c));
  }
  return "<code>" + safe + "</code>";
}

void WriteDiffMarkdown(const DiffReport& report, std::size_t limit, std::ostream& out) {
  MarkdownDiff(report, limit, out).Write();
}

}  // namespace hone::report
