// SPDX-License-Identifier: Apache-2.0
// ClockMap: from ticks of a file's clock to nanoseconds of CLOCK_MONOTONIC, which all processes of
// a machine share. Linear between the file's anchors, and on from the outermost two.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace hone::importer::hone_file {

class ClockMap {
 public:
  // An anchor of the file. Those that do not go forward are left out.
  void Add(std::int64_t ticks, std::int64_t monotonic_ns, std::int64_t realtime_ns);

  // Nanoseconds of a tick for files with one anchor only, which say nothing about it: the machine's
  // counter has one rate, so that of any other file of the run will do.
  void SetRate(double nanos_per_tick) { lone_rate_ = nanos_per_tick; }
  // 0 when there are fewer than two anchors.
  double Rate() const;
  bool has_anchor() const { return !anchors_.empty(); }

  // O(1) when asked in about the order of time. Clamped to what Builder::Admit refuses.
  Nanos ToNanos(std::int64_t ticks) const;
  // Of the last anchor; 0 without.
  Nanos last_ns() const { return anchors_.empty() ? 0 : anchors_.back().monotonic_ns; }
  Nanos first_ns() const { return anchors_.empty() ? 0 : anchors_.front().monotonic_ns; }
  // Wall time minus monotonic time, at the first anchor.
  Nanos epoch_offset_ns() const { return epoch_offset_ns_; }

 private:
  struct Anchor {
    std::int64_t ticks, monotonic_ns;
    double nanos_per_tick = 1;  // until the next
  };
  std::vector<Anchor> anchors_;
  double lone_rate_ = 1;
  Nanos epoch_offset_ns_ = 0;
  mutable std::size_t last_ = 0;
};

}  // namespace hone::importer::hone_file
