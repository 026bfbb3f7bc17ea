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
Tone ToneOf(const diff::Diff& diff);
// "step 196 → 32.9 ms (-163 ms, -83.2 %)".
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

struct PartRow {
  std::string label;
  Tone tone = Tone::kPlain;
  diff::Change time;
};
// Work first, then idle by the size of the change; idle causes that are small on both sides in one
// row.
std::vector<PartRow> ShownParts(const diff::Diff& diff);

struct CauseRow {
  std::string label, story;  // the story may be empty
  diff::Change time;
  // Whether they are names out of the traces; else they are our own words.
  bool label_is_name = false, story_is_names = false;
};
// The largest contributions, and what is left in a last row ("33 others").
std::vector<CauseRow> ShownCauses(const diff::Diff& diff, std::size_t most, const Style& style);
const char* CausesTitle(const diff::Diff& diff);  // "what did it", or only "what changed most"

// "step" or "second".
const char* UnitWord(const diff::Diff& diff);

std::string OpName(const diff::Diff& diff, const diff::OpChange& op, const Style& style);
// "ampere_sgemm… → sm90_xmma…", "48 → 12 kernels a step", "each 12.1 → 20.3 us".
std::string Story(const diff::Diff& diff, const diff::PlaceChange& place, const Style& style);
std::string Story(const diff::Diff& diff, const diff::OpChange& op, const Style& style);

// "aten::mm [[64, 3]] in Optimizer.step#Adam.step": where a kernel is launched.
std::string PlaceText(const diff::Diff& diff, const diff::PlaceChange& place, const Style& style);
// The kernel without what is noise in its name; of a replacement, the new one.
std::string KernelName(const diff::Diff& diff, const diff::PlaceChange& place, const Style& style);
std::string PhaseText(const diff::PhaseChange& phase);

struct FigureText {
  std::string text, before, after, change;
};
// One figure for people; "?" for what one side lacks.
FigureText Shown(const diff::Figure& figure, const Style& style);

// "--fail-if slower=3%: failed, the step went from 100 ms to 105 ms (+5.0 %), beyond noise".
std::string GateText(const diff::GateResult& gate);

// Which ranks were compared, where there are several traces a side; empty: one each.
std::string LeadText(const DiffReport& report);

}  // namespace hone::report
