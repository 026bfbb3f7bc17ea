// SPDX-License-Identifier: Apache-2.0
// CounterFile: machine.hone, on its way to disk: counters with the names of their tracks and
// series, facts, losses. A second's worth is lost at most when the launcher is killed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "wire/chunk_builder.h"
#include "wire/file_writer.h"

namespace hone::record {

// Nanoseconds of CLOCK_MONOTONIC, which are the ticks of this file.
std::uint64_t MonotonicNanos();

class CounterFile {
 public:
  static Result<CounterFile> Create(const std::string& path);

  // The id of a track's or a series' name.
  std::uint32_t Name(std::string_view text);
  // All counters that follow are of this moment.
  void SetTime(std::uint64_t monotonic_ns) { time_ns_ = monotonic_ns; }
  void Put(std::uint32_t track, std::uint32_t series, double value) {
    counters_.Row(time_ns_, track, series, value);
  }
  void Info(std::string_view key, std::string_view value) { info_.Row(key, value); }
  void Device(std::uint32_t device, std::string_view key, std::string_view value) {
    devices_.Row(device, key, value);
  }
  void Loss(std::string_view what, std::uint64_t count, std::string_view detail) {
    losses_.Row(what, count, detail);
  }
  // Writes what is there, with an anchor of the clock. Nothing more is written once a write failed.
  void Flush();
  // The last word: the file is complete.
  void End();

  bool failed() const { return writer_.status() != wire::WriteStatus::kOk; }
  int error_number() const { return writer_.error_number(); }

 private:
  explicit CounterFile(wire::FileWriter writer);

  wire::FileWriter writer_;
  std::uint64_t time_ns_ = 0;
  std::unordered_map<std::string, std::uint32_t> names_;
  wire::ChunkBuilder strings_{wire::Table::kStrings}, counters_{wire::Table::kCounters},
      info_{wire::Table::kInfo}, clock_{wire::Table::kClock}, devices_{wire::Table::kDevices},
      losses_{wire::Table::kLosses}, marks_{wire::Table::kMarks};
};

}  // namespace hone::record
