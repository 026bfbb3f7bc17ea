// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_doctor.h"

#include <cmath>

#include "report/json/json_sections.h"

namespace hone::report {
namespace {

using Layout = JsonWriter::Layout;

void WriteMillis(JsonWriter& json, std::string_view key, double nanos) {
  json.Key(key);
  json.Millis(std::llround(nanos));
}

void WriteTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts,
                Layout layout) {
  json.Key(key).BeginArray(layout);
  for (const std::string& text : texts) json.String(text);
  json.EndArray();
}

void WritePlace(JsonWriter& json, const doctor::Place& place) {
  const auto text = [&](std::string_view key, const std::string& value) {
    json.Key(key);
    value.empty() ? json.Null() : json.String(value);
  };
  const auto micros = [&](std::string_view key, Nanos value) {
    json.Key(key);
    value < 0 ? json.Null() : json.Micros(value);
  };
  json.BeginObject(Layout::kInline);
  text("source", place.source);
  text("op", place.op);
  text("kernel", place.kernel);
  text("thread", place.thread);
  text("step", place.step);
  micros("start_us", place.start_ns);
  micros("duration_us", place.duration_ns);
  json.EndObject();
}

// Left out where there are none: most findings have one remedy.
void WriteInstead(JsonWriter& json, const std::vector<doctor::Instead>& instead) {
  if (instead.empty()) return;
  json.Key("instead").BeginArray();
  for (const doctor::Instead& other : instead) {
    json.BeginObject(Layout::kInline);
    json.Field("fix", other.fix);
    json.Field("speedup", other.speedup);
    json.Key("predicted_step_ms");
    WritePrediction(json, other.predicted);
    json.EndObject();
  }
  json.EndArray();
}

void WriteFinding(JsonWriter& json, const doctor::Diagnosis& diagnosis,
                  const doctor::Finding& finding) {
  const std::string why_not = WhyNoGain(diagnosis, finding);
  const auto number = [&](std::string_view key, const Known<double>& value) {
    json.Key(key);
    value ? json.Double(*value) : WriteAbsent(json, why_not);
  };
  json.BeginObject();
  json.Field("id", finding.id);
  json.Field("title", finding.title);
  json.Field("severity", doctor::SeverityName(finding.severity));
  json.Field("confidence", doctor::ConfidenceName(finding.confidence));
  json.Field("effort", doctor::EffortName(finding.effort));
  json.Key("recoverable_ms");
  finding.recoverable_ns ? json.Millis(std::llround(*finding.recoverable_ns))
                         : WriteAbsent(json, why_not);
  number("speedup", finding.speedup);
  number("speedup_after", finding.speedup_after);
  if (finding.at_most) json.Field("at_most", true);
  json.Key("predicted_step_ms");
  finding.predicted ? WritePrediction(json, *finding.predicted) : WriteAbsent(json, why_not);
  WriteTexts(json, "evidence", finding.evidence, Layout::kLines);
  json.Key("where").BeginArray();
  for (const doctor::Place& place : finding.where) WritePlace(json, place);
  json.EndArray();
  json.Field("remedy", finding.remedy);
  WriteTexts(json, "fix", finding.fix, Layout::kInline);
  WriteInstead(json, finding.instead);
  WriteTexts(json, "same_cause", finding.same_cause, Layout::kInline);
  json.Field("docs", "hone help " + finding.id);
  json.EndObject();
}

}  // namespace

void WritePrediction(JsonWriter& json, const replay::Prediction& prediction) {
  json.BeginObject(Layout::kInline);
  WriteMillis(json, "low", prediction.low_ns);
  WriteMillis(json, "likely", prediction.likely_ns);
  WriteMillis(json, "high", prediction.high_ns);
  // A larger batch makes another step; the milliseconds above are for the recorded samples.
  if (prediction.samples != 1) {
    json.Field("samples_factor", prediction.samples);
    WriteMillis(json, "larger_step", prediction.larger_step_ns());
  }
  json.EndObject();
}

void WriteKnownPrediction(JsonWriter& json, std::string_view key,
                          const Known<replay::Prediction>& prediction) {
  json.Key(key);
  prediction ? WritePrediction(json, *prediction) : WriteAbsent(json, prediction.why_not());
}

void WriteFindingsSection(JsonWriter& json, const Known<doctor::Diagnosis>& diagnosis,
                          const Known<Table>& rows) {
  if (!rows) return WriteAbsent(json, rows.why_not());
  json.BeginArray();
  for (const std::vector<Cell>& row : rows->rows) {
    for (const doctor::Finding& finding : diagnosis->findings) {
      if (row[0].text() != nullptr && *row[0].text() == finding.id)
        WriteFinding(json, *diagnosis, finding);
    }
  }
  json.EndArray();
}

void WriteNotCheckedSection(JsonWriter& json, const Known<doctor::Diagnosis>& diagnosis) {
  if (!diagnosis) return WriteAbsent(json, diagnosis.why_not());
  json.BeginArray();
  for (const doctor::NotChecked& rule : diagnosis->not_checked) {
    json.BeginObject(Layout::kInline);
    json.Field("id", rule.id);
    json.Field("why", rule.why);
    json.EndObject();
  }
  json.EndArray();
}

void WriteReplaySection(JsonWriter& json, const Known<doctor::Diagnosis>& diagnosis) {
  if (!diagnosis) return WriteAbsent(json, diagnosis.why_not());
  if (!diagnosis->replay) return WriteAbsent(json, diagnosis->replay.why_not());
  const doctor::ReplayFacts& replay = *diagnosis->replay;
  json.BeginObject();
  WriteMillis(json, "measured_step_ms", replay.measured_ns);
  WriteMillis(json, "replayed_step_ms", replay.replayed_ns);
  json.Field("error_pct", replay.error * 100);
  json.Field("steps", replay.steps);
  json.Field("steady_steps", replay.all_steps);
  WriteKnownPrediction(json, "bare_step_ms", replay.bare);
  WriteKnownPrediction(json, "together_ms", replay.together);
  WriteKnownPrediction(json, "half_precision_ms", replay.half);
  if (replay.half) json.Field("half_precision_dtype", replay.half_dtype);
  json.EndObject();
}

void WriteCriticalPathSection(JsonWriter& json, const Known<doctor::Diagnosis>& diagnosis,
                              const Known<Table>& parts) {
  if (!parts) return WriteAbsent(json, parts.why_not());
  const doctor::ReplayFacts& replay = *diagnosis->replay;
  const auto steps = static_cast<double>(replay.steps);
  const auto length = static_cast<double>(replay.path.length_ns);
  json.BeginObject();
  WriteMillis(json, "length_ms", length / steps);
  json.Key("kinds").BeginArray();
  for (std::size_t i = 0; i < replay::kPathKindCount; ++i) {
    const auto time = static_cast<double>(replay.path.total_ns[i]);
    json.BeginObject(Layout::kInline);
    json.Field("kind", replay::PathKindId(static_cast<replay::PathKind>(i)));
    WriteMillis(json, "ms", time / steps);
    json.Field("share", length > 0 ? time / length : 0.0);
    json.EndObject();
  }
  json.EndArray();
  json.Key("parts");
  WriteRows(json, *parts);
  json.EndObject();
}

}  // namespace hone::report
