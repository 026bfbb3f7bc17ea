// SPDX-License-Identifier: Apache-2.0
#include "report/html/page_whatif.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <thread>

#include "report/json/json_doctor.h"
#include "report/json/json_sections.h"

namespace hone::report {
namespace {

using Layout = JsonWriter::Layout;

// Every prediction is without the recorder already.
constexpr std::string_view kObserver = "observer-effect";

std::vector<replay::Prediction> PredictAll(const replay::WhatIf& whatif,
                                           const std::vector<PageSwitch>& switches) {
  const std::size_t count = std::size_t{1} << switches.size();
  std::vector<replay::Prediction> steps(count);
  const auto predict = [&](std::size_t mask) {
    std::vector<std::string_view> ids;
    for (std::size_t bit = 0; bit < switches.size(); ++bit) {
      if ((mask >> bit & 1) != 0) ids.push_back(switches[bit].id);
    }
    if (ids.empty()) {
      steps[mask] = whatif.bare();
    } else if (ids.size() == 1) {
      steps[mask] = switches[static_cast<std::size_t>(std::countr_zero(mask))].alone;
    } else {
      steps[mask] = whatif.Predict(ids);
    }
  };
  const auto every_second = [&](std::size_t first) {
    for (std::size_t mask = first; mask < count; mask += 2) predict(mask);
  };
  std::thread other(every_second, 1);
  every_second(0);
  other.join();
  return steps;
}

void WriteTriple(JsonWriter& json, const replay::Prediction& step) {
  json.BeginArray(Layout::kInline);
  for (const double nanos : {step.low_ns, step.likely_ns, step.high_ns}) {
    json.Millis(std::llround(nanos));
  }
  json.EndArray();
}

void BeginSwitch(JsonWriter& json, const PageSwitch& one) {
  json.BeginObject(Layout::kInline);
  json.Field("id", one.id);
  json.Field("what", one.what);
  json.Field("scope", one.scope);
}

}  // namespace

Known<PageWhatIf> PrepareWhatIf(const Input& input, const analyze::SkewFacts* skew) {
  const auto model = replay::Model::Build(input.trace, input.facts, skew);
  if (!model) return Known<PageWhatIf>::Absent(model.why_not());
  const replay::WhatIf whatif(**model);
  std::vector<std::string_view> ids;
  for (const replay::EditInfo& edit : replay::AllEdits()) {
    if (edit.id != kObserver && whatif.Find(edit.id)) ids.emplace_back(edit.id);
  }
  PageWhatIf page;
  page.measured_ns = whatif.measured_ns();
  page.replayed_ns = whatif.replayed_ns();
  page.error = whatif.error();
  page.bare = whatif.bare();
  const auto& recorder = whatif.Find(kObserver);
  page.recorder = recorder ? Known<std::string>((*recorder)->Scope(**model))
                           : Known<std::string>::Absent(recorder.why_not());
  for (const std::string_view id : ids) {
    page.switches.push_back({std::string(id), replay::FindEdit(id)->what,
                             (*whatif.Find(id))->Scope(**model), whatif.Predict({id})});
  }
  std::stable_sort(page.switches.begin(), page.switches.end(),
                   [](const PageSwitch& a, const PageSwitch& b) {
                     return a.alone.likely_ns < b.alone.likely_ns;
                   });
  const std::size_t kept = std::min(page.switches.size(), kMostSwitches);
  page.more.assign(page.switches.begin() + static_cast<std::ptrdiff_t>(kept), page.switches.end());
  page.switches.resize(kept);
  page.steps = PredictAll(whatif, page.switches);
  return page;
}

void WritePageWhatIf(JsonWriter& json, const Known<PageWhatIf>& whatif) {
  if (!whatif) return WriteAbsent(json, whatif.why_not());
  json.BeginObject();
  json.FieldMillis("measured_ms", std::llround(whatif->measured_ns));
  json.FieldMillis("replayed_ms", std::llround(whatif->replayed_ns));
  json.Field("error_pct", whatif->error * 100);
  json.Key("bare_ms");
  WritePrediction(json, whatif->bare);
  json.Key("recorder");
  whatif->recorder ? json.String(*whatif->recorder) : json.Null();
  json.Key("switches").BeginArray();
  for (const PageSwitch& one : whatif->switches) {
    BeginSwitch(json, one);
    json.Field("docs", "hone help " + one.id);
    json.EndObject();
  }
  json.EndArray();
  json.Key("steps_ms").BeginArray();
  for (const replay::Prediction& step : whatif->steps) WriteTriple(json, step);
  json.EndArray();
  json.Key("more").BeginArray();
  for (const PageSwitch& one : whatif->more) {
    BeginSwitch(json, one);
    json.Key("ms");
    WriteTriple(json, one.alone);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace hone::report
