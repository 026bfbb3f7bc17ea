// SPDX-License-Identifier: Apache-2.0
// Session: one export on its way into a Trace. The tables are read by the free functions below,
// each in one pass, in the order LoadNsys calls them; what they share lives here.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/nsys/database.h"
#include "import/nsys/string_table.h"
#include "import/nsys/vocabulary.h"
#include "trace/builder.h"

namespace hone::importer::nsys {

// Serialized ids: 24 bits of thread, 24 bits of process, above them machine and VM.
constexpr std::int64_t PidOf(std::int64_t global_id) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(global_id) >> 24) & 0xFFFFFF);
}
constexpr std::int64_t TidOf(std::int64_t global_id) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(global_id) & 0xFFFFFF);
}

struct Span {
  Nanos start_ns = 0, duration_ns = 0;
};

class Session {
 public:
  explicit Session(Database& opened) : database(opened) {}

  Database& database;
  trace::Builder builder;
  StringTable strings;
  Vocabulary words;
  std::vector<std::string> missing;  // tables and columns that answers need and the file lacks

  // Correlation ids are unique per process only. False when one side does not name its process:
  // then ids are joined across the whole file.
  bool joins_by_process = true;

  // False (and counted) when the row has no usable time. Sums of durations of a whole trace stay
  // far from the limits of Nanos, whatever the file says.
  bool ReadSpan(const Row& row, int start_column, int end_column, Span& span);
  bool ReadTime(const Row& row, int column, Nanos& time);

  // Thread of a serialized id; an absent id is the one unnamed thread.
  std::uint16_t ThreadOf(const Row& row, int global_tid_column, int global_pid_column = -1);

  trace::RowId ProcessOf(const Row& row, int global_pid_column);

  // CUDA numbers devices per process (CUDA_VISIBLE_DEVICES). Where the file says which GPU a number
  // stands for, the GPU's own number is used, so that two ranks do not share "device 0".
  std::int64_t GpuOf(std::int64_t pid, std::int64_t cuda_device) const;
  void MapGpu(std::int64_t pid, std::int64_t cuda_device, std::int64_t gpu);
  bool HasGpuMap() const { return !gpus_.empty(); }

  // Columns of the place of device work, as every table of it lists them first.
  struct PlaceColumns {
    int global_pid, device, context, stream;
  };
  std::uint16_t StreamOf(const Row& row, const PlaceColumns& columns);
  void MapContext(trace::RowId process, std::int64_t context, std::int64_t gpu);
  // The GPU of a context as device work showed it. Synchronization rows may name device 0 for all.
  std::int64_t GpuOfContext(trace::RowId process, std::int64_t context,
                            std::int64_t fallback) const;

 private:
  static std::uint64_t Key(std::int64_t a, std::int64_t b) {
    return (static_cast<std::uint64_t>(a) << 32) ^ static_cast<std::uint32_t>(b);
  }
  struct Place {
    std::int64_t global_pid = 0, device = 0, context = 0, stream = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };

  std::unordered_map<std::uint64_t, std::int64_t> gpus_;      // by pid and CUDA device
  std::unordered_map<std::uint64_t, std::int64_t> contexts_;  // by process row and context
  Place last_place_;
  bool has_last_place_ = false;
  std::uint16_t last_stream_ = 0;
};

// What exports called TARGET_INFO_GPU until the middle of 2021.
inline constexpr const char* kOldGpuTable = "TARGET_INFO_CUDA_GPU";

// metadata.cc: before the events, then names for the threads and processes the events made.
void ReadMetadata(Session& session);
void NameThreads(Session& session);
// host_calls.cc
void ReadHostCalls(Session& session);
// nvtx.cc
void ReadNvtx(Session& session);
// device_work.cc
void ReadDeviceWork(Session& session);
// syncs.cc: after ReadDeviceWork, which learns the contexts
void ReadSyncs(Session& session);

}  // namespace hone::importer::nsys
