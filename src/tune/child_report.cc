// SPDX-License-Identifier: Apache-2.0
#include "tune/child_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

namespace hone::tune {
namespace {

using bench::BoolOr;
using bench::DoubleOr;
using bench::Elements;
using bench::Find;
using bench::FindDouble;
using bench::IntOr;
using bench::JsonValue;
using bench::TextOr;

// JSON has no words for these; the child writes them as strings.
std::optional<double> Number(const JsonValue& value) {
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS) return number;
  std::string_view word;
  if (value.get_string().get(word) != simdjson::SUCCESS) return std::nullopt;
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::optional<std::int64_t> FindInt(const JsonValue& object, std::string_view key) {
  std::int64_t value = 0;
  if (object[key].get_int64().get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

std::vector<std::string> Words(const JsonValue& object, std::string_view key) {
  std::vector<std::string> words;
  for (const JsonValue& element : Elements(object, key)) {
    std::string_view word;
    if (element.get_string().get(word) == simdjson::SUCCESS) words.emplace_back(word);
  }
  return words;
}

// Options as text. The child writes an object with its keys sorted, the journal keeps that text.
std::string Options(const JsonValue& object) {
  const std::optional<JsonValue> options = Find(object, "options");
  if (!options) return "{}";
  std::string_view text;
  if (options->get_string().get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(*options);
}

Choice ReadChoice(const JsonValue& object) {
  return {TextOr(object, "treatment", ""), Options(object)};
}

Candidate ReadCandidate(const JsonValue& value) {
  Candidate candidate;
  candidate.choice = ReadChoice(value);
  candidate.title = TextOr(value, "title", candidate.choice.treatment);
  const std::string risk = TextOr(value, "risk", "optimization");
  // A word that nobody knows is the most careful one.
  candidate.risk = risk == "exact"     ? Risk::kExact
                   : risk == "numeric" ? Risk::kNumeric
                                       : Risk::kOptimization;
  candidate.group = TextOr(value, "group", "");
  candidate.cures = Words(value, "cures");
  candidate.cures_all = BoolOr(value, "cures_all", false);
  candidate.better_with = Words(value, "better_with");
  candidate.prior = DoubleOr(value, "prior", 1);
  candidate.at_most = FindDouble(value, "at_most");
  candidate.extra_s = DoubleOr(value, "extra_s", 0);
  candidate.between = BoolOr(value, "between", false);
  candidate.code = TextOr(value, "code", "");
  candidate.where = TextOr(value, "where", "");
  return candidate;
}

std::optional<ChildReport::Exception> ReadException(const JsonValue& document) {
  const std::optional<JsonValue> value = Find(document, "exception");
  if (!value) return std::nullopt;
  return ChildReport::Exception{TextOr(*value, "type", "an exception"),
                                TextOr(*value, "class", "error"), TextOr(*value, "message", ""),
                                TextOr(*value, "where", "")};
}

}  // namespace

std::vector<double> ReadLosses(const JsonValue& object) {
  std::vector<double> losses;
  for (const JsonValue& element : Elements(object, "losses")) {
    losses.push_back(Number(element).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return losses;
}

std::vector<std::pair<std::int64_t, double>> ReadNorms(const JsonValue& object) {
  std::vector<std::pair<std::int64_t, double>> norms;
  for (const JsonValue& element : Elements(object, "gradient_norms")) {
    simdjson::dom::array pair;
    if (element.get_array().get(pair) != simdjson::SUCCESS || pair.size() < 2) continue;
    std::int64_t step = 0;
    JsonValue second;
    if (pair.at(0).get_int64().get(step) != simdjson::SUCCESS) continue;
    if (pair.at(1).get(second) != simdjson::SUCCESS) continue;
    if (const std::optional<double> norm = Number(second)) norms.emplace_back(step, *norm);
  }
  return norms;
}

std::vector<Effect> ReadEffects(const JsonValue& object) {
  std::vector<Effect> effects;
  for (const JsonValue& value : Elements(object, "effects")) {
    effects.push_back({TextOr(value, "treatment", ""), TextOr(value, "state", ""),
                       IntOr(value, "hits", 0), TextOr(value, "why", "")});
  }
  return effects;
}

std::optional<Batches> ReadBatches(const JsonValue& object) {
  const std::optional<JsonValue> value = Find(object, "batches");
  if (!value) return std::nullopt;
  Batches batches;
  batches.count = IntOr(*value, "count", 0);
  batches.order = TextOr(*value, "order", "");
  batches.labels = TextOr(*value, "labels", "");
  batches.content = TextOr(*value, "content", "");
  batches.random = BoolOr(*value, "random", false);
  batches.random_labels = BoolOr(*value, "random_labels", false);
  batches.mean = DoubleOr(*value, "mean", 0);
  batches.stdev = DoubleOr(*value, "stdev", 0);
  return batches;
}

Description ReadDescription(const JsonValue& object) {
  Description description;
  for (const JsonValue& value : Elements(object, "candidates")) {
    description.candidates.push_back(ReadCandidate(value));
  }
  for (const JsonValue& value : Elements(object, "inapplicable")) {
    description.inapplicable.push_back(
        {TextOr(value, "treatment", ""), TextOr(value, "title", ""), TextOr(value, "why", "")});
  }
  for (const JsonValue& value : Elements(object, "advice")) {
    description.advice.push_back({TextOr(value, "title", ""), TextOr(value, "why", ""),
                                  TextOr(value, "code", ""), TextOr(value, "where", "")});
  }
  return description;
}

Recipe ReadRecipe(const JsonValue& object) {
  Recipe recipe;
  for (const JsonValue& value : Elements(object, "recipe")) recipe.push_back(ReadChoice(value));
  return recipe;
}

Result<ChildReport> ReadChildReport(const std::string& path) {
  simdjson::dom::parser parser;
  JsonValue document;
  if (const auto error = parser.load(path).get(document)) {
    return Error(fmt::format("{}: {}", path, simdjson::error_message(error)));
  }
  ChildReport report;
  report.pid = IntOr(document, "pid", 0);
  report.rank = static_cast<int>(IntOr(document, "rank", 0));
  report.world = static_cast<int>(IntOr(document, "world", 1));
  report.device = TextOr(document, "device", "");
  report.torch = TextOr(document, "torch", "");
  report.ended = TextOr(document, "ended", "");
  report.patch = TextOr(document, "patch", "");
  report.trouble = TextOr(document, "trouble", "");
  report.exception = ReadException(document);
  report.effects = ReadEffects(document);
  report.losses = ReadLosses(document);
  report.gradient_norms = ReadNorms(document);
  report.skipped_steps = IntOr(document, "skipped_steps", 0);
  report.recompiles = IntOr(document, "recompiles", 0);
  report.batches = ReadBatches(document);
  report.samples_per_step = FindDouble(document, "samples_per_step");
  report.peak_device_bytes = FindInt(document, "peak_device_bytes");
  report.device_bytes = FindInt(document, "device_bytes");
  report.description = ReadDescription(document);
  return report;
}

std::vector<ChildReport> ReadChildReports(const std::string& folder,
                                          const std::set<std::int64_t>& stepped) {
  std::vector<ChildReport> reports;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("tune-") || !name.ends_with(".json")) continue;
    if (Result<ChildReport> report = ReadChildReport(entry.path().string())) {
      report->stepped = stepped.contains(report->pid);
      reports.push_back(std::move(*report));
    }
  }
  std::sort(reports.begin(), reports.end(), [](const ChildReport& a, const ChildReport& b) {
    if (a.stepped != b.stepped) return a.stepped;
    return a.rank != b.rank ? a.rank < b.rank : a.pid < b.pid;
  });
  return reports;
}

}  // namespace hone::tune
