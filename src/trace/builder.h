// SPDX-License-Identifier: Apache-2.0
// Builder: how importers and tests fill a Trace. Keeps the columns of a table in step, gives out
// rows for threads, devices and streams, and stores each distinct detail once.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/trace.h"

namespace hone::trace {

struct SliceInput {
  Nanos start_ns = 0, duration_ns = 0;
  StringId name = StringId::kEmpty;
  SliceKind kind = SliceKind::kOp;
  std::uint16_t thread = 0;
  std::int64_t id = 0, link = 0;
  std::uint32_t detail = 0;
};

struct WorkInput {
  Nanos start_ns = 0, duration_ns = 0;
  StringId name = StringId::kEmpty;
  WorkKind kind = WorkKind::kKernel;
  std::uint16_t stream = 0;
  std::int64_t correlation = 0, external_id = 0;
  Bytes bytes = -1;
  CopyDirection direction = CopyDirection::kUnknown;
  MemoryKind source = MemoryKind::kUnknown, target = MemoryKind::kUnknown;
  std::uint32_t launch = 0, graph = 0, collective = 0;
};

struct SyncInput {
  Nanos start_ns = 0, duration_ns = 0;
  StringId name = StringId::kEmpty;
  std::uint16_t stream = UINT16_MAX;
  std::int64_t correlation = 0, wait_on_stream = -1, event_id = 0, event_record_correlation = 0;
};

struct MemoryInput {
  Nanos time_ns = 0;
  std::uint16_t thread = 0;
  MemoryDevice device_type = MemoryDevice::kGpu;
  std::int16_t device_id = 0;
  std::uint64_t address = 0;
  Bytes bytes = 0, total_allocated = -1, total_reserved = -1;
  std::uint32_t frame = 0;
};

struct SampleInput {
  Nanos time_ns = 0, period_ns = 0;
  std::uint16_t thread = 0;
  std::uint32_t frame = 0;
  ThreadState state = ThreadState::kUnknown;
};

class Builder {
 public:
  Builder() = default;

  Trace& trace() { return trace_; }
  StringId Intern(std::string_view text) { return trace_.strings.Intern(text); }

  // Each returns the row of that object, made on first sight. A text key ("Spans") stands for
  // objects that have no number. More than 65,534 threads or streams share the last row.
  std::uint16_t ThreadFor(std::int64_t pid, std::int64_t tid);
  std::uint16_t ThreadFor(std::string_view pid, std::string_view tid);
  RowId ProcessFor(std::int64_t pid);
  RowId DeviceFor(std::int64_t device_id);
  std::uint16_t StreamFor(std::int64_t device_id, std::int64_t stream_id, RowId process = kNoRow);

  // Whether a span can be used. Beyond the limits sums and differences could overflow 64 bits
  // somewhere behind: starts up to 2043 as time since 1970, all durations together 18 years. Counts
  // kBadTime when not; a duration below zero is counted and becomes zero.
  bool Admit(Nanos start_ns, Nanos& duration_ns, std::string_view what);
  static constexpr Nanos kLatest = Nanos{1} << 61;
  static constexpr Nanos kMostTogether = Nanos{1} << 59;

  void Add(const SliceInput& slice);
  void Add(const WorkInput& work);
  void Add(const SyncInput& sync);
  void Add(const MemoryInput& memory);
  void Add(const SampleInput& sample);
  // A new frame; `caller` is a row given out before, 0 for outermost ones.
  std::uint32_t AddFrame(std::uint32_t caller, StringId function, StringId place);
  void AddCounter(Nanos time_ns, StringId track, StringId series, double value);
  void AddInstant(Nanos time_ns, StringId name, std::uint16_t thread);
  void AddFlow(std::int64_t id, Nanos time_ns, std::uint16_t thread, bool finish);
  void AddEventRecord(Nanos time_ns, std::uint16_t stream, std::int64_t correlation,
                      std::int64_t event_id);
  void AddDeviceAnnotation(Nanos start_ns, Nanos duration_ns, StringId name, std::uint16_t stream);

  // Rows of the side tables; equal values share a row, an all-default value is row 0.
  std::uint32_t Detail(const OpDetail& detail);
  std::uint32_t Launch(const LaunchConfig& launch);
  std::uint32_t Node(const GraphNode& node);
  std::uint32_t CollectiveRow(const Collective& collective);

  // Sorts, nests and links (trace/finish.h). The builder is spent.
  Trace Finish() &&;

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return static_cast<std::size_t>(key.first) * 0x9E3779B97F4A7C15ULL ^
             static_cast<std::size_t>(key.second) * 0xC2B2AE3D27D4EB4FULL;
    }
  };
  template <typename T>
  std::uint32_t Distinct(std::vector<T>& rows,
                         std::unordered_multimap<std::uint64_t, std::uint32_t>& index,
                         const T& value);

  Trace trace_;
  Nanos admitted_ns_ = 0;
  std::unordered_map<std::int64_t, RowId> processes_, devices_;
  std::unordered_map<Key, std::uint16_t, KeyHash> threads_, streams_;
  Key last_thread_key_{INT64_MIN, INT64_MIN}, last_stream_key_{INT64_MIN, INT64_MIN};
  std::uint16_t last_thread_ = 0, last_stream_ = 0;
  std::unordered_multimap<std::uint64_t, std::uint32_t> details_, launches_, nodes_, collectives_;
};

}  // namespace hone::trace
