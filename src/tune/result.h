// SPDX-License-Identifier: Apache-2.0
// What a search for treatments found: every trial, what was adopted, and the proof.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/result.h"
#include "tune/guard.h"
#include "tune/trial.h"

namespace hone::tune {

// A row of the table: one candidate, what it was expected to give and what it gave.
struct Row {
  enum class Fate {
    kAdopted,
    kNoGain,  // measured, and not faster by the least effect
    kSlower,
    kRejected,    // the guard says no
    kFailed,      // its trial ended badly
    kNoEffect,    // it found nothing to do in the program
    kReported,    // changes the optimization: measured, not adopted
    kSuperseded,  // another of its group was better, or the rest made it useless
    kNotTried,    // the budget was spent, or it was left out by name
  };
  Candidate candidate;
  Fate fate = Fate::kNotTried;
  std::string why;                  // one sentence for people
  std::optional<double> predicted;  // factor, by the doctor's replay of the recorded baseline
  std::string predicted_by;  // the rule, or "usual" where only the treatment's own prior is known
  // Factors against the baseline, against what stood when it was tried, and what the winner loses
  // without it.
  std::optional<double> alone, on_top, without;
  std::optional<double> cumulative;  // of the recipe up to and with it
  // Adopted at once with others: so many they are, and `on_top` is of all. 0: alone.
  std::size_t together = 0;
  std::optional<double> rate, cumulative_rate;
  std::optional<std::int64_t> peak_bytes;
  std::optional<double> loss;  // at the guard's last step
  GuardVerdict guard;
};
std::string_view WordOf(Row::Fate fate);

// A line of the search for a batch size.
struct BatchRow {
  std::optional<Candidate> candidate;  // none: the program as it is
  std::optional<double> batch;         // samples a step, of all ranks together
  std::optional<double> rate, step_ms;
  std::optional<std::int64_t> peak_bytes;
  std::optional<double> device_share;  // peak of capacity, of the fullest rank
  Ending ending = Ending::kFine;
  bool within_margin = true;
  std::string why;
};

struct TuneResult {
  std::vector<std::string> command;
  std::string folder;
  bool counts_samples = false;
  double baseline_rate = 0;
  double noise = 0;  // relative spread of the baseline's own runs
  double step_ms = 0;
  std::string device;     // "cuda", "cpu"
  std::vector<Row> rows;  // adopted first, in their order; then the rest, best first
  std::vector<Inapplicable> inapplicable;
  std::vector<Advice> advice;
  std::vector<Trial> trials;  // all, in order
  Recipe winner;              // empty: nothing helped
  std::string patch;          // of the winner, as a unified diff; empty: see each row's code
  // The confirmation says faster. `proof` is a sentence either way, empty without a winner.
  bool proven = false;
  std::string proof;
  std::optional<bench::Benchmark> confirmation;  // winner against the program as it is
  std::optional<double> predicted;               // of the winner, where every part has one
  GuardVerdict winner_guard;
  std::vector<std::string> findings;  // ids of the doctor, best first
  std::string ended;                  // why before its plan was done; empty: it was
  bool failed = false;                // `ended` is no decision: the search could not go on
  double seconds = 0, budget_s = 0;
  double needed_s =
      0;  // a budget that holds the first trial that this one did not; 0: all were held
  std::vector<std::string> notes;
  // Of the search for a batch size: the program as it is first, then as tried; and the place of the
  // fastest that keeps the memory margin.
  std::vector<BatchRow> batches;
  std::optional<std::size_t> best_batch;
};

}  // namespace hone::tune
