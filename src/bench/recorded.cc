// SPDX-License-Identifier: Apache-2.0
#include "bench/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "bench/experiment.h"

namespace hone::bench {

Status UseMetric(Benchmark& benchmark, const Metric& metric, const std::string& whose) {
  if (metric.name == benchmark.metric.name) return Ok();
  for (Arm& arm : benchmark.arms) {
    for (Run& run : arm.runs) {
      run.value.reset();
      const Known<double> value = ValueOf(run, metric);
      if (!value) return Error(fmt::format("{}: {}", whose, value.why_not()));
      run.value = *value;
    }
  }
  benchmark.metric = metric;
  return Ok();
}

Benchmark Against(const Benchmark& saved, Benchmark measured, const CompareOptions& options) {
  measured.arms.insert(measured.arms.begin(), saved.arms[0]);
  measured.arms[0].name = "A";
  measured.arms[1].name = "B";
  measured.paired = false;
  const std::size_t runs = std::min(measured.arms[0].runs.size(), measured.arms[1].runs.size());
  if (runs > 0) CompareAll(measured, {{static_cast<int>(runs), stats::kAlpha}}, options);
  return measured;
}

Result<Benchmark> Together(std::vector<Recording> recordings, const CompareOptions& options) {
  const std::string& first = recordings[0].path;
  Benchmark benchmark = recordings[0].benchmark;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    auto& [path, one] = recordings[i];
    if (recordings.size() > 1 && one.arms.size() > 1) {
      return Error(fmt::format(
          "{}: holds {} arms; of several files each must hold one (--save with one command)", path,
          one.arms.size()));
    }
    if (i == 0) continue;
    if (one.metric.name != benchmark.metric.name) {
      return Error(fmt::format("{} holds {}, {} holds {}; choose one with --metric", first,
                               benchmark.metric.name, path, one.metric.name));
    }
    benchmark.arms.push_back(std::move(one.arms[0]));
    benchmark.paired = false;
  }
  if (benchmark.arms.size() < 2) {
    return Error(fmt::format("{}: holds one arm; name a second file to compare it with", first));
  }
  std::size_t pairs = SIZE_MAX;
  for (std::size_t i = 0; i < benchmark.arms.size(); ++i) {
    benchmark.arms[i].name = ArmName(i);
    pairs = std::min(pairs, benchmark.arms[i].runs.size());
  }
  const int arms = static_cast<int>(benchmark.arms.size());
  // Taken in turns, the looks were taken too; of two files nobody looked before.
  const auto looks =
      benchmark.paired
          ? stats::PlanLooks(std::max(20, static_cast<int>(pairs)), arms - 1)
          : std::vector<stats::Look>{{static_cast<int>(pairs), stats::kAlpha / (arms - 1)}};
  CompareAll(benchmark, looks, options);
  return benchmark;
}

}  // namespace hone::bench
