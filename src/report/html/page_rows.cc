// SPDX-License-Identifier: Apache-2.0
#include "report/html/page_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "report/html/row_window.h"

namespace hone::report {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::Trace;

constexpr std::uint32_t kMostLevels = 255;  // of a lane; what is deeper is drawn on the last

// Levels of one lane that are taken at the moment, so that rows which overlap without being nested
// do not hide each other.
class Levels {
 public:
  // The first free level from `least` on.
  std::uint32_t Place(std::uint32_t least, Nanos start_ns, Nanos end_ns) {
    least = std::min(least, kMostLevels - 1);
    std::uint32_t level = least;
    while (level < end_.size() && end_[level] > start_ns) ++level;
    level = std::min(level, kMostLevels - 1);
    if (level >= end_.size()) end_.resize(level + 1, INT64_MIN);
    end_[level] = std::max(end_ns, end_[level]);
    return level;
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(end_.size()); }

 private:
  std::vector<Nanos> end_;  // by level
};

class Arranger {
 public:
  Arranger(const Input& input, std::size_t most)
      : trace_(input.trace), facts_(input.facts), window_(ChooseWindow(input, most)) {
    rows_.of_host.assign(trace_.host.size(), kNoPageRow);
    rows_.of_device.assign(trace_.device.size(), kNoPageRow);
    rows_.left_out = window_.left_out;
    rows_.why_left_out = window_.why;
  }

  PageRows Run() {
    for (const std::size_t thread : ThreadsInOrder()) AddThread(thread);
    rows_.host_count = static_cast<std::uint32_t>(rows_.size());
    AddStreams();
    rows_.shown = Shown();
    return std::move(rows_);
  }

 private:
  std::vector<std::size_t> ThreadsInOrder() const {
    std::vector<std::int64_t> launched(trace_.threads.size(), 0);
    for (const RowId api : trace_.device.api) {
      if (api != kNoRow) ++launched[trace_.host.thread[api]];
    }
    std::vector<std::size_t> order(trace_.threads.size());
    std::iota(order.begin(), order.end(), 0);
    // A process's own thread before those that it started.
    const auto key = [&](std::size_t index) {
      const trace::Thread& thread = trace_.threads[index];
      const bool main = thread.process < trace_.processes.size() && thread.tid >= 0 &&
                        trace_.processes[thread.process].pid == thread.tid;
      return std::tuple(launched[index] == 0, !main, -launched[index]);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return order;
  }

  std::string ProcessName(RowId process) const {
    if (process >= trace_.processes.size()) return "";
    const trace::Process& one = trace_.processes[process];
    if (one.pid < 0) return one.name;
    return one.name.empty() ? fmt::format("process {}", one.pid)
                            : fmt::format("{} {}", one.name, one.pid);
  }

  void AddThread(std::size_t index) {
    const trace::Thread& thread = trace_.threads[index];
    PageLane lane;
    lane.first = static_cast<std::uint32_t>(rows_.size());
    Levels levels;
    for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
      if (!IsShownKind(trace_.host.kind[i])) continue;
      if (!window_.Shows(trace_.host.start_ns[i], trace_.host.end_ns(i))) continue;
      // A parent stands before its children; one that is not shown leaves them at the top.
      const RowId parent = trace_.host.parent[i];
      const std::uint32_t above = parent == kNoRow ? kNoPageRow : rows_.of_host[parent];
      const std::uint32_t least = above == kNoPageRow ? 0 : rows_.depth[above] + 1U;
      rows_.of_host[i] = static_cast<std::uint32_t>(rows_.size());
      Append(i, levels.Place(least, trace_.host.start_ns[i], trace_.host.end_ns(i)));
    }
    lane.tid = thread.tid;
    lane.name = !thread.name.empty() ? thread.name
                : thread.tid >= 0    ? fmt::format("thread {}", thread.tid)
                                     : "thread";
    lane.process = ProcessName(thread.process);
    AddLane(std::move(lane), levels);
  }

  void AddStreams() {
    // A counting sort by stream keeps the order by start.
    std::vector<std::vector<RowId>> by_stream(trace_.streams.size());
    for (RowId i = 0; i < trace_.device.size(); ++i) {
      if (!window_.Shows(trace_.device.start_ns[i], trace_.device.end_ns(i))) continue;
      by_stream[trace_.device.stream[i]].push_back(i);
    }
    std::vector<std::size_t> order(trace_.streams.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const trace::Stream &one = trace_.streams[a], &other = trace_.streams[b];
      return one.device != other.device ? one.device < other.device : one.id < other.id;
    });
    for (const std::size_t stream : order) AddStream(trace_.streams[stream], by_stream[stream]);
  }

  void AddStream(const trace::Stream& stream, const std::vector<RowId>& work) {
    PageLane lane;
    lane.stream = true;
    lane.first = static_cast<std::uint32_t>(rows_.size());
    if (stream.device < trace_.devices.size()) lane.device = trace_.devices[stream.device].id;
    lane.name = fmt::format("stream {}", stream.id);
    lane.process = ProcessName(stream.process);
    Levels levels;
    for (const RowId i : work) {
      rows_.of_device[i] = static_cast<std::uint32_t>(rows_.size());
      Append(i, levels.Place(0, trace_.device.start_ns[i], trace_.device.end_ns(i)));
    }
    AddLane(std::move(lane), levels);
  }

  void Append(RowId row, std::uint32_t level) {
    rows_.source.push_back(row);
    rows_.depth.push_back(static_cast<std::uint8_t>(level));
  }

  void AddLane(PageLane lane, const Levels& levels) {
    lane.last = static_cast<std::uint32_t>(rows_.size());
    lane.levels = levels.count();
    if (lane.last > lane.first) rows_.lanes.push_back(std::move(lane));
  }

  trace::Interval Shown() const {
    trace::Interval shown{INT64_MAX, INT64_MIN};
    const auto include = [&](Nanos begin, Nanos end) {
      shown.begin_ns = std::min(shown.begin_ns, begin);
      shown.end_ns = std::max(shown.end_ns, end);
    };
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
      const trace::Interval span = rows_.SpanOf(trace_, row);
      include(span.begin_ns, span.end_ns);
    }
    if (shown.begin_ns > shown.end_ns) {
      for (const analyze::Step& step : facts_.steps.steps) {
        include(step.span.begin_ns, step.span.end_ns);
      }
    }
    return shown.begin_ns > shown.end_ns ? trace::Interval{} : shown;
  }

  const Trace& trace_;
  const analyze::Facts& facts_;
  const RowWindow window_;
  PageRows rows_;
};

}  // namespace

PageRows ArrangeRows(const Input& input, std::size_t most) { return Arranger(input, most).Run(); }

}  // namespace hone::report
