// SPDX-License-Identifier: Apache-2.0
// Greedy forward selection: each candidate on top of what stands.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "tune/campaign.h"

namespace hone::tune {
namespace {

using Fate = Row::Fate;

// A gain below this, or so many times the noise, that one look cannot settle waits until the others
// had theirs.
constexpr double kSmallGain = 0.15, kSmallNoise = 3;
// Of a plain trial, how much later a first step comes for that to be the treatment's doing.
constexpr double kLater = 0.5;
// The untreated program's own share of memory, plus this, is no reason to say no.
constexpr double kSameMemory = 0.01;

const Effect* FindEffect(const Trial& trial, const std::string& treatment) {
  for (const Effect& effect : trial.effects) {
    if (effect.treatment == treatment) return &effect;
  }
  return nullptr;
}

}  // namespace

Row* Campaign::RowOf(const Choice& choice) {
  for (Row& row : rows_) {
    if (row.candidate.choice == choice) return &row;
  }
  return nullptr;
}

Risk Campaign::RiskOf(const Recipe& recipe) const {
  Risk risk = Risk::kExact;
  for (const Candidate& candidate : candidates_) {
    if (!Contains(recipe, candidate.choice)) continue;
    risk = std::max(risk, candidate.risk);
  }
  return risk;
}

std::set<std::string> Campaign::RulesOf(const Recipe& recipe) const {
  std::set<std::string> rules;
  for (const Candidate& candidate : candidates_) {
    if (Contains(recipe, candidate.choice)) rules.merge(Expect(candidate, options_).rules);
  }
  return rules;
}

std::optional<double> Campaign::PredictedGain(const Recipe& recipe, const Recipe& before) const {
  const std::set<std::string> old = RulesOf(before);
  std::set<std::string> all = RulesOf(recipe);
  all.insert(old.begin(), old.end());
  if (all.size() == old.size()) return std::nullopt;
  const double gain = Predict(all, options_) / Predict(old, options_);
  double most = 1;
  for (const Candidate& candidate : candidates_) {
    if (!Contains(recipe, candidate.choice) || Contains(before, candidate.choice)) continue;
    most *= candidate.at_most.value_or(std::numeric_limits<double>::infinity());
  }
  return std::min(gain, most);
}

// What stands, less what it excludes, and the candidate.
Recipe Campaign::With(std::size_t place) const {
  const Candidate& candidate = candidates_[place];
  Recipe recipe;
  for (const Choice& choice : incumbent_) {
    const auto same = [&](const Candidate& other) {
      return other.choice == choice && !other.group.empty() && other.group == candidate.group;
    };
    if (std::none_of(candidates_.begin(), candidates_.end(), same)) recipe.push_back(choice);
  }
  recipe.push_back(candidate.choice);
  return recipe;
}

void Campaign::Forward(const std::vector<tune::Unit>& units, const std::string& purpose) {
  for (const tune::Unit& unit : units) TryUnit(unit, purpose);
}

// Of a group the first that helps stands until a later one is faster; the first that is slower
// than the best so far ends it.
void Campaign::TryUnit(const tune::Unit& unit, const std::string& purpose) {
  std::optional<double> best;
  std::string best_title;
  for (std::size_t i = 0; i < unit.size(); ++i) {
    Row& row = rows_[unit[i]];
    const Recipe recipe = With(unit[i]);
    const Trying came = Try(unit[i], purpose);
    if (came == Trying::kNotRun || came == Trying::kUseless) continue;
    const double rate = *ledger_.Rate(recipe);
    if (best && rate < *best) {
      for (std::size_t j = i + 1; j < unit.size(); ++j) {
        rows_[unit[j]].fate = Fate::kSuperseded;
        rows_[unit[j]].why = fmt::format("not tried: of its group \"{}\" was slower than \"{}\"",
                                         row.candidate.title, best_title);
      }
      return;
    }
    best = rate;
    best_title = row.candidate.title;
  }
}

bool Campaign::Hopeless(std::size_t place, Row& row) const {
  const auto stands = latest_.find(KeyOf(incumbent_));
  const Trial& trial = stands == latest_.end() ? first_ : stands->second;
  if (!trial.steps) return false;
  const std::optional<double> bound =
      LoaderBound(candidates_[place], options_, trial.steps->data_wait_share);
  const double seen = std::max(options_.least_effect, ledger_.noise().value_or(0));
  if (!bound || *bound >= 1 + seen) return false;
  row.fate = Fate::kNotTried;
  row.why = fmt::format("not tried: the program waits for data {} of its time; it cannot give {}{}",
                        Percent(*trial.steps->data_wait_share), Percent(seen),
                        seen > options_.least_effect ? ", the noise of a run" : "");
  return true;
}

// What is left to gain when something stands already is another number than of the program as it
// is.
void Campaign::PredictOnTop(std::size_t place, const Recipe& before) {
  Row& row = rows_[place];
  if (before.empty() || row.predicted_by == "usual") return;
  const Candidate& candidate = candidates_[place];
  row.predicted = PredictedGain({candidate.choice}, before);
  if (row.predicted) return;
  row.predicted = candidate.prior;
  row.predicted_by = "usual";
}

void Campaign::EndForBudget(const Recipe& recipe) {
  const auto human = [](double seconds) {
    return HumanDuration(static_cast<Nanos>(seconds * 1e9));
  };
  const double trial = Estimate(recipe), proof = kMargin * ShortestProof(recipe);
  const double spent = runner_.Elapsed();
  result_.needed_s = std::max((spent + trial) / (1 - kReservedShare), spent + trial + proof);
  result_.ended = fmt::format("the budget of {} was spent", human(options_.budget_s));
  if (incumbent_.empty()) {
    result_.ended = fmt::format(
        "of the budget of {}, {} were left when a trial that takes {}, with three pairs to prove "
        "it, was not begun",
        human(options_.budget_s), human(std::max(Left(), 0.0)), human(trial + proof));
  }
}

// Why a trial is no measurement of its candidate; empty: it is one.
std::string Campaign::Obstacle(const Trial& trial, const Candidate& candidate, Row& row) {
  row.peak_bytes = trial.peak_bytes();
  const Effect* effect = FindEffect(trial, candidate.choice.treatment);
  if (!Usable(trial)) {
    row.fate = Fate::kFailed;
    if (trial.fine()) return "its trial counts samples where the program as it is does not";
    const std::string type = trial.error_type.empty() ? "" : trial.error_type + ": ";
    return fmt::format("{}: {}{}", WordOf(trial.ending), type, trial.error);
  }
  if (effect != nullptr && effect->state == "failed") {
    row.fate = Fate::kFailed;
    return "could not be put in: " + effect->why;
  }
  if (effect == nullptr || effect->state != "applied") {
    row.fate = Fate::kNoEffect;
    return effect == nullptr ? "it was never put in"
                             : fmt::format("{}: {}", effect->state, effect->why);
  }
  const double most = std::max(kMostMemory, first_.device_share.value_or(0) + kSameMemory);
  if (trial.device_share && *trial.device_share > most) {
    row.fate = Fate::kRejected;
    return fmt::format("no margin: its peak is {} of the device's memory, {} is the most",
                       Percent(*trial.device_share), Percent(most));
  }
  return "";
}

Campaign::Trying Campaign::Try(std::size_t place, const std::string& purpose) {
  Row& row = rows_[place];
  const Candidate& candidate = candidates_[place];
  const Recipe recipe = With(place), before = incumbent_;
  if (stopped_) {
    if (row.why.empty()) row.why = "not tried: the search ended before";
    return Trying::kNotRun;
  }
  if (Hopeless(place, row)) return Trying::kNotRun;
  if (!Fits(recipe)) {
    if (row.why.empty()) row.why = "not tried: the budget was spent";
    if (result_.ended.empty()) EndForBudget(recipe);
    return Trying::kNotRun;
  }
  std::optional<Trial> trial = Attempt(recipe, purpose, &candidate);
  if (!trial) {
    if (row.why.empty()) row.why = "not tried: the search ended before";
    return Trying::kNotRun;
  }
  tried_on_[place] = KeyOf(before);
  PredictOnTop(place, before);
  // How long it really compiles, here: what is estimated from now on should know.
  if (trial->steps && FirstStep(before) > 0) {
    const double longer = trial->steps->first_s - FirstStep(before);
    if (candidate.extra_s > 0 || longer > kLater * *ledger_.Wall({})) {
      candidates_[place].extra_s = std::max(candidate.extra_s, longer);
    }
  }
  row.why = Obstacle(*trial, candidate, row);
  if (!row.why.empty()) {
    Tell(*trial, fmt::format("{}: {}", WordOf(row.fate), row.why));
    return Trying::kUseless;
  }
  return Decide({place, recipe, before, std::move(*trial)}, purpose == "forward");
}

// None: the search is over.
std::optional<Trial> Campaign::StandingAgain() {
  std::optional<Trial> trial = Attempt(incumbent_, "again", nullptr);
  if (trial) {
    Tell(*trial,
         fmt::format("{} {}", Usable(*trial) ? ThreeDigits(*trial->rate) : "no", RateUnit()));
  }
  return trial;
}

// Once more what stands and the candidate, one after the other. None: the search is over, or the
// candidate is (row.why says why). The decision about the trial is to be told.
std::optional<Trial> Campaign::Again(const Recipe& recipe, const Candidate& candidate, Row& row) {
  if (!StandingAgain()) return std::nullopt;
  std::optional<Trial> trial = Attempt(recipe, "again", &candidate);
  if (!trial) return std::nullopt;
  row.why = Obstacle(*trial, candidate, row);
  const GuardVerdict verdict = guard_->Check(*trial, RiskOf(recipe));
  if (row.why.empty() && !verdict.passed) {
    row.guard = verdict;
    row.fate = Fate::kRejected;
    row.why = verdict.why;
  }
  if (row.why.empty()) return trial;
  Tell(*trial, fmt::format("{}: {}", WordOf(row.fate), row.why));
  return std::nullopt;
}

void Campaign::TakeNumbers(const OnTrial& on, Row& row) const {
  row.on_top = ledger_.Compare(on.recipe, on.before).factor();
  row.rate = ledger_.Rate(on.recipe);
  if (on.recipe.size() == 1) row.alone = *row.rate / *ledger_.Rate({});
}

Campaign::Trying Campaign::End(const OnTrial& on, Row::Fate fate, const std::string& why,
                               Trying came) {
  Row& row = rows_[on.place];
  row.fate = fate;
  row.why = why;
  const bool said = fate == Fate::kSlower || fate == Fate::kNoGain;  // in the reason itself
  Tell(on.trial, said ? fmt::format("{}: {}", Times(*row.on_top), why)
                      : fmt::format("{}: {}: {}", Times(*row.on_top), WordOf(fate), why));
  return came;
}

Campaign::Trying Campaign::Decide(OnTrial on, bool may_wait) {
  Row& row = rows_[on.place];
  row.guard = guard_->Check(on.trial, RiskOf(on.recipe));
  row.loss = row.guard.loss;
  verdicts_[KeyOf(on.recipe)] = row.guard;
  TakeNumbers(on, row);
  if (!row.guard.passed) return End(on, Fate::kRejected, row.guard.why, Trying::kUseless);
  if (row.candidate.risk == Risk::kOptimization && !options_.allow_optimization) {
    return End(on, Fate::kReported, "changes the training itself; it is yours to decide",
               Trying::kMeasured);
  }
  Speed speed = ledger_.Judge(on.recipe, on.before, options_.least_effect, comparisons_);
  const double small = std::max(kSmallGain, std::expm1(kSmallNoise * ledger_.noise().value_or(0)));
  waiting_[on.place] = speed == Speed::kNear && may_wait && *row.on_top < 1 + small;
  if (waiting_[on.place]) {
    return End(on, Fate::kNoGain, "near the limit; looked at again when the others had their turn",
               Trying::kMeasured);
  }
  for (int look = 1; speed == Speed::kNear && look < kMostLooks && Fits(on.recipe, 2); ++look) {
    Tell(on.trial, fmt::format("{}: near the limit, once again both", Times(*row.on_top)));
    std::optional<Trial> again = Again(on.recipe, row.candidate, row);
    if (!again) {
      if (!row.why.empty()) return Trying::kUseless;  // failed or rejected at second sight
      row.fate = Fate::kNoGain;
      row.why = fmt::format("{}: the search ended before it was decided", Times(*row.on_top));
      return Trying::kMeasured;
    }
    on.trial = std::move(*again);
    TakeNumbers(on, row);
    speed = ledger_.Judge(on.recipe, on.before, options_.least_effect, comparisons_);
  }
  return Conclude(on, speed);
}

Campaign::Trying Campaign::Conclude(const OnTrial& on, Speed speed) {
  Row& row = rows_[on.place];
  const double least = std::log1p(options_.least_effect);
  if (speed == Speed::kNear || (speed == Speed::kNotFaster && *row.on_top > std::exp(least))) {
    return End(on, Fate::kNoGain,
               fmt::format("cannot be told from the noise of {} of a run",
                           Percent(ledger_.noise().value_or(0))),
               Trying::kMeasured);
  }
  if (speed == Speed::kNotFaster) {
    const Contrast contrast = ledger_.Compare(on.recipe, on.before);
    const bool slower = contrast.log_gain < -std::max(least, 2 * contrast.error);
    const std::string against =
        on.before.empty()
            ? "than the program as it is"
            : fmt::format("than with the {} before it", Count(on.before.size(), "treatment"));
    return End(on, slower ? Fate::kSlower : Fate::kNoGain,
               (slower ? "slower " : "not faster ") + against, Trying::kMeasured);
  }
  if (!row.guard.checked && RiskOf(on.recipe) == Risk::kNumeric && !options_.allow_unchecked) {
    return End(on, Fate::kReported,
               "faster, and nothing shows that the results stay right: " + row.guard.why,
               Trying::kMeasured);
  }
  Adopt(on.place, on.recipe, on.before);
  Tell(on.trial, fmt::format("{}: adopted; {}", Times(*row.on_top), row.guard.why));
  return Trying::kAdopted;
}

void Campaign::Adopt(std::size_t place, const Recipe& recipe, const Recipe& before) {
  Row& row = rows_[place];
  for (const Choice& choice : before) {
    if (Contains(recipe, choice)) continue;
    Row* old = RowOf(choice);
    HONE_CHECK(old != nullptr);
    old->fate = Row::Fate::kSuperseded;
    old->why = fmt::format("\"{}\" of the same group is faster", row.candidate.title);
    // On top of what both stand on.
    Recipe without = recipe;
    without.pop_back();
    if (ledger_.Runs(without) > 0) row.on_top = ledger_.Compare(recipe, without).factor();
  }
  incumbent_ = recipe;
  row.fate = Row::Fate::kAdopted;
  row.why = row.guard.why;
  row.cumulative_rate = ledger_.Rate(recipe);
  row.cumulative = ledger_.Compare(recipe, {}).factor();
}

}  // namespace hone::tune
