// SPDX-License-Identifier: Apache-2.0
#include "report/text/whatif_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "report/table.h"
#include "report/text/table_text.h"
#include "report/text/text_report.h"
#include "report/words/finding_words.h"
#include "report/words/gain_text.h"
#include "report/words/headline.h"

namespace hone::report {
namespace {

Cell Millis(double nanos) { return static_cast<std::int64_t>(std::llround(nanos)); }

// How far predictions can be trusted: "replayed as 195 ms, 0.4 % less".
std::string ErrorText(const WhatIfAnswer& answer) {
  std::string text = fmt::format("replayed as {} ms, ", MillisText(answer.replayed_ns));
  text += std::abs(answer.error) < 0.001
              ? "within " + WithinText(answer.error)
              : Percent(std::abs(answer.error)) + (answer.error < 0 ? " less" : " more");
  return text;
}

struct StepLine {
  std::string label, ms, note;
  Tone tone = Tone::kPlain;
};

void WriteStepLines(const std::vector<StepLine>& lines, const Style& style, std::ostream& out) {
  std::size_t label = 0, number = 0;
  for (const StepLine& line : lines) {
    label = std::max(label, DisplayWidth(line.label));
    number = std::max(number, DisplayWidth(line.ms));
  }
  for (const StepLine& line : lines) {
    const std::string front = PadRight(line.label, label) + "  " + PadLeft(line.ms, number) + " ms";
    const std::size_t left = style.width - std::min(style.width, 2 + DisplayWidth(front) + 3);
    out << "  " << style.Paint(line.tone, front);
    if (!line.note.empty()) out << "   " << ElideMiddle(line.note, left, style.utf8);
    out << '\n';
  }
}

std::string TimedText(std::int64_t steps) {
  return steps > 0 ? fmt::format(", by {} timed after it",
                                 Count(static_cast<std::uint64_t>(steps), "step"))
                   : "";
}

void WriteSteps(const WhatIfAnswer& answer, bool with_fixes, const Style& style,
                std::ostream& out) {
  std::vector<StepLine> lines = {
      {"step as recorded", MillisText(answer.measured_ns), ErrorText(answer), Tone::kPlain},
      {"without the recorder", MillisText(answer.bare.likely_ns),
       answer.recorder ? RangeText(answer.bare, style) + TimedText(answer.timed_steps)
                       : style.Clean(answer.recorder.why_not()),
       Tone::kPlain}};
  if (with_fixes && answer.any()) {
    std::vector<std::string> words;
    for (const FixAnswer& fix : answer.fixes) {
      if (fix.applies()) words.push_back(fix.id);
    }
    const std::string what = words.size() == 1   ? "with " + words[0]
                             : words.size() == 2 ? "with both"
                                                 : fmt::format("with all {}", words.size());
    std::string note =
        fmt::format("{}, {}", RangeText(answer.predicted, style), SpeedupText(answer.speedup));
    if (answer.predicted.samples != 1) note += "; " + LargerStepText(answer.predicted);
    lines.push_back({what, MillisText(answer.predicted.likely_ns), std::move(note), Tone::kStrong});
  }
  WriteStepLines(lines, style, out);
  if (answer.steps < answer.all_steps) {
    out << "  "
        << style.Paint(Tone::kFaint,
                       fmt::format("replayed: {} of {} steady steps, from number {} on",
                                   answer.steps, answer.all_steps, answer.first_step + 1))
        << '\n';
  }
}

void WriteEach(const WhatIfAnswer& answer, const Style& style, std::ostream& out) {
  Table table("fixes", "each fix",
              {{"fix", Unit::kText, 0},
               {"alone_ms", Unit::kMillis, 0},
               {"range", Unit::kText, 2},
               {"gain", Unit::kTimes, 0},
               {"then_ms", Unit::kMillis, 0},
               {"gain", Unit::kTimes, 0}});
  for (const FixAnswer& fix : answer.fixes) {
    if (!fix.applies()) continue;
    const double upto = fix.upto->likely_ns;
    table.Add({TextCell(fix.id), Millis(fix.alone->likely_ns),
               table.Keep(RangeText(*fix.alone, style)), CellOf(fix.speedup), Millis(upto),
               upto > 0 ? Cell(answer.bare.likely_ns / upto) : Cell()});
  }
  out << '\n';
  WriteTable(table, style, {.indent = 2, .fill = false, .notes = false}, out);
}

void WriteWhyNot(const WhatIfAnswer& answer, std::string_view title, const Style& style,
                 std::ostream& out) {
  std::size_t width = 0;
  for (const FixAnswer& fix : answer.fixes) {
    if (!fix.applies()) width = std::max(width, fix.id.size() + 2);
  }
  if (width == 0) return;
  out << "\n  " << style.Paint(Tone::kStrong, title) << '\n';
  for (const FixAnswer& fix : answer.fixes) {
    if (!fix.applies()) WriteLabelled(fix.id, width, style.Clean(fix.why_not), style, out);
  }
}

// False: there is nothing to answer with, and the reason has been written.
bool WriteTop(const Report& report, const Known<WhatIfAnswer>& answer, const Style& style,
              std::ostream& out) {
  WriteHeadline(report, style, out);
  WriteTrust(report.leading().facts.trust, style, out);
  if (answer) {
    out << '\n';
    return true;
  }
  WriteLabelled("no replay", kLabelWidth, style.Clean(answer.why_not()), style, out, Tone::kWarn);
  return false;
}

Style AtLeast(const Style& style) {
  Style wide = style;
  wide.width = std::max(style.width, kLeastWidth);
  return wide;
}

}  // namespace

void WriteWhatIf(const Report& report, const Known<WhatIfAnswer>& answer, const Style& asked,
                 std::ostream& out) {
  const Style style = AtLeast(asked);
  if (!WriteTop(report, answer, style, out)) return;
  WriteSteps(*answer, true, style, out);
  const auto applied = std::count_if(answer->fixes.begin(), answer->fixes.end(),
                                     [](const FixAnswer& fix) { return fix.applies(); });
  if (applied > 1) WriteEach(*answer, style, out);
  if (applied == 1) {
    for (const FixAnswer& fix : answer->fixes) {
      if (!fix.applies()) continue;
      out << '\n';
      WriteLabelled("changes", kLabelWidth, style.Clean(fix.what + ": " + fix.scope), style, out);
    }
  }
  WriteWhyNot(*answer, "no fix here, and why", style, out);
}

void WriteWhatIfList(const Report& report, const Known<WhatIfAnswer>& answer, const Style& asked,
                     std::ostream& out) {
  const Style style = AtLeast(asked);
  if (!WriteTop(report, answer, style, out)) return;
  WriteSteps(*answer, false, style, out);
  std::vector<const FixAnswer*> fixes;
  std::size_t width = 0;
  for (const FixAnswer& fix : answer->fixes) {
    if (!fix.applies() || fix.id == "observer-effect") continue;
    fixes.push_back(&fix);
    width = std::max(width, fix.id.size() + 2);
  }
  std::stable_sort(fixes.begin(), fixes.end(), [](const FixAnswer* a, const FixAnswer* b) {
    return a->alone->likely_ns < b->alone->likely_ns;
  });
  const std::string title = "what can be asked here, best first";
  width = std::max(width, title.size() + 2);
  const bool ranges = style.width >= 72;  // or there is no room for them
  out << "\n  " << style.Paint(Tone::kStrong, PadRight(title, width))
      << style.Paint(Tone::kFaint, ranges ? "  gain   step ms  range" : "  gain   step ms") << '\n';
  for (const FixAnswer* fix : fixes) {
    out << "  " << PadRight(fix->id, width)
        << PadLeft(fix->speedup ? SpeedupText(*fix->speedup) : "?", 6)
        << PadLeft(MillisText(fix->alone->likely_ns), 10);
    if (ranges) out << "  " << RangeText(*fix->alone, style);
    out << '\n';
    WriteLabelled("", kNumberWidth, style.Clean(fix->what + ": " + fix->scope), style, out);
  }
  if (fixes.empty()) out << "  nothing\n";
  WriteWhyNot(*answer, "nothing to fix here", style, out);
}

}  // namespace hone::report
