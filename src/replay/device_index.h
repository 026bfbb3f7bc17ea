// SPDX-License-Identifier: Apache-2.0
// Which device work a call launched, and which work a waiting call waited for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/api_class.h"
#include "replay/shared_device.h"
#include "replay/stream_groups.h"
#include "trace/interval.h"
#include "trace/trace.h"

namespace hone::replay {

struct WaitTarget {
  trace::RowId work = trace::kNoRow;
  bool bound = false;  // the call was still waiting when the work ended
};

struct Repeated {
  trace::RowId work = trace::kNoRow;
  std::size_t laps = 0;
};

class DeviceIndex {
 public:
  // All must outlive it.
  DeviceIndex(const trace::Trace& trace, const analyze::ApiCalls& calls,
              const SharedDevice& shared);

  // When it ends in the replay, which is not when it did where streams share the device.
  Nanos ReplayedEnd(trace::RowId work) const { return shared_.EndOf(work); }

  // The last work that the call launched; kNoRow: none.
  trace::RowId WorkOf(trace::RowId call) const { return work_of_[call]; }

  // What a blocking call waits for: its own copy, the last work launched before it on its stream,
  // or on every stream. Where the file does not name the stream: of the last works of all streams
  // the one that ended last before the call returned, else the last work launched at all.
  std::vector<WaitTarget> WaitsOf(trace::RowId call) const;

  // For a launch that took long: the work whose end, while the call lasted, made room in the queue
  // of its stream; of another stream where none of its own ended and some is queued. kNoRow: none
  // ended inside the call, so it was not the device that held it back.
  trace::RowId HeldBackBy(trace::RowId call) const;
  // A launch that took long before the first work that the trace has of its device ran: of such
  // work alone it cannot be told what held it back, but that its own work came later.
  bool HeldBackUnseen(trace::RowId call) const;
  // Where the window is all there ever was, again and again: the piece of work inside it that
  // stands for one launched before it, and how many repetitions ago. kNoRow: nothing of its stream
  // is.
  Repeated InWindow(trace::RowId work, trace::Interval window) const;
  // Work of its stream that was launched and had not ended when the call began.
  std::size_t QueuedAt(trace::RowId call) const;

 private:
  struct Launch {
    Nanos launched_ns;
    trace::RowId work;
  };
  trace::RowId LastBefore(std::size_t stream, Nanos time) const;
  Nanos LaunchedAt(trace::RowId work) const;  // INT64_MIN: before the trace began

  const trace::Trace& trace_;
  const analyze::ApiCalls& calls_;
  const SharedDevice& shared_;
  const StreamGroups groups_;
  std::vector<trace::RowId> work_of_;           // by host row
  std::vector<std::vector<Launch>> by_stream_;  // all work of a stream, by launch time
  std::vector<std::uint32_t> place_;            // of each piece of work in by_stream_
  std::vector<std::vector<Launch>> ends_;       // by stream: (end, work), by end
  std::vector<Nanos> first_start_;              // by group of streams
  std::unordered_map<std::int64_t, std::uint16_t> sync_stream_;  // by correlation
};

}  // namespace hone::replay
