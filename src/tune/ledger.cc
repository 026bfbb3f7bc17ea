// SPDX-License-Identifier: Apache-2.0
#include "tune/ledger.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "stats/student.h"

namespace hone::tune {
namespace {

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double Contrast::factor() const { return std::exp(log_gain); }

void Ledger::Add(const Trial& trial) {
  HONE_CHECK(trial.rate && *trial.rate > 0);
  Entry& entry = entries_[KeyOf(trial.order.recipe)];
  entry.log_rates.push_back(std::log(*trial.rate));
  entry.wall_s = trial.wall_s;
}

const Ledger::Entry* Ledger::Find(const Recipe& recipe) const {
  const auto found = entries_.find(KeyOf(recipe));
  return found == entries_.end() ? nullptr : &found->second;
}

std::size_t Ledger::Runs(const Recipe& recipe) const {
  const Entry* entry = Find(recipe);
  return entry == nullptr ? 0 : entry->log_rates.size();
}

std::optional<double> Ledger::Rate(const Recipe& recipe) const {
  const Entry* entry = Find(recipe);
  if (entry == nullptr) return std::nullopt;
  return std::exp(Mean(entry->log_rates));
}

std::optional<double> Ledger::Wall(const Recipe& recipe) const {
  const Entry* entry = Find(recipe);
  if (entry == nullptr) return std::nullopt;
  return entry->wall_s;
}

double Ledger::Squares(int& degrees) const {
  double squares = 0;
  degrees = 0;
  for (const auto& [key, entry] : entries_) {
    const double mean = Mean(entry.log_rates);
    for (const double rate : entry.log_rates) squares += (rate - mean) * (rate - mean);
    degrees += static_cast<int>(entry.log_rates.size()) - 1;
  }
  return squares;
}

std::optional<double> Ledger::noise() const {
  int degrees = 0;
  const double squares = Squares(degrees);
  if (degrees == 0) return std::nullopt;
  return std::sqrt(squares / degrees);
}

int Ledger::degrees() const {
  int degrees = 0;
  Squares(degrees);
  return degrees + kUsualRuns;
}

double Ledger::scatter() const {
  int degrees = 0;
  const double squares = Squares(degrees) + kUsualRuns * kUsualNoise * kUsualNoise;
  return std::max(std::sqrt(squares / (degrees + kUsualRuns)), kLeastNoise);
}

Contrast Ledger::Compare(const Recipe& recipe, const Recipe& against) const {
  const Entry *a = Find(recipe), *b = Find(against);
  HONE_CHECK(a != nullptr && b != nullptr);
  Contrast contrast;
  contrast.log_gain = Mean(a->log_rates) - Mean(b->log_rates);
  const double runs = 1.0 / static_cast<double>(a->log_rates.size()) +
                      1.0 / static_cast<double>(b->log_rates.size());
  contrast.error = scatter() * std::sqrt(runs);
  return contrast;
}

Speed Ledger::Judge(const Contrast& contrast, double least_effect, std::size_t candidates) const {
  const double least = std::log1p(least_effect);
  // Worth another look only above one run's noise: below it a gain of twice the noise is unlikely.
  if (contrast.log_gain <= std::max(least, scatter())) return Speed::kNotFaster;
  const double alpha = kFamilyAlpha / static_cast<double>(std::max<std::size_t>(candidates, 1)) /
                       static_cast<double>(kMostLooks);
  const double quantile = stats::StudentQuantile(1 - alpha, degrees());
  return contrast.log_gain > quantile * contrast.error ? Speed::kFaster : Speed::kNear;
}

}  // namespace hone::tune
