// SPDX-License-Identifier: Apache-2.0
// The tracks of one rank: processes, threads, devices and streams as Perfetto shows them. Internal
// to export/perfetto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/exported.h"
#include "export/perfetto_stream.h"
#include "export/process_ids.h"

namespace hone::exporter {

// Tracks are described when they are first asked for, so that what holds nothing is not shown.
class PerfettoTracks {
 public:
  PerfettoTracks(const Exported& rank, ProcessIds& ids, PerfettoStream& stream);

  struct Thread {
    std::int64_t pid = 0, tid = 0;  // as Perfetto is told: both fit 31 bits
  };

  std::uint64_t ForThread(std::uint16_t thread);
  Thread IdsOf(std::uint16_t thread);
  std::uint64_t ForProcess(trace::RowId process);
  std::uint64_t ForDevice(trace::RowId device);
  std::uint64_t ForStream(std::uint16_t stream);
  // The process that has most to say: holds what belongs to the rank as a whole.
  std::uint64_t ForLead() { return ForProcess(lead_); }

  // A further track beside or below another. `order` sorts it among its siblings.
  std::uint64_t Below(std::uint64_t parent, const std::string& name, int order);
  std::uint64_t Counter(std::uint64_t parent, const std::string& name, proto::CounterUnit unit);

 private:
  std::uint64_t NextUuid() { return ++last_uuid_; }
  std::int64_t SmallPid(std::int64_t pid, std::int64_t otherwise);
  void DescribeProcess(std::uint64_t uuid, std::int64_t pid, const std::string& name, int order,
                       bool ordered_children);

  const Exported& rank_;
  const trace::Trace& trace_;
  ProcessIds& ids_;
  PerfettoStream& stream_;
  std::uint64_t last_uuid_;
  std::string prefix_;  // "rank 3: " where ranks share the file
  trace::RowId lead_ = 0;
  std::vector<std::uint64_t> threads_, processes_, devices_, streams_;  // by row; 0: not described
  std::unordered_map<std::uint16_t, std::int64_t> small_tids_;
};

}  // namespace hone::exporter
