// SPDX-License-Identifier: Apache-2.0
// Time by Python function and by line, from recorded Python frames or call stacks.
// docs/user/python.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/lineage.h"
#include "analyze/source_frame.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

struct PythonRow {
  std::string_view name;  // the frame's text as recorded, a view into the trace
  std::uint64_t calls = 0;
  Nanos total_ns = 0;   // inclusive; a recursive call counts once
  Nanos self_ns = 0;    // minus direct Python children
  Nanos device_ns = 0;  // device work launched inside, inclusive
};

struct PythonFacts {
  std::vector<PythonRow> functions;  // by self time
  // By call site: operators' "Call stack" frames or the frame around them. A frame's line is the
  // line of the function's definition where the recorder writes that (PyTorch does); says which.
  std::vector<PythonRow> lines;
  bool lines_are_definitions = false;
};

// Absent when the trace has neither Python frames nor call stacks (with_stack was off).
Known<PythonFacts> MeasurePython(const trace::Trace& trace, const Lineage& lineage);

}  // namespace hone::analyze
