// SPDX-License-Identifier: Apache-2.0
// Campaign: one search while it goes on. Inside of the room; search.h is the door.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tune/guard.h"
#include "tune/ledger.h"
#include "tune/order.h"
#include "tune/search.h"

namespace hone::tune {

class Campaign {
 public:
  Campaign(const SearchOptions& options, TrialRunner& runner, SearchListener& listener)
      : options_(options), runner_(runner), listener_(listener) {}

  Result<TuneResult> Search();
  Result<TuneResult> SearchBatch(const std::string& treatment);

 private:
  // What came of measuring a candidate.
  enum class Trying { kAdopted, kMeasured, kUseless, kNotRun };
  // A candidate, the recipe with it, what stood before, and the last run of the recipe.
  struct OnTrial {
    std::size_t place = 0;
    Recipe recipe, before;
    Trial trial;
  };

  // campaign.cc: the program as it is, the budget, single trials.
  Status Begin();
  Status Describe();
  Status MeasureBaseline();
  void MakeRows();
  void PlanSteps(const Trial& first);
  double Left() const { return options_.budget_s - runner_.Elapsed(); }
  // For the proof, were this the winner.
  double Reserved(const Recipe& winner) const;
  double Estimate(const Recipe& recipe) const;
  double EstimateAgain(const Recipe& recipe) const;
  // Seconds to the end of the first step of its last run; 0 where it did not run.
  double FirstStep(const Recipe& recipe) const;
  double Timeout(double estimate_s) const;
  // Whether so many runs of it end before what is reserved begins.
  bool Fits(const Recipe& recipe, int runs = 1) const;
  // What estimates of the proof may be too short by.
  static constexpr double kMargin = 1.1;
  // Seconds of the fewest pairs that prove anything.
  double ShortestProof(const Recipe& winner) const;
  // None: the search is over (ended_ says why). Its decision is to be told.
  std::optional<Trial> Attempt(const TrialOrder& order, const std::string& purpose,
                               const Candidate* candidate);
  std::optional<Trial> Attempt(const Recipe& recipe, const std::string& purpose,
                               const Candidate* candidate);
  void Tell(const Trial& trial, const std::string& decision) { listener_.Ended(trial, decision); }
  bool Usable(const Trial& trial) const;
  std::string RateUnit() const { return result_.counts_samples ? "samples/s" : "steps/s"; }

  // forward.cc: candidates, one by one.
  void Forward(const std::vector<tune::Unit>& units, const std::string& purpose);
  void TryUnit(const tune::Unit& unit, const std::string& purpose);
  Trying Try(std::size_t place, const std::string& purpose);
  bool Hopeless(std::size_t place, Row& row) const;
  void EndForBudget(const Recipe& recipe);
  void PredictOnTop(std::size_t place, const Recipe& before);
  std::string Obstacle(const Trial& trial, const Candidate& candidate, Row& row);
  Trying Decide(OnTrial on, bool may_wait);
  Trying Conclude(const OnTrial& on, Speed speed);
  Trying End(const OnTrial& on, Row::Fate fate, const std::string& why, Trying came);
  void TakeNumbers(const OnTrial& on, Row& row) const;
  // What stands, measured once more.
  std::optional<Trial> StandingAgain();
  std::optional<Trial> Again(const Recipe& recipe, const Candidate& candidate, Row& row);
  void Adopt(std::size_t place, const Recipe& recipe, const Recipe& before);
  Recipe With(std::size_t place) const;
  Risk RiskOf(const Recipe& recipe) const;
  // Rules that its parts cure, and the gain of a recipe over a part of it, by the doctor's replay:
  // none where it answers no rule that the part does not.
  std::set<std::string> RulesOf(const Recipe& recipe) const;
  std::optional<double> PredictedGain(const Recipe& recipe, const Recipe& before) const;
  Row* RowOf(const Choice& choice);

  // retry.cc
  void Retry();

  // together.cc
  void TryTogether();
  std::vector<std::size_t> Companions() const;
  std::string ObstacleTogether(const Trial& trial, const std::vector<std::size_t>& places);
  void AdoptAll(const Recipe& recipe);

  // challenge.cc
  struct Challenged {
    Recipe before;
    std::vector<Row> rows;  // before it
    Recipe recipe;
  };
  bool MayChallenge(const Recipe& recipe) const;
  std::optional<Recipe> Challenger() const;
  void Challenge();
  void TakeBack();

  // finish.cc: what stands, alone and proven.
  void LeaveOneOut();
  std::optional<double> Missed(std::size_t part);
  std::vector<std::size_t> UselessParts();
  bool MissesNoneOf(const std::vector<std::size_t>& parts);
  void MeasureAlone();
  void Confirm();
  ConfirmOrder PlanConfirmation() const;
  void TakeProof(const bench::Benchmark& found);
  void CountAgain();
  void Finish();

  // batch_search.cc
  void TryBatches(const std::vector<std::size_t>& places);
  enum class Fit { kGains, kNoGain, kTooLarge, kNotRun };
  Fit TryBatch(std::size_t place);
  std::optional<Trial> RunBatch(const Candidate& candidate, double best);

  const SearchOptions& options_;
  TrialRunner& runner_;
  SearchListener& listener_;
  TuneResult result_;
  Ledger ledger_;
  std::optional<Guard> guard_;
  std::map<std::string, GuardVerdict> verdicts_;  // of recipes, by key
  std::map<std::string, Trial> latest_;           // of recipes, by key; seed 0, ended well
  std::vector<Candidate> candidates_;
  std::vector<Row> rows_;               // one a candidate
  std::vector<std::string> tried_on_;   // key of the incumbent then; by candidate
  std::vector<bool> wanted_, waiting_;  // `waiting_`: near the limit, looked at again at the end
  std::size_t comparisons_ = 1;         // candidates that share the chance of an error
  Recipe incumbent_;
  Trial first_;  // the describing run
  std::int64_t steps_ = 0;
  std::size_t not_taken_out_ = 0;  // parts of the winner that the budget did not allow
  bool together_is_due_ = false;   // TryTogether is still to come
  std::optional<Challenged> challenged_;
  bool stopped_ = false;
  bool searches_batches_ = false;
};

// "1.42x", "0.98x"
std::string Times(double factor);

}  // namespace hone::tune
