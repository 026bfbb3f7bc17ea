// SPDX-License-Identifier: Apache-2.0
#include "report/diff/diff_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "report/diff/diff_words.h"
#include "report/text/headline.h"
#include "report/text/text_report.h"

namespace hone::report {
namespace {

constexpr std::size_t kFirstCauses = 3;  // on the first screen
constexpr std::size_t kTime = 10;        // columns of a time

class DiffWriter {
 public:
  DiffWriter(const DiffReport& report, const DiffTextOptions& options, std::ostream& out)
      : report_(report), diff_(report.diff), options_(options), style_(options.style), out_(out) {
    if (diff_.total) {
      decimals_ = MillisDecimals(std::max(diff_.total->before_ns, diff_.total->after_ns));
    }
  }

  void Write() {
    WriteTop();
    WriteSetup();
    WriteVerdict();
    if (diff_.total) {
      WriteCauses();
      WriteParts();
    }
    WriteFigures();
    WriteGates();
  }

 private:
  std::string Millis(Nanos time) const { return Fixed(ToMillis(time), decimals_); }
  std::string Delta(Nanos time) const { return SignedMillis(time, decimals_, style_); }

  void WriteTop() {
    WriteParts2({style_.Clean(report_.before.name) + std::string(style_.arrow()) +
                 style_.Clean(report_.after.name)});
    const std::string lead = LeadText(report_);
    if (!lead.empty()) WriteLabelled("", 0, lead, style_, out_);
  }

  void WriteParts2(const std::vector<std::string>& parts) {
    ::hone::report::WriteParts(parts, {Tone::kStrong}, 2, style_, out_);
  }

  void WriteSetup() {
    if (diff_.setup.differences.empty()) return;
    out_ << "\n  " << style_.Paint(Tone::kWarn, "not the same setup") << '\n';
    for (const diff::SetupDifference& difference : diff_.setup.differences) {
      std::string text = style_.Clean(difference.before) + std::string(style_.arrow()) +
                         style_.Clean(difference.after);
      if (!difference.so.empty()) text += ": " + difference.so;
      WriteLabelled(difference.what, kLabelWidth, text, style_, out_);
    }
  }

  void WriteVerdict() {
    out_ << '\n';
    if (!diff_.step) {
      WriteLabelled("", 0, VerdictText(diff_) + ": " + diff_.step.why_not(), style_, out_);
      return;
    }
    out_ << "  " << style_.Paint(ToneOf(diff_.step->verdict), VerdictText(diff_)) << style_.dot()
         << StepText(*diff_.step, style_) << '\n';
    WriteLabelled("noise", kLabelWidth, NoiseText(*diff_.step, style_), style_, out_);
  }

  void WriteHeader(const std::string& title, std::size_t label) {
    out_ << "\n  " << style_.Paint(Tone::kStrong, PadRight(title, label))
         << style_.Paint(Tone::kFaint, PadLeft("before", kTime) + PadLeft("after", kTime) +
                                           PadLeft("change", kTime))
         << style_.Paint(Tone::kFaint, " ms") << '\n';
  }

  void WriteRow(const std::string& label, std::size_t width, const diff::Change& change,
                Tone tone = Tone::kPlain) {
    out_ << "  "
         << style_.Paint(tone, PadRight(ElideMiddle(label, width, style_.utf8), width) +
                                   PadLeft(Millis(change.before_ns), kTime) +
                                   PadLeft(Millis(change.after_ns), kTime) +
                                   PadLeft(Delta(change.delta_ns()), kTime))
         << '\n';
  }

  std::size_t LabelRoom() const {
    return std::min<std::size_t>(style_.width - 2 - 3 * kTime - 3, 46);
  }

  void WriteCauses() {
    const std::size_t width = LabelRoom();
    WriteHeader(fmt::format("what did it, of a {}", UnitWord(diff_)), width);
    std::size_t shown = 0;
    diff::Change rest = *diff_.total;
    for (const diff::Contribution& cause : diff_.contributions) {
      if (shown == kFirstCauses) break;
      ++shown;
      const diff::Change& change =
          cause.is_op ? diff_.ops[cause.index].time : diff_.parts[cause.index].time;
      rest.before_ns -= change.before_ns;
      rest.after_ns -= change.after_ns;
      if (!cause.is_op) {
        WriteRow(diff_.parts[cause.index].text, width, change);
        continue;
      }
      const diff::OpChange& op = diff_.ops[cause.index];
      WriteRow(OpName(diff_, op, style_), width, change);
      WriteLabelled("", 2, style_.Clean(Story(diff_, op, style_)), style_, out_);
    }
    const std::size_t others = diff_.contributions.size() - shown;
    if (others > 0)
      WriteRow(fmt::format("{} others", WithThousands(static_cast<std::uint64_t>(others))), width,
               rest, Tone::kFaint);
  }

  void WriteParts() {
    const std::size_t width = LabelRoom();
    WriteHeader(fmt::format("where a {} goes", UnitWord(diff_)), width);
    for (const diff::PartChange& part : diff_.parts) WriteRow(part.text, width, part.time);
    WriteRow(diff_.basis == diff::Basis::kStep ? "mean step" : "one second", width, *diff_.total,
             Tone::kStrong);
  }

  void WriteFigures() {
    out_ << '\n';
    for (const diff::Figure& figure : diff_.figures) {
      if (!figure.before && !figure.after) continue;
      const FigureText text = Shown(figure, style_);
      out_ << "  " << PadRight(text.text, 24) << PadLeft(text.before, 14) << PadLeft(text.after, 14)
           << PadLeft(text.change, 14) << '\n';
    }
  }

  void WriteGates() {
    if (report_.gates.empty()) return;
    out_ << '\n';
    for (const diff::GateResult& gate : report_.gates) {
      WriteLabelled("", 0, style_.Clean(GateText(gate)), style_, out_);
    }
  }

  const DiffReport& report_;
  const diff::Diff& diff_;
  const DiffTextOptions& options_;
  const Style& style_;
  std::ostream& out_;
  int decimals_ = 2;
};

}  // namespace

void WriteDiffText(const DiffReport& report, const DiffTextOptions& options, std::ostream& out) {
  DiffTextOptions wide = options;
  wide.style.width = std::max(options.style.width, kLeastWidth);
  DiffWriter(report, wide, out).Write();
}

}  // namespace hone::report
