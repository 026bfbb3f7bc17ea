// SPDX-License-Identifier: Apache-2.0
// Which place of one trace is which of the other. docs/user/diff.md, "what is compared with what".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diff/names.h"
#include "diff/place.h"

namespace hone::diff {

enum class Fate : std::uint8_t {
  kKept,      // the same kernel on both sides
  kReplaced,  // the same operator launches another kernel
  kAppeared,
  kVanished,
};
const char* FateName(Fate fate);

struct PlaceChange {
  Fate fate = Fate::kKept;
  // Of the place with most time on each side; kEmpty: none, or it has no such name.
  StringId op_before = StringId::kEmpty, op_after = StringId::kEmpty;
  StringId kernel_before = StringId::kEmpty, kernel_after = StringId::kEmpty;
  StringId shape = StringId::kEmpty;
  PathId path = kNoPath;
  std::size_t kernels_before = 0, kernels_after = 0;  // distinct names in it
  analyze::WorkClass work_class = analyze::WorkClass::kCompute;
  Phase phase = Phase::kUnknown;
  Amount before, after;
  // Why exposed time changed, for what was kept: more or fewer calls, slower or faster ones, and
  // less or more of it hidden behind other work. They sum to delta_ns().
  Nanos count_effect_ns = 0, rate_effect_ns = 0, overlap_effect_ns = 0;

  StringId op() const { return op_after == StringId::kEmpty ? op_before : op_after; }
  Nanos delta_ns() const { return after.exposed_ns - before.exposed_ns; }
};

// Every place of both sides in exactly one change. Largest change first. Swapping the sides swaps
// before and after and nothing else. O(places · log places).
std::vector<PlaceChange> MatchPlaces(const std::vector<Place>& before,
                                     const std::vector<Place>& after, Names& names);

}  // namespace hone::diff
