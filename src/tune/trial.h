// SPDX-License-Identifier: Apache-2.0
// A trial: the user's program, unchanged, run once in a fresh process with a recipe of treatments
// put into it from outside (python/hone/treatments), and what was seen of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/known.h"
#include "base/result.h"
#include "bench/result.h"

namespace hone::tune {

// What a treatment may change. Exact: the same numbers in the same order. Numeric: rounding, held
// to the band of the program's own runs. Optimization: the training itself (batch size); reported,
// never adopted unless asked for.
enum class Risk { kExact, kNumeric, kOptimization };
std::string_view WordOf(Risk risk);  // "exact", "numeric", "optimization"

// A treatment and one choice of its options. Options are the treatment's own JSON object, keys
// sorted, as it wrote them: they are carried and compared here, never read.
struct Choice {
  std::string treatment;
  std::string options = "{}";
  bool operator==(const Choice&) const = default;
};
// In the order adopted. Two recipes with the same choices are the same trial.
using Recipe = std::vector<Choice>;
bool Contains(const Recipe& recipe, const Choice& choice);
std::string KeyOf(Recipe recipe);  // sorted; equal for equal recipes

// Something to try, as the treatment declared it after looking at the program's first run.
struct Candidate {
  Choice choice;
  std::string title;  // "load data in 8 worker processes"
  Risk risk = Risk::kExact;
  std::string group;                     // at most one of a group stands in a recipe; empty: alone
  std::vector<std::string> cures;        // rules of the doctor that it answers
  bool cures_all = false;                // at once; else the first of them that was found
  std::vector<std::string> better_with;  // treatments without which it may well harm
  double prior = 1;                      // factor to expect where no finding says better
  std::optional<double> at_most;  // the largest factor that it can give, whatever is predicted
  double extra_s = 0;             // that a trial takes longer: compilation
  bool between = false;           // a batch between two others: tried where the larger is too large
  std::string code;               // the change that makes it permanent, in a line or a few
  std::string where;              // "train.py:30"
};

// A treatment that cannot do anything here, and why.
struct Inapplicable {
  std::string treatment, title, why;
};

// What would help and cannot be put in from outside.
struct Advice {
  std::string title, why, code, where;
};

struct TrialOrder {
  Recipe recipe;
  std::int64_t seed_offset = 0;  // added to the seeds the program sets
  std::int64_t steps = 0;        // the program is left after so many; 0: by `seconds`
  double seconds = 0;            // of steady steps, at least
  bool describe = false;         // the candidates are wanted
  double timeout_s = 0;          // 0: none
  bool recorded = false;         // for the doctor: the program is left in time, and nothing else
  bool compared = false;         // what it works on is looked at, for a comparison
  // Where `seconds` rule: as many steps as this where those that are missing take no longer.
  std::int64_t guard_steps = 0;
  double guard_s = 0;
};

enum class Ending {
  kFine,         // the steps that were wanted, or the program's own end after some
  kOutOfMemory,  // by the type of the exception
  kError,        // any other exception or exit code
  kKilled,       // by a signal that was not ours
  kHang,         // stopped at the timeout
  kNoSteps,      // ended well and was never seen to step
  kRecompiling,  // steps went on compiling to the end
  kInterrupted,  // Ctrl-C
};
std::string_view WordOf(Ending ending);  // "fine", "out of memory", "error", …

// Whether a treatment of the recipe really did something.
struct Effect {
  std::string treatment;
  std::string state;  // "applied", "inert" (the program does it itself), "not applicable", "failed"
  std::int64_t hits = 0;
  std::string why;
};

// The batches that a loader handed out: checksums of the first 64.
struct Batches {
  std::int64_t count = 0;
  std::string order;           // of the indices asked for; empty: not seen (iterable dataset)
  std::string labels;          // of all integer values
  std::string content;         // of all values
  bool random = false;         // the dataset gives another item when asked again
  bool random_labels = false;  // with other integer values
  double mean = 0, stdev = 0;  // of the floating-point values
};

struct Trial {
  TrialOrder order;
  std::string
      purpose;  // "baseline", "same seed", "other seed", "forward", "again", "alone", "without"
  Ending ending = Ending::kFine;
  std::string error_type, error;  // the child's own: "torch.OutOfMemoryError", its first line
  bool disk_full = false;         // its exception says so; such a trial is not kept
  std::string folder;             // its output.txt
  bool left = false;              // by us, after its steps; else the program came to its own end
  bool from_journal = false;      // of an earlier session; it cost nothing now
  Known<bench::Steps> steps;
  bool counts_samples = false;  // else `rate` counts steps
  std::optional<double> rate;   // samples (or steps) a second in the steady window, waits included
  std::optional<double> samples_per_step;  // of all ranks together
  std::vector<double> losses;              // one a step; NaN and infinities as they came
  std::vector<std::pair<std::int64_t, double>> gradient_norms;  // step, norm; sampled
  std::int64_t skipped_steps = 0;                               // by a gradient scaler
  std::int64_t recompiles = 0;
  std::optional<std::int64_t> peak_device_bytes, device_bytes;  // of all ranks together
  std::optional<double> device_share;  // peak of capacity, of the rank that is nearest to it
  std::int64_t peak_rss_bytes = 0;
  std::optional<Batches> batches;
  std::vector<Effect> effects;
  int world = 1;              // processes that stepped
  std::string device, torch;  // "cuda", "2.13.0"
  std::string patch;  // the recipe as a unified diff of the program's own files; may be empty
  double start_s = 0, wall_s = 0;

  // Of the device where one was used, else of the program and its processes.
  std::optional<std::int64_t> peak_bytes() const {
    if (peak_device_bytes.value_or(0) > 0) return peak_device_bytes;
    return peak_rss_bytes > 0 ? std::optional(peak_rss_bytes) : std::nullopt;
  }
  bool fine() const { return ending == Ending::kFine && rate.has_value(); }
};

// What the describing run said beside its numbers.
struct Description {
  std::vector<Candidate> candidates;  // every variant by itself
  std::vector<Inapplicable> inapplicable;
  std::vector<Advice> advice;
};

}  // namespace hone::tune
