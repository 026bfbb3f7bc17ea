// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "bench/json.h"
#include "bench/result_file.h"
#include "bench/steps_json.h"

namespace hone::bench {
namespace {

Work ReadWork(const JsonValue& run) {
  Work work;
  work.why_not = "the recording does not say what was done";
  const std::optional<JsonValue> value = Find(run, "work");
  if (!value) return work;
  work.seen = BoolOr(*value, "seen", false);
  work.why_not = work.seen ? "" : TextOr(*value, "why_not", work.why_not);
  simdjson::dom::object object;
  if ((*value)["facts"].get_object().get(object) == simdjson::SUCCESS) {
    for (const auto& [key, fact] : object) {
      std::string_view text;
      if (fact.get_string().get(text) == simdjson::SUCCESS) work.facts[std::string(key)] = text;
    }
  }
  if ((*value)["operators"].get_object().get(object) == simdjson::SUCCESS) {
    for (const auto& [key, fact] : object) {
      std::int64_t count = 0;
      if (fact.get_int64().get(count) == simdjson::SUCCESS)
        work.operators[std::string(key)] = count;
    }
  }
  return work;
}

Run ReadRun(const JsonValue& value, int pair) {
  Run run;
  run.pair = static_cast<int>(IntOr(value, "pair", pair));
  run.slot = static_cast<int>(IntOr(value, "slot", 0));
  run.start_s = DoubleOr(value, "start_s", 0);
  run.value = FindDouble(value, "value");
  run.wall_s = DoubleOr(value, "wall_s", 0);
  run.cpu_s = DoubleOr(value, "cpu_s", 0);
  run.peak_rss_bytes = IntOr(value, "peak_rss_bytes", 0);
  const std::int64_t device = IntOr(value, "peak_device_bytes", -1);
  if (device >= 0) run.peak_device_bytes = device;
  run.steps = ReadSteps(value);
  run.work = ReadWork(value);
  if (const std::optional<JsonValue> gpu = Find(value, "gpu")) {
    run.gpu.emplace();
    run.gpu->name = TextOr(*gpu, "name", "");
    run.gpu->energy_j = FindDouble(*gpu, "energy_j");
    run.gpu->sm_clock_mhz = FindDouble(*gpu, "sm_clock_mhz");
    run.gpu->temperature_c = FindDouble(*gpu, "temperature_c");
    run.gpu->throttle_reasons = static_cast<std::uint64_t>(IntOr(*gpu, "throttle_reasons", 0));
  }
  return run;
}

Arm ReadArm(const JsonValue& value, std::size_t place) {
  Arm arm;
  arm.name = TextOr(value, "name", std::string(1, static_cast<char>('A' + place % 26)));
  for (const JsonValue& word : Elements(value, "command")) {
    std::string_view text;
    if (word.get_string().get(text) == simdjson::SUCCESS) arm.command.emplace_back(text);
  }
  for (const JsonValue& run : Elements(value, "runs")) {
    arm.runs.push_back(ReadRun(run, static_cast<int>(arm.runs.size()) + 1));
  }
  return arm;
}

}  // namespace

Result<Benchmark> ReadBenchJson(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Error(path + ": no such file");
  simdjson::dom::parser parser;
  JsonValue document;
  if (const auto broken = parser.load(path).get(document)) {
    return Error(fmt::format("{}: cannot be read: {}", path, simdjson::error_message(broken)));
  }
  if (TextOr(document, "schema", "") != "hone-bench") {
    return Error(path + ": no result of hone bench (--save or --json writes one)");
  }
  if (IntOr(document, "version", 0) != 1) {
    return Error(fmt::format("{}: version {} of hone bench's results; this hone reads 1", path,
                             IntOr(document, "version", 0)));
  }
  Benchmark benchmark;
  JsonValue named;
  if (document["metric"].get(named) != simdjson::SUCCESS) {
    return Error(path + ": says no metric; was it cut off?");
  }
  Result<Metric> metric =
      ParseMetric(TextOr(named, "name", ""), BoolOr(named, "higher_is_better", false));
  if (!metric) return std::move(metric).error().WithContext(path);
  benchmark.metric = *metric;
  benchmark.paired = BoolOr(document, "paired", true);
  benchmark.seconds = DoubleOr(document, "seconds", 0);
  benchmark.ended = TextOr(document, "ended", "");
  for (const JsonValue& arm : Elements(document, "arms")) {
    benchmark.arms.push_back(ReadArm(arm, benchmark.arms.size()));
    if (benchmark.arms.back().runs.empty()) {
      return Error(fmt::format("{}: arm {} has no runs", path, benchmark.arms.back().name));
    }
  }
  if (benchmark.arms.empty()) return Error(path + ": holds no arms");
  return benchmark;
}

}  // namespace hone::bench
