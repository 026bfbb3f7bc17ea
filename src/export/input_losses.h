// SPDX-License-Identifier: Apache-2.0
// Losses that the rows of a trace do not show: what reading it left out or mended.
#pragma once

#include <vector>

#include "base/loss.h"

namespace hone::exporter {

// Those that were counted. Who reads an export must not trust it more than the trace it was made
// of; losses of linking and nesting are counted again by every reader.
std::vector<LossKind> InputLosses(const LossLog& losses);

}  // namespace hone::exporter
