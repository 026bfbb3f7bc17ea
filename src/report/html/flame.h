// SPDX-License-Identifier: Apache-2.0
// "flame": call trees by operator, by module and by Python function. Of the whole trace; all
// threads together. Each linear in the trace.
#pragma once

#include <vector>

#include "base/json_writer.h"
#include "base/known.h"
#include "report/html/call_tree.h"
#include "report/html/page_strings.h"
#include "report/report.h"

namespace hone::report {

struct Flame {
  CallTree tree;
  bool sampled = false;
  bool device = true;  // the second weight is known
};

// Operators by nesting, and the API calls inside them.
Known<Flame> FlameByOp(const Input& input, PageStrings& strings);
// Modules by nesting, and under each the operators that it called. A backward operator stands under
// the module of its forward one.
Known<Flame> FlameByModule(const Input& input, PageStrings& strings);
// Python functions by nesting, from recorded calls, else from samples of stacks (those that
// analyze::MeasurePython counts).
Known<Flame> FlameByPython(const Input& input, PageStrings& strings);

}  // namespace hone::report
