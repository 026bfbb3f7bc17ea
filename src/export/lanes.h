// SPDX-License-Identifier: Apache-2.0
// Lanes: spreads spans that overlap without nesting over lanes in which all spans nest. Viewers
// draw a track as a stack; work that overlaps on one stream would be drawn wrongly or dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace hone::exporter {

class Lanes {
 public:
  // More than that only broken clocks give; a bound keeps the cost linear.
  static constexpr std::size_t kMost = 16;

  struct Place {
    std::size_t lane = 0;
    Nanos end_ns = 0;  // earlier than asked for when no lane could hold the span: cut to fit
  };

  // Spans come in order of start, the longest first of those that start together. Calls
  // `on_end(lane, end_ns)` for each span that is over by `start_ns`, innermost first.
  template <typename OnEnd>
  Place Add(Nanos start_ns, Nanos end_ns, OnEnd on_end) {
    if (open_.empty()) open_.emplace_back();
    for (std::size_t lane = 0;; ++lane) {
      if (lane == open_.size()) open_.emplace_back();
      std::vector<Nanos>& ends = open_[lane];
      while (!ends.empty() && ends.back() <= start_ns) {
        on_end(lane, ends.back());
        ends.pop_back();
      }
      if (!ends.empty() && ends.back() < end_ns) {
        if (lane + 1 < kMost) continue;
        end_ns = ends.back();
        ++cut_;
      }
      ends.push_back(end_ns);
      if (lane > 0) ++moved_;
      return {lane, end_ns};
    }
  }

  // Ends what is still open.
  template <typename OnEnd>
  void Finish(OnEnd on_end) {
    for (std::size_t lane = 0; lane < open_.size(); ++lane) {
      for (; !open_[lane].empty(); open_[lane].pop_back()) on_end(lane, open_[lane].back());
    }
  }

  std::size_t used() const { return open_.size(); }
  std::uint64_t moved() const { return moved_; }  // spans not on the first lane
  std::uint64_t cut() const { return cut_; }

 private:
  std::vector<std::vector<Nanos>> open_;  // by lane: ends of open spans, the innermost last
  std::uint64_t moved_ = 0, cut_ = 0;
};

}  // namespace hone::exporter
