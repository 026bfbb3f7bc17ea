// SPDX-License-Identifier: Apache-2.0
// Was the program given the same data?
#pragma once

#include <string>
#include <vector>

#include "tune/trial.h"

namespace hone::tune {

// Why the batches of `trial` are not those of the program's own runs with the same seed; empty:
// they are, or they cannot be compared (nobody saw them, they differ from run to run anyway, or
// another number of them was handed out).
// `drawn_anew` says that a random dataset gave other values than in those runs, as another seed
// would: losses are then to be compared with other seeds'.
std::string CompareBatches(const std::vector<Trial>& same_seed, const Trial& trial,
                           bool& drawn_anew);

}  // namespace hone::tune
