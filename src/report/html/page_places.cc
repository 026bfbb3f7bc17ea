// SPDX-License-Identifier: Apache-2.0
#include "report/html/page_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "report/words/kernel_name.h"

namespace hone::report {
namespace {

using analyze::IdleCause;
using trace::RowId;

// The idle cause that a finding is about, where there is one.
struct CauseOf {
  std::string_view finding;
  IdleCause cause;
};
constexpr std::array kCauses = {
    CauseOf{"input-bound", IdleCause::kLoader},
    CauseOf{"worker-restart", IdleCause::kLoader},
    CauseOf{"host-sync", IdleCause::kSync},
    CauseOf{"blocking-copy", IdleCause::kCopy},
    CauseOf{"pageable-copy", IdleCause::kCopy},
    CauseOf{"exposed-comm", IdleCause::kCommunication},
    CauseOf{"comm-unoverlapped", IdleCause::kCommunication},
    CauseOf{"straggler", IdleCause::kCommunication},
    CauseOf{"allocator-churn", IdleCause::kAllocator},
    CauseOf{"launch-bound", IdleCause::kLaunch},
    CauseOf{"python-hotspot", IdleCause::kHostWork},
};

class PlaceFinder {
 public:
  PlaceFinder(const Input& input, const PageRows& rows) : input_(input), rows_(rows) {
    for (std::size_t i = 0; i < rows.lanes.size(); ++i) {
      if (!rows.lanes[i].stream) {
        lane_of_thread_.try_emplace(fmt::format("thread {}", rows.lanes[i].tid), i);
      }
    }
    lane_of_row_.resize(rows.size());
    for (std::uint32_t i = 0; i < rows.lanes.size(); ++i) {
      for (std::uint32_t row = rows.lanes[i].first; row < rows.lanes[i].last; ++row) {
        lane_of_row_[row] = i;
      }
    }
  }

  std::vector<PagePlace> Of(const doctor::Finding& finding) const {
    std::vector<PagePlace> places = Named(finding);
    if (places.empty()) places = LongestRows(finding);
    if (places.empty()) places = LongestGaps(finding);
    return places;
  }

  // Places that name no thread but are exactly one row: the lane of that row.
  void FindLanes(std::vector<std::vector<PagePlace>>& places) const {
    std::unordered_multimap<Nanos, PagePlace*> unknown;
    for (std::vector<PagePlace>& some : places) {
      for (PagePlace& place : some) {
        if (place.lane < 0) unknown.emplace(place.span.begin_ns, &place);
      }
    }
    if (unknown.empty()) return;
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
      const trace::Interval span = rows_.SpanOf(input_.trace, row);
      const auto [first, last] = unknown.equal_range(span.begin_ns);
      for (auto at = first; at != last; ++at) {
        if (at->second->span == span) at->second->lane = lane_of_row_[row];
      }
    }
  }

 private:
  bool IsShown(trace::Interval span) const {
    return span.begin_ns < rows_.shown.end_ns && span.end_ns > rows_.shown.begin_ns;
  }

  static std::string TextOf(const doctor::Place& place) {
    for (const std::string& text : {place.source, place.op, ShortKernelName(place.kernel)}) {
      if (!text.empty()) return text;
    }
    return place.step;
  }

  std::vector<PagePlace> Named(const doctor::Finding& finding) const {
    std::vector<PagePlace> places;
    for (const doctor::Place& place : finding.where) {
      if (place.start_ns < 0) continue;
      const trace::Interval span{place.start_ns,
                                 place.start_ns + std::max<Nanos>(place.duration_ns, 0)};
      if (!IsShown(span) && !IsShown({span.begin_ns, span.begin_ns + 1})) continue;
      const auto lane = lane_of_thread_.find(place.thread);
      places.push_back(
          {span, TextOf(place),
           lane == lane_of_thread_.end() ? -1 : static_cast<std::int64_t>(lane->second)});
      if (places.size() == kMostPlaces) break;
    }
    return places;
  }

  // Keeps the longest few, in the order of time in the end.
  struct Longest {
    std::vector<std::pair<Nanos, std::uint32_t>> rows;  // a heap, the shortest on top
    void Add(Nanos duration_ns, std::uint32_t row) {
      rows.emplace_back(duration_ns, row);
      std::push_heap(rows.begin(), rows.end(), std::greater<>());
      if (rows.size() <= kMostPlaces) return;
      std::pop_heap(rows.begin(), rows.end(), std::greater<>());
      rows.pop_back();
    }
    void ByTime() {
      std::sort(rows.begin(), rows.end(),
                [](const auto& a, const auto& b) { return a.second < b.second; });
    }
  };

  std::vector<PagePlace> LongestRows(const doctor::Finding& finding) const {
    const trace::Trace& trace = input_.trace;
    std::vector<StringId> kernels, ops;
    for (const doctor::Place& place : finding.where) {
      if (!place.kernel.empty()) kernels.push_back(trace.strings.Find(place.kernel));
      if (!place.op.empty()) ops.push_back(trace.strings.Find(place.op));
    }
    std::erase(kernels, StringId::kEmpty);
    std::erase(ops, StringId::kEmpty);
    if (kernels.empty() && ops.empty()) return {};
    const bool by_kernel = !kernels.empty();
    const std::vector<StringId>& names = by_kernel ? kernels : ops;
    const std::uint32_t first = by_kernel ? rows_.host_count : 0;
    const std::uint32_t last =
        by_kernel ? static_cast<std::uint32_t>(rows_.size()) : rows_.host_count;
    Longest longest;
    for (std::uint32_t row = first; row < last; ++row) {
      const RowId i = rows_.source[row];
      const StringId name = by_kernel ? trace.device.name[i] : trace.host.name[i];
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;
      longest.Add(by_kernel ? trace.device.duration_ns[i] : trace.host.duration_ns[i], row);
    }
    longest.ByTime();
    std::vector<PagePlace> places;
    for (const auto& [ignored, row] : longest.rows) {
      const RowId i = rows_.source[row];
      const std::string_view name = by_kernel ? trace.DeviceName(i) : trace.HostName(i);
      places.push_back({rows_.SpanOf(trace, row),
                        by_kernel ? ShortKernelName(name) : std::string(name),
                        static_cast<std::int64_t>(lane_of_row_[row])});
    }
    return places;
  }

  std::vector<PagePlace> LongestGaps(const doctor::Finding& finding) const {
    const auto about = std::find_if(kCauses.begin(), kCauses.end(),
                                    [&](const CauseOf& one) { return one.finding == finding.id; });
    if (about == kCauses.end() || !input_.facts.idle) return {};
    const std::vector<analyze::IdleGap>& gaps = input_.facts.idle->gaps;
    Longest longest;
    for (std::uint32_t i = 0; i < gaps.size(); ++i) {
      if (gaps[i].cause == about->cause && IsShown(gaps[i].span)) {
        longest.Add(gaps[i].span.length(), i);
      }
    }
    longest.ByTime();
    std::vector<PagePlace> places;
    for (const auto& [length, gap] : longest.rows) {
      places.push_back({gaps[gap].span,
                        fmt::format("the device is idle for {}: {}", HumanDuration(length),
                                    analyze::IdleCauseText(about->cause)),
                        -1});
    }
    return places;
  }

  const Input& input_;
  const PageRows& rows_;
  std::unordered_map<std::string, std::size_t> lane_of_thread_;
  std::vector<std::uint32_t> lane_of_row_;
};

}  // namespace

std::vector<std::vector<PagePlace>> FindPlaces(const Input& input,
                                               const std::vector<doctor::Finding>& findings,
                                               const PageRows& rows) {
  const PlaceFinder finder(input, rows);
  std::vector<std::vector<PagePlace>> places;
  for (const doctor::Finding& finding : findings) places.push_back(finder.Of(finding));
  finder.FindLanes(places);
  return places;
}

void WritePagePlaces(JsonWriter& json, const std::vector<std::vector<PagePlace>>& places,
                     Nanos begin_ns) {
  json.BeginArray();
  for (const std::vector<PagePlace>& some : places) {
    json.BeginArray();
    for (const PagePlace& place : some) {
      json.BeginObject(JsonWriter::Layout::kInline);
      json.Field("start_ns", place.span.begin_ns - begin_ns);
      json.Field("end_ns", place.span.end_ns - begin_ns);
      json.Field("text", place.text);
      json.Key("lane");
      place.lane < 0 ? json.Null() : json.Int(place.lane);
      json.EndObject();
    }
    json.EndArray();
  }
  json.EndArray();
}

}  // namespace hone::report
