// SPDX-License-Identifier: Apache-2.0
// The accuracy guard: does the program still learn the same with a treatment in it? The band is not
// a guess, it is how far the program's own runs lie apart: with the same seed for treatments that
// must be exact, with other seeds for those that round.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tune/trial.h"

namespace hone::tune {

struct GuardVerdict {
  bool checked = false;  // there was something to compare
  bool passed = true;
  std::string why;  // "loss 2.66 where the program's own runs give 2.19 to 2.24 (step 60)"; "loss
                    // within the band of 4 runs"
  std::optional<double> loss, baseline_loss;  // mean over the last tenth of the common steps
  std::int64_t steps = 0;                     // that were compared
};

class Guard {
 public:
  // Runs of the untouched program: the same seed at least twice, other seeds at least once, for a
  // band; with fewer the verdicts say that nothing was checked.
  Guard(std::vector<Trial> same_seed, std::vector<Trial> other_seed);

  GuardVerdict Check(const Trial& trial, Risk risk) const;

 private:
  // Losses that are not finite, steps that were skipped; empty: none too many.
  std::string Broken(const Trial& trial, std::size_t steps) const;

  std::vector<Trial> same_seed_, other_seed_;
};

}  // namespace hone::tune
