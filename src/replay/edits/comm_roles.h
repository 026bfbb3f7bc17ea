// SPDX-License-Identifier: Apache-2.0
// CommRoles: what collectives move, which decides what they can hide behind.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/model.h"

namespace hone::replay {

enum class CommRole : std::uint8_t {
  kGradients,    // reduced in or after backward: hide behind backward, and there is a last one
  kParameters,   // gathered before they are used: can be fetched early, whatever runs
  kActivations,  // one layer's result, which the next one needs at once
  kPipeline,     // sent from stage to stage
  kOther,
};
inline constexpr std::size_t kCommRoleCount = 5;

// By kind and by where in the step it is launched: an operator that makes a node of autograd is of
// a forward pass, one of autograd's engine of a backward pass, and what stands behind it belongs to
// it. Reductions that a group makes in forward passes are of activations, and so are all exchanges
// of that group.
class CommRoles {
 public:
  explicit CommRoles(const Model& model);  // a sort of the host's operators

  CommRole Of(std::size_t run) const { return of_run_[run]; }  // by CommFacts::runs
  // False: the trace shows no backward pass.
  bool told() const { return !changes_.empty(); }
  // Launched in a backward pass or behind it, up to the next forward pass.
  bool InBackward(trace::RowId work) const;
  // Launched by autograd's engine itself.
  bool OfBackward(trace::RowId work) const;

 private:
  struct Change {
    Nanos at_ns;
    bool backward;
  };
  bool BackwardAt(Nanos time) const;
  void FindPasses(const Model& model);

  const trace::Trace& trace_;
  const analyze::Lineage& lineage_;
  std::vector<Change> changes_;  // of the pass, by time; empty: no backward pass
  std::vector<CommRole> of_run_;
};

}  // namespace hone::replay
