// SPDX-License-Identifier: Apache-2.0
#include "tune/trial_json.h"

#include <fmt/format.h>

#include <sstream>

#include "bench/steps_json.h"
#include "tune/child_report.h"

namespace hone::tune {
namespace {

using bench::BoolOr;
using bench::DoubleOr;
using bench::FindDouble;
using bench::IntOr;
using bench::JsonValue;
using bench::TextOr;

std::optional<std::int64_t> FindInt(const JsonValue& object, std::string_view key) {
  const std::int64_t value = IntOr(object, key, -1);
  return value < 0 ? std::nullopt : std::optional(value);
}

Ending EndingOf(const std::string& word) {
  for (const Ending ending :
       {Ending::kFine, Ending::kOutOfMemory, Ending::kError, Ending::kKilled, Ending::kHang,
        Ending::kNoSteps, Ending::kRecompiling, Ending::kInterrupted}) {
    if (WordOf(ending) == word) return ending;
  }
  return Ending::kError;
}

void WriteOrder(JsonWriter& json, const TrialOrder& order) {
  WriteRecipe(json, order.recipe);
  json.Field("seed_offset", order.seed_offset);
  json.Field("steps_wanted", order.steps);
  json.Field("seconds", order.seconds);
  json.Field("describe", order.describe);
}

}  // namespace

std::string TrialLine(const Trial& trial, const Description* description) {
  std::ostringstream out;
  JsonWriter json(out);
  json.BeginObject(JsonWriter::Layout::kInline);
  json.Field("line", "trial");
  json.Field("purpose", trial.purpose);
  WriteOrder(json, trial.order);
  json.Field("ending", WordOf(trial.ending));
  json.Field("error_type", trial.error_type);
  json.Field("error", trial.error);
  json.Field("folder", trial.folder);
  json.Field("left", trial.left);
  bench::WriteSteps(json, trial.steps);
  if (!trial.steps) json.Field("no_steps", trial.steps.why_not());
  json.Field("counts_samples", trial.counts_samples);
  json.Field("rate", trial.rate);
  json.Field("samples_per_step", trial.samples_per_step);
  WriteLosses(json, trial);
  json.Field("skipped_steps", trial.skipped_steps);
  json.Field("recompiles", trial.recompiles);
  json.Field("peak_device_bytes", trial.peak_device_bytes);
  json.Field("device_bytes", trial.device_bytes);
  json.Field("device_share", trial.device_share);
  json.Field("peak_rss_bytes", trial.peak_rss_bytes);
  WriteBatches(json, trial.batches);
  WriteEffects(json, trial.effects);
  json.Field("world", trial.world);
  json.Field("device", trial.device);
  json.Field("torch", trial.torch);
  json.Field("patch", trial.patch);
  json.Field("start_s", trial.start_s);
  json.Field("wall_s", trial.wall_s);
  if (description != nullptr) WriteDescription(json, *description);
  json.EndObject();
  return out.str();
}

Trial ReadTrialLine(const JsonValue& line) {
  Trial trial;
  trial.purpose = TextOr(line, "purpose", "");
  trial.order.recipe = ReadRecipe(line);
  trial.order.seed_offset = IntOr(line, "seed_offset", 0);
  trial.order.steps = IntOr(line, "steps_wanted", 0);
  trial.order.seconds = DoubleOr(line, "seconds", 0);
  trial.order.describe = BoolOr(line, "describe", false);
  trial.ending = EndingOf(TextOr(line, "ending", ""));
  trial.error_type = TextOr(line, "error_type", "");
  trial.error = TextOr(line, "error", "");
  trial.folder = TextOr(line, "folder", "");
  trial.left = BoolOr(line, "left", false);
  trial.from_journal = true;
  trial.steps = bench::ReadSteps(line);
  if (!trial.steps) {
    trial.steps = Known<bench::Steps>::Absent(TextOr(line, "no_steps", "no steps were kept"));
  }
  trial.counts_samples = BoolOr(line, "counts_samples", false);
  trial.rate = FindDouble(line, "rate");
  trial.samples_per_step = FindDouble(line, "samples_per_step");
  trial.losses = ReadLosses(line);
  trial.gradient_norms = ReadNorms(line);
  trial.skipped_steps = IntOr(line, "skipped_steps", 0);
  trial.recompiles = IntOr(line, "recompiles", 0);
  trial.peak_device_bytes = FindInt(line, "peak_device_bytes");
  trial.device_bytes = FindInt(line, "device_bytes");
  trial.device_share = FindDouble(line, "device_share");
  trial.peak_rss_bytes = IntOr(line, "peak_rss_bytes", 0);
  trial.batches = ReadBatches(line);
  trial.effects = ReadEffects(line);
  trial.world = static_cast<int>(IntOr(line, "world", 1));
  trial.device = TextOr(line, "device", "");
  trial.torch = TextOr(line, "torch", "");
  trial.patch = TextOr(line, "patch", "");
  trial.start_s = DoubleOr(line, "start_s", 0);
  trial.wall_s = DoubleOr(line, "wall_s", 0);
  return trial;
}

std::string KeyOf(const TrialOrder& order) {
  return fmt::format("{} {} {} {}\n{}", order.seed_offset, order.steps, order.seconds,
                     order.describe, KeyOf(order.recipe));
}

}  // namespace hone::tune
