// SPDX-License-Identifier: Apache-2.0
// Single figures of two recordings side by side: memory, utilization, counts, clocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/facts.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::diff {

enum class FigureUnit : std::uint8_t { kMillis, kCount, kShare, kBytes, kMegahertz, kPerSecond };

struct Figure {
  std::string id;    // stable: "memory_peak_bytes"
  std::string text;  // "peak memory"
  FigureUnit unit = FigureUnit::kCount;
  Known<double> before, after;  // nanoseconds for kMillis
};

// One side's figures, always the same ids in the same order. `by_step`: counts of one step, else of
// one second.
std::vector<Figure> MeasureFigures(const trace::Trace& trace, const analyze::Facts& facts,
                                   bool by_step);

}  // namespace hone::diff
