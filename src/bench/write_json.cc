// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/json_writer.h"
#include "bench/result_file.h"
#include "bench/steps_json.h"

namespace hone::bench {
namespace {

using Layout = JsonWriter::Layout;

void Interval(JsonWriter& json, const stats::Judgement& judgement) {
  json.Key("interval");
  if (!judgement.known) {
    json.Null();
    return;
  }
  json.BeginArray(Layout::kInline);
  json.Double(judgement.interval.low);
  json.Double(judgement.interval.high);
  json.EndArray();
}

std::string Word(const Comparison& comparison) {
  return comparison.valid() ? std::string(stats::WordOf(comparison.verdict())) : "invalid";
}

void WriteLooks(JsonWriter& json, const Comparison& comparison) {
  json.Key("looks").BeginArray();
  for (const stats::Judgement& look : comparison.looks) {
    json.BeginObject(Layout::kInline);
    json.Field("pairs", look.pairs);
    json.Field("alpha", look.alpha);
    json.Field("ratio", look.ratio);
    Interval(json, look);
    json.Field("verdict", stats::WordOf(look.verdict));
    json.EndObject();
  }
  json.EndArray();
}

void WriteSameWork(JsonWriter& json, const Comparison& comparison) {
  const SameWork& work = comparison.work;
  json.Key("same_work").BeginObject();
  json.Key("same");
  if (!comparison.valid()) {
    json.Bool(false);
  } else if (work.checked) {
    json.Bool(true);
  } else {
    json.Null();
  }
  if (!work.checked) json.Field("why_not", work.why_not);
  json.Key("differences").BeginArray();
  for (const Difference& difference : work.differences) {
    json.BeginObject(Layout::kInline);
    json.Field("what", difference.what);
    json.Field("sentence", difference.sentence);
    json.Field("allow", difference.allow);
    json.Field("allowed", difference.allowed);
    json.EndObject();
  }
  json.EndArray();
  json.Field("trouble", comparison.trouble);
  json.Field("equal", work.equal);
  json.Field("not_compared", work.not_compared);
  json.EndObject();
}

// The members of a comparison; the caller opens the object.
void WriteComparison(JsonWriter& json, const Benchmark& benchmark, const Comparison& comparison) {
  const stats::Judgement& judgement = comparison.judgement;
  json.Field("verdict", Word(comparison));
  json.Field("baseline", benchmark.arms[comparison.baseline].name);
  json.Field("arm", benchmark.arms[comparison.arm].name);
  json.Field("ratio", judgement.ratio);
  Interval(json, judgement);
  json.Field("pairs", judgement.pairs);
  json.Field("alpha", judgement.alpha);
  json.Field("no_difference", judgement.no_difference);
  WriteLooks(json, comparison);
  json.Key("ratios").BeginArray(Layout::kInline);
  for (const double ratio : comparison.ratios) json.Double(ratio);
  json.EndArray();
  json.Key("outliers").BeginArray(Layout::kInline);
  for (const std::size_t pair : comparison.far) json.Uint(pair + 1);
  json.EndArray();
  json.Key("in_cycles");
  if (comparison.in_cycles) {
    json.BeginObject(Layout::kInline);
    json.Field("ratio", comparison.in_cycles->ratio);
    Interval(json, *comparison.in_cycles);
    json.Field("verdict", stats::WordOf(comparison.in_cycles->verdict));
    json.Field("disagrees", comparison.cycles_disagree);
    json.EndObject();
  } else {
    json.Null();
  }
  WriteSameWork(json, comparison);
}

void WriteWork(JsonWriter& json, const Work& work) {
  json.Key("work").BeginObject(Layout::kInline);
  json.Field("seen", work.seen);
  if (!work.seen) json.Field("why_not", work.why_not);
  json.Key("facts").BeginObject();
  for (const auto& [name, value] : work.facts) json.Field(name, value);
  json.EndObject();
  json.Key("operators").BeginObject();
  for (const auto& [name, count] : work.operators) json.Field(name, count);
  json.EndObject();
  json.EndObject();
}

void WriteRun(JsonWriter& json, const Run& run) {
  json.BeginObject();
  json.Field("pair", run.pair);
  json.Field("slot", run.slot);
  json.Field("start_s", run.start_s);
  json.Field("value", run.value);
  json.Field("wall_s", run.wall_s);
  json.Field("cpu_s", run.cpu_s);
  json.Field("peak_rss_bytes", run.peak_rss_bytes);
  if (run.peak_device_bytes) json.Field("peak_device_bytes", *run.peak_device_bytes);
  WriteSteps(json, run.steps);
  if (run.gpu) {
    json.Key("gpu").BeginObject(Layout::kInline);
    json.Field("name", run.gpu->name);
    json.Field("energy_j", run.gpu->energy_j);
    json.Field("sm_clock_mhz", run.gpu->sm_clock_mhz);
    json.Field("temperature_c", run.gpu->temperature_c);
    json.Field("throttle_reasons", run.gpu->throttle_reasons);
    json.EndObject();
  }
  WriteWork(json, run.work);
  json.EndObject();
}

void WriteArms(JsonWriter& json, const Benchmark& benchmark) {
  json.Key("arms").BeginArray();
  for (const Arm& arm : benchmark.arms) {
    json.BeginObject();
    json.Field("name", arm.name);
    json.Field("command", arm.command);
    json.Key("warmup_steps").BeginArray(Layout::kInline);
    for (const Run& run : arm.runs) {
      if (run.steps) json.Uint(run.steps->warmup);
    }
    json.EndArray();
    json.Key("runs").BeginArray();
    for (const Run& run : arm.runs) WriteRun(json, run);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

void WriteBenchJson(const Benchmark& benchmark, std::ostream& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Field("schema", "hone-bench");
  json.Field("version", 1);
  json.Key("metric").BeginObject(Layout::kInline);
  json.Field("name", benchmark.metric.name);
  json.Field("title", benchmark.metric.Title());
  json.Field("higher_is_better", benchmark.metric.higher_is_better);
  json.EndObject();
  json.Field("minimum_effect", benchmark.minimum_effect);
  json.Field("paired", benchmark.paired);
  json.Field("seconds", benchmark.seconds);
  json.Field("ended", benchmark.ended);
  json.Field("notes", benchmark.notes);
  // Most ask for two arms: what is found about them stands at the top too.
  if (!benchmark.comparisons.empty()) WriteComparison(json, benchmark, benchmark.comparisons[0]);
  json.Key("comparisons").BeginArray();
  for (const Comparison& comparison : benchmark.comparisons) {
    json.BeginObject();
    WriteComparison(json, benchmark, comparison);
    json.EndObject();
  }
  json.EndArray();
  WriteArms(json, benchmark);
  json.EndObject();
  json.Finish();
}

}  // namespace hone::bench
