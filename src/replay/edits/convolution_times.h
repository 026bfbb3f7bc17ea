// SPDX-License-Identifier: Apache-2.0
// ConvolutionTimes: how long a call of a convolution takes on matrix units, with all that it
// launches, by its own roofline: FLOPs, bytes and channels from the shapes of the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analyze/kernel_family.h"
#include "analyze/modelled_calls.h"
#include "replay/model.h"

namespace hone::replay {

enum class ConvolutionFormat : std::uint8_t {
  kTf32,      // NCHW, as programs have it that say nothing
  kHalf,      // 16 bits, NCHW: converted around nearly every product
  kTf32Last,  // channels last
  kHalfLast,
};

bool IsConvolution(std::string_view op);
// By its kernel's name, where no shapes tell: one channel a group.
bool IsDepthwiseKernel(std::string_view kernel);
// fp32 on plain cores, where matrix units could do it.
bool RunsOnPlainCores(const analyze::KernelTraits& traits);

class ConvolutionTimes {
 public:
  // `calls`: null where the trace has no shapes. Both must outlive it; the model must have peaks.
  ConvolutionTimes(const Model& model, const analyze::ModelledCalls* calls);

  enum class Kind : std::uint8_t {
    kDense,
    kGrouped,    // several channels a group
    kDepthwise,  // one
  };
  struct Call {
    Kind kind = Kind::kDense;
    bool backward = false;
    bool pointwise = false;  // a kernel of one element: a product as it stands, in either layout
    double channels = 0;     // of a group, the fewer of input and output
    double flops = 0, bytes = 0;
    double element_bytes = 4;
  };
  // Of an operator that launches work. Absent: it is no convolution, or its shapes are not known.
  std::optional<Call> Find(trace::RowId op) const;

  // Nanoseconds on the device; infinite where it has no units for the format.
  double Of(const Call& call, ConvolutionFormat format) const;

 private:
  void ReadArguments(std::uint32_t detail, Call& call) const;

  const Model& model_;
  const analyze::ModelledCalls* calls_;
  double bytes_per_ns_ = 0;
};

}  // namespace hone::replay
