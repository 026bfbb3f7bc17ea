// SPDX-License-Identifier: Apache-2.0
// DiskWatch: did a trial fail because a disk is full? Then neither the program nor a treatment is
// to blame, and the trial counts for nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hone::tune {

class DiskWatch {
 public:
  // `folder` is the search's own. The folder that programs run in and the one for temporary files
  // are looked at too; a disk that is full from the beginning is one the program can do without.
  DiskWatch(std::string folder, std::vector<std::string> command);

  // One sentence, when a disk has become full: which one, what is kept, what to type next. Writes a
  // small file into the search's folder and removes it, so that quotas count.
  std::optional<Error> Look();
  // The same sentence for what somebody else has seen: "the disk of … is full".
  Error Blame(const std::string& what);
  // Whether a sentence was made.
  const std::optional<Error>& found() const { return found_; }

 private:
  std::string folder_;
  std::vector<std::string> command_, others_;
  std::optional<Error> found_;
};

}  // namespace hone::tune
