// SPDX-License-Identifier: Apache-2.0
// What samples of the steps' thread say about its pauses.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "replay/edits/host_pauses.h"
#include "replay/edits/python_hotspot.h"
#include "replay/edits/sampled_code.h"

namespace hone::replay {

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
    std::map<StringId, std::uint64_t> waits;  // of those waiting, by the function that does
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
