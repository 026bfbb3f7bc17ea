// SPDX-License-Identifier: Apache-2.0
// By what the tables group: the shape, the source line or the module that a host slice belongs to.
#pragma once

#include "analyze/lineage.h"
#include "analyze/tables.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

// One string a row of Trace::host, kEmpty where nothing is known. Absent when the trace lacks what
// the grouping needs (says which).
//   kName       all empty
//   kNameShape  the row's own "Input Dims"
//   kStack      the nearest of: recorded call stack, Python function with a source line outside
//               PyTorch and Triton; if there is none, inside them
//   kModule     the nearest of: recorded module hierarchy, nn.Module slice
// "Nearest" counts the row itself, then its ancestors. A backward operator takes what its forward
// operator has: the latest one before it, in its process, of the same sequence number (PyTorch's
// own rule: of the operators that carry a number, the last one made the autograd node).
// Two forward passes and, for stacks and modules, a sort of the forward operators.
Known<Column<StringId>> GroupsOfSlices(const trace::Trace& trace, const Lineage& lineage,
                                       GroupBy group_by);

}  // namespace hone::analyze
