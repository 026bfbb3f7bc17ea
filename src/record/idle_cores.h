// SPDX-License-Identifier: Apache-2.0
// IdleCores: how many cores had nothing to do lately, from the kernel's running total. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hone::record {

class IdleCores {
 public:
  // The kernel counts in hundredths of a second: a tenth of one tells little by itself.
  static constexpr double kMemorySeconds = 1;

  // All cores' idle seconds since the machine started, at `now_ns` of any steady clock.
  void Note(double idle_seconds, std::uint64_t now_ns) {
    if (taken_ns_ != 0 && now_ns > taken_ns_) {
      const double seconds = static_cast<double>(now_ns - taken_ns_) / 1e9;
      const double idle = std::max(0.0, idle_seconds - idle_seconds_) / seconds;
      cores_ += (idle - cores_) * std::min(1.0, seconds / kMemorySeconds);
    }
    taken_ns_ = now_ns;
    idle_seconds_ = idle_seconds;
  }

  // Mean of about the last second; 0 until two totals are known.
  double cores() const { return cores_; }

 private:
  double cores_ = 0, idle_seconds_ = 0;
  std::uint64_t taken_ns_ = 0;
};

}  // namespace hone::record
