// SPDX-License-Identifier: Apache-2.0
// BatchWork: what a piece of device work has to do with the batch, and what its call computes and
// moves. Work on parameters (optimizer, gradients, casts of weights) is the same for any batch.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/kernel_family.h"
#include "replay/model.h"

namespace hone::replay {

enum class BatchRole : std::uint8_t {
  kSamples,         // grows with the batch
  kWeightGradient,  // its result is a parameter's, what it sums over grows with the batch
  kOverBatch,       // its blocks stand for channels, and each goes over the whole batch
  kParameters,      // does not grow
};

// FLOPs and bytes are those of the call that the work is a part of, from its shapes.
struct BatchWork {
  BatchRole role = BatchRole::kSamples;
  bool modelled = false;
  bool product = false, batched = false;  // batched: its inner size is a head's
  analyze::Precision precision = analyze::Precision::kUnknown;
  double call_ns = 0;  // of all its kernels
  double turns = 1;    // equal parts of it that wait for each other: steps of a recurrent layer
  double flops = 0, bytes = 0;
  double kept_bytes = 0;  // of these: weights that are read, gradients that are written
};

// By task; of work on a device. Recorders note shapes in some steps only; in the others the work is
// looked up by kernel and grid, the nearest in length. Linear in the trace's rows.
std::vector<BatchWork> ReadBatchWork(const Model& model);

// Of operators that compute on the host, in the steps. call_ns is the operator's own length.
struct HostBatch {
  struct Call {
    trace::RowId row = trace::kNoRow;  // no other modelled one inside
    BatchWork work;
  };
  std::vector<Call> calls;                     // in row order
  std::vector<std::uint8_t> about_parameters;  // by host row
};
// Needs shapes: without them no calls. Linear in host rows.
HostBatch ReadHostBatch(const Model& model);

}  // namespace hone::replay
