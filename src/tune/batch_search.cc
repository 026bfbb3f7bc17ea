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

void Campaign::TryBatches(const std::vector<std::size_t>& places) {
  double best = *ledger_.Rate({});
  result_.best_batch = 0;
  for (const std::size_t place : places) {
    const Candidate& candidate = candidates_[place];
    const Recipe recipe = {candidate.choice};
    if (!Fits(recipe)) {
      result_.ended = "the budget was spent";
      return;
    }
    const std::optional<Trial> trial = Attempt(recipe, "batch", &candidate);
    if (!trial) return;
    BatchRow row = RowFrom(*trial);
    row.candidate = candidate;
    Row ignored;
    row.why = Obstacle(*trial, candidate, ignored);
    if (Usable(*trial)) row.rate = ledger_.Rate(recipe);
    const bool gained =
        row.rate && row.why.empty() && *row.rate > best * (1 + options_.least_effect);
    if (row.why.empty() && !gained) row.why = "no gain over the best before it";
    Tell(*trial, fmt::format("{} {}{}", row.rate ? ThreeDigits(*row.rate) : "no", RateUnit(),
                             gained ? "" : fmt::format(": {}; no larger one is tried", row.why)));
    result_.batches.push_back(row);
    if (gained && row.within_margin) {
      best = *row.rate;
      result_.best_batch = result_.batches.size() - 1;
    }
    if (!gained) return;
  }
}

Result<TuneResult> Campaign::SearchBatch(const std::string& treatment) {
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
