// SPDX-License-Identifier: Apache-2.0
// The loader that input-bound proposes: the rule names it, the replay runs with it.
#pragma once

#include "replay/model.h"

namespace hone::replay {

// Of the steps' own thread: the one fetch that takes longer than all others together. It tells no
// rate: a pause of the machine, the interpreter's garbage collection or a file that is opened now
// and then may be the reason, and workers would wait for it as well. kNoRow: none, or too few
// fetches to tell.
trace::RowId OddFetch(const Model& model);
// Time a step that the other fetches take. Needs LoaderFacts::per_step_ns.
double UsualFetching(const Model& model);

struct WorkerChoice {
  // Loaders without workers: how many to start. Others: times the number that they have, which a
  // trace does not tell.
  int count = 0;
  bool times = false;
  double cores = 0;    // that the program may use; 0: not known
  double on_core = 1;  // share of loading that takes a core; the rest waits for a disk or a network
  double rest_cores = 1;  // that the rest of the step keeps busy on the host
  bool enough = false;    // false: the most that is proposed may still be too few
  // Workers and the program's own threads want more cores than there are.
  bool crowded() const {
    return cores > 0 && rest_cores > 1 && count * on_core + rest_cores > cores;
  }
};

// Needs LoaderFacts::per_step_ns.
WorkerChoice ChooseWorkers(const Model& model);

}  // namespace hone::replay
