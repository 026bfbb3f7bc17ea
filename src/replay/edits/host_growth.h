// SPDX-License-Identifier: Apache-2.0
// HostGrowth: a step with more samples where operators compute on the host. The model and where it
// ends: docs/user/rules/small-batch.md.
#pragma once

#include <array>
#include <vector>

#include "replay/edits/batch_work.h"
#include "replay/edits/step_growth.h"

namespace hone::replay {

class HostGrowth : public StepGrowth {
 public:
  // For each Guess: ns more with 2, 4, 8 and 16 times the samples.
  static constexpr std::size_t kDoublings = 4;
  using Growth = std::array<std::array<double, kDoublings>, 3>;

  // The model must outlive it. Linear in host rows but for a sort. Needs shapes.
  explicit HostGrowth(const Model& model);

  // `times`: 2, 4, 8 or 16.
  void Apply(Guess guess, double times, Plan& plan) const override;

  // By weights that are multiplied with a single row again and again; what comes once a step stays.
  double rounds() const override { return rounds_; }

  // Of all steps: in operators, and of that what goes to the samples themselves, as is likely. The
  // rest is the same for any batch: calls, weights that are read, gradients that are written,
  // optimizers.
  double operators_ns() const { return operators_ns_; }
  double samples_ns() const { return samples_ns_; }
  // The operator of which most does not depend on the samples, optimizers left out; kNoRow: none.
  trace::RowId example() const { return example_; }

 private:
  void CountRounds(const HostBatch& batch);

  const Model& model_;
  std::vector<Growth> grows_;  // by task
  double operators_ns_ = 0, samples_ns_ = 0, rounds_ = 1;
  trace::RowId example_ = trace::kNoRow;
};

}  // namespace hone::replay
