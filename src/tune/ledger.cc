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

// Runs that are compared with the same few others do not err independently; by simulation.
constexpr double kTogether = 0.1;

double Squares(const std::vector<double>& values) {
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares;
}

double OneOver(std::size_t count) { return 1.0 / static_cast<double>(count); }

}  // namespace

double Contrast::factor() const { return std::exp(log_gain); }

void Ledger::Add(const Trial& trial) {
  HONE_CHECK(trial.rate && *trial.rate > 0);
  Entry& entry = entries_[KeyOf(trial.order.recipe)];
  entry.log_rates.push_back(std::log(*trial.rate));
  if (entry.log_rates.size() == 1) entry.first_wall_s = trial.wall_s;
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

std::optional<double> Ledger::FirstWall(const Recipe& recipe) const {
  const Entry* entry = Find(recipe);
  if (entry == nullptr) return std::nullopt;
  return entry->first_wall_s;
}

std::optional<double> Ledger::noise() const {
  double squares = 0;
  std::size_t degrees = 0;
  for (const auto& [key, entry] : entries_) {
    squares += Squares(entry.log_rates);
    degrees += entry.log_rates.size() - 1;
  }
  if (degrees == 0) return std::nullopt;
  return std::sqrt(squares / static_cast<double>(degrees));
}

// A recipe that scatters more than others says nothing about them.
Ledger::Scatter Ledger::ScatterOf(const std::set<const Entry*>& entries) const {
  double squares = 0;
  int degrees = 0;
  for (const Entry* entry : entries) {
    if (entry == nullptr) continue;
    squares += Squares(entry->log_rates);
    degrees += static_cast<int>(entry->log_rates.size()) - 1;
  }
  // What is usual elsewhere makes it surer, never smaller.
  const int all = degrees + kUsualRuns;
  const double with_usual = (squares + kUsualRuns * kUsualNoise * kUsualNoise) / all;
  const double seen = degrees > 0 ? squares / degrees : 0;
  return {std::max(std::sqrt(std::max(with_usual, seen)), kLeastNoise), all};
}

Contrast Ledger::Compare(const Recipe& recipe, const Recipe& against) const {
  const Entry *a = Find(recipe), *b = Find(against);
  HONE_CHECK(a != nullptr && b != nullptr);
  Contrast contrast;
  contrast.log_gain = Mean(a->log_rates) - Mean(b->log_rates);
  const Scatter scatter = ScatterOf({a, b, Find({})});
  contrast.error =
      scatter.sigma * std::sqrt(OneOver(a->log_rates.size()) + OneOver(b->log_rates.size()));
  contrast.degrees = scatter.degrees;
  return contrast;
}

Speed Ledger::Judge(const Recipe& recipe, const Recipe& against, double least_effect,
                    std::size_t candidates) const {
  const Entry *a = Find(recipe), *b = Find(against);
  const Contrast contrast = Compare(recipe, against);
  const double least = std::log1p(least_effect);
  const Scatter others = ScatterOf({b, Find({})});
  // Worth another look only above one run's noise: below it a gain of twice the noise is unlikely.
  if (contrast.log_gain <= std::max(least, others.sigma)) return Speed::kNotFaster;
  const double alpha = kFamilyAlpha / static_cast<double>(std::max<std::size_t>(candidates, 1)) /
                       static_cast<double>(kMostLooks);
  if (contrast.log_gain > stats::StudentQuantile(1 - alpha, contrast.degrees) * contrast.error) {
    return Speed::kFaster;
  }
  // Every run of it lies above: each alone would by chance with the root of alpha only. One run
  // that is faster by much more than the others does not count against it here.
  const double worst =
      *std::min_element(a->log_rates.begin(), a->log_rates.end()) - Mean(b->log_rates);
  const double share = std::pow(alpha * kTogether, OneOver(a->log_rates.size()));
  const double limit = stats::StudentQuantile(1 - share, others.degrees) * others.sigma *
                       std::sqrt(1 + OneOver(b->log_rates.size()));
  if (worst > std::max(least, limit)) return Speed::kFaster;
  return Speed::kNear;
}

}  // namespace hone::tune
