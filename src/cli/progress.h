// SPDX-License-Identifier: Apache-2.0
// A progress bar on stderr for anything that takes over a second. Erased at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

namespace hone::cli {

// Shows nothing in the first second, then at most ten times a second. Not thread-safe.
class Progress {
 public:
  // `shown` off: every call does nothing. `width`: columns of the terminal.
  Progress(std::ostream& err, bool shown, std::size_t width, bool utf8);
  ~Progress() { Erase(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(std::uint64_t done, std::uint64_t total, const std::string& what);
  void Erase();

  // The line itself, for a given time since the start.
  std::string Line(std::uint64_t done, std::uint64_t total, const std::string& what,
                   double seconds) const;

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& err_;
  const bool shown_;
  const std::size_t width_;
  const bool utf8_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
  bool visible_ = false;
};

}  // namespace hone::cli
