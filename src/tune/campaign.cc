// SPDX-License-Identifier: Apache-2.0
#include "tune/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace hone::tune {
namespace {

// Steps of a trial: enough for the guard's windows and for the checksums of the first 64 batches,
// unless those beyond what its rate needs take more than this share of the budget.
constexpr std::int64_t kGuardSteps = 66;
constexpr double kGuardShare = 1.0 / 200;
// A trial that takes this much longer than expected hangs.
constexpr double kHangFactor = 3, kHangSeconds = 30;
// Of the time that a first run compiled for, what a second run does not take.
constexpr double kFoundAgain = 0.7;
// Of the budget, that the first run may take.
constexpr double kFirstShare = 0.5;
// Trials that must fit into the budget beside the baseline's for all of its runs to be worth it.
constexpr double kManyTrials = 14, kEnoughTrials = 8, kSomeTrials = 5;

std::string Human(double seconds) { return HumanDuration(static_cast<Nanos>(seconds * 1e9)); }

// The sentence for a program that cannot be tuned.
Error Failure(const Trial& trial) {
  const std::string output =
      trial.folder.empty() ? "" : fmt::format("; all it printed: {}/output.txt", trial.folder);
  const std::string type = trial.error_type.empty() ? "" : trial.error_type + ": ";
  switch (trial.ending) {
    case Ending::kNoSteps:
      return Error(
          fmt::format("the program cannot be measured by its steps: {}{}", trial.error, output));
    case Ending::kHang:
      return Error(fmt::format(
          "the program as it is did not get through its first steps: it {}{}; give a longer "
          "--budget or a smaller job",
          trial.error, output));
    default:
      return Error(fmt::format("the program as it is fails ({}): {}{}{}; make it run first",
                               WordOf(trial.ending), type, trial.error, output));
  }
}

}  // namespace

std::string Times(double factor) { return fmt::format("{:.2f}x", factor); }

// Five pairs, the first look; where they would take too much of the budget, the three that an
// interval needs.
double Campaign::Reserved(const Recipe& winner) const {
  if (!options_.confirm) return 0;
  const double pair = kMargin * (Estimate({}) + EstimateAgain(winner));
  const double budget = options_.budget_s;
  const bool all = kLeastPairs * pair <= kMostReserved * budget;
  return std::max(kReservedShare * budget, (all ? kLeastPairs : kFewestPairs) * pair);
}

double Campaign::ShortestProof(const Recipe& winner) const {
  return kFewestPairs * (Estimate({}) + EstimateAgain(winner));
}

double Campaign::Estimate(const Recipe& recipe) const {
  if (const std::optional<double> wall = ledger_.Wall(recipe)) return *wall;
  // What is known of the part of it that stands already, and what each other part says it adds.
  const bool grown = std::all_of(incumbent_.begin(), incumbent_.end(),
                                 [&](const Choice& choice) { return Contains(recipe, choice); });
  double seconds = ledger_.Wall({}).value_or(first_.wall_s);
  if (grown) seconds = ledger_.FirstWall(incumbent_).value_or(seconds);
  for (const Candidate& candidate : candidates_) {
    if (!Contains(recipe, candidate.choice)) continue;
    if (grown && Contains(incumbent_, candidate.choice)) continue;
    seconds += candidate.extra_s;
  }
  return seconds;
}

double Campaign::FirstStep(const Recipe& recipe) const {
  const auto found = latest_.find(KeyOf(recipe));
  return found == latest_.end() || !found->second.steps ? 0 : found->second.steps->first_s;
}

// Compiled code is kept on disk (PyTorch's caches of graphs and of kernels): a second run finds it,
// unless the first did already.
double Campaign::EstimateAgain(const Recipe& recipe) const {
  if (ledger_.Runs(recipe) > 1) return Estimate(recipe);
  const bool ran = ledger_.Runs(recipe) == 1;
  double compiling = std::max(0.0, FirstStep(ran ? recipe : incumbent_) - FirstStep({}));
  double declared = 0;
  for (const Candidate& candidate : candidates_) {
    if (!Contains(recipe, candidate.choice)) continue;
    declared += candidate.extra_s;
    if (!ran && !Contains(incumbent_, candidate.choice)) compiling += candidate.extra_s;
  }
  return Estimate(recipe) - (compiling < declared / 2 ? 0 : kFoundAgain * compiling);
}

double Campaign::Timeout(double estimate_s) const {
  if (options_.timeout_s > 0) return options_.timeout_s;
  const double rule = kHangFactor * estimate_s + kHangSeconds;
  return std::max(std::min(rule, Left()), 1.5 * estimate_s);
}

bool Campaign::Fits(const Recipe& recipe, int runs) const {
  // What could not be proven afterwards is not begun.
  double most = std::max(Reserved(incumbent_), Reserved(recipe));
  if (const std::optional<Recipe> challenger = Challenger()) {
    most = std::max(most, kMargin * ShortestProof(*challenger));
  }
  // Small gains wait to be decided together; that they must be able to.
  const bool waits = std::find(waiting_.begin(), waiting_.end(), true) != waiting_.end();
  const double together = together_is_due_ && waits ? Estimate(incumbent_) : 0;
  return runs * Estimate(recipe) <= Left() - most - together;
}

std::optional<Trial> Campaign::Attempt(const TrialOrder& order, const std::string& purpose,
                                       const Candidate* candidate) {
  if (stopped_) return std::nullopt;
  if (runner_.interrupted()) {
    result_.ended = "stopped by Ctrl-C";
    stopped_ = true;
    return std::nullopt;
  }
  listener_.Started({purpose, order.recipe, candidate, static_cast<int>(result_.trials.size()) + 1,
                     runner_.Elapsed(), Left()});
  Result<Trial> trial = runner_.Run(order, purpose);
  if (!trial) {
    result_.ended = trial.error().message();
    result_.failed = stopped_ = true;
    return std::nullopt;
  }
  if (trial->ending == Ending::kInterrupted) {
    Tell(*trial, "stopped by Ctrl-C");
    result_.ended = "stopped by Ctrl-C";
    stopped_ = true;
    return std::nullopt;
  }
  result_.trials.push_back(*trial);
  if (Usable(*trial) && !order.describe) {
    ledger_.Add(*trial);
    if (order.seed_offset == 0) latest_[KeyOf(order.recipe)] = *trial;
  }
  return std::move(*trial);
}

std::optional<Trial> Campaign::Attempt(const Recipe& recipe, const std::string& purpose,
                                       const Candidate* candidate) {
  TrialOrder order;
  order.recipe = recipe;
  order.steps = steps_;
  order.timeout_s = Timeout(Estimate(recipe));
  return Attempt(order, purpose, candidate);
}

// A program that compiles on and on by itself cannot be blamed on a treatment.
bool Campaign::Usable(const Trial& trial) const {
  if (!trial.rate || *trial.rate <= 0 || trial.counts_samples != first_.counts_samples) {
    return trial.order.describe && trial.fine();
  }
  return trial.ending == Ending::kFine ||
         (trial.ending == Ending::kRecompiling && trial.recompiles <= first_.recompiles);
}

Status Campaign::Describe() {
  TrialOrder order;
  order.seconds = options_.seconds;
  order.describe = true;
  order.guard_steps = kGuardSteps;
  order.guard_s = kGuardShare * options_.budget_s;
  order.timeout_s = options_.timeout_s > 0 ? options_.timeout_s : kFirstShare * options_.budget_s;
  std::optional<Trial> first = Attempt(order, "baseline", nullptr);
  if (!first) return Error(result_.ended);
  if (!first->fine()) {
    Error failure = Failure(*first);
    Tell(*first, failure.message());
    return failure;
  }
  first_ = std::move(*first);
  result_.counts_samples = first_.counts_samples;
  result_.device = first_.device;
  result_.baseline_rate = *first_.rate;
  result_.step_ms = first_.steps->mean_s * 1e3;
  const Description& description = runner_.description();
  result_.inapplicable = description.inapplicable;
  result_.advice = description.advice;
  candidates_ = description.candidates;
  if (!searches_batches_) {
    std::erase_if(candidates_, [](const Candidate& candidate) { return candidate.between; });
  }
  PlanSteps(first_);
  MakeRows();
  Tell(first_, fmt::format("{} {}; {} to try", ThreeDigits(*first_.rate), RateUnit(),
                           Count(std::count(wanted_.begin(), wanted_.end(), true), "candidate")));
  return Ok();
}

void Campaign::PlanSteps(const Trial& first) {
  steps_ = static_cast<std::int64_t>(first.steps->count);
  if (!first.left) return;  // it has no more of them
  const auto more =
      static_cast<std::int64_t>(kGuardShare * options_.budget_s / first.steps->mean_s);
  if (steps_ + more >= kGuardSteps) steps_ = std::max(steps_, kGuardSteps);
}

void Campaign::MakeRows() {
  wanted_.assign(candidates_.size(), true);
  waiting_.assign(candidates_.size(), false);
  tried_on_.assign(candidates_.size(), "");
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& candidate = candidates_[i];
    Row row;
    row.candidate = candidate;
    const Expectation expected = Expect(candidate, options_);
    row.predicted = expected.predicted ? expected.predicted : std::optional(candidate.prior);
    row.predicted_by = expected.by;
    const std::string& name = candidate.choice.treatment;
    const bool named = options_.only.empty() || options_.only.contains(name);
    if (!named || options_.skip.contains(name)) {
      wanted_[i] = false;
      row.why = named ? "left out by --skip" : "not named by --only";
    }
    wanted += wanted_[i];
    rows_.push_back(std::move(row));
  }
  comparisons_ = std::max<std::size_t>(wanted, 1);
}

// Same seed and other seeds, in turns: both give the noise of a run, and each its band.
Status Campaign::MeasureBaseline() {
  const double room = (options_.budget_s - Reserved({}) - runner_.Elapsed()) / first_.wall_s;
  const int runs = room >= kManyTrials     ? 4
                   : room >= kEnoughTrials ? 3
                   : room >= kSomeTrials   ? 2
                                           : 1;
  if (runs < 4) {
    result_.notes.push_back(fmt::format(
        "the budget of {} holds about {} trials: the program as it is ran {} more with its own "
        "seed and {} with others (2 and 2 with a longer budget), so the band is rough",
        Human(options_.budget_s), static_cast<int>(std::max(room, 0.0)), (runs + 1) / 2,
        Count(static_cast<std::uint64_t>(runs / 2), "time")));
  }
  std::vector<Trial> same = {first_}, other;
  std::string trouble;
  for (int i = 0; i < runs && !stopped_; ++i) {
    TrialOrder order;
    order.steps = steps_;
    order.seed_offset = i % 2 == 0 ? 0 : (i + 1) / 2;
    order.timeout_s = Timeout(first_.wall_s);
    const std::optional<Trial> trial =
        Attempt(order, i % 2 == 0 ? "same seed" : "other seed", nullptr);
    if (!trial) break;
    if (!Usable(*trial)) {
      trouble = Failure(*trial).message();
      Tell(*trial, trouble);
      continue;
    }
    Tell(*trial, fmt::format("{} {}", ThreeDigits(*trial->rate), RateUnit()));
    (i % 2 == 0 ? same : other).push_back(*trial);
  }
  if (ledger_.Runs({}) == 0) {
    return Error(stopped_ ? result_.ended : trouble);
  }
  if (!trouble.empty()) {
    result_.notes.push_back("a run of the program as it is failed: " + trouble);
  }
  // Too few for a scatter: the describing run, slower by what it looks at, is better than none.
  if (ledger_.Runs({}) < 2) ledger_.Add(first_);
  result_.baseline_rate = *ledger_.Rate({});
  result_.noise = ledger_.noise().value_or(0);
  guard_.emplace(std::move(same), std::move(other));
  return Ok();
}

Status Campaign::Begin() {
  result_.budget_s = options_.budget_s;
  for (const auto& [rule, factor] : options_.predicted) result_.findings.push_back(rule);
  std::stable_sort(result_.findings.begin(), result_.findings.end(),
                   [&](const std::string& a, const std::string& b) {
                     return options_.predicted.at(a) > options_.predicted.at(b);
                   });
  HONE_RETURN_IF_ERROR(Describe());
  return MeasureBaseline();
}

Result<TuneResult> Campaign::Search() {
  HONE_RETURN_IF_ERROR(Begin());
  const Units units = OrderUnits(candidates_, wanted_, options_, *ledger_.Wall({}));
  together_is_due_ = true;
  Forward(units.first, "forward");
  // What compiles makes every later trial longer, so what may help with others comes before it.
  TryTogether();
  Forward(units.costly, "forward");
  Forward(units.unlikely, "forward");
  TryTogether();
  Retry();
  if (options_.allow_optimization) Forward(units.last, "forward");
  LeaveOneOut();
  MeasureAlone();
  if (!options_.allow_optimization) Forward(units.last, "forward");
  Challenge();
  Confirm();
  TakeBack();
  Finish();
  return std::move(result_);
}

Result<TuneResult> Search(const SearchOptions& options, TrialRunner& runner,
                          SearchListener& listener) {
  return Campaign(options, runner, listener).Search();
}

}  // namespace hone::tune
