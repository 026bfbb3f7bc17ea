// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_whatif.h"

#include <cmath>

#include "report/json/json_doctor.h"
#include "report/json/json_sections.h"
#include "report/version.h"

namespace hone::report {
namespace {

void WriteFix(JsonWriter& json, const FixAnswer& fix) {
  json.BeginObject();
  json.Field("id", fix.id);
  json.Field("what", fix.what);
  json.Field("applies", fix.applies());
  json.Key("scope");
  fix.applies() ? json.String(fix.scope) : json.Null();
  json.Key("why_not");
  fix.applies() ? json.Null() : json.String(fix.why_not);
  WriteKnownPrediction(json, "alone_step_ms", fix.alone);
  WriteKnown(json, "speedup", fix.speedup);
  WriteKnownPrediction(json, "upto_step_ms", fix.upto);
  json.EndObject();
}

}  // namespace

void WriteWhatIfJson(const Report& report, const Known<WhatIfAnswer>& answer, std::ostream& out) {
  JsonWriter json(out);
  const auto millis = [&](std::string_view key, double nanos) {
    json.FieldMillis(key, std::llround(nanos));
  };
  json.BeginObject();
  json.Field("schema_version", kSchemaVersion);
  json.Field("hone_version", report.stable ? "stable" : Version());
  json.Field("path", ShownPath(report, report.leading()));
  json.Field("trust", analyze::VerdictName(report.leading().facts.trust.verdict));
  if (!answer) {
    json.Field("absent", answer.why_not());
  } else {
    millis("measured_step_ms", answer->measured_ns);
    millis("replayed_step_ms", answer->replayed_ns);
    json.Field("replay_error_pct", answer->error * 100);
    json.Field("steps", answer->steps);
    json.Field("first_step", answer->first_step + 1);
    json.Field("steady_steps", answer->all_steps);
    json.Key("bare_step_ms");
    WritePrediction(json, answer->bare);
    json.Key("fixes").BeginArray();
    for (const FixAnswer& fix : answer->fixes) WriteFix(json, fix);
    json.EndArray();
    json.Key("predicted_step_ms");
    WritePrediction(json, answer->predicted);
    json.Field("speedup", answer->speedup);
    millis("recoverable_ms", answer->recoverable_ns);
  }
  json.EndObject();
  json.Finish();
}

}  // namespace hone::report
