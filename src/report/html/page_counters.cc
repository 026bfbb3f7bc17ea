// SPDX-License-Identifier: Apache-2.0
#include "report/html/page_counters.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/grouping.h"

namespace hone::report {
namespace {

using Layout = JsonWriter::Layout;

// What a series' name says by its end. Those that only ever grow are shown as what they grow by in
// a second. The names are those of docs/user/run.md; other recorders' series are shown as they are.
struct Meaning {
  std::string_view ending, unit;
  double rate = 0;  // units a second for each a second of growth; 0: shown as it is
};
constexpr std::array kMeanings = {
    Meaning{"cpu_seconds", "cores", 1},
    Meaning{"busy_seconds", "cores", 1},
    Meaning{"idle_seconds", "cores", 1},
    Meaning{"iowait_seconds", "cores", 1},
    Meaning{"stolen_seconds", "cores", 1},
    Meaning{"for_core_seconds", "cores", 1},
    Meaning{"_usec", "%", 1e-4},
    Meaning{"energy_joules", "watts", 1},
    Meaning{"read_bytes", "bytes/s", 1},
    Meaning{"written_bytes", "bytes/s", 1},
    Meaning{"_faults", "/s", 1},
    Meaning{"_switches", "/s", 1},
    Meaning{"_bytes_per_second", "bytes/s"},
    Meaning{"_bytes", "bytes"},
    Meaning{"_watts", "watts"},
    Meaning{"_mhz", "MHz"},
    Meaning{"_pct", "%"},
    Meaning{"temperature_c", "°C"},
    Meaning{"cpu_cores", "cores"},
    Meaning{"threads", "threads"},
};

Meaning MeaningOf(const trace::Trace& trace, std::string_view series) {
  if (trace.info.format != trace::Format::kHone) return {};
  for (const Meaning& meaning : kMeanings) {
    if (series.ends_with(meaning.ending)) return meaning;
  }
  return {};
}

struct Point {
  Nanos time_ns;
  double value;
};
using Points = std::vector<Point>;

// A counter that falls was started anew: no rate is known there.
Points Rates(const Points& points, double factor) {
  Points rates;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Nanos passed = points[i].time_ns - points[i - 1].time_ns;
    const double grown = points[i].value - points[i - 1].value;
    if (passed > 0 && grown >= 0) {
      rates.push_back({points[i].time_ns, grown * factor / ToSeconds(passed)});
    }
  }
  return rates;
}

// Of each stretch the least and the greatest value, in the order of time.
Points Thin(const Points& points) {
  if (points.size() <= kMostPoints) return points;
  constexpr std::size_t kStretches = kMostPoints / 2;
  Points thinned;
  for (std::size_t part = 0; part < kStretches; ++part) {
    const auto at = [&](std::size_t stretch) {
      return points.begin() + static_cast<std::ptrdiff_t>(points.size() * stretch / kStretches);
    };
    const auto [least, most] = std::minmax_element(
        at(part), at(part + 1), [](const Point& a, const Point& b) { return a.value < b.value; });
    thinned.push_back(*std::min(least, most));
    if (least != most) thinned.push_back(*std::max(least, most));
  }
  return thinned;
}

void WriteSeries(JsonWriter& json, const trace::Trace& trace, StringId track, StringId series,
                 Points points, Nanos begin_ns) {
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.time_ns < b.time_ns; });
  const Meaning meaning = MeaningOf(trace, trace.Name(series));
  if (meaning.rate > 0) points = Rates(points, meaning.rate);
  points = Thin(points);
  if (points.empty()) return;
  json.BeginObject();
  json.Field("track", trace.Name(track));
  json.Field("series", trace.Name(series));
  json.Key("unit");
  meaning.unit.empty() ? json.Null() : json.String(meaning.unit);
  json.Key("time_ns").BeginArray(Layout::kInline);
  for (const Point& point : points) json.Int(point.time_ns - begin_ns);
  json.EndArray();
  json.Key("value").BeginArray(Layout::kInline);
  for (const Point& point : points) json.Double(point.value);
  json.EndArray();
  json.EndObject();
}

}  // namespace

void WritePageCounters(JsonWriter& json, const trace::Trace& trace, trace::Interval shown) {
  const trace::Counters& counters = trace.counters;
  analyze::GroupIndex index;
  std::vector<Points> series;
  for (std::uint32_t row = 0; row < counters.size(); ++row) {
    const Nanos time = counters.time_ns[row];
    if (time < shown.begin_ns || time > shown.end_ns) continue;
    const std::uint32_t id =
        index.IdOf(analyze::PairKey(counters.track[row], counters.series[row]));
    if (id == series.size()) series.emplace_back();
    series[id].push_back({time, counters.value[row]});
  }
  json.BeginArray();
  for (std::uint32_t id = 0; id < series.size(); ++id) {
    const std::uint64_t key = index.KeyOf(id);
    WriteSeries(json, trace, static_cast<StringId>(key >> 32),
                static_cast<StringId>(key & UINT32_MAX), std::move(series[id]), shown.begin_ns);
  }
  json.EndArray();
}

}  // namespace hone::report
