// SPDX-License-Identifier: Apache-2.0
// Numbers and sentences about changes, the same in text, Markdown and HTML.
#pragma once

#include <string>
#include <vector>

#include "diff/diff.h"
#include "report/diff/diff_report.h"
#include "report/words/style.h"

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
Tone ToneOf(const diff::Diff& diff);
// "step 196 → 32.9 ms (-163 ms, -83.2 %)"; where means are compared, with the medians:
// "step 18.6 → 0.687 ms (-17.9 ms, -96.3 %; median 1.14 → 0.682 ms)".
std::string StepText(const diff::StepChange& step, const Style& style);
// Between which bounds the difference lies, and from how much data; or why nobody knows.
std::string NoiseText(const diff::StepChange& step, const Style& style);
// What parts and operators mean where it is not "of a step, on the device"; empty: just that.
std::vector<std::string> BasisNotes(const diff::Diff& diff);

// "before.json → after.json", without the folders that both share.
std::string NamesText(const DiffReport& report, const Style& style);
// What ran: "PyTorch profiler", "NVIDIA H200", "4 and 4 steady steps", "trust good".
std::vector<std::string> RunTexts(const DiffReport& report, const Style& style);
struct TrustNote {
  analyze::Verdict verdict;
  std::string text;
};
// Why a side is not to be trusted in full: the first reason of each.
std::vector<TrustNote> TrustNotes(const DiffReport& report);

// "step" or "second".
const char* UnitWord(const diff::Diff& diff);

// "--fail-if slower=3%: failed, the step went from 100 ms to 105 ms (+5.0 %), beyond noise".
std::string GateText(const diff::GateResult& gate);

// Which ranks were compared, where there are several traces a side; empty: one each.
std::string LeadText(const DiffReport& report);

}  // namespace hone::report
