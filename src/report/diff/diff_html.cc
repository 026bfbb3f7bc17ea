// SPDX-License-Identifier: Apache-2.0
#include "report/diff/diff_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "report/diff/diff_rows.h"
#include "report/diff/diff_words.h"
#include "report/html/static_page.h"
#include "report/html/xml_text.h"
#include "report/version.h"

namespace hone::report {
namespace {

constexpr std::size_t kCauses = 5;
// Rows of the folded tables: what is below changes by less than a page can show.
constexpr std::size_t kRows = 500;

const char* ToneClass(Tone tone) {
  switch (tone) {
    case Tone::kGood: return "good";
    case Tone::kBad: return "bad";
    case Tone::kWarn: return "warn";
    default: return "";
  }
}

// Colours that keep their order when printed grey: work dark to light, then idle in ambers.
std::string ColorOf(Tone tone, std::size_t idle) {
  static constexpr const char* kIdle[] = {"#d97706", "#f0b429", "#f7d070", "#e8c48a",
                                          "#c99a5b", "#b58863", "#d8b892", "#efe0c6"};
  switch (tone) {
    case Tone::kCompute: return "#2f7d4f";
    case Tone::kComm: return "#1f8a99";
    case Tone::kCopy: return "#8a5bb0";
    default: return kIdle[idle % std::size(kIdle)];
  }
}

class HtmlDiff {
 public:
  HtmlDiff(const DiffReport& report, std::ostream& out)
      : report_(report), diff_(report.diff), out_(out) {
    style_.utf8 = true;
    if (diff_.total) {
      decimals_ = MillisDecimals(std::max(diff_.total->before_ns, diff_.total->after_ns));
      parts_ = ShownParts(diff_);
      std::size_t idle = 0;
      for (const PartRow& part : parts_) {
        colors_.push_back(ColorOf(part.tone, part.tone == Tone::kIdle ? idle++ : 0));
      }
    }
  }

  void Write() {
    const std::string verdict = VerdictText(diff_);
    BeginPage("hone diff: " + verdict, out_);
    out_ << "<h1 class=\"" << ToneClass(ToneOf(diff_)) << "\">" << XmlText(verdict) << "</h1>\n";
    if (diff_.step) {
      Paragraph(StepText(*diff_.step, style_) + "; " + NoiseText(*diff_.step, style_), "");
    }
    std::string runs = NamesText(report_, style_);
    for (const std::string& text : RunTexts(report_, style_)) runs += " · " + text;
    Paragraph(runs, "faint");
    WriteNotes();
    if (diff_.total) {
      WriteBars();
      WriteCauses();
    }
    WriteFigures();
    if (diff_.total) {
      WriteOps();
      WriteKernels();
    }
    out_ << "<p class=\"faint\">hone diff" << (report_.stable ? "" : ", hone ")
         << XmlText(report_.stable ? "" : Version())
         << "; hone help diff says what the numbers mean.</p>\n";
    EndPage(out_);
  }

 private:
  std::string Millis(Nanos time) const { return Fixed(ToMillis(time), decimals_); }

  void Paragraph(const std::string& text, const char* css) { WriteParagraph(text, css, out_); }

  void WriteNotes() {
    const std::string lead = LeadText(report_);
    if (!lead.empty()) Paragraph(lead, "");
    for (const diff::SetupDifference& difference : diff_.setup.differences) {
      Paragraph(fmt::format("not the same setup: {}: {} → {}{}", difference.what,
                            style_.Clean(difference.before), style_.Clean(difference.after),
                            difference.so.empty() ? "" : " (" + difference.so + ")"),
                "warn");
    }
    for (const TrustNote& note : TrustNotes(report_)) {
      Paragraph(
          fmt::format("trust {}: {}", analyze::VerdictName(note.verdict), style_.Clean(note.text)),
          "warn");
    }
    for (const std::string& note : BasisNotes(diff_)) Paragraph(note, "faint");
    for (const diff::GateResult& gate : report_.gates) {
      Paragraph(style_.Clean(GateText(gate)), gate.state == diff::GateState::kFailed   ? "bad"
                                              : gate.state == diff::GateState::kPassed ? "good"
                                                                                       : "warn");
    }
  }

  // Both bars on one scale, so that the shorter step is the shorter bar.
  void WriteBar(Nanos diff::Change::*side, const char* label, int y) {
    constexpr double kLeft = 60, kWidth = 930;
    const auto longest =
        static_cast<double>(std::max(diff_.total->before_ns, diff_.total->after_ns));
    out_ << fmt::format("<text x=\"0\" y=\"{}\" fill=\"currentColor\">{}</text>\n", y + 24, label);
    double x = kLeft;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Nanos time = parts_[i].time.*side;
      const double width = longest > 0 ? kWidth * static_cast<double>(time) / longest : 0;
      if (width <= 0) continue;
      out_ << fmt::format(
          "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"36\" fill=\"{}\">"
          "<title>{}: {} ms</title></rect>\n",
          x, y, width, colors_[i], XmlText(parts_[i].label), Millis(time));
      x += width;
    }
  }

  void WriteBars() {
    out_ << "<h2>where a " << UnitWord(diff_) << " goes</h2>\n"
         << "<svg class=\"bars\" viewBox=\"0 0 1000 96\" role=\"img\" aria-label=\"before and "
            "after, stacked; the "
            "table below has the numbers\">\n";
    WriteBar(&diff::Change::before_ns, "before", 2);
    WriteBar(&diff::Change::after_ns, "after", 52);
    out_ << "</svg>\n";
    Header("ms");
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Row(fmt::format("<span class=\"key\" style=\"background:{}\"></span>{}", colors_[i],
                      XmlText(parts_[i].label)),
          parts_[i].time);
    }
    Row(diff_.basis == diff::Basis::kStep ? "mean step" : "one second", *diff_.total,
        " class=\"sum\"");
    out_ << "</table>\n";
  }

  void Header(const std::string& title) {
    out_ << "<table>\n<tr><th scope=\"col\">" << XmlText(title)
         << "</th><th scope=\"col\">before</th><th scope=\"col\">after</th><th "
            "scope=\"col\">change</th></tr>\n";
  }

  // `label` is HTML already.
  void Row(const std::string& label, const diff::Change& change, const char* attributes = "") {
    const std::string shown = SignedMillis(change.delta_ns(), decimals_, style_);
    const bool zero = shown.find_first_not_of("0.") == std::string::npos;
    const char* css = zero ? "faint" : change.delta_ns() < 0 ? "good" : "bad";
    out_ << fmt::format("<tr{}><td>{}</td><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>\n",
                        attributes, label, Millis(change.before_ns), Millis(change.after_ns), css,
                        shown);
  }

  void WriteCauses() {
    if (diff_.contributions.empty()) return;
    out_ << "<h2>" << CausesTitle(diff_) << "</h2>\n";
    Header(fmt::format("ms a {}", UnitWord(diff_)));
    for (const CauseRow& row : ShownCauses(diff_, kCauses, style_)) {
      std::string label = XmlText(row.label);
      if (!row.story.empty()) label += "<br><code>" + XmlText(row.story) + "</code>";
      Row(label, row.time);
    }
    out_ << "</table>\n";
  }

  void WriteFigures() {
    out_ << "<h2>besides</h2>\n";
    Header("");
    for (const diff::Figure& figure : diff_.figures) {
      if (!figure.before && !figure.after) continue;
      const FigureText row = Shown(figure, style_);
      out_ << fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                          XmlText(row.text), XmlText(row.before), XmlText(row.after),
                          XmlText(row.change));
    }
    out_ << "</table>\n";
  }

  void Fold(const char* title, std::size_t all) {
    out_ << "<details><summary>" << title;
    if (all > kRows) out_ << ", the first " << kRows << " of " << WithThousands(std::uint64_t{all});
    out_ << "</summary>\n";
    Header(fmt::format("ms a {}", UnitWord(diff_)));
  }

  void WriteOps() {
    Fold("operators", diff_.ops.size());
    for (std::size_t i = 0; i < std::min(diff_.ops.size(), kRows); ++i) {
      const diff::OpChange& op = diff_.ops[i];
      Row(XmlText(OpName(diff_, op, style_)) + "<br><code>" + XmlText(Story(diff_, op, style_)) +
              "</code>",
          op.time);
    }
    out_ << "</table>\n</details>\n";
  }

  void WriteKernels() {
    if (diff_.account == diff::Account::kHost) return;
    Fold("kernels", diff_.places.size());
    for (std::size_t i = 0; i < std::min(diff_.places.size(), kRows); ++i) {
      const diff::PlaceChange& place = diff_.places[i];
      std::string label = XmlText(PlaceText(diff_, place, style_));
      if (place.fate != diff::Fate::kReplaced) {
        label += "<br><code>" + XmlText(ElideMiddle(KernelName(diff_, place, style_), 160, true)) +
                 "</code>";
      }
      Row(label + "<br><code>" + XmlText(Story(diff_, place, style_)) + "</code>",
          {place.before.exposed_ns, place.after.exposed_ns});
    }
    out_ << "</table>\n</details>\n";
  }

  const DiffReport& report_;
  const diff::Diff& diff_;
  std::ostream& out_;
  Style style_;
  int decimals_ = 2;
  std::vector<PartRow> parts_;
  std::vector<std::string> colors_;  // of the parts
};

}  // namespace

void WriteDiffHtml(const DiffReport& report, std::ostream& out) { HtmlDiff(report, out).Write(); }

}  // namespace hone::report
