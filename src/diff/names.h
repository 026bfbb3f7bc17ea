// SPDX-License-Identifier: Apache-2.0
// Names that two traces have in common: one pool, and one tree of what stands around a launch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/grouping.h"
#include "base/string_pool.h"

namespace hone::diff {

using PathId = std::uint32_t;
inline constexpr PathId kNoPath = 0;

class Names {
 public:
  Names();

  StringId Intern(std::string_view text) { return pool_.Intern(text); }
  std::string_view operator[](StringId id) const { return pool_[id]; }
  const StringPool& pool() const { return pool_; }

  // `name` inside `around`.
  PathId Inside(PathId around, StringId name);
  // What stands around the last name of the path, nearest first, at most `most` names.
  std::vector<std::string_view> Around(PathId path, std::size_t most) const;

 private:
  struct Step {
    PathId around = kNoPath;
    StringId name = StringId::kEmpty;
  };

  StringPool pool_;
  analyze::GroupIndex index_;
  std::vector<Step> steps_;  // by path; 0: nothing
};

// A kernel's or operator's name without what changes when nothing else does: the counter that
// compilers append ("triton_poi_fused_add_12"), the return type and the parameters that some
// recorders leave out, and blanks.
std::string LooseName(std::string_view name);

// A label without the number at its end, which often counts iterations.
std::string_view WithoutNumber(std::string_view label);

}  // namespace hone::diff
