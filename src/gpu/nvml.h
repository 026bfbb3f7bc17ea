// SPDX-License-Identifier: Apache-2.0
// Nvml: what the driver counts about each GPU, sampled from outside the program that uses it.
//
// Loads libnvidia-ml.so.1 at run time (environment HONE_NVML names another). Every function of it
// is optional: what this driver or device does not give is left out of the samples and named once
// in Missing(). Not thread-safe; one thread owns it. No CUDA context is made and no counter of
// CUPTI is taken, so the program is not disturbed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone::gpu {

// What does not change while a program runs. Empty or below 0: the driver does not say.
struct NvmlDevice {
  unsigned index = 0;  // NVML's order: by bus, all GPUs of the machine
  std::string name;    // "NVIDIA H200"
  std::string uuid;    // "GPU-…": as in CUDA_VISIBLE_DEVICES
  std::string bus_id;  // "00000000:18:00.0"
  std::int64_t memory_bytes = -1;
  int max_sm_clock_mhz = -1, max_memory_clock_mhz = -1;
  double power_limit_watts = -1;
  bool has_gpm = false;  // Hopper and newer: how busy its units are, not only whether
};

// Series (names are stable; rules of the doctor look for "throttle", "reasons", "clock"):
//   utilization_pct        a kernel ran, of the driver's last window (1/6 to 1 s)
//   memory_activity_pct    memory was read or written, of the same window
//   memory_used_bytes      by all programs, the driver's own part included
//   power_watts, energy_joules (since the driver loaded), temperature_c
//   sm_clock_mhz, memory_clock_mhz
//   throttle_reasons       NVML's bit mask: 1 idle, 2 asked for, 4 power cap, 8 slowdown, 32 and 64
//                          heat, 128 power brake
//   pcie_sent_bytes_per_second, pcie_received_bytes_per_second     where asked for, or from GPM
// GPM, as averages since the sample before (none in the first):
//   sm_active_pct, sm_occupancy_pct, tensor_active_pct, dram_active_pct, fp32_active_pct,
//   fp16_active_pct, fp64_active_pct, nvlink_sent_bytes_per_second,
//   nvlink_received_bytes_per_second
struct NvmlValue {
  unsigned device = 0;      // NvmlDevice::index
  const char* series = "";  // lives for ever
  double value = 0;
};

class Nvml {
 public:
  struct Options {
    bool gpm = true;    // 0.1 to 0.4 ms a device and sample (measured, H200)
    bool pcie = false;  // without GPM: blocks 20 ms a direction, device and sample (measured, H200)
  };

  // Finds and starts NVML. The error names what is missing: no library, no driver, no device.
  static Result<Nvml> Load(const Options& options);
  static Result<Nvml> Load() { return Load(Options()); }
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  const std::vector<NvmlDevice>& devices() const;
  std::string_view driver_version() const;  // "580.65.06"; empty: not said

  // Appends one value a series and device, all of now. Never fails: what cannot be read is left
  // out. About 0.1 ms a device without GPM and PCIe (utilization alone 0.01 ms, measured on an
  // H200).
  void Sample(std::vector<NvmlValue>& values);

  // One sentence for each series that never came, and why: "GPU 0: energy_joules: not supported".
  std::vector<std::string> Missing() const;

 private:
  struct State;
  explicit Nvml(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone::gpu
