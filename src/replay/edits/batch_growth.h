// SPDX-License-Identifier: Apache-2.0
// BatchGrowth: how much longer a device's work takes when a step has more samples. The model and
// where it ends: docs/user/rules/small-batch.md.
#pragma once

#include <vector>

#include "replay/edits/batch_work.h"
#include "replay/edits/step_growth.h"

namespace hone::replay {

class BatchGrowth : public StepGrowth {
 public:
  // The model must outlive it. Linear in the trace's rows.
  explicit BatchGrowth(const Model& model);

  // Of the time in kernels that grow, what carries a grid.
  double known() const { return known_; }
  // Times its length with `times` the samples, 1 … times.
  double Of(TaskId task, Guess guess, double times) const;
  // Grows kernels, copies of the batch and loading, and says so in Plan::samples.
  void Apply(Guess guess, double times, Plan& plan) const override;

 private:
  struct Fill {  // of the device; 1: it is full
    double likely = 1;
    double least = 1;  // full only when every place that a block could have is taken
    bool recorded = false;
  };

  Fill FillOf(trace::RowId work, double side_by_side) const;
  double ByBlocks(double ns, const Fill& fill, double times) const;
  double RooflineNs(const BatchWork& work, double times) const;
  double Likely(TaskId task, double times) const;
  double Most(TaskId task, double times) const;
  double Least(TaskId task, double times) const;
  void GrowCopy(const Task& task, TaskId id, double times, Plan& plan) const;

  const Model& model_;
  std::vector<BatchWork> work_;  // by task
  std::vector<Fill> fill_;       // by task; of kernels
  double known_ = 0;
};

}  // namespace hone::replay
