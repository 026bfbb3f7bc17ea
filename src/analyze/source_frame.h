// SPDX-License-Identifier: Apache-2.0
// Python frames as recorders write them, and the frame around each host slice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/lineage.h"
#include "trace/trace.h"

namespace hone::analyze {

// "train.py(46): main" → file, line, function. Line 0 when the text has none: "<built-in method
// to of Tensor object at 0x7f…>" and "nn.Module: Linear_0" are functions without a file.
struct SourceFrame {
  std::string_view file, function;
  std::int64_t line = 0;
};
SourceFrame ParseFrame(std::string_view text);

// A comprehension that runs as a function of its own, as most versions of Python do it:
// "<listcomp>", or "f.<locals>.<listcomp>" where they know qualified names.
bool IsComprehension(const SourceFrame& frame);
// The function as its author wrote it: "f" of "f.<locals>.<listcomp>"; else what it is called.
std::string_view WrittenFunction(const SourceFrame& frame);
// "train.py(46): main" -> "train.py:46 (main)"; text without a line stays as it is.
std::string SourceText(std::string_view frame);

// The user's own code, as far as a path can tell: not PyTorch, not an installed package, not the
// standard library's frozen modules.
bool IsUserFrame(const SourceFrame& frame);

// Code that runs models, optimizers and loaders on behalf of who calls it: PyTorch and what is
// built around it. Its time is the model's, and no line can be moved out of the loop to save it.
// Printing tensors, writing logs and making data ready (tokens, images, batches) is a library's
// work like any other.
bool IsFrameworkFrame(const SourceFrame& frame);
// copy.deepcopy of the standard library. What of a framework it calls copies, and runs no model.
bool IsDeepCopyFrame(const SourceFrame& frame);

// Of a "Call stack" text (frames separated by ";", innermost first): the innermost frame of the
// user's own code, else the innermost with a source line, else "".
std::string_view CallSiteOf(std::string_view stack);

// For every host slice the place in the user's Python code that it was called from.
class CallSites {
 public:
  CallSites(const trace::Trace& trace, const Lineage& lineage);  // O(host rows)

  // The nearest of: a user's frame around the row, an operator with a recorded call stack around
  // it; else the innermost Python frame with a source line. "" where the trace has none. The view
  // is into the trace's strings.
  std::string_view Of(trace::RowId host_row) const;

 private:
  const trace::Trace& trace_;
  const Lineage& lineage_;
  std::vector<trace::RowId> source_;           // by host row; a Python slice or an operator
  std::vector<std::string_view> stack_sites_;  // by StringId of the stack text
};

}  // namespace hone::analyze
