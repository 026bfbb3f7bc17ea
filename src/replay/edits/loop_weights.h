// SPDX-License-Identifier: Apache-2.0
// LoopWeights: whether operators that come over and over are one model with the same weights each
// time, on samples that do not need each other, or the layers of one, each with its own.
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

  // False: nothing proves that one call could do it.
  // Without weights there must be a sign of what it goes over: a part is taken out of a tensor each
  // time, results are gathered, parameters are changed in place, a list is added up.
  // With weights each time round must begin with taking its part, and
  // - shapes: one row, of a tensor with as many samples as there are times, the same sizes each
  //   time; and the backward pass, the modules or what is gathered say that it is one model;
  // - no shapes: gradients are complete at the end of the backward pass only, the first product
  //   gets data and no result (its input has no gradient), and each time has a loss or is gathered;
  // - recurrent cells: the same weights, however that is known.
  bool MayBeOne(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const;

  // Every product in it has one row, by recorded shapes.
  bool OneRow(const OperatorLoop& loop) const;

  // Operators of the engine that go back through the stretches; gradients' additions left out.
  std::vector<std::size_t> BackwardOf(const std::vector<Stretch>& stretches) const;

 private:
  enum Role : std::uint8_t {
    kUnseen,
    kOther,
    kWeighs,      // multiplies with what may be weights
    kForeign,     // not PyTorch's own: may have weights of its own
    kRemembers,   // a recurrent layer: what it gives goes into the next time
    kTakes,       // a part out of a tensor
    kParts,       // all parts of a tensor at once
    kReads,       // a value to Python
    kGathers,     // many into one
    kAdds,        // in place of a list's sum
    kChanges,     // in place
    kLoses,       // a loss
    kAccumulates  // a gradient is complete
  };
  enum class Told : std::uint8_t { kNothing, kOwn, kSame };
  enum class Input : std::uint8_t { kUnknown, kData, kResult };

  static Role RoleOfName(std::string_view name);
  Role RoleOf(trace::RowId row) const;
  bool Has(const OperatorLoop& loop, Role role) const;
  StringId DimsOf(trace::RowId row) const;
  std::vector<std::int64_t> DimsOf(trace::RowId row, std::size_t argument) const;
  bool PlainMayBeOne(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const;
  bool ModelMayBeOne(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const;
  bool ModulesTell(const OperatorLoop& loop) const;
  Told BackwardTells(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const;
  // -1: not recorded.
  int OneSample(const OperatorLoop& loop) const;
  bool Gathered(const Stretch& stretch) const;
  // The operator that makes all parts before the first time round; SIZE_MAX: none.
  std::size_t PartsBefore(const Stretch& stretch) const;
  // Of the second time round: the rest of a backward pass belongs to the first.
  std::size_t BeginOf(const Stretch& stretch) const;
  bool BeginsWithTaking(const Stretch& stretch) const;
  // The first operator with weights of each time round, and what was taken for it.
  struct First {
    std::size_t taken, weighs;
  };
  std::vector<First> FirstOfEach(const Stretch& stretch) const;
  bool SameSizes(const Stretch& stretch) const;
  bool ShapesTell(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const;
  // What the first product of each time round gets.
  Input FirstInput(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const;

  const Model& model_;
  const std::vector<StepOperator>& operators_;
  mutable std::vector<std::uint8_t> roles_;  // by StringId
};

}  // namespace hone::replay
