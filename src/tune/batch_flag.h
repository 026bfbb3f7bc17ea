// SPDX-License-Identifier: Apache-2.0
// The batch size by the program's own option: hone tune --batch-flag --batch -- python train.py
// --batch 8. Such a choice is a treatment of the command line, not of the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tune/trial.h"

namespace hone::tune {

// Takes the place of the treatment of that name: one way to another batch at a time.
inline constexpr std::string_view kBatchTreatment = "batch-size";

// The number that stands behind `flag` in the command ("--batch 8" or "--batch=8"). The error says
// what is wrong with it.
Result<std::int64_t> BatchOf(const std::vector<std::string>& command, const std::string& flag);

// Twice, four times, … up to 64 times the command's own.
std::vector<Candidate> BatchCandidates(const std::vector<std::string>& command,
                                       const std::string& flag);

// The command with the recipe's choice of a batch in it; as it is where there is none.
std::vector<std::string> WithBatch(const std::vector<std::string>& command, const std::string& flag,
                                   const Recipe& recipe);

}  // namespace hone::tune
