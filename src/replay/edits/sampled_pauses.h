// SPDX-License-Identifier: Apache-2.0
// Pauses of the steps' thread, and what samples of its stacks say about them.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "replay/edits/python_hotspot.h"
#include "replay/edits/sampled_code.h"

namespace hone::replay {

// A stretch of the steps' thread that no operator, call or fetch covers.
struct Pause {
  trace::RowId before = trace::kNoRow;  // kNoRow at the beginning of the window
  trace::RowId after = trace::kNoRow;
  trace::Interval span;
  // Operators inside that a line calls in a loop: they count as part of the pause.
  Nanos looped_ns = 0;
  std::uint64_t looped = 0;
};

// Samples of the step thread, by the pause that they fell into. O(samples log pauses).
class SampledPauses {
 public:
  SampledPauses(const Model& model, const std::vector<Pause>& pauses);

  // The function that most samples in all pauses are in, with its line and its counts. False where
  // they are too few to tell.
  bool Choose(Hotspot& hotspot) const;
  // How much of the pauses before `name` a chosen function takes.
  double Share(const Hotspot& hotspot, StringId name) const;
  // Whether there are samples enough to say what the pauses before `name` are.
  bool Tells(StringId name) const;

 private:
  struct Count {
    std::uint64_t all = 0, waiting = 0;
  };
  // Of the pauses before one operator.
  struct Group {
    std::uint64_t samples = 0;            // in the pauses, whoever's code it is
    std::map<std::uint32_t, Count> rows;  // by the user's frame, a row of stack_frames
  };
  struct Choice {
    StringId function = StringId::kEmpty;
    std::uint64_t samples = 0;
  };

  void DropLinesThatCall(const std::map<StringId, std::uint64_t>& seen,
                         const std::map<StringId, std::uint64_t>& called);
  Choice Innermost() const;
  Choice Outermost() const;
  bool Holds(StringId function, std::uint32_t row) const;

  const trace::Trace& trace_;
  const SampledCode code_;
  std::map<StringId, Group> groups_;  // by name of what follows
  Group all_;                         // all of them together
};

}  // namespace hone::replay
