// SPDX-License-Identifier: Apache-2.0
#include "tune/order.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace hone::tune {
namespace {

// Of a plain trial's time: what a treatment may add to it and still be cheap.
constexpr double kCheap = 0.5;

struct Worth {
  bool unlikely = false;
  double gain = 0;  // logarithm of the factor, for the time of a plain trial
  bool operator<(const Worth& other) const {
    return unlikely != other.unlikely ? unlikely : gain < other.gain;
  }
};

Worth WorthOf(const Unit& unit, const std::vector<Candidate>& candidates,
              const SearchOptions& options, double trial_s) {
  std::optional<Worth> best;
  for (const std::size_t place : unit) {
    const Expectation expected = Expect(candidates[place], options);
    const double length = std::max(trial_s, 1e-3);
    const Worth worth = {expected.unlikely, std::log(std::max(expected.factor, 1e-3)) * length /
                                                (length + candidates[place].extra_s)};
    if (!best || *best < worth) best = worth;
  }
  return *best;
}

}  // namespace

double Predict(const std::set<std::string>& rules, const SearchOptions& options) {
  if (rules.size() > 1 && options.predict) {
    if (const std::optional<double> factor = options.predict(rules)) return *factor;
  }
  double factor = 1;
  for (const std::string& rule : rules) {
    const auto found = options.predicted.find(rule);
    if (found != options.predicted.end()) factor *= found->second;
  }
  return factor;
}

Expectation Expect(const Candidate& candidate, const SearchOptions& options) {
  Expectation expected;
  for (const std::string& rule : candidate.cures) {
    if (!options.predicted.contains(rule)) continue;
    expected.rules.insert(rule);
    expected.by += (expected.by.empty() ? "" : ", ") + rule;
    // The first: a fused optimizer is worth what the optimizer's launches cost, not all launches.
    if (!candidate.cures_all) break;
  }
  if (!expected.rules.empty()) {
    const double factor = Predict(expected.rules, options);
    expected.predicted = std::min(factor, candidate.at_most.value_or(factor));
    expected.factor = *expected.predicted;
    expected.unlikely = *expected.predicted < 1 + options.least_effect && candidate.prior <= 1;
    return expected;
  }
  expected.factor = candidate.prior;
  expected.by = "usual";
  // What it cures was looked for and is not there.
  const bool healthy = options.diagnosed && !candidate.cures.empty();
  expected.unlikely = healthy || candidate.prior <= 1;
  return expected;
}

Units OrderUnits(const std::vector<Candidate>& candidates, const std::vector<bool>& wanted,
                 const SearchOptions& options, double trial_s) {
  std::vector<Unit> lists[2];  // the second of what changes the training
  std::map<std::string, std::size_t> groups[2];
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!wanted[i]) continue;
    const bool last = candidates[i].risk == Risk::kOptimization;
    const std::string& group = candidates[i].group;
    const auto [found, added] = group.empty() ? std::pair(groups[last].end(), true)
                                              : groups[last].emplace(group, lists[last].size());
    if (added) {
      lists[last].push_back({i});
    } else {
      lists[last][found->second].push_back(i);
    }
  }
  for (std::vector<Unit>& list : lists) {
    std::stable_sort(list.begin(), list.end(), [&](const Unit& a, const Unit& b) {
      return WorthOf(b, candidates, options, trial_s) < WorthOf(a, candidates, options, trial_s);
    });
  }
  Units units;
  for (Unit& unit : lists[0]) {
    const bool costly = std::any_of(unit.begin(), unit.end(), [&](std::size_t place) {
      return candidates[place].extra_s > kCheap * trial_s;
    });
    const bool unlikely = WorthOf(unit, candidates, options, trial_s).unlikely;
    (unlikely ? units.unlikely : costly ? units.costly : units.first).push_back(std::move(unit));
  }
  units.last = std::move(lists[1]);
  return units;
}

std::optional<double> LoaderBound(const Candidate& candidate, const SearchOptions& options,
                                  const std::optional<double>& wait_share) {
  if (!wait_share || candidate.cures.empty() || *wait_share >= 1) return std::nullopt;
  for (const std::string& rule : candidate.cures) {
    if (!options.loader_rules.contains(rule)) return std::nullopt;
  }
  return 1 / (1 - *wait_share);
}

}  // namespace hone::tune
