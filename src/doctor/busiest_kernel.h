// SPDX-License-Identifier: Apache-2.0
// The kernel that takes most of the device's time, where no finding would change it: no rule is
// about it, and whoever reads the answer should know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/rule.h"

namespace hone::doctor {

struct BusiestKernel {
  std::string name;    // as recorded
  std::string op;      // that launched it; "": not known
  std::string source;  // train.py:46, of the forward operator where it is a backward one's
  double share = 0;    // of the time of all kernels and copies, 0 to 1
};

// nullopt: no kernel has much, it multiplies matrices (which is what a device is for), the device
// is not what takes the step's time, or a finding's fix shortens it. Linear in the tasks.
std::optional<BusiestKernel> FindBusiestKernel(const Case& the_case,
                                               const std::vector<Finding>& findings);

}  // namespace hone::doctor
