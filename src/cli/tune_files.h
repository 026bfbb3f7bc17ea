// SPDX-License-Identifier: Apache-2.0
// What `hone tune` leaves in its folder: recipe.json, recipe.patch, report.json, report.html,
// report.md.
#pragma once

#include <string>

#include "base/result.h"
#include "tune/result.h"

namespace hone::cli {

// What its patch does not hold becomes notes; a patch that holds nothing else is none.
void TellMissingChanges(tune::TuneResult& result);
Status WriteTuneFiles(const tune::TuneResult& result);

// For hone run --recipe and hone.apply (python/hone/_session.py reads it).
std::string RecipeJson(const tune::TuneResult& result);

}  // namespace hone::cli
