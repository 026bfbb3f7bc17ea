// SPDX-License-Identifier: Apache-2.0
// LoopWeights: whether operators that come over and over are one model with the same weights each
// time, or the layers of one, each with its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "replay/edits/operator_loop.h"
#include "replay/edits/step_operators.h"
#include "replay/model.h"

namespace hone::replay {

class LoopWeights {
 public:
  // Both must outlive it.
  LoopWeights(const Model& model, const std::vector<StepOperator>& operators);

  LoopKind KindOf(const OperatorLoop& loop) const;

  // False: it may be the layers of a model. Without weights it never is; with weights one of these
  // must tell: the backward pass adds to gradients once and not each time round; a time round has
  // its own backward pass; the same module is called; each works on one sample, taken out of a
  // batch or given into one, and no other weights are used in the step.
  bool MayBeOne(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const;

  // Operators of the engine that go back through the stretches; gradients' additions left out.
  std::vector<std::size_t> BackwardOf(const std::vector<Stretch>& stretches) const;

 private:
  enum Role : std::uint8_t {
    kUnseen,
    kOther,
    kWeighs,      // multiplies with what may be weights
    kTakes,       // one sample out of many
    kGives,       // a value to Python, or a sample into a tensor
    kGathers,     // many into one
    kAccumulates  // a gradient is complete
  };
  enum class Told : std::uint8_t { kNothing, kOwn, kSame };

  Role RoleOf(trace::RowId row) const;
  bool ModulesTell(const OperatorLoop& loop) const;
  Told BackwardTells(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const;
  bool SamplesTell(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const;
  // -1: not recorded.
  int OneSample(const OperatorLoop& loop) const;

  const Model& model_;
  const std::vector<StepOperator>& operators_;
  mutable std::vector<std::uint8_t> roles_;  // by StringId
};

}  // namespace hone::replay
