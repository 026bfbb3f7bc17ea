// SPDX-License-Identifier: Apache-2.0
#include "report/tune/tune_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "report/bench/bench_words.h"

namespace hone::report {

using tune::Row;
using tune::Trial;
using tune::TuneResult;

namespace {

const bench::Comparison* ProofOf(const TuneResult& result) {
  if (!result.confirmation || result.confirmation->comparisons.empty()) return nullptr;
  return &result.confirmation->comparisons[0];
}

// "38.7 → 251"
std::string FromTo(const std::string& from, const std::string& to, const Style& style) {
  return from == to ? to : fmt::format("{}{}{}", from, style.arrow(), to);
}

std::string StepText(double seconds) { return HumanDuration(static_cast<Nanos>(seconds * 1e9)); }

// What the proof measured in an arm: the headline's ratio is of these, not of the search's trials.
// Geometric means, here as in the search's ledger: their ratio is the mean of the pairs' ratios, so
// that rates, steps and the factor beside them agree.
struct Pace {
  std::optional<double> rate, step_s;
};

double GeometricMean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

Pace PaceOf(const bench::Arm& arm, bool counts_samples) {
  std::vector<double> rates, steps;
  for (const bench::Run& run : arm.runs) {
    if (!run.steps || run.steps->mean_s <= 0) continue;
    steps.push_back(run.steps->mean_s);
    const std::optional<double> samples = run.steps->samples_per_s;
    if (!counts_samples || samples.value_or(0) > 0)
      rates.push_back(counts_samples ? *samples : 1 / steps.back());
  }
  if (steps.empty() || rates.size() != steps.size()) return {};
  return {GeometricMean(rates), GeometricMean(steps)};
}

// `rate`: the mean of all trials like this one, so the step is that of the rate.
Pace PaceOf(const Trial& trial, double rate) {
  Pace pace;
  pace.rate = rate;
  if (trial.steps && rate > 0) pace.step_s = trial.samples_per_step.value_or(1) / rate;
  return pace;
}

// As it is typed from here, where that is shorter.
std::string NearPath(const std::string& path) {
  std::error_code error;
  const std::string near = std::filesystem::relative(path, error).string();
  return error || near.empty() || near.size() >= path.size() ? path : near;
}

bool AnyTried(const TuneResult& result) {
  return result.rows.empty() ||
         std::any_of(result.rows.begin(), result.rows.end(),
                     [](const Row& row) { return row.fate != Row::Fate::kNotTried; });
}

std::string LossClause(const tune::GuardVerdict& guard) {
  if (!guard.checked) return "its loss was not seen, so nothing says that it still learns the same";
  return guard.passed ? "it still learns the same" : "but " + guard.why;
}

}  // namespace

TuneOutcome OutcomeOf(const TuneResult& result) {
  if (result.winner.empty()) return TuneOutcome::kNothing;
  const bench::Comparison* proof = ProofOf(result);
  const bool faster =
      proof != nullptr && proof->valid() && proof->verdict() == stats::Verdict::kFaster;
  const bool learns = !result.winner_guard.checked || result.winner_guard.passed;
  return faster && learns ? TuneOutcome::kFaster : TuneOutcome::kUnproven;
}

std::string TuneVerdict(const TuneResult& result, const Style& style) {
  const std::string program = style.Clean(fmt::format("{}", fmt::join(result.command, " ")));
  switch (OutcomeOf(result)) {
    case TuneOutcome::kNothing:
      if (!AnyTried(result)) {
        return fmt::format("nothing was tried on {}: the budget of {} holds no trial and its proof",
                           program, HumanDuration(static_cast<Nanos>(result.budget_s * 1e9)));
      }
      return fmt::format("nothing that was tried makes {} faster by 2 % or more", program);
    case TuneOutcome::kUnproven: {
      const bench::Comparison* proof = ProofOf(result);
      if (proof == nullptr) {
        return fmt::format(
            "{} looks faster, but no time was left to prove it; give a larger "
            "--budget",
            program);
      }
      if (result.winner_guard.checked && !result.winner_guard.passed) {
        return fmt::format("{} is faster, {}", program, result.winner_guard.why);
      }
      return fmt::format("{}: not proven, {}", program,
                         VerdictLine(*result.confirmation, *proof, style.dash()));
    }
    case TuneOutcome::kFaster: break;
  }
  const bench::Comparison& proof = *ProofOf(result);
  return fmt::format("{} is {} faster {}, {}; {}", program, RatioText(proof.judgement.ratio),
                     IntervalText(proof, style.dash()),
                     Count(static_cast<std::uint64_t>(proof.judgement.pairs), "pair"),
                     LossClause(result.winner_guard));
}

std::string_view RateUnit(const TuneResult& result) {
  return result.counts_samples ? "samples/s" : "steps/s";
}

const Trial* BaselineOf(const TuneResult& result) {
  for (const Trial& trial : result.trials) {
    if (trial.order.recipe.empty() && trial.order.seed_offset == 0 && trial.fine() &&
        !trial.order.describe) {
      return &trial;
    }
  }
  return nullptr;
}

const Trial* WinnerOf(const TuneResult& result) {
  if (result.winner.empty()) return nullptr;
  const std::string key = tune::KeyOf(result.winner);
  for (auto trial = result.trials.rbegin(); trial != result.trials.rend(); ++trial) {
    if (trial->fine() && tune::KeyOf(trial->order.recipe) == key) return &*trial;
  }
  return nullptr;
}

std::vector<std::string> TuneHeadline(const TuneResult& result, const Style& style) {
  std::vector<std::string> parts;
  const Trial* before = BaselineOf(result);
  const Trial* after = WinnerOf(result);
  if (before == nullptr) return parts;
  if (after == nullptr) after = before;
  const double rate = result.baseline_rate > 0 ? result.baseline_rate : *before->rate;
  Pace old_pace = PaceOf(*before, rate);
  const std::vector<const Row*> adopted = AdoptedRows(result);
  const std::optional<double> total =
      adopted.empty() ? std::nullopt : adopted.back()->cumulative_rate;
  Pace new_pace = PaceOf(*after, after == before ? rate : total.value_or(*after->rate));
  std::string what = "means of the trials";
  if (ProofOf(result) != nullptr && result.confirmation->arms.size() == 2) {
    const Pace a = PaceOf(result.confirmation->arms[0], result.counts_samples);
    const Pace b = PaceOf(result.confirmation->arms[1], result.counts_samples);
    if (a.rate && b.rate) {
      old_pace = a, new_pace = b;
      what = "means of the proof's runs";
    }
  }
  parts.push_back(FromTo(ThreeDigits(*old_pace.rate), ThreeDigits(*new_pace.rate), style) +
                  fmt::format(" {}", RateUnit(result)));
  if (old_pace.step_s && new_pace.step_s) {
    parts.push_back("step " +
                    FromTo(StepText(*old_pace.step_s), StepText(*new_pace.step_s), style));
  }
  parts.push_back(what);
  const auto from = before->peak_bytes(), to = after->peak_bytes();
  if (from && to) {
    parts.push_back("peak " + FromTo(HumanBytes(static_cast<double>(*from)),
                                     HumanBytes(static_cast<double>(*to)), style));
  }
  if (result.noise > 0) parts.push_back(fmt::format("runs differ by {}", Percent(result.noise)));
  parts.push_back(fmt::format("{} in {}", Count(result.trials.size(), "trial"),
                              HumanDuration(static_cast<Nanos>(result.seconds * 1e9))));
  return parts;
}

std::vector<std::string> TuneEvidence(const Row& row, const Style& style) {
  std::vector<std::string> parts;
  const std::optional<double> measured = row.on_top ? row.on_top : row.alone;
  if (measured) {
    std::string text = "measured " + RatioText(*measured);
    if (row.together > 1) {
      text += fmt::format(" for {} at once", row.together);
      if (row.predicted) text += fmt::format(", predicted {}", RatioText(*row.predicted));
    } else if (row.predicted) {
      text += fmt::format(", predicted {} ({})", RatioText(*row.predicted),
                          style.Clean(row.predicted_by));
    }
    parts.push_back(text);
  }
  // What a single one gives alone and what is lost without it is the same number.
  if (row.without && row.without != row.alone)
    parts.push_back("without it " + RatioText(*row.without));
  if (row.guard.checked) {
    parts.push_back(
        fmt::format("{}: {}", tune::WordOf(row.candidate.risk), style.Clean(row.guard.why)));
  } else {
    parts.emplace_back(tune::WordOf(row.candidate.risk));
  }
  return parts;
}

std::string TuneReason(const Row& row) {
  return row.why.empty() ? std::string(tune::WordOf(row.fate)) : row.why;
}

std::vector<const Row*> AdoptedRows(const TuneResult& result) {
  std::vector<const Row*> rows;
  for (const Row& row : result.rows) {
    if (row.fate == Row::Fate::kAdopted) rows.push_back(&row);
  }
  return rows;
}

std::vector<const Row*> OtherRows(const TuneResult& result) {
  std::vector<const Row*> rows;
  for (const Row& row : result.rows) {
    if (row.fate != Row::Fate::kAdopted) rows.push_back(&row);
  }
  return rows;
}

std::vector<std::pair<std::string, std::string>> TuneInapplicable(const TuneResult& result) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const tune::Inapplicable& one : result.inapplicable) {
    const auto same = std::find_if(reasons.begin(), reasons.end(),
                                   [&](const auto& reason) { return reason.first == one.why; });
    if (same == reasons.end()) {
      reasons.emplace_back(one.why, one.treatment);
    } else {
      same->second += ", " + one.treatment;
    }
  }
  return reasons;
}

std::vector<std::pair<std::string, std::string>> TuneNext(const TuneResult& result) {
  std::vector<std::pair<std::string, std::string>> next;
  const std::string command = ShellCommand(result.command);
  const std::string near = NearPath(result.folder);
  const auto file = [&](const char* name) { return ShellCommand({near + name}); };
  if (!result.winner.empty()) {
    next.emplace_back(fmt::format("hone run --recipe {} -- {}", file("/recipe.json"), command),
                      "next: use it as it is");
    if (!result.patch.empty()) {
      next.emplace_back(fmt::format("patch -p1 < {}", file("/recipe.patch")),
                        "or write it into the program");
    }
  }
  if (!result.ended.empty()) {
    // The time that was used counts; a search that used it up needs more.
    const double minutes = std::ceil(std::max(2 * result.budget_s, result.needed_s) / 60);
    const bool more = result.seconds >= result.budget_s / 2 || result.needed_s > result.budget_s;
    const std::string budget = more ? fmt::format(" --budget {:.0f}m", minutes) : "";
    next.emplace_back(fmt::format("hone tune --resume {}{} -- {}", file(""), budget, command),
                      "go on where it stopped");
  }
  return next;
}

}  // namespace hone::report
