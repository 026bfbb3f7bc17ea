// SPDX-License-Identifier: Apache-2.0
// What measured faster than what stands, and not surely so when the budget ended. The proof is made
// of runs that did not choose it, so it may decide; nothing else is claimed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "stats/student.h"
#include "tune/campaign.h"

namespace hone::tune {
namespace {

// On top of something that surely helps, a challenge must be worth the risk of a useless part: so
// large, and above by chance with this probability at most.
constexpr double kWorthIt = 0.15;
constexpr double kByChance = 0.01;

}  // namespace

// A challenge to nothing but the program as it is risks nothing: the proof compares these two.
bool Campaign::MayChallenge(const Recipe& recipe) const {
  const auto verdict = verdicts_.find(KeyOf(recipe));
  if (verdict == verdicts_.end() || !verdict->second.passed) return false;
  const Risk risk = RiskOf(recipe);
  if (risk == Risk::kOptimization && !options_.allow_optimization) return false;
  if (risk == Risk::kNumeric && !verdict->second.checked && !options_.allow_unchecked) return false;
  if (ledger_.Judge(recipe, incumbent_, options_.least_effect, comparisons_) == Speed::kNotFaster) {
    return false;
  }
  if (incumbent_.empty()) return true;
  const Contrast contrast = ledger_.Compare(recipe, incumbent_);
  return contrast.log_gain > std::log1p(kWorthIt) &&
         contrast.log_gain >
             contrast.error * stats::StudentQuantile(1 - kByChance, contrast.degrees);
}

// The one that is faster by most, its error taken off, of those that can still be proven.
std::optional<Recipe> Campaign::Challenger() const {
  std::optional<Recipe> best;
  double most = 0;
  if (!options_.confirm) return best;
  for (const auto& [key, trial] : latest_) {
    const Recipe& recipe = trial.order.recipe;
    if (recipe.empty() || recipe == incumbent_ || !MayChallenge(recipe)) continue;
    if (ShortestProof(recipe) > Left()) continue;
    const Contrast contrast = ledger_.Compare(recipe, incumbent_);
    const double surely = contrast.log_gain - contrast.error;
    if (best && most >= surely) continue;
    most = surely;
    best = recipe;
  }
  return best;
}

void Campaign::Challenge() {
  const std::optional<Recipe> recipe = Challenger();
  if (!recipe || stopped_) return;
  challenged_ = Challenged{incumbent_, rows_, *recipe};
  AdoptAll(*recipe);
}

// A challenge that the proof did not bear out leaves what stood before it.
void Campaign::TakeBack() {
  if (!challenged_) return;
  const Recipe& before = challenged_->before;
  std::vector<std::string> titles;
  for (const Choice& choice : challenged_->recipe) {
    if (!Contains(before, choice)) titles.push_back(RowOf(choice)->candidate.title);
  }
  const std::string gain = Times(ledger_.Compare(challenged_->recipe, before).factor());
  const std::string what = fmt::format("{} measured {} in the search, which was not sure of it",
                                       fmt::join(titles, ", "), gain);
  if (result_.proven) {
    result_.notes.push_back(what + "; the proof is of the whole recipe");
    return;
  }
  result_.notes.push_back(
      fmt::format("{}; the proof did not bear it out ({})", what, result_.proof));
  result_.proof = before.empty() ? "" : "not confirmed: the proof was of more than what stands";
  result_.confirmation.reset();
  incumbent_ = before;
  rows_ = std::move(challenged_->rows);
  for (const Choice& choice : challenged_->recipe) {
    if (Contains(before, choice)) continue;
    RowOf(choice)->why = fmt::format("{}; the proof did not bear it out", RowOf(choice)->why);
  }
}

}  // namespace hone::tune
