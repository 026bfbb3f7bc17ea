// SPDX-License-Identifier: Apache-2.0
// What child_report.cc reads, as it stands in the journal and in reports.
#include <cmath>

#include "tune/child_report.h"

namespace hone::tune {
namespace {

using Layout = JsonWriter::Layout;

void Number(JsonWriter& json, double value) {
  if (std::isfinite(value)) {
    json.Double(value);
  } else {
    json.String(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }
}

void WriteCandidate(JsonWriter& json, const Candidate& candidate) {
  json.BeginObject(Layout::kInline);
  json.Field("treatment", candidate.choice.treatment);
  json.Field("options", candidate.choice.options);
  json.Field("title", candidate.title);
  json.Field("risk", WordOf(candidate.risk));
  json.Field("group", candidate.group);
  json.Field("cures", candidate.cures);
  json.Field("cures_all", candidate.cures_all);
  json.Field("better_with", candidate.better_with);
  json.Field("prior", candidate.prior);
  json.Field("at_most", candidate.at_most);
  json.Field("extra_s", candidate.extra_s);
  json.Field("between", candidate.between);
  json.Field("code", candidate.code);
  json.Field("where", candidate.where);
  json.EndObject();
}

}  // namespace

void WriteLosses(JsonWriter& json, const Trial& trial) {
  json.Key("losses").BeginArray(Layout::kInline);
  for (const double loss : trial.losses) Number(json, loss);
  json.EndArray();
  json.Key("gradient_norms").BeginArray(Layout::kInline);
  for (const auto& [step, norm] : trial.gradient_norms) {
    json.BeginArray();
    json.Int(step);
    Number(json, norm);
    json.EndArray();
  }
  json.EndArray();
}

void WriteEffects(JsonWriter& json, const std::vector<Effect>& effects) {
  json.Key("effects").BeginArray(Layout::kInline);
  for (const Effect& effect : effects) {
    json.BeginObject();
    json.Field("treatment", effect.treatment);
    json.Field("state", effect.state);
    json.Field("hits", effect.hits);
    json.Field("why", effect.why);
    json.EndObject();
  }
  json.EndArray();
}

void WriteBatches(JsonWriter& json, const std::optional<Batches>& batches) {
  json.Key("batches");
  if (!batches) {
    json.Null();
    return;
  }
  json.BeginObject(Layout::kInline);
  json.Field("count", batches->count);
  json.Field("order", batches->order);
  json.Field("labels", batches->labels);
  json.Field("content", batches->content);
  json.Field("random", batches->random);
  json.Field("random_labels", batches->random_labels);
  json.Field("mean", batches->mean);
  json.Field("stdev", batches->stdev);
  json.EndObject();
}

void WriteDescription(JsonWriter& json, const Description& description) {
  json.Key("candidates").BeginArray();
  for (const Candidate& candidate : description.candidates) WriteCandidate(json, candidate);
  json.EndArray();
  WriteInapplicable(json, description.inapplicable);
  WriteAdvice(json, description.advice);
}

void WriteInapplicable(JsonWriter& json, const std::vector<Inapplicable>& inapplicable) {
  json.Key("inapplicable").BeginArray();
  for (const Inapplicable& one : inapplicable) {
    json.BeginObject(Layout::kInline);
    json.Field("treatment", one.treatment);
    json.Field("title", one.title);
    json.Field("why", one.why);
    json.EndObject();
  }
  json.EndArray();
}

void WriteAdvice(JsonWriter& json, const std::vector<Advice>& all) {
  json.Key("advice").BeginArray();
  for (const Advice& advice : all) {
    json.BeginObject(Layout::kInline);
    json.Field("title", advice.title);
    json.Field("why", advice.why);
    json.Field("code", advice.code);
    json.Field("where", advice.where);
    json.EndObject();
  }
  json.EndArray();
}

void WriteRecipe(JsonWriter& json, const Recipe& recipe) {
  json.Key("recipe").BeginArray(Layout::kInline);
  for (const Choice& choice : recipe) {
    json.BeginObject();
    json.Field("treatment", choice.treatment);
    json.Field("options", choice.options);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace hone::tune
