// SPDX-License-Identifier: Apache-2.0
// WhatIf: predicted step times of one trace under any combination of edits.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/known.h"
#include "replay/edit.h"
#include "replay/model.h"

namespace hone::replay {

// Nanoseconds for the samples of one recorded step.
struct Prediction {
  double low_ns = 0, likely_ns = 0, high_ns = 0;
  // Of so many recorded steps, which one larger step does at once; 1: the batch is as recorded.
  double samples = 1;
  double larger_step_ns() const { return likely_ns * samples; }
};

class WhatIf {
 public:
  // Finds what each edit could change; linear in the trace. The model must outlive it.
  explicit WhatIf(const Model& model);

  const Model& model() const { return model_; }

  // What an edit found; absent with the reason. `id` must be one of AllEdits().
  const Known<std::unique_ptr<Edit>>& Find(std::string_view id) const;

  // The step as recorded, and as the replay reproduces it.
  double measured_ns() const { return model_.graph().measured_step_ns(); }
  double replayed_ns() const { return replayed_ns_; }
  double error() const { return replayed_ns_ / measured_ns() - 1.0; }

  // The step without the recorder, which every prediction starts from; equal to the replayed step
  // in the long run where the recorder's cost is not known.
  const Prediction& bare() const { return bare_; }

  // Steps that were timed without the recorder and that bare() agrees with; 0: it is computed
  // alone.
  std::int64_t bare_timed() const;

  // Step with these edits on top of bare(). Words without a target change nothing.
  Prediction Predict(const std::vector<std::string_view>& ids) const;

  // What these edits surely give back, in nanoseconds a step: no more than is left if the recorder
  // costs as much as it may (a gain that goes away with the recorder is not the program's), and
  // between what is likely and what the edits give at least.
  double SureGain(const std::vector<std::string_view>& ids) const;

 private:
  Plan PlanFor(const std::vector<std::string_view>& ids, Guess guess, Guess observer) const;
  // For the samples of one recorded step.
  double Step(const std::vector<std::string_view>& ids, Guess guess, Guess observer) const;

  const Model& model_;
  std::map<std::string, Known<std::unique_ptr<Edit>>, std::less<>> found_;
  double replayed_ns_ = 0;
  // Steps of one run differ, and so do runs: a range is never narrower than what was seen, nor than
  // the 1.5 % by which medians of quiet runs on one machine differ.
  double low_spread_ = 0.985, high_spread_ = 1.015;
  Prediction bare_;
};

}  // namespace hone::replay
