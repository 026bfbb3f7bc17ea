// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"
#include "report/tune/tune_report.h"
#include "report/tune/tune_words.h"
#include "report/version.h"
#include "tune/child_report.h"

namespace hone::report {
namespace {

using Layout = JsonWriter::Layout;
using tune::TuneResult;

void WriteGuard(JsonWriter& json, const tune::GuardVerdict& guard) {
  json.Key("guard").BeginObject(Layout::kInline);
  json.Field("checked", guard.checked);
  json.Field("passed", guard.passed);
  json.Field("why", guard.why);
  json.Field("loss", guard.loss);
  json.Field("baseline_loss", guard.baseline_loss);
  json.Field("steps", guard.steps);
  json.EndObject();
}

void WriteRow(JsonWriter& json, const tune::Row& row) {
  json.BeginObject();
  json.Field("treatment", row.candidate.choice.treatment);
  json.Field("options", row.candidate.choice.options);
  json.Field("title", row.candidate.title);
  json.Field("risk", tune::WordOf(row.candidate.risk));
  json.Field("verdict", tune::WordOf(row.fate));
  json.Field("why", row.why);
  json.Field("predicted", row.predicted);
  json.Field("predicted_by", row.predicted_by);
  json.Field("alone", row.alone);
  json.Field("on_top", row.on_top);
  json.Field("together", row.together);
  json.Field("without", row.without);
  json.Field("cumulative", row.cumulative);
  json.Field("rate", row.rate);
  json.Field("cumulative_rate", row.cumulative_rate);
  json.Field("peak_bytes", row.peak_bytes);
  json.Field("loss", row.loss);
  json.Field("code", row.candidate.code);
  json.Field("where", row.candidate.where);
  WriteGuard(json, row.guard);
  json.EndObject();
}

void WriteTrial(JsonWriter& json, const tune::Trial& trial) {
  json.BeginObject(Layout::kInline);
  json.Field("purpose", trial.purpose);
  tune::WriteRecipe(json, trial.order.recipe);
  json.Field("seed_offset", trial.order.seed_offset);
  json.Field("ending", tune::WordOf(trial.ending));
  json.Field("error_type", trial.error_type);
  json.Field("error", trial.error);
  json.Field("rate", trial.rate);
  json.Field("peak_device_bytes", trial.peak_device_bytes);
  json.Field("peak_rss_bytes", trial.peak_rss_bytes);
  tune::WriteEffects(json, trial.effects);
  json.Field("start_s", trial.start_s);
  json.Field("wall_s", trial.wall_s);
  json.EndObject();
}

void WriteProof(JsonWriter& json, const TuneResult& result) {
  const bool proof = result.confirmation && !result.confirmation->comparisons.empty();
  const char* const words[] = {"faster", "unproven", "nothing"};
  json.Field("verdict", words[static_cast<int>(OutcomeOf(result))]);
  json.Key("ratio");
  if (!proof) {
    json.Null();
    json.Key("interval").Null();
    json.Field("pairs", 0);
    return;
  }
  const stats::Judgement& judgement = result.confirmation->comparisons[0].judgement;
  json.Double(judgement.ratio);
  json.Key("interval").BeginArray(Layout::kInline);
  json.Double(judgement.interval.low);
  json.Double(judgement.interval.high);
  json.EndArray();
  json.Field("pairs", judgement.pairs);
}

void WriteBatches(JsonWriter& json, const TuneResult& result) {
  json.Key("batches").BeginArray();
  for (std::size_t i = 0; i < result.batches.size(); ++i) {
    const tune::BatchRow& row = result.batches[i];
    json.BeginObject(Layout::kInline);
    json.Field("batch", row.batch);
    json.Field("rate", row.rate);
    json.Field("step_ms", row.step_ms);
    json.Field("peak_bytes", row.peak_bytes);
    json.Field("ending", tune::WordOf(row.ending));
    json.Field("within_margin", row.within_margin);
    json.Field("best", result.best_batch == i);
    json.Field("why", row.why);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

void WriteTuneJson(const TuneResult& result, std::ostream& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Field("schema", "hone.tune/1");
  json.Field("hone", Version());
  json.Field("command", result.command);
  json.Field("folder", result.folder);
  WriteProof(json, result);
  json.Field("unit", RateUnit(result));
  json.Field("baseline_rate", result.baseline_rate);
  json.Field("noise", result.noise);
  json.Field("device", result.device);
  json.Field("findings", result.findings);
  json.Field("predicted", result.predicted);
  tune::WriteRecipe(json, result.winner);
  WriteGuard(json, result.winner_guard);
  json.Key("rows").BeginArray();
  for (const tune::Row& row : result.rows) WriteRow(json, row);
  json.EndArray();
  WriteBatches(json, result);
  tune::WriteInapplicable(json, result.inapplicable);
  tune::WriteAdvice(json, result.advice);
  json.Key("trials").BeginArray();
  for (const tune::Trial& trial : result.trials) WriteTrial(json, trial);
  json.EndArray();
  json.Field("ended", result.ended);
  json.Field("seconds", result.seconds);
  json.Field("budget_s", result.budget_s);
  json.Field("notes", result.notes);
  json.EndObject();
  json.Finish();
}

}  // namespace hone::report
