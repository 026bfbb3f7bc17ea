// SPDX-License-Identifier: Apache-2.0
// The sentences about a search for treatments that all of its writers share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/words/style.h"
#include "tune/result.h"

namespace hone::report {

enum class TuneOutcome { kFaster, kUnproven, kNothing };
// Faster: the winner's paired confirmation says so and the guard lets it pass.
TuneOutcome OutcomeOf(const tune::TuneResult& result);

// "python train.py is 6.5x faster (6.3–6.7), 5 pairs; its loss stays in the band of its own runs"
std::string TuneVerdict(const tune::TuneResult& result, const Style& style);
// "38.7 → 251 samples/s", "step 206 → 31.8 ms", "peak 24.3 → 8.1 GiB", "14 trials in 8 min 20 s"
std::vector<std::string> TuneHeadline(const tune::TuneResult& result, const Style& style);

// "samples/s" or "steps/s".
std::string_view RateUnit(const tune::TuneResult& result);

// Below an adopted row: predicted beside measured, what the winner loses without it, the guard.
std::vector<std::string> TuneEvidence(const tune::Row& row, const Style& style);
// Behind a row that was not adopted.
std::string TuneReason(const tune::Row& row);

// Rows that stand in the winner, in their order; and the others.
std::vector<const tune::Row*> AdoptedRows(const tune::TuneResult& result);
std::vector<const tune::Row*> OtherRows(const tune::TuneResult& result);

// Why treatments have nothing to do here, with their names: those of one reason together.
std::vector<std::pair<std::string, std::string>> TuneInapplicable(const tune::TuneResult& result);

// What to type next, with what it does.
std::vector<std::pair<std::string, std::string>> TuneNext(const tune::TuneResult& result);

// The run of the untouched program that stands for it; null: there is none.
const tune::Trial* BaselineOf(const tune::TuneResult& result);
// The last trial of the whole winner; null: none.
const tune::Trial* WinnerOf(const tune::TuneResult& result);

}  // namespace hone::report
