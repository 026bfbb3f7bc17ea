// SPDX-License-Identifier: Apache-2.0
// The search for a batch size: throughput, latency and memory of each, up to the device's end.
#pragma once

#include <string>

#include "tune/search.h"

namespace hone::tune {

// Tries the variants of `treatment` in the order given (growing), until one runs out of memory, no
// longer gives the least effect over the best before it, or the budget is spent; where memory ended
// it, the one between the last two. Nothing is
// adopted: another batch is another training. Fills TuneResult::batches and best_batch.
Result<TuneResult> SearchBatch(const SearchOptions& options, const std::string& treatment,
                               TrialRunner& runner, SearchListener& listener);

}  // namespace hone::tune
