// SPDX-License-Identifier: Apache-2.0
// Whether several traces are the ranks of one job, as every comparison between them takes them to
// be.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace hone::cli {

// One sentence for each thing that says they are not; empty: nothing does.
std::vector<std::string> DoubtOneJob(const std::vector<report::Input>& inputs);

}  // namespace hone::cli
