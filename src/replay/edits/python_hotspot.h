// SPDX-License-Identifier: Apache-2.0
// The Python code, or what it has operators compute, that takes most of the step: shared by the
// edit and the rule.
#pragma once

#include <cstdint>
#include <optional>

#include "replay/edits/host_cut.h"
#include "replay/edits/operator_loop.h"
#include "replay/edits/user_operators.h"
#include "replay/model.h"

namespace hone::replay {

struct Hotspot {
  // With Python frames: the function. Its own time, with the built-ins and libraries that it calls
  // and operators that compute on the host, without other operators, API calls, fetches and
  // compiling.
  trace::RowId frame = trace::kNoRow;  // one of its slices, the longest
  bool user = false;                   // the user's own code, as far as the path tells
  // Of a library's function: the user's around it that began in the step, the innermost.
  trace::RowId caller = trace::kNoRow;
  bool framework = false;                // a framework's own code, beyond what dispatching takes
  trace::RowId library = trace::kNoRow;  // of what it calls, the library's function with most time
  // Without frames: the code between these two operators or calls; before: kNoRow where only the
  // beginning of the window is known.
  trace::RowId before = trace::kNoRow, after = trace::kNoRow;
  // The function by name; of a wait, who called it. Where samples of stacks name the code of the
  // pauses, also the line in it (or in what it calls) with most of them.
  StringId function = StringId::kEmpty, line = StringId::kEmpty;
  std::uint64_t line_samples = 0, function_samples = 0;
  std::uint64_t samples = 0;          // all of them in pauses of the thread, whoever's code it is
  std::uint64_t waiting_samples = 0;  // of the function's: the thread wanted no core
  // The frame in which it waits, by frames or by most of the waiting samples; kEmpty: it runs, or
  // nobody knows in what it waits.
  StringId wait = StringId::kEmpty;
  // Without names: how far the lengths of the pauses lie from their median on average, as a share
  // of it.
  double irregular = 0;
  trace::RowId computation = trace::kNoRow;  // the operator inside that computes most on the host
  Nanos computed_ns = 0;                     // of all that do
  std::uint64_t times = 0;  // calls of the function, or pauses between the two; 0: not known
  // Small operators in the pauses that a line calls in a loop, and their time.
  std::uint64_t looped = 0;
  Nanos looped_ns = 0;
  std::optional<OperatorLoop> loop;  // the same operators over and over: none of the above is set
  std::optional<UserOperators> beside;  // what operators compute beside the model: nor then
  HostCut cut;                          // what the function's own code takes
  double error = 0;  // of that time, relative: one standard deviation, where samples tell it

  // For something that is not this code, and so no code of it is too slow.
  bool waits() const {
    return frame != trace::kNoRow ? wait != StringId::kEmpty
                                  : function_samples > 0 && 2 * waiting_samples >= function_samples;
  }
};

// On the thread of the steps. Absent: nothing takes kHotspotShare of a step. Linear but for a sort.
inline constexpr double kHotspotShare = 0.02;
Known<Hotspot> FindHotspot(const Model& model);

}  // namespace hone::replay
