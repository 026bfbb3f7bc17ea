// SPDX-License-Identifier: Apache-2.0
// UserOperators: what operators compute in a step beside the model, in one function of the user's.
// Part of python-hotspot, for programs without a device.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/known.h"
#include "replay/edits/host_cut.h"
#include "replay/model.h"

namespace hone::replay {

struct UserOperators {
  struct Share {
    std::string_view name;  // of an operator
    Nanos time_ns = 0;
  };
  std::string_view place;  // a line of the function that most of the time is at, as recorded
  bool line = false;       // it stands in the loop of the steps: the line is all there is
  std::vector<trace::RowId> rows;  // outermost operators, all steps
  std::vector<Share> names;        // most time first
  Nanos time_ns = 0;               // of the operators
  bool inside = false;             // a forward pass calls it, with what needs no gradient
  bool trains = false;             // told by gradients that do not go through it
  bool graph = false;              // makes a graph all the same, which nobody goes back through
  bool copies = false;             // copying is most of it
  HostCut cut;
};

// A function that is called in the steps and calls neither a model nor an optimizer nor a backward
// pass, and is not called by one, with the operators of which no gradient goes back; or one that a
// forward pass calls with what needs no gradient. Absent: none
// takes kLeastBeside of a step (more where nothing trains, less where it only copies, which can
// hardly be anything else than a snapshot), or it may as well be a model, an optimizer or data that
// is made ready. Linear in host rows but for sorts.
inline constexpr double kLeastBeside = 0.15, kLeastBesideInference = 0.4, kLeastCopies = 0.05;
Known<UserOperators> FindUserOperators(const Model& model);

}  // namespace hone::replay
