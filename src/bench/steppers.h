// SPDX-License-Identifier: Apache-2.0
// Who steps in a run of `hone tune`, by the files that the processes leave in its folder
// (python/hone/_trial.py): stepping-PID while it does, done-PID when it has run for long enough and
// left. Whoever is killed outright leaves the first and is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hone::bench {

struct LostProcess {
  std::int64_t pid = 0;
  int signal = 0;             // that ended it; 0: not known, because its parent has asked already
  std::string Words() const;  // "process 42, which trained, was ended by signal 9 (Killed), …"
};

struct Steppers {
  // Every process that stepped has left because it had run for long enough.
  bool done = false;
  // One that stepped is gone without a word, and nobody else steps; or it was one of several ranks,
  // without which the others cannot go on.
  std::optional<LostProcess> lost;
};

// A directory listing and a small read for each process that steps.
Steppers LookAtSteppers(const std::string& folder);

}  // namespace hone::bench
