// SPDX-License-Identifier: Apache-2.0
// Time by Python function and by line, from recorded Python frames, samples of stacks or call
// stacks. docs/user/python.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/lineage.h"
#include "analyze/source_frame.h"
#include "analyze/steps.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

struct PythonRow {
  std::string_view name;    // the frame's text as recorded, a view into the trace
  std::uint64_t calls = 0;  // of samples: those in which it is on the stack
  Nanos total_ns = 0;       // inclusive; a recursive call counts once
  Nanos self_ns = 0;        // minus direct Python children; of samples: where it is innermost
  Nanos error_ns = 0;       // of samples: one standard deviation of self_ns
  Nanos device_ns = 0;      // device work launched inside, inclusive
};

struct PythonFacts {
  std::vector<PythonRow> functions;  // by self time
  // By call site: operators' "Call stack" frames or the frame around them. A frame's line is the
  // line of the function's definition where the recorder writes that (PyTorch does); says which.
  std::vector<PythonRow> lines;
  bool lines_are_definitions = false;

  // Where rows come from samples: how many, over the steady steps (else all), of which threads.
  bool sampled = false;
  std::uint64_t samples = 0;
  Nanos sampled_ns = 0;  // what they stand for together
  // Of samples in which a thread runs: the line of the user's own code that most of them are at or
  // were called from, innermost. Empty: none is.
  std::string_view busiest_line;
  std::uint64_t busiest_samples = 0, running_samples = 0;
};

// Absent when the trace has neither Python frames nor stacks (with_stack was off).
Known<PythonFacts> MeasurePython(const trace::Trace& trace, const Lineage& lineage,
                                 const Steps& steps);

}  // namespace hone::analyze
