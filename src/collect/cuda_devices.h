// SPDX-License-Identifier: Apache-2.0
// What the GPUs of this process are: rows of kDevices, asked of the driver.
#pragma once

#include "collect/source.h"

namespace hone::collect {

// Writes all devices that the process sees; not while cuInit may be at work on another thread.
// False: the driver is not up yet; ask again. Keys are
// the members of trace::Device ("name", "memory_bytes", "compute_major", …) and "bus_id"
// ("00000000:18:00.0", which ties a device to NVML's counters) and "clock_khz", "memory_clock_khz",
// "memory_bus_bits", "l2_bytes". Only functions that need no context; a few microseconds.
bool WriteCudaDevices(Output& output) noexcept;

}  // namespace hone::collect
