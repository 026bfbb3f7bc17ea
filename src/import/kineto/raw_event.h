// SPDX-License-Identifier: Apache-2.0
// RawEvent: one element of "traceEvents" with the fields that anything reads, as they stand in the
// file. Views point into the window being parsed.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"

namespace hone::importer::kineto {

// A number, a text, or nothing. Ids appear as both in the wild.
struct IdValue {
  std::int64_t number = 0;
  std::string_view text;  // set when the value is not a number
  enum class Form : std::uint8_t { kAbsent, kNumber, kText } form = Form::kAbsent;
  bool present() const { return form != Form::kAbsent; }
  bool is_number() const { return form == Form::kNumber; }
};

// What nearly every event has.
struct EventFields {
  char phase = 0;
  bool has_time = false, has_duration = false;
  std::string_view name, category;  // JSON text between the quotes, escapes not undone
  IdValue pid, tid, id;
  Nanos time_ns = 0, duration_ns = 0;
  std::int64_t external_id = 0, correlation = 0;
  std::int64_t sequence = -1, fwd_thread = -1;
  std::int64_t python_id = 0, python_parent = 0;
};

// What some kinds of events have in their args.
struct ArgFields {
  std::int64_t device = INT64_MIN, stream = INT64_MIN;
  std::int64_t bytes = INT64_MIN;
  std::string_view dims, types, strides, concrete, stack, module;  // JSON text of the value
  // Kernels
  std::string_view grid, block;
  std::int64_t registers = -1, shared_memory = -1;
  double blocks_per_sm = -1, warps_per_sm = -1, occupancy = -1;
  std::int64_t graph_id = 0, graph_node_id = 0, original_node_id = 0;
  // Allocator
  std::int64_t total_allocated = -1, total_reserved = -1, device_type = -1, device_id = -1;
  std::uint64_t address = 0;
  // Synchronization
  std::int64_t wait_on_stream = -1, event_id = 0, event_record_correlation = 0;
  // Collectives
  bool has_collective = false;
  std::string_view collective_name, dtype, in_split, out_split, group_name, group_description,
      group_ranks;
  std::int64_t in_elements = -1, out_elements = -1, group_size = -1;
  std::int64_t collective_sequence = -1, source_rank = -1, target_rank = -1;
};

// One object serves all events of a window: clearing 600 bytes for each was a tenth of the walk.
struct RawEvent : EventFields, ArgFields {
  bool args_set = false;  // something in ArgFields was written
  // Scalar arguments by key, as tokens; filled for counters ("C") and name records ("M") only.
  std::vector<std::pair<std::string_view, std::string_view>> scalars;

  void Reset() {
    static_cast<EventFields&>(*this) = {};
    if (args_set) static_cast<ArgFields&>(*this) = {};
    args_set = false;
    scalars.clear();
  }
};

}  // namespace hone::importer::kineto
