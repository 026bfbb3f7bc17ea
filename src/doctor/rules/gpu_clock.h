// SPDX-License-Identifier: Apache-2.0
// What counters of a GPU say about its clock in the steady steps.
#pragma once

#include <cstdint>
#include <string>

#include "doctor/rule.h"

namespace hone::doctor {

struct GpuClock {
  bool known = false;         // there are counters to ask
  bool held = false;          // something holds the clock down against everybody's will
  double share = 0;           // of the samples that say so
  std::string series;         // that says so: "GPU 0 throttle_reasons"
  std::uint64_t reasons = 0;  // NVML's bits, in a tenth of the samples or more; 0: none or unknown
  // Means while the device is busy; 0: not in this trace. The highest is the device's own where it
  // was recorded, else the highest seen.
  double mhz = 0, highest_mhz = 0;

  // Only the power limit: a large device under full load runs at it, by design.
  bool only_power() const;
  // Of the clock, 0 … 1; 0 where it is not known. Kernels get no faster than that without the hold.
  double lost() const;
  std::string WhatHolds() const;  // "the power limit and heat"; empty: unknown
};

// O(counters). The device timeline must be there.
GpuClock AskGpuClock(const Case& the_case);

}  // namespace hone::doctor
