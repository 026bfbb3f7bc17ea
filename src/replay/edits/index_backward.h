// SPDX-License-Identifier: Apache-2.0
// IndexBackward: gradients of gathers that are added up by PyTorch's sorting kernel.
//
// index_put with accumulate sorts the indices and gives each distinct one to one warp, which adds
// all that repeat it in turn (Indexing.cu, indexing_backward_kernel*): few rows with many repeats
// leave the device empty and wait for memory once a repeat. The backward pass of x[index] takes
// this way always, index_add, scatter_add and what rests on them under deterministic algorithms.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/edit.h"

namespace hone::replay {

struct IndexBackward {
  // What would do the same: rows of a table by the backward pass of F.embedding; single values, and
  // gathers along a later dimension, by atomics; so does an operator that only determinism sends
  // here, once it is not asked for.
  enum class Way : std::uint8_t { kEmbedding, kAtomics, kNotDeterministic };
  struct Call {
    TaskId task = kNoTask;
    Way way = Way::kEmbedding;
    double gradient_bytes = 0;  // at most, by the kernel's grid; 0: no grid was recorded
    double least_ns = 0;        // its bytes at the device's bandwidth; 0: not known
    Range3 left_ns;             // what it takes the other way, beside the sort
  };
  std::vector<Call> calls;    // slow ones, in the steps
  double time_ns = 0;         // theirs, of all steps
  double unmeasured_ns = 0;   // of kernels without a grid that are too short to judge by that
  bool known_device = false;  // its bandwidth is in the table
  std::size_t longest = 0;    // of `calls`
  trace::RowId adds = trace::kNoRow;     // row of Trace::host: the longest's operator
  trace::RowId asked = trace::kNoRow;    // the operator that determinism sent here
  trace::RowId forward = trace::kNoRow;  // the gather whose gradient it is
};

// Linear in host slices and device work; operators are looked through only where a call is slow.
IndexBackward LookAtIndexBackward(const Model& model);

}  // namespace hone::replay
