// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/markdown/markdown_report.h"
#include "report/markdown/markdown_words.h"
#include "report/words/finding_words.h"
#include "report/words/gain_text.h"

namespace hone::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string Gain(const Known<double>& speedup) { return speedup ? SpeedupText(*speedup) : "?"; }

// False: there is nothing to answer with, and the reason has been written.
bool WriteTop(const Report& report, const Known<WhatIfAnswer>& answer, std::ostream& out) {
  WriteMarkdownHeadline(report, out);
  if (!answer) out << "No replay: " << Markdown(answer.why_not()) << '\n';
  return answer.has_value();
}

void WriteSteps(const WhatIfAnswer& answer, bool with_fixes, std::ostream& out) {
  const Style style;
  Rows rows = {
      {"as recorded", MillisText(answer.measured_ns), "",
       fmt::format("the replay reproduces it within {}", WithinText(answer.error))},
      {"without the recorder", MillisText(answer.bare.likely_ns), RangeText(answer.bare, style),
       answer.recorder ? "" : Markdown(answer.recorder.why_not())}};
  if (with_fixes && answer.any()) {
    std::string fixed;
    for (const FixAnswer& fix : answer.fixes) {
      if (fix.applies()) fixed += (fixed.empty() ? "" : ", ") + MarkdownCode(fix.id);
    }
    std::string gain = "**" + SpeedupText(answer.speedup) + "**";
    if (answer.predicted.samples != 1) gain += ", " + LargerStepText(answer.predicted);
    rows.push_back({"with " + fixed, "**" + MillisText(answer.predicted.likely_ns) + "**",
                    RangeText(answer.predicted, style), std::move(gain)});
  }
  WriteMarkdownTable({"step", "ms", "range", ""}, "lrll", rows, out);
}

void WriteFixes(const std::vector<const FixAnswer*>& fixes, std::ostream& out) {
  const Style style;
  Rows rows;
  for (const FixAnswer* fix : fixes) {
    rows.push_back({MarkdownCode(fix->id), MillisText(fix->alone->likely_ns),
                    RangeText(*fix->alone, style), Gain(fix->speedup),
                    Markdown(fix->what + ": " + fix->scope)});
  }
  out << '\n';
  WriteMarkdownTable({"each alone", "ms", "range", "gain", "changes"}, "lrlrl", rows, out);
}

void WriteWhyNot(const WhatIfAnswer& answer, std::ostream& out) {
  bool first = true;
  for (const FixAnswer& fix : answer.fixes) {
    if (fix.applies()) continue;
    if (first) out << "\nNothing to fix here:\n\n";
    first = false;
    out << "- " << MarkdownCode(fix.id) << ": " << Markdown(fix.why_not) << '\n';
  }
}

std::vector<const FixAnswer*> Applying(const WhatIfAnswer& answer) {
  std::vector<const FixAnswer*> fixes;
  for (const FixAnswer& fix : answer.fixes) {
    if (fix.applies() && fix.id != "observer-effect") fixes.push_back(&fix);
  }
  return fixes;
}

}  // namespace

void WriteWhatIfMarkdown(const Report& report, const Known<WhatIfAnswer>& answer,
                         std::ostream& out) {
  if (!WriteTop(report, answer, out)) return;
  WriteSteps(*answer, true, out);
  const std::vector<const FixAnswer*> fixes = Applying(*answer);
  if (!fixes.empty()) WriteFixes(fixes, out);
  WriteWhyNot(*answer, out);
}

void WriteWhatIfListMarkdown(const Report& report, const Known<WhatIfAnswer>& answer,
                             std::ostream& out) {
  if (!WriteTop(report, answer, out)) return;
  WriteSteps(*answer, false, out);
  std::vector<const FixAnswer*> fixes = Applying(*answer);
  std::stable_sort(fixes.begin(), fixes.end(), [](const FixAnswer* a, const FixAnswer* b) {
    return a->alone->likely_ns < b->alone->likely_ns;
  });
  if (!fixes.empty()) WriteFixes(fixes, out);
  WriteWhyNot(*answer, out);
}

}  // namespace hone::report
