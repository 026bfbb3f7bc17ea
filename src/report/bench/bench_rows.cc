// SPDX-License-Identifier: Apache-2.0
#include "report/bench/bench_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <optional>

#include "base/text.h"
#include "stats/quantile.h"

namespace hone::report {
namespace {

using bench::Arm;
using bench::Run;
using Number = std::function<std::optional<double>(const Run&)>;
using Show = std::function<std::string(double)>;

std::vector<double> Values(const Arm& arm, const Number& number) {
  std::vector<double> values;
  for (const Run& run : arm.runs) {
    if (const std::optional<double> value = number(run)) values.push_back(*value);
  }
  return values;
}

std::string Seconds(double seconds) {
  return HumanDuration(static_cast<Nanos>(std::llround(seconds * 1e9)));
}

// A step's number, where there are steps.
Number OfSteps(std::optional<double> (*number)(const bench::Steps&)) {
  return [number](const Run& run) -> std::optional<double> {
    return run.steps ? number(*run.steps) : std::nullopt;
  };
}

class Rows {
 public:
  explicit Rows(const bench::Benchmark& benchmark) : benchmark_(benchmark) {}

  // Medians over the runs.
  void Add(const std::string& label, const Number& number, const Show& show,
           const std::string& note = "") {
    BenchRow row{label, {}, note};
    bool any = false;
    for (const Arm& arm : benchmark_.arms) {
      const std::vector<double> values = Values(arm, number);
      any = any || !values.empty();
      row.cells.push_back(values.empty() ? "-" : show(stats::Median(values)));
    }
    if (any) rows.push_back(std::move(row));
  }

  void AddScatter() {
    BenchRow row{"scatter", {}, "of one run, robust (1.48 MAD)"};
    for (const Arm& arm : benchmark_.arms) {
      const std::vector<double> values = Values(arm, [](const Run& run) { return run.value; });
      if (values.size() < 3) return;
      row.cells.push_back(Percent(stats::kMadToSigma * stats::MedianAbsoluteDeviation(values) /
                                  stats::Median(values)));
    }
    rows.push_back(std::move(row));
  }

  std::vector<BenchRow> rows;

 private:
  const bench::Benchmark& benchmark_;
};

}  // namespace

std::string CommandText(const Arm& arm) { return fmt::format("{}", fmt::join(arm.command, " ")); }

std::vector<BenchRow> BenchRows(const bench::Benchmark& benchmark) {
  Rows rows(benchmark);
  const bench::Metric& metric = benchmark.metric;
  const auto bytes = [](double value) { return HumanBytes(value); };
  rows.Add(
      metric.Title(), [](const Run& run) { return run.value; },
      [&](double value) { return metric.Show(value); }, "all rows: median of the runs");
  rows.AddScatter();
  if (metric.kind != bench::MetricKind::kSamples) {
    rows.Add(
        "samples a second", OfSteps([](const bench::Steps& s) { return s.samples_per_s; }),
        [](double value) { return ThreeDigits(value); }, "waiting for data included");
  }
  if (metric.kind != bench::MetricKind::kStep) {
    rows.Add("step", OfSteps([](const bench::Steps& s) { return std::optional(s.mean_s); }),
             Seconds, "of a run: its steady mean");
  }
  rows.Add("step p50", OfSteps([](const bench::Steps& s) { return std::optional(s.p50_s); }),
           Seconds);
  rows.Add("step p95", OfSteps([](const bench::Steps& s) { return std::optional(s.p95_s); }),
           Seconds);
  rows.Add("step p99", OfSteps([](const bench::Steps& s) { return std::optional(s.p99_s); }),
           Seconds);
  rows.Add("waiting for data", OfSteps([](const bench::Steps& s) { return s.data_wait_share; }),
           Percent, "of a step");
  rows.Add("first step after",
           OfSteps([](const bench::Steps& s) { return std::optional(s.first_s); }), Seconds,
           "from the program's start");
  rows.Add(
      "warm-up",
      OfSteps([](const bench::Steps& s) { return std::optional(static_cast<double>(s.warmup)); }),
      [](double value) { return Count(static_cast<std::uint64_t>(value), "step"); },
      "discarded, by the same rule");
  if (metric.kind != bench::MetricKind::kWall) {
    rows.Add(
        "wall time", [](const Run& run) { return std::optional(run.wall_s); }, Seconds);
  }
  rows.Add(
      "CPU time",
      [](const Run& run) -> std::optional<double> {
        return run.cpu_s > 0 ? std::optional(run.cpu_s) : std::nullopt;
      },
      Seconds);
  rows.Add(
      "peak memory",
      [](const Run& run) -> std::optional<double> {
        if (run.peak_rss_bytes <= 0) return std::nullopt;
        return static_cast<double>(run.peak_rss_bytes);
      },
      bytes);
  rows.Add(
      "peak GPU memory",
      [](const Run& run) -> std::optional<double> {
        if (!run.peak_device_bytes) return std::nullopt;
        return static_cast<double>(*run.peak_device_bytes);
      },
      bytes, "PyTorch's allocator");
  rows.Add(
      "energy", [](const Run& run) { return run.gpu ? run.gpu->energy_j : std::nullopt; },
      [](double value) { return ThreeDigits(value) + " J"; }, "of the GPU, whole run");
  rows.Add(
      "energy a sample",
      [](const Run& run) -> std::optional<double> {
        if (!run.gpu || !run.gpu->energy_j || !run.steps || run.steps->samples == 0) return {};
        return *run.gpu->energy_j / static_cast<double>(run.steps->samples);
      },
      [](double value) { return ThreeDigits(value) + " J"; });
  rows.Add(
      "SM clock", [](const Run& run) { return run.gpu ? run.gpu->sm_clock_mhz : std::nullopt; },
      [](double value) { return ThreeDigits(value) + " MHz"; });
  rows.Add(
      "GPU temperature",
      [](const Run& run) { return run.gpu ? run.gpu->temperature_c : std::nullopt; },
      [](double value) { return ThreeDigits(value) + " C"; });
  return std::move(rows.rows);
}

}  // namespace hone::report
