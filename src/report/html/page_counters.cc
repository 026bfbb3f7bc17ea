// SPDX-License-Identifier: Apache-2.0
#include "report/html/page_counters.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyze/grouping.h"

namespace hone::report {
namespace {

using Layout = JsonWriter::Layout;
using Rows = std::vector<std::uint32_t>;

// The unit as the series' name ends: "power_watts" is in watts. Empty: the name has none.
std::string_view UnitOf(std::string_view name) {
  for (const std::string_view unit :
       {"bytes", "seconds", "usec", "watts", "celsius", "mhz", "pct", "joules", "cores"}) {
    if (name.ends_with(unit)) return unit;
  }
  return "";
}

// Of each stretch of rows the least and the greatest value, in the order of time.
Rows Thin(const trace::Counters& counters, const Rows& rows) {
  if (rows.size() <= kMostPoints) return rows;
  constexpr std::size_t kStretches = kMostPoints / 2;
  Rows thinned;
  for (std::size_t part = 0; part < kStretches; ++part) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() * part / kStretches);
    const auto last =
        rows.begin() + static_cast<std::ptrdiff_t>(rows.size() * (part + 1) / kStretches);
    const auto [least, most] = std::minmax_element(
        first, last,
        [&](std::uint32_t a, std::uint32_t b) { return counters.value[a] < counters.value[b]; });
    thinned.push_back(std::min(*least, *most));
    if (*least != *most) thinned.push_back(std::max(*least, *most));
  }
  return thinned;
}

void WriteSeries(JsonWriter& json, const trace::Trace& trace, const Rows& rows, Nanos begin_ns) {
  const trace::Counters& counters = trace.counters;
  const std::string_view series = trace.Name(counters.series[rows[0]]);
  const std::string_view track = trace.Name(counters.track[rows[0]]);
  const std::string_view unit = UnitOf(series.empty() ? track : series);
  json.BeginObject();
  json.Field("track", track);
  json.Field("series", series);
  json.Key("unit");
  unit.empty() ? json.Null() : json.String(unit);
  json.Key("time_ns").BeginArray(Layout::kInline);
  for (const std::uint32_t row : rows) json.Int(counters.time_ns[row] - begin_ns);
  json.EndArray();
  json.Key("value").BeginArray(Layout::kInline);
  for (const std::uint32_t row : rows) json.Double(counters.value[row]);
  json.EndArray();
  json.EndObject();
}

}  // namespace

void WritePageCounters(JsonWriter& json, const trace::Trace& trace, trace::Interval shown) {
  const trace::Counters& counters = trace.counters;
  analyze::GroupIndex index;
  std::vector<Rows> series;
  for (std::uint32_t row = 0; row < counters.size(); ++row) {
    if (counters.time_ns[row] < shown.begin_ns || counters.time_ns[row] > shown.end_ns) continue;
    const std::uint32_t id =
        index.IdOf(analyze::PairKey(counters.track[row], counters.series[row]));
    if (id == series.size()) series.emplace_back();
    series[id].push_back(row);
  }
  json.BeginArray();
  for (Rows& rows : series) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return counters.time_ns[a] < counters.time_ns[b];
    });
    WriteSeries(json, trace, Thin(counters, rows), shown.begin_ns);
  }
  json.EndArray();
}

}  // namespace hone::report
