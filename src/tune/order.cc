// SPDX-License-Identifier: Apache-2.0
#include "tune/order.h"

#include <algorithm>
#include <map>

namespace hone::tune {
namespace {

Expectation Best(const Unit& unit, const std::vector<Candidate>& candidates,
                 const SearchOptions& options) {
  Expectation best = Expect(candidates[unit[0]], options);
  for (const std::size_t place : unit) {
    const Expectation other = Expect(candidates[place], options);
    const bool likelier = best.unlikely && !other.unlikely;
    if (likelier || (best.unlikely == other.unlikely && other.factor > best.factor)) best = other;
  }
  return best;
}

}  // namespace

Expectation Expect(const Candidate& candidate, const SearchOptions& options) {
  Expectation expected;
  for (const std::string& rule : candidate.cures) {
    const auto found = options.predicted.find(rule);
    if (found == options.predicted.end()) continue;
    if (expected.predicted && *expected.predicted >= found->second) continue;
    expected.predicted = found->second;
    expected.by = rule;
  }
  if (expected.predicted) {
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
                 const SearchOptions& options) {
  Units units;
  std::map<std::string, std::size_t> groups[2];
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!wanted[i]) continue;
    const bool last = candidates[i].risk == Risk::kOptimization;
    std::vector<Unit>& list = last ? units.last : units.first;
    const std::string& group = candidates[i].group;
    const auto [found, added] = group.empty() ? std::pair(groups[last].end(), true)
                                              : groups[last].emplace(group, list.size());
    if (added) {
      list.push_back({i});
    } else {
      list[found->second].push_back(i);
    }
  }
  for (std::vector<Unit>* list : {&units.first, &units.last}) {
    std::stable_sort(list->begin(), list->end(), [&](const Unit& a, const Unit& b) {
      const Expectation x = Best(a, candidates, options), y = Best(b, candidates, options);
      return x.unlikely != y.unlikely ? y.unlikely : x.factor > y.factor;
    });
  }
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
