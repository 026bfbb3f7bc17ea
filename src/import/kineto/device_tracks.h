// SPDX-License-Identifier: Apache-2.0
// DeviceTracks: which device a record of the GPU belongs to. Files of several ranks put together
// by other tools number every rank's device as its program did, and keep the ranks apart by the
// process id of the GPU's track: "[TP00] 0" and "[TP01] 0", or 0 and 800000. A device is therefore
// named by both; with one track a number, which is what a profiler writes, by its number.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/kineto/raw_event.h"
#include "trace/builder.h"

namespace hone::importer::kineto {

class DeviceTracks {
 public:
  explicit DeviceTracks(trace::Builder& builder) : builder_(builder) {}

  // The row of a stream. `pid` is that of the record; cheap while it is the one before.
  std::uint16_t StreamFor(const IdValue& pid, std::int64_t device, std::int64_t stream);

  // After the last event: gives devices that share a number numbers of their own, joins streams
  // with the host process of their rank where process ids name ranks, and counts merged ranks.
  void Settle();

 private:
  struct Track {
    std::string rank;         // "[TP00]"; empty: the process id names none
    std::int64_t number = 0;  // the device as the file numbers it
    std::int64_t key = 0;     // as the builder knows it
    bool shared = false;      // another track has the number as well, and had it first
  };
  const Track& TrackFor(const IdValue& pid, std::int64_t device);
  void Number();
  void JoinRanks();
  void MoveMemory(const std::map<std::string, trace::RowId>& processes);
  void CountRanks();

  trace::Builder& builder_;
  std::vector<Track> tracks_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> by_id_;  // (process id, device)
  std::unordered_map<std::int64_t, std::size_t> first_;                 // by device number
  std::size_t last_ = SIZE_MAX;
  IdValue::Form last_form_ = IdValue::Form::kAbsent;
  std::int64_t last_pid_ = 0;
  std::string last_text_;
};

// What a process id says of its rank in front of the number: "[TP00]" of "[TP00] 4242", nothing of
// "4242" and "Spans".
std::string RankOf(std::string_view process_id);

}  // namespace hone::importer::kineto
