// SPDX-License-Identifier: Apache-2.0
#include "bench/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "bench/json.h"

namespace hone::bench {
namespace {

std::map<std::string, std::int64_t> Counts(const JsonValue& element) {
  std::map<std::string, std::int64_t> counts;
  simdjson::dom::object object;
  if (element.get_object().get(object) != simdjson::SUCCESS) return counts;
  for (const auto& [key, value] : object) {
    std::int64_t count = 0;
    if (value.get_int64().get(count) == simdjson::SUCCESS) counts[std::string(key)] = count;
  }
  return counts;
}

void ReadEdges(const JsonValue& document, Probe& probe) {
  for (const JsonValue& element : Elements(document, "edges")) {
    simdjson::dom::array values;
    if (element.get_array().get(values) != simdjson::SUCCESS || values.size() < 4) continue;
    std::int64_t numbers[4] = {0, 0, 0, 0};
    bool good = true;
    for (std::size_t i = 0; i < 4; ++i) {
      good = good && values.at(i).get_int64().get(numbers[i]) == simdjson::SUCCESS;
    }
    if (good) probe.edges.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
  }
}

void ReadWork(const JsonValue& document, Probe& probe) {
  simdjson::dom::object facts;
  if (document["facts"].get_object().get(facts) == simdjson::SUCCESS) {
    for (const auto& [key, value] : facts) {
      std::string_view text;
      if (value.get_string().get(text) == simdjson::SUCCESS) probe.facts[std::string(key)] = text;
    }
  }
  for (const JsonValue& look : Elements(document, "operators")) {
    probe.operators.push_back(Counts(look));
  }
  probe.operator_shapes = Ints(document, "operator_shapes");
  probe.batches = IntOr(document, "batches", 0);
  probe.elements = IntOr(document, "elements", 0);
  probe.peak_device_bytes = IntOr(document, "peak_device_bytes", -1);
}

}  // namespace

Result<Probe> ReadProbe(const std::string& path) {
  simdjson::dom::parser parser;
  JsonValue document;
  if (const auto error = parser.load(path).get(document)) {
    return Error(fmt::format("{}: {}", path, simdjson::error_message(error)));
  }
  Probe probe;
  probe.pid = IntOr(document, "pid", 0);
  probe.begin_ns = IntOr(document, "begin_ns", 0);
  probe.end_ns = IntOr(document, "end_ns", 0);
  probe.uptime_s = FindDouble(document, "uptime_s");
  probe.trouble = TextOr(document, "trouble", "");
  probe.steps_ns = Ints(document, "steps_ns");
  probe.samples = Ints(document, "samples");
  probe.waits_ns = Ints(document, "waits_ns");
  probe.growth = Ints(document, "growth");
  probe.looked = Ints(document, "looked");
  probe.stock = IntOr(document, "stock", 0);
  probe.cpu_s = DoubleOr(document, "cpu_s", 0);
  probe.tail_cpu_s = DoubleOr(document, "tail_cpu_s", 0);
  probe.tail_sync_s = DoubleOr(document, "tail_sync_s", 0);
  for (const JsonValue& clock : Elements(document, "clocks")) {
    std::string_view name;
    if (clock.get_string().get(name) == simdjson::SUCCESS) probe.clocks.emplace_back(name);
  }
  ReadEdges(document, probe);
  ReadWork(document, probe);
  // Whoever wrote them: the same length, or they are of no use.
  if (probe.samples.size() != probe.steps_ns.size()) probe.samples.clear();
  if (probe.waits_ns.size() != probe.steps_ns.size()) probe.waits_ns.clear();
  return probe;
}

std::vector<Probe> ReadProbes(const std::string& folder) {
  std::vector<Probe> probes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("probe-") || !name.ends_with(".json")) continue;
    if (Result<Probe> probe = ReadProbe(entry.path().string())) probes.push_back(*probe);
  }
  std::sort(probes.begin(), probes.end(), [](const Probe& a, const Probe& b) {
    if (a.steps_ns.size() != b.steps_ns.size()) return a.steps_ns.size() > b.steps_ns.size();
    return a.pid < b.pid;
  });
  return probes;
}

}  // namespace hone::bench
