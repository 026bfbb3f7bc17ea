// SPDX-License-Identifier: Apache-2.0
// What did not help alone, all at once. A step that ends with the slower of the host and the device
// gets no faster when only one of them does: a fused optimizer and half precision each give
// nothing, both together half of the time. What of it is not needed, leaving one out shows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tune/campaign.h"

namespace hone::tune {
namespace {

using Fate = Row::Fate;

// Times the noise of a run: what measured slower by less did no harm that anyone could see.
constexpr double kHarmless = 3;

// Chances of an error, as if so many times the candidates were tried: these are large gains or
// none.
constexpr std::size_t kAsMany = 4;

std::string_view Undecided(Speed speed, const Contrast& contrast) {
  if (speed == Speed::kNear) return "near the limit";
  return contrast.log_gain > contrast.error / 2 ? "not to be told from the noise" : "not faster";
}

bool IsIn(const Recipe& recipe, const std::string& treatment) {
  return std::any_of(recipe.begin(), recipe.end(),
                     [&](const Choice& choice) { return choice.treatment == treatment; });
}

}  // namespace

// Dropped ones that harmed nothing, the best of each group; and those that harmed, where what they
// are made for comes with them.
std::vector<std::size_t> Campaign::Companions() const {
  std::vector<std::size_t> places;
  const auto add = [&](std::size_t place) {
    if (candidates_[place].risk == Risk::kOptimization) return;
    if (With(place).size() <= incumbent_.size()) return;  // one of its group stands
    const std::string& group = candidates_[place].group;
    const auto rival = std::find_if(places.begin(), places.end(), [&](std::size_t other) {
      return !group.empty() && candidates_[other].group == group;
    });
    if (rival == places.end()) {
      places.push_back(place);
    } else if (*rows_[place].on_top > *rows_[*rival].on_top) {
      *rival = place;
    }
  };
  const auto dropped = [&](std::size_t i) {
    const Row& row = rows_[i];
    return (row.fate == Fate::kNoGain || row.fate == Fate::kSlower) && row.on_top;
  };
  const double harmless = 1 - kHarmless * std::max(kUsualNoise, ledger_.noise().value_or(0));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (dropped(i) && *rows_[i].on_top >= harmless) add(i);
  }
  const std::vector<std::size_t> helpful = places;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!dropped(i) || *rows_[i].on_top >= harmless) continue;
    const auto& partners = candidates_[i].better_with;
    if (std::any_of(partners.begin(), partners.end(), [&](const std::string& partner) {
          const bool comes = std::any_of(helpful.begin(), helpful.end(), [&](std::size_t other) {
            return candidates_[other].choice.treatment == partner;
          });
          // A line of a key begins with the name.
          const bool stood = ('\n' + tried_on_[i]).find('\n' + partner + ' ') != std::string::npos;
          return comes || (IsIn(incumbent_, partner) && !stood);
        })) {
      add(i);
    }
  }
  return places;
}

// Empty: nothing stands in the way of these at once.
std::string Campaign::ObstacleTogether(const Trial& trial, const std::vector<std::size_t>& places) {
  for (const std::size_t place : places) {
    Row unused = rows_[place];
    const std::string obstacle = Obstacle(trial, candidates_[place], unused);
    if (!obstacle.empty()) return obstacle;
  }
  const Recipe& recipe = trial.order.recipe;
  const GuardVerdict verdict = guard_->Check(trial, RiskOf(recipe));
  verdicts_[KeyOf(recipe)] = verdict;
  if (!verdict.passed) return verdict.why;
  if (!verdict.checked && RiskOf(recipe) == Risk::kNumeric && !options_.allow_unchecked) {
    return "nothing shows that the results stay right: " + verdict.why;
  }
  return "";
}

void Campaign::TryTogether() {
  together_is_due_ = false;
  const std::vector<std::size_t> places = Companions();
  if (places.empty() || stopped_) return;
  // A single one was measured here already.
  if (places.size() == 1 && tried_on_[places[0]] == KeyOf(incumbent_)) return;
  const Recipe before = incumbent_;
  Recipe recipe = before;
  std::vector<std::string> titles;
  for (const std::size_t place : places) {
    recipe.push_back(candidates_[place].choice);
    titles.push_back(candidates_[place].title);
  }
  Speed speed = Speed::kNear;
  for (int look = 0; speed == Speed::kNear && look < kMostLooks; ++look) {
    if (!Fits(recipe, look == 0 ? 1 : 2)) return;
    if (look > 0 && !StandingAgain()) return;
    const std::optional<Trial> trial = Attempt(recipe, "together", &candidates_[places[0]]);
    if (!trial) return;
    const std::string obstacle = ObstacleTogether(*trial, places);
    if (!obstacle.empty()) {
      Tell(*trial, "not together: " + obstacle);
      return;
    }
    speed = ledger_.Judge(recipe, before, options_.least_effect, kAsMany * comparisons_);
    const std::string gain = Times(ledger_.Compare(recipe, before).factor());
    if (speed == Speed::kFaster) {
      Tell(*trial, fmt::format("{}: adopted together: {}", gain, fmt::join(titles, ", ")));
    } else {
      Tell(*trial, fmt::format("{}: {} together are {}", gain, fmt::join(titles, ", "),
                               Undecided(speed, ledger_.Compare(recipe, before))));
    }
  }
  if (speed != Speed::kFaster) return;
  AdoptAll(recipe);
}

// What stands becomes this recipe, whose new parts were measured at once.
void Campaign::AdoptAll(const Recipe& recipe) {
  const Recipe before = incumbent_;
  const auto added = static_cast<std::size_t>(
      std::count_if(recipe.begin(), recipe.end(),
                    [&](const Choice& choice) { return !Contains(before, choice); }));
  for (std::size_t place = 0; place < rows_.size(); ++place) {
    Row& row = rows_[place];
    const bool stood = Contains(before, row.candidate.choice);
    const bool stands = Contains(recipe, row.candidate.choice);
    if (stood && !stands) {
      row.fate = Fate::kSuperseded;
      row.why = "a recipe without it is faster";
    }
    if (stood || !stands) continue;
    row.fate = Fate::kAdopted;
    row.guard = verdicts_[KeyOf(recipe)];
    row.loss = row.guard.loss;
    row.why = row.guard.why;
    row.peak_bytes = latest_[KeyOf(recipe)].peak_bytes();
    row.on_top = ledger_.Compare(recipe, before).factor();
    row.rate = row.cumulative_rate = ledger_.Rate(recipe);
    row.cumulative = ledger_.Compare(recipe, {}).factor();
    row.together = added;
    if (added > 1) row.predicted = PredictedGain(recipe, before);
    waiting_[place] = false;
    tried_on_[place] = KeyOf(before);
  }
  incumbent_ = recipe;
}

}  // namespace hone::tune
