// SPDX-License-Identifier: Apache-2.0
#include "tune/batch_search.h"

#include <fmt/format.h>

#include "base/text.h"
#include "tune/campaign.h"

namespace hone::tune {
namespace {

BatchRow RowFrom(const Trial& trial) {
  BatchRow row;
  row.batch = trial.samples_per_step;
  row.ending = trial.ending;
  row.peak_bytes = trial.peak_device_bytes;
  row.device_share = trial.device_share;
  if (trial.steps) row.step_ms = trial.steps->mean_s * 1e3;
  row.within_margin = !trial.device_share || *trial.device_share <= kMostMemory;
  return row;
}

}  // namespace

// Once more where the noise of a run could hide a gain.
std::optional<Trial> Campaign::RunBatch(const Candidate& candidate, double best) {
  const Recipe recipe = {candidate.choice};
  std::optional<Trial> trial = Attempt(recipe, "batch", &candidate);
  if (!trial || !Usable(*trial)) return trial;
  const double rate = *ledger_.Rate(recipe), noise = ledger_.noise().value_or(0);
  const bool near = rate <= best * (1 + options_.least_effect) && rate > best * (1 - 2 * noise);
  if (!near || noise <= options_.least_effect || !Fits(recipe)) return trial;
  Tell(*trial, fmt::format("{} {}: once again", ThreeDigits(rate), RateUnit()));
  return Attempt(recipe, "batch", &candidate);
}

Campaign::Fit Campaign::TryBatch(std::size_t place) {
  const Candidate& candidate = candidates_[place];
  const Recipe recipe = {candidate.choice};
  if (!Fits(recipe)) {
    result_.ended = "the budget was spent";
    return Fit::kNotRun;
  }
  const double best = *result_.batches[*result_.best_batch].rate;
  const std::optional<Trial> trial = RunBatch(candidate, best);
  if (!trial) return Fit::kNotRun;
  BatchRow row = RowFrom(*trial);
  row.candidate = candidate;
  Row ignored;
  row.why = Obstacle(*trial, candidate, ignored);
  if (Usable(*trial)) row.rate = ledger_.Rate(recipe);
  const bool gained = row.rate && row.why.empty() && *row.rate > best * (1 + options_.least_effect);
  if (row.why.empty() && !gained) row.why = "no gain over the best before it";
  Tell(*trial, fmt::format("{} {}{}", row.rate ? ThreeDigits(*row.rate) : "no", RateUnit(),
                           gained ? "" : ": " + row.why));
  result_.batches.push_back(row);
  if (gained) result_.best_batch = result_.batches.size() - 1;
  const bool too_large = trial->ending == Ending::kOutOfMemory || !row.within_margin;
  return gained ? Fit::kGains : too_large ? Fit::kTooLarge : Fit::kNoGain;
}

// Doubled until that no longer helps; where memory ends it, once more half-way.
void Campaign::TryBatches(const std::vector<std::size_t>& places) {
  result_.best_batch = 0;
  std::optional<std::size_t> half_way;
  for (const std::size_t place : places) {
    if (candidates_[place].between) {
      half_way = place;
      continue;
    }
    const Fit fit = TryBatch(place);
    if (fit == Fit::kTooLarge && half_way) TryBatch(*half_way);
    if (fit != Fit::kGains) return;
    half_way.reset();
  }
}

Result<TuneResult> Campaign::SearchBatch(const std::string& treatment) {
  searches_batches_ = true;
  HONE_RETURN_IF_ERROR(Begin());
  if (!result_.counts_samples) {
    return Error(
        "nobody counts the program's samples, so batches cannot be compared: no DataLoader hands "
        "out batches and no module's input says their size");
  }
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].choice.treatment == treatment) places.push_back(i);
  }
  if (places.empty()) {
    for (const Inapplicable& one : result_.inapplicable) {
      if (one.treatment == treatment) {
        return Error(fmt::format("{} cannot be tried here: {}", treatment, one.why));
      }
    }
    return Error(fmt::format("{} cannot be tried here: the program offers no way", treatment));
  }
  BatchRow own = RowFrom(first_);
  own.rate = ledger_.Rate({});
  result_.batches.push_back(own);
  TryBatches(places);
  Finish();
  return std::move(result_);
}

Result<TuneResult> SearchBatch(const SearchOptions& options, const std::string& treatment,
                               TrialRunner& runner, SearchListener& listener) {
  SearchOptions own = options;
  own.confirm = false;
  return Campaign(own, runner, listener).SearchBatch(treatment);
}

}  // namespace hone::tune
