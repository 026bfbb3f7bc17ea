// SPDX-License-Identifier: Apache-2.0
// The roofline rows of EfficiencyFacts, and the FLOPs of the steady window. Internal to efficiency.
#pragma once

#include <vector>

#include "analyze/efficiency.h"
#include "trace/interval.h"

namespace hone::analyze {

// What MeasureEfficiency hands on: traits of each row of Trace::device, by index into `traits`.
struct ClassifiedKernels {
  std::vector<KernelTraits> traits;
  std::vector<std::uint32_t> of_name;  // by StringId; UINT32_MAX: no compute kernel has that name
  const KernelTraits& operator[](StringId name) const {
    return traits[of_name[static_cast<std::uint32_t>(name)]];
  }
};

bool IsMatrixFamily(KernelFamily family);  // matmul, convolution, attention

// Fills roofline, modelled_share, tflops_per_s and model_flops_utilization.
void MeasureRoofline(const trace::Trace& trace, const WorkClasses& classes,
                     const ClassifiedKernels& kernels, const trace::IntervalSet& steady_window,
                     std::size_t device_count, EfficiencyFacts& facts);

}  // namespace hone::analyze
