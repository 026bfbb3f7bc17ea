// SPDX-License-Identifier: Apache-2.0
// StreamGroups: the streams of one process on one device, which share its queues and its time.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace hone::replay {

class StreamGroups {
 public:
  explicit StreamGroups(const trace::Trace& trace) : of_(trace.streams.size()) {
    std::map<std::pair<trace::RowId, trace::RowId>, std::uint16_t> seen;
    for (std::size_t s = 0; s < trace.streams.size(); ++s) {
      const auto [at, added] = seen.try_emplace({trace.streams[s].device, trace.streams[s].process},
                                                static_cast<std::uint16_t>(streams_.size()));
      if (added) streams_.emplace_back();
      of_[s] = at->second;
      streams_[at->second].push_back(static_cast<std::uint16_t>(s));
    }
  }

  std::size_t size() const { return streams_.size(); }
  std::uint16_t Of(std::size_t stream) const { return of_[stream]; }
  const std::vector<std::uint16_t>& Streams(std::size_t group) const { return streams_[group]; }

 private:
  std::vector<std::uint16_t> of_;                    // by stream
  std::vector<std::vector<std::uint16_t>> streams_;  // by group
};

}  // namespace hone::replay
