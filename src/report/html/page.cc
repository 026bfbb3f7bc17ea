// SPDX-License-Identifier: Apache-2.0
#include "report/html/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "report/html/flame.h"
#include "report/html/page_columns.h"
#include "report/html/page_counters.h"
#include "report/html/page_places.h"
#include "report/html/page_whatif.h"
#include "report/json/json_report.h"
#include "report/json/json_sections.h"
#include "report/words/breakdown.h"
#include "report/words/headline.h"

// report/html/page_data.S
extern "C" const char hone_page_begin[], hone_page_end[];  // NOLINT: the linker's names

namespace hone::report {
namespace {

using Layout = JsonWriter::Layout;

// Writes the key "page" of one report.
class PageSection {
 public:
  PageSection(const Report& report, const PageOptions& options)
      : report_(report),
        options_(options),
        input_(report.leading()),
        rows_(ArrangeRows(input_)),
        strings_(input_.trace),
        columns_(input_, rows_, strings_) {}

  const PageColumns& columns() const { return columns_; }

  void Write(JsonWriter& json) {
    const Style style;
    const std::vector<std::string> head = HeadlineParts(report_, style);
    json.Key("page").BeginObject();
    json.Field("title", head[0]);
    json.Field("command", options_.command);
    json.Field("begin_ns", report_.stable ? "0" : fmt::to_string(rows_.shown.begin_ns));
    json.Field("span_ns", rows_.shown.length());
    json.Key("headline");
    WriteHeadline(json, head);
    json.Key("steps");
    WriteSteps(json);
    json.Key("places");
    WritePlaces(json);
    json.Key("whatif");
    WritePageWhatIf(json, PrepareWhatIf(input_, report_.skew ? &*report_.skew : nullptr));
    json.Key("flame").BeginObject();
    WriteFlame(json, "op", FlameByOp(input_, strings_));
    WriteFlame(json, "module", FlameByModule(input_, strings_));
    WriteFlame(json, "python", FlameByPython(input_, strings_));
    json.EndObject();
    json.Key("counters");
    WritePageCounters(json, input_.trace, rows_.shown);
    json.Key("memory_begin_ns");
    WriteMemoryBegins(json);
    json.Key("timeline");
    WriteTimeline(json);
    json.EndObject();
  }

 private:
  void WriteHeadline(JsonWriter& json, const std::vector<std::string>& head) {
    const analyze::Facts& facts = input_.facts;
    std::vector<std::string> what(head.begin() + 1, head.end());
    for (std::string& part : KeyNumberParts(report_)) what.push_back(std::move(part));
    json.BeginObject();
    json.Field("what", fmt::format("{}", fmt::join(what, " · ")));
    json.Field("trust", analyze::VerdictName(facts.trust.verdict));
    Known<Breakdown> breakdown = SplitStep(input_);
    json.Key("shares_title");
    breakdown ? json.String(BreakdownTitle(*breakdown)) : json.Null();
    json.Key("shares");
    if (breakdown) {
      WriteShares(json, *breakdown);
    } else {
      WriteAbsent(json, breakdown.why_not());
    }
    json.EndObject();
  }

  static void WriteShares(JsonWriter& json, Breakdown& breakdown) {
    std::stable_sort(
        breakdown.rows.begin(), breakdown.rows.end(),
        [](const BreakdownRow& a, const BreakdownRow& b) { return a.time_ns > b.time_ns; });
    const double steps = breakdown.steps > 0 ? static_cast<double>(breakdown.steps) : 1;
    const auto total = static_cast<double>(std::max<Nanos>(breakdown.total_ns, 1));
    constexpr std::string_view kIdle = "idle: ";
    json.BeginArray();
    for (const BreakdownRow& row : breakdown.rows) {
      const std::string_view label = row.label;
      json.BeginObject(Layout::kInline);
      json.Field("id", row.id);
      json.Field("text", label.starts_with(kIdle) ? label.substr(kIdle.size()) : label);
      json.Field("ms", ToMillis(row.time_ns) / steps);
      json.Field("share", static_cast<double>(row.time_ns) / total);
      json.EndObject();
    }
    json.EndArray();
  }

  void WriteSteps(JsonWriter& json) {
    json.BeginArray();
    for (const analyze::Step& step : input_.facts.steps.steps) {
      if (step.span.begin_ns >= rows_.shown.end_ns || step.span.end_ns <= rows_.shown.begin_ns) {
        continue;
      }
      json.BeginObject(Layout::kInline);
      json.Field("name", step.name);
      json.Field("start_ns", step.span.begin_ns - rows_.shown.begin_ns);
      json.Field("end_ns", step.span.end_ns - rows_.shown.begin_ns);
      json.Field("warm_up", step.warm_up);
      json.EndObject();
    }
    json.EndArray();
  }

  void WritePlaces(JsonWriter& json) {
    if (!report_.diagnosis) return WriteAbsent(json, report_.diagnosis.why_not());
    WritePagePlaces(json, FindPlaces(input_, report_.diagnosis->findings, rows_),
                    rows_.shown.begin_ns);
  }

  static void WriteFlame(JsonWriter& json, const char* key, const Known<Flame>& flame) {
    json.Key(key);
    if (!flame) return WriteAbsent(json, flame.why_not());
    flame->tree.Write(json, flame->sampled, flame->device);
  }

  // Times of memory.devices[i].timeline count from its first event: where that is on the page.
  void WriteMemoryBegins(JsonWriter& json) {
    json.BeginArray(Layout::kInline);
    if (input_.facts.memory) {
      for (const analyze::DeviceMemory& device : input_.facts.memory->devices) {
        device.timeline.empty() ? json.Null()
                                : json.Int(device.timeline.front().time_ns - rows_.shown.begin_ns);
      }
    }
    json.EndArray();
  }

  void WriteLane(JsonWriter& json, const PageLane& lane) {
    json.BeginObject(Layout::kInline);
    json.Field("kind", lane.stream ? "stream" : "thread");
    json.Field("name", lane.name);
    json.Field("process", lane.process);
    json.Key("device");
    lane.device < 0 ? json.Null() : json.Int(lane.device);
    json.Field("first", lane.first);
    json.Field("last", lane.last);
    json.Field("depth", lane.levels);
    json.EndObject();
  }

  void WriteGapCauses(JsonWriter& json) {
    const Known<analyze::IdleFacts>& idle = input_.facts.idle;
    if (!idle) return WriteAbsent(json, idle.why_not());
    json.BeginObject();
    json.Key("device");
    idle->device < input_.trace.devices.size() ? json.Int(input_.trace.devices[idle->device].id)
                                               : json.Null();
    json.Key("causes").BeginArray();
    for (std::size_t i = 0; i < analyze::kIdleCauseCount; ++i) {
      const auto cause = static_cast<analyze::IdleCause>(i);
      json.BeginObject(Layout::kInline);
      json.Field("id", analyze::IdleCauseId(cause));
      json.Field("text", analyze::IdleCauseText(cause));
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }

  // Last, when every string has its number.
  void WriteTimeline(JsonWriter& json) {
    json.BeginObject();
    json.Key("strings").BeginArray();
    for (const std::string_view text : strings_.list()) json.String(text);
    json.EndArray();
    json.Key("lanes").BeginArray();
    for (const PageLane& lane : rows_.lanes) WriteLane(json, lane);
    json.EndArray();
    json.Key("columns");
    columns_.WriteLayout(json);
    json.Key("gaps");
    WriteGapCauses(json);
    json.Key("left_out");
    if (rows_.left_out == 0) {
      json.Null();
    } else {
      json.BeginObject(Layout::kInline);
      json.Field("events", rows_.left_out);
      json.Field("why", rows_.why_left_out);
      json.EndObject();
    }
    json.EndObject();
  }

  const Report& report_;
  const PageOptions& options_;
  const Input& input_;
  const PageRows rows_;
  PageStrings strings_;
  const PageColumns columns_;
};

}  // namespace

Status WritePage(const Report& report, const PageOptions& options, std::ostream& out) {
  const std::string_view page(hone_page_begin,
                              static_cast<std::size_t>(hone_page_end - hone_page_begin));
  constexpr std::string_view kMark = "<!--hone:data-->";
  const std::size_t mark = page.find(kMark);
  HONE_CHECK(mark != std::string_view::npos);
  PageSection section(report, options);
  out << page.substr(0, mark) << "<script id=\"hone-report\" type=\"application/json\">";
  JsonOptions json;
  json.escape = JsonWriter::Escape::kHtml;
  json.more = [&](JsonWriter& writer) { section.Write(writer); };
  HONE_RETURN_IF_ERROR(WriteJson(report, json, out));
  out << "</script>\n<script id=\"hone-rows\" type=\"application/octet-stream\">";
  PackedStream rows(out);
  section.columns().WriteBytes(rows);
  rows.Finish();
  out << "</script>" << page.substr(mark + kMark.size());
  return Ok();
}

}  // namespace hone::report
