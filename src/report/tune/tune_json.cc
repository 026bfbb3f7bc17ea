// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"
#include "report/tune/tune_report.h"
#include "report/tune/tune_words.h"
#include "report/version.h"

namespace hone::report {
namespace {

using Layout = JsonWriter::Layout;
using tune::TuneResult;

template <typename T>
void Optional(JsonWriter& json, std::string_view key, const std::optional<T>& value) {
  json.Key(key);
  if (!value) {
    json.Null();
  } else if constexpr (std::is_floating_point_v<T>) {
    json.Double(*value);
  } else {
    json.Int(*value);
  }
}

void WriteRecipe(JsonWriter& json, std::string_view key, const tune::Recipe& recipe) {
  json.Key(key).BeginArray();
  for (const tune::Choice& choice : recipe) {
    json.BeginObject(Layout::kInline);
    json.Field("treatment", choice.treatment);
    // A text: what is in it is the treatment's own.
    json.Field("options", choice.options);
    json.EndObject();
  }
  json.EndArray();
}

void WriteGuard(JsonWriter& json, const tune::GuardVerdict& guard) {
  json.Key("guard").BeginObject(Layout::kInline);
  json.Field("checked", guard.checked);
  json.Field("passed", guard.passed);
  json.Field("why", guard.why);
  Optional(json, "loss", guard.loss);
  Optional(json, "baseline_loss", guard.baseline_loss);
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
  Optional(json, "predicted", row.predicted);
  json.Field("predicted_by", row.predicted_by);
  Optional(json, "alone", row.alone);
  Optional(json, "on_top", row.on_top);
  Optional(json, "without", row.without);
  Optional(json, "cumulative", row.cumulative);
  Optional(json, "rate", row.rate);
  Optional(json, "cumulative_rate", row.cumulative_rate);
  Optional(json, "peak_bytes", row.peak_bytes);
  Optional(json, "loss", row.loss);
  json.Field("code", row.candidate.code);
  json.Field("where", row.candidate.where);
  WriteGuard(json, row.guard);
  json.EndObject();
}

void WriteTrial(JsonWriter& json, const tune::Trial& trial) {
  json.BeginObject(Layout::kInline);
  json.Field("purpose", trial.purpose);
  WriteRecipe(json, "recipe", trial.order.recipe);
  json.Field("seed_offset", trial.order.seed_offset);
  json.Field("ending", tune::WordOf(trial.ending));
  json.Field("error_type", trial.error_type);
  json.Field("error", trial.error);
  Optional(json, "rate", trial.rate);
  Optional(json, "peak_device_bytes", trial.peak_device_bytes);
  json.Field("peak_rss_bytes", trial.peak_rss_bytes);
  json.Key("effects").BeginArray();
  for (const tune::Effect& effect : trial.effects) {
    json.BeginObject();
    json.Field("treatment", effect.treatment);
    json.Field("state", effect.state);
    json.Field("hits", effect.hits);
    json.Field("why", effect.why);
    json.EndObject();
  }
  json.EndArray();
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
    Optional(json, "batch", row.batch);
    Optional(json, "rate", row.rate);
    Optional(json, "step_ms", row.step_ms);
    Optional(json, "peak_bytes", row.peak_bytes);
    json.Field("ending", tune::WordOf(row.ending));
    json.Field("within_margin", row.within_margin);
    json.Field("best", result.best_batch == i);
    json.Field("why", row.why);
    json.EndObject();
  }
  json.EndArray();
}

void WriteAdvice(JsonWriter& json, const TuneResult& result) {
  json.Key("inapplicable").BeginArray();
  for (const tune::Inapplicable& one : result.inapplicable) {
    json.BeginObject(Layout::kInline);
    json.Field("treatment", one.treatment);
    json.Field("title", one.title);
    json.Field("why", one.why);
    json.EndObject();
  }
  json.EndArray();
  json.Key("advice").BeginArray();
  for (const tune::Advice& advice : result.advice) {
    json.BeginObject();
    json.Field("title", advice.title);
    json.Field("why", advice.why);
    json.Field("code", advice.code);
    json.Field("where", advice.where);
    json.EndObject();
  }
  json.EndArray();
}

void WriteTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.Key(key).BeginArray(Layout::kInline);
  for (const std::string& text : texts) json.String(text);
  json.EndArray();
}

}  // namespace

void WriteTuneJson(const TuneResult& result, std::ostream& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Field("schema", "hone.tune/1");
  json.Field("hone", Version());
  WriteTexts(json, "command", result.command);
  json.Field("folder", result.folder);
  WriteProof(json, result);
  json.Field("unit", RateUnit(result));
  json.Field("baseline_rate", result.baseline_rate);
  json.Field("noise", result.noise);
  json.Field("device", result.device);
  WriteTexts(json, "findings", result.findings);
  Optional(json, "predicted", result.predicted);
  WriteRecipe(json, "recipe", result.winner);
  WriteGuard(json, result.winner_guard);
  json.Key("rows").BeginArray();
  for (const tune::Row& row : result.rows) WriteRow(json, row);
  json.EndArray();
  WriteBatches(json, result);
  WriteAdvice(json, result);
  json.Key("trials").BeginArray();
  for (const tune::Trial& trial : result.trials) WriteTrial(json, trial);
  json.EndArray();
  json.Field("ended", result.ended);
  json.Field("seconds", result.seconds);
  json.Field("budget_s", result.budget_s);
  WriteTexts(json, "notes", result.notes);
  json.EndObject();
  json.Finish();
}

}  // namespace hone::report
