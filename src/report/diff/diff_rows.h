// SPDX-License-Identifier: Apache-2.0
// Rows and stories about changes, the same in text, Markdown and HTML.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "diff/diff.h"
#include "report/words/style.h"

namespace hone::report {

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

struct UnknownFigure {
  std::string text, why;  // "peak memory", "before: no allocator events in this trace"
};
// Figures that are not known, one for each reason. Of those that one side has; `all`: of those that
// neither has too.
std::vector<UnknownFigure> UnknownFigures(const diff::Diff& diff, bool all);

}  // namespace hone::report
