// SPDX-License-Identifier: Apache-2.0
// What the child wrote of a trial: tune-PID.json, one a process (python/hone/_trial.py).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "bench/json.h"
#include "tune/trial.h"

namespace hone::tune {

struct ChildReport {
  struct Exception {
    std::string type, kind, message, where;  // kind: "oom" or "error"
  };
  std::int64_t pid = 0;
  bool stepped = false;
  int rank = 0, world = 1;
  std::string device, torch, ended, patch;
  std::string trouble;  // ours, inside of the program
  std::optional<Exception> exception;
  std::vector<Effect> effects;
  std::vector<double> losses;
  std::vector<std::pair<std::int64_t, double>> gradient_norms;
  std::int64_t skipped_steps = 0, recompiles = 0;
  std::optional<Batches> batches;
  std::optional<double> samples_per_step;
  std::optional<std::int64_t> peak_device_bytes, device_bytes;
  Description description;
};

Result<ChildReport> ReadChildReport(const std::string& path);
// All of a trial's folder: those of processes that stepped first, then by rank and process. (The
// agent of torchrun has a report too, and steps never.)
std::vector<ChildReport> ReadChildReports(const std::string& folder,
                                          const std::set<std::int64_t>& stepped);

// The parts that the journal and the report keep in the same form.
std::vector<double> ReadLosses(const bench::JsonValue& object);
std::vector<std::pair<std::int64_t, double>> ReadNorms(const bench::JsonValue& object);
std::vector<Effect> ReadEffects(const bench::JsonValue& object);
std::optional<Batches> ReadBatches(const bench::JsonValue& object);
Description ReadDescription(const bench::JsonValue& object);
Recipe ReadRecipe(const bench::JsonValue& object);
// As members of an open object.
void WriteLosses(JsonWriter& json, const Trial& trial);
void WriteEffects(JsonWriter& json, const std::vector<Effect>& effects);
void WriteBatches(JsonWriter& json, const std::optional<Batches>& batches);
void WriteDescription(JsonWriter& json, const Description& description);
void WriteInapplicable(JsonWriter& json, const std::vector<Inapplicable>& inapplicable);
void WriteAdvice(JsonWriter& json, const std::vector<Advice>& all);
void WriteRecipe(JsonWriter& json, const Recipe& recipe);

}  // namespace hone::tune
