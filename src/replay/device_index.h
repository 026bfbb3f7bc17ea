// SPDX-License-Identifier: Apache-2.0
// Which device work a call launched, and which work a waiting call waited for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/api_class.h"
#include "trace/trace.h"

namespace hone::replay {

struct WaitTarget {
  trace::RowId work = trace::kNoRow;
  bool bound = false;  // the call was still waiting when the work ended
};

class DeviceIndex {
 public:
  DeviceIndex(const trace::Trace& trace, const analyze::ApiCalls& calls);

  // The last work that the call launched; kNoRow: none.
  trace::RowId WorkOf(trace::RowId call) const { return work_of_[call]; }

  // What a blocking call waits for: its own copy, the last work launched before it on its stream,
  // or on every stream. Where the file does not name the stream: of the last works of all streams
  // the one that ended last before the call returned, else the last work launched at all.
  std::vector<WaitTarget> WaitsOf(trace::RowId call) const;

  // For a launch that took long: the work whose end, while the call lasted, made room in the queue
  // of its stream. kNoRow: none ended inside the call, so it was not the device that held it back.
  trace::RowId HeldBackBy(trace::RowId call) const;
  // Work of its stream that was launched and had not ended when the call began.
  std::size_t QueuedAt(trace::RowId call) const;

 private:
  struct Launch {
    Nanos launched_ns;
    trace::RowId work;
  };
  trace::RowId LastBefore(std::size_t stream, Nanos time) const;

  const trace::Trace& trace_;
  const analyze::ApiCalls& calls_;
  std::vector<trace::RowId> work_of_;                            // by host row
  std::vector<std::vector<Launch>> by_stream_;                   // by launch time
  std::vector<std::vector<Launch>> ends_;                        // by stream: (end, work), by end
  std::unordered_map<std::int64_t, std::uint16_t> sync_stream_;  // by correlation
};

}  // namespace hone::replay
