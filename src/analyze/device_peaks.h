// SPDX-License-Identifier: Apache-2.0
// Peaks of known devices, by the name the driver gives. Sources stand beside the table.
#pragma once

#include <string>
#include <string_view>

#include "analyze/kernel_family.h"
#include "base/known.h"

namespace hone::analyze {

// Dense (no sparsity), in TFLOP/s; 0: the device has no such unit. Where a device multiplies a
// format both on matrix units and on plain cores, the matrix units' figure; fp32 is plain cores on
// NVIDIA, whose matrix units take fp32 as tf32.
struct DevicePeaks {
  std::string name;
  bool measured = false;  // reached on hardware by us; else the vendor's data sheet
  double fp64 = 0, fp32 = 0, tf32 = 0, fp16 = 0, bf16 = 0, fp8 = 0, fp4 = 0, int8 = 0;
  double memory_gbytes_per_s = 0;
  double host_link_gbytes_per_s = 0;  // one direction; 0: none, the memory is the host's

  double Tflops(Precision precision) const;  // 0: none known
};

// Matches by the words of the name: "NVIDIA H200", "NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-32GB".
// Slices of a device (MIG) and relatives that are not listed (Laptop, D) are absent, not guessed.
Known<DevicePeaks> FindDevicePeaks(std::string_view device_name);

}  // namespace hone::analyze
