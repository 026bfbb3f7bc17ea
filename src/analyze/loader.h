// SPDX-License-Identifier: Apache-2.0
// Data loading as the training thread sees it. docs/user/loader.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/idle.h"
#include "analyze/steps.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

enum class LoaderMode : std::uint8_t { kInProcess, kWorkers, kUnknown };

// Rows of Trace::host that fetch a batch: enumerate(DataLoader)#…, and their Python kin
// (dataloader.py … __next__) where annotations are missing. Outermost only, sorted by row.
std::vector<trace::RowId> FindLoaderSlices(const trace::Trace& trace);

struct LoaderFacts {
  LoaderMode mode = LoaderMode::kUnknown;
  StringId iterator = StringId::kEmpty;  // name of the iterator's annotation
  std::uint64_t fetches = 0;
  Nanos total_ns = 0, mean_ns = 0, p95_ns = 0, max_ns = 0;
  Known<double> per_step_ns;    // mean inside steady steps
  Known<double> step_share;     // of the mean step
  Known<Nanos> device_idle_ns;  // steady idle time blamed on the loader
};

// Absent when nothing in the trace is a loader (says so).
Known<LoaderFacts> MeasureLoader(const trace::Trace& trace, const Steps& steps,
                                 const Known<IdleFacts>& idle);

}  // namespace hone::analyze
