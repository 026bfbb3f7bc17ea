// SPDX-License-Identifier: Apache-2.0
// Numbers and sentences about changes, the same in text, Markdown and HTML.
#pragma once

#include <string>
#include <vector>

#include "diff/diff.h"
#include "report/diff/diff_report.h"
#include "report/text/style.h"

namespace hone::report {

// How many digits milliseconds need so that a part of `total_ns` in a hundred still shows.
int MillisDecimals(Nanos total_ns);

// "+12.30", "-0.04", "0.00"; with a true minus sign in UTF-8.
std::string Signed(double value, int decimals, const Style& style);
std::string SignedMillis(Nanos time, int decimals, const Style& style);
// "+5.2 %", "-83.2 %", "0 %"; empty where there is nothing to relate to.
std::string SignedShare(double before, double after, const Style& style);

// "6.0x faster", "5.2 % slower", "no change beyond noise", "cannot tell".
std::string VerdictText(const diff::Diff& diff);
Tone ToneOf(diff::Verdict verdict);
// "a step takes 196 → 32.9 ms (-163 ms, -83.2 %)".
std::string StepText(const diff::StepChange& step, const Style& style);
// "95 % of the noise lies between …", why it counts or does not.
std::string NoiseText(const diff::StepChange& step, const Style& style);

// "step" or "second".
const char* UnitWord(const diff::Diff& diff);

std::string OpName(const diff::Diff& diff, const diff::OpChange& op, const Style& style);
// "ampere_sgemm… → sm90_xmma…", "48 → 12 kernels a step", "each 12.1 → 20.3 us".
std::string Story(const diff::Diff& diff, const diff::PlaceChange& place, const Style& style);
std::string Story(const diff::Diff& diff, const diff::OpChange& op, const Style& style);

struct FigureText {
  std::string text, before, after, change;
};
// One figure for people; "?" for what one side lacks.
FigureText Shown(const diff::Figure& figure, const Style& style);

// "--fail-if slower=3%: failed, the step went from 100 ms to 105 ms (+5.0 %), beyond noise".
std::string GateText(const diff::GateResult& gate);

// What both sides were led by, where there are several traces a side; empty: one each.
std::string LeadText(const DiffReport& report);

}  // namespace hone::report
