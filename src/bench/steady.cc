// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "bench/probe.h"
#include "stats/change_point.h"
#include "stats/quantile.h"

namespace hone::bench {
namespace {

// A window of fewer steps says nothing about how they scatter.
constexpr std::size_t kLeastSteady = 4;

// Step i, from 0, ends at steps_ns[i]; its length is known from the second on.
struct Series {
  explicit Series(const Probe& from) : probe(from), looked(from.looked.begin(), from.looked.end()) {
    // While a step was looked at, loaders' workers went on: what they had ready then is handed out
    // as fast as it can be taken, which is not the program's pace.
    std::set<std::int64_t> fed = looked;
    for (const std::int64_t step : from.looked) {
      for (std::int64_t i = 1; i <= from.stock; ++i) fed.insert(step + i);
    }
    if (2 * fed.size() <= from.steps_ns.size()) looked = std::move(fed);
  }

  std::size_t count() const { return probe.steps_ns.size(); }
  double Length(std::size_t i) const {
    return static_cast<double>(probe.steps_ns[i] - probe.steps_ns[i - 1]) * 1e-9;
  }
  bool Looked(std::size_t i) const { return looked.contains(static_cast<std::int64_t>(i)); }

  const Probe& probe;
  std::set<std::int64_t> looked;
};

std::int64_t LastGrowth(const Probe& probe) {
  std::int64_t last = 0;
  const auto half = static_cast<std::int64_t>(probe.steps_ns.size() / 2);
  for (const std::int64_t step : probe.growth) {
    if (step <= half) last = std::max(last, step);
  }
  for (std::size_t i = 1; i < probe.edges.size(); ++i) {
    const Probe::Edge& edge = probe.edges[i];
    if (edge.reserved_bytes > probe.edges[i - 1].reserved_bytes && edge.step <= half) {
      last = std::max(last, edge.step);
    }
  }
  return last;
}

// Steps given away: the window begins at the end of this many.
std::size_t Warmup(const Series& series, std::int64_t given) {
  const std::size_t count = series.count();
  if (given >= 0) return std::min(static_cast<std::size_t>(given), count);
  // The first step takes long, too. Where the loader is not what the program waits for, the batches
  // are always ready, and nothing is lost but steps.
  const std::int64_t fed = std::min(series.probe.stock + 1, static_cast<std::int64_t>(count) / 2);
  const std::int64_t least = std::max({kLeastWarmup, LastGrowth(series.probe), fed});
  std::vector<double> lengths;
  std::vector<std::size_t> step;
  std::size_t least_values = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (series.Looked(i)) continue;
    if (static_cast<std::int64_t>(i) < least) ++least_values;
    lengths.push_back(series.Length(i));
    step.push_back(i);
  }
  if (lengths.empty()) return count;
  const std::size_t from = stats::SettledFrom(lengths, least_values);
  return from < step.size() ? step[from] : count;
}

// From the end of step `first` (counted from 1) to that of step `last`.
struct Window {
  std::size_t first = 0, last = 0;
  double seconds = 0;
};

Window Choose(const Series& series, std::size_t warmup) {
  const Probe& probe = series.probe;
  Window window{std::max<std::size_t>(warmup, 1), series.count(), 0};
  const Probe::Edge* begin = nullptr;
  const Probe::Edge* end = nullptr;
  for (const Probe::Edge& edge : probe.edges) {
    if (edge.reserved_bytes < 0 || edge.step < static_cast<std::int64_t>(window.first)) continue;
    if (begin == nullptr) begin = &edge;
    end = &edge;
  }
  if (begin != nullptr && end->step - begin->step >= static_cast<std::int64_t>(kLeastSteady)) {
    window = {static_cast<std::size_t>(begin->step), static_cast<std::size_t>(end->step),
              static_cast<double>(end->time_ns - begin->time_ns) * 1e-9};
    return window;
  }
  if (window.last > window.first) {
    window.seconds =
        static_cast<double>(probe.steps_ns[window.last - 1] - probe.steps_ns[window.first - 1]) *
            1e-9 +
        probe.tail_sync_s;
  }
  return window;
}

double Between(const std::vector<std::int64_t>& series, std::size_t first, std::size_t last) {
  return series.empty() ? 0 : static_cast<double>(series[last - 1] - series[first - 1]);
}

void Measure(const Series& series, const Window& window, Steps& steps) {
  const Probe& probe = series.probe;
  double seconds = window.seconds, samples = Between(probe.samples, window.first, window.last),
         waits = Between(probe.waits_ns, window.first, window.last) * 1e-9;
  std::vector<double> lengths;
  for (std::size_t i = window.first; i < window.last; ++i) {
    if (!series.Looked(i)) {
      lengths.push_back(series.Length(i));
      continue;
    }
    seconds -= series.Length(i);
    samples -= Between(probe.samples, i, i + 1);
    waits -= Between(probe.waits_ns, i, i + 1) * 1e-9;
  }
  steps.steady = lengths.size();
  steps.window_s = seconds;
  steps.mean_s = seconds / static_cast<double>(lengths.size());
  steps.p50_s = stats::Quantile(lengths, 0.50);
  steps.p95_s = stats::Quantile(lengths, 0.95);
  steps.p99_s = stats::Quantile(lengths, 0.99);
  if (samples > 0) steps.samples_per_s = samples / seconds;
  if (samples > 0) steps.data_wait_share = std::clamp(waits / seconds, 0.0, 1.0);
}

}  // namespace

Known<Steps> SteadySteps(const std::vector<Probe>& probes, std::int64_t given,
                         std::int64_t start_ns) {
  using Absent = Known<Steps>;
  if (probes.empty()) {
    return Absent::Absent("no steps were seen: the program is no Python that loads start-up files");
  }
  const Probe& probe = probes[0];
  if (!probe.trouble.empty()) return Absent::Absent("the probe failed: " + probe.trouble);
  if (probe.steps_ns.empty()) {
    return Absent::Absent(
        "no steps were seen: no optimizer stepped, no DataLoader handed out a batch; call "
        "hone.step() once an iteration");
  }
  const Series series(probe);
  Steps steps;
  steps.count = series.count();
  steps.first_s = static_cast<double>(probe.begin_ns - start_ns + probe.steps_ns[0]) * 1e-9;
  if (!probe.samples.empty()) steps.samples = static_cast<std::uint64_t>(probe.samples.back());
  steps.warmup = Warmup(series, given);
  const Window window = Choose(series, steps.warmup);
  if (window.last < window.first + kLeastSteady) {
    return Absent::Absent(
        fmt::format("{} seen, {} of warm-up: too few are left to measure; let it run longer",
                    Count(steps.count, "step"), steps.warmup));
  }
  steps.warmup = window.first;
  Measure(series, window, steps);
  // Other processes of the job (ranks) work on samples of their own.
  double others = 0;
  for (std::size_t i = 1; i < probes.size(); ++i) {
    if (!probes[i].samples.empty()) others += static_cast<double>(probes[i].samples.back());
  }
  if (steps.samples_per_s && steps.samples > 0) {
    *steps.samples_per_s *= 1 + others / static_cast<double>(steps.samples);
    steps.samples += static_cast<std::uint64_t>(others);
  }
  return steps;
}

}  // namespace hone::bench
