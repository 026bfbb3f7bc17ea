// SPDX-License-Identifier: Apache-2.0
// PlainConvolutions: calls of convolutions that run in fp32 on plain cores, and how many times
// faster each would be with TF32. Everything a call launches goes faster together, the transforms
// and copies around the product included.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "replay/edits/convolution_times.h"
#include "replay/model.h"

namespace hone::replay {

// Of a call on matrix units, by the name of its operator.
std::uint32_t LaunchesOnUnits(std::string_view convolution);

class PlainConvolutions {
 public:
  // `shapes`: null where the trace has none. The model must have peaks. Linear in the graph's tasks
  // and, without shapes, in host slices.
  PlainConvolutions(const Model& model, const analyze::ModelledCalls* shapes);

  bool Has(trace::RowId op) const { return Find(op) != nullptr; }
  double GainOf(trace::RowId op) const { return Find(op)->gain; }  // where Has(op)

 private:
  struct Call {
    bool plain = false;
    bool depthwise = false;  // by its kernels' names
    std::uint32_t launches = 0;
    double time_ns = 0;
    double gain = 1;
  };

  const Call* Find(trace::RowId op) const {
    const auto found = calls_.find(op);
    return found == calls_.end() || !found->second.plain ? nullptr : &found->second;
  }
  void ReadCalls();
  double ByShape(const Call& call, const ConvolutionTimes::Call& shaped) const;
  double ByForward(trace::RowId op, const Call& call, const Call* forward) const;

  const Model& model_;
  const ConvolutionTimes times_;
  const double usual_gain_;
  std::unordered_map<trace::RowId, Call> calls_;  // by operator
};

}  // namespace hone::replay
