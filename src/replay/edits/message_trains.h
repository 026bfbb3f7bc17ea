// SPDX-License-Identifier: Apache-2.0
// Collectives of a step that follow one another, as the thread of the steps calls them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replay/edit.h"
#include "replay/model.h"

namespace hone::replay {

// Of fewer messages, one that takes their place saves little (launch-bound's least number of
// launches).
inline constexpr std::size_t kLeastMessages = 10;

// Messages of one step that nothing stands between but operators that scale, copy or view: no
// result of one is needed for the next.
struct MessageTrain {
  trace::RowId first = trace::kNoRow;  // its first call, a row of Trace::host
  std::string kind;                    // "all_reduce"
  trace::Interval span;                // of the step's thread: from the first call to the last
                                       // call's end; of the host's messages, to the last one's end
  Nanos beside_ns = 0;                 // of it, in the operators between them
  std::vector<std::size_t> runs;       // of CommFacts::runs
  std::vector<double> bytes;           // by run; empty: not known
  Nanos taken_ns = 0, waited_ns = 0;   // by its runs: transfer, and waiting for other ranks
  Range3 one_ns;                       // what one message of all their bytes would take instead
};

// In time order, each of kLeastMessages and more; one_ns is not set. Linear in the host's rows and
// runs. Facts::comm must be there, and lane 0 be a thread.
std::vector<MessageTrain> FindMessageTrains(const Model& model);

}  // namespace hone::replay
