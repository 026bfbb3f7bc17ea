// SPDX-License-Identifier: Apache-2.0
// What a benchmark measured and what follows from it. Kept whole: every run of every arm, so that
// the same file can be judged again (hone bench A.json B.json).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/known.h"
#include "bench/metric.h"
#include "stats/verdict.h"

namespace hone::bench {

// What a run did, as the probe in the program saw it (python/hone/_bench.py): names and values that
// two arms must have in common. Values are for people to read; operators are counted by name.
struct Work {
  bool seen = false;
  std::string why_not;  // no probe, no steps
  std::map<std::string, std::string> facts;
  std::map<std::string, std::int64_t> operators;  // of one step, without the optimizer's
};

// What the steps of a run took; times in seconds.
struct Steps {
  std::uint64_t count = 0;   // in the run
  std::uint64_t warmup = 0;  // given away before the steady window
  std::uint64_t steady = 0;  // in the window
  double window_s = 0;       // from a block's edge to a block's edge
  double mean_s = 0, p50_s = 0, p95_s = 0, p99_s = 0;
  double first_s = 0;  // from the program's start to the end of its first step
  std::optional<double> samples_per_s, data_wait_share;
  std::uint64_t samples = 0;  // in the run
};

// The GPU while a run was running, from outside (NVML).
struct GpuLog {
  std::string name;
  std::optional<double> energy_j, sm_clock_mhz, temperature_c;
  std::uint64_t throttle_reasons = 0;  // NVML's bits, idle and asked-for left out
};

struct Run {
  int pair = 0;                 // from 1
  int slot = 0;                 // place in its pair, from 0
  double start_s = 0;           // since the benchmark's start
  std::optional<double> value;  // of the metric
  double wall_s = 0, cpu_s = 0;
  std::int64_t peak_rss_bytes = 0;
  std::optional<std::int64_t> peak_device_bytes;
  Known<Steps> steps;
  std::optional<GpuLog> gpu;
  Work work;
};

struct Arm {
  std::string name;  // "A"
  std::vector<std::string> command;
  std::vector<Run> runs;
};

struct Difference {
  std::string what;      // fact's name: "operators"
  std::string sentence;  // "A runs aten::linear 6 times a step, B 5 times"
  std::string allow;     // the word of --allow that lets it pass
  bool allowed = false;
};

struct SameWork {
  bool checked = false;  // both arms were seen
  std::string why_not;
  std::vector<Difference> differences;
  std::vector<std::string> equal;         // facts that were compared
  std::vector<std::string> not_compared;  // that differ from run to run of the same arm
  bool valid() const;                     // no difference that is not allowed
};

// B against A.
struct Comparison {
  std::size_t baseline = 0, arm = 1;  // places in Benchmark::arms
  stats::Judgement judgement;
  std::vector<stats::Judgement> looks;        // all of them, the last is `judgement`
  std::vector<double> ratios;                 // pair by pair
  std::vector<std::size_t> far;               // pairs flagged as outliers; kept
  std::optional<stats::Judgement> in_cycles;  // time times SM clock, where a GPU says
  bool cycles_disagree = false;               // then the verdict is cannot tell
  SameWork work;
  std::vector<std::string> trouble;  // why the comparison is invalid: less work, a false clock
  bool valid() const { return trouble.empty() && work.valid(); }
  stats::Verdict verdict() const {
    return cycles_disagree || !valid() ? stats::Verdict::kCannotTell : judgement.verdict;
  }
};

struct Benchmark {
  Metric metric;
  double minimum_effect = stats::kMinimumEffect;
  std::vector<Arm> arms;
  std::vector<Comparison> comparisons;  // each other arm against the first
  bool paired = true;  // runs took turns; off: two recordings, whenever they were made
  std::string ended;   // why before its plan was done: "Ctrl-C", "budget of 10 min"; empty: it was
  double seconds = 0;  // of the whole benchmark
  std::vector<std::string> notes;
};

}  // namespace hone::bench
