// SPDX-License-Identifier: Apache-2.0
// In which order candidates are tried: what promises most for its time comes first.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tune/search.h"

namespace hone::tune {

struct Expectation {
  double factor = 1;                // to be expected
  std::optional<double> predicted;  // by the doctor's replay
  std::string by;                   // the rules; "usual" for the treatment's own prior
  std::set<std::string> rules;      // that `predicted` is of
  // Nothing says that it will help: tried when everything else has been.
  bool unlikely = false;
};
Expectation Expect(const Candidate& candidate, const SearchOptions& options);

// The factor with all of these rules cured; 1 for none.
double Predict(const std::set<std::string>& rules, const SearchOptions& options);

// Candidates that exclude each other, by their places, in the order declared; one alone without a
// group.
using Unit = std::vector<std::size_t>;
// Each list best first: most gain for the time that its trial takes, which without `extra_s` is
// `trial_s`.
struct Units {
  std::vector<Unit> first;     // exact and numeric ones that something speaks for
  std::vector<Unit> costly;    // likewise, but once adopted, every trial after them takes as long
  std::vector<Unit> unlikely;  // exact and numeric ones that nothing speaks for
  std::vector<Unit> last;      // what changes the training itself
};
// Those that `wanted` holds.
Units OrderUnits(const std::vector<Candidate>& candidates, const std::vector<bool>& wanted,
                 const SearchOptions& options, double trial_s);

// Most that a candidate can give that only shortens the wait for data, when the program waits for
// that share of its time; none where that is no bound for it.
std::optional<double> LoaderBound(const Candidate& candidate, const SearchOptions& options,
                                  const std::optional<double>& wait_share);

}  // namespace hone::tune
