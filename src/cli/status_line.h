// SPDX-License-Identifier: Apache-2.0
// StatusLine: a few words on a terminal that somebody else is writing to. They stand at the right
// end of the line the cursor is on, and the cursor goes back to where it was: the other's text is
// never broken, at worst it scrolls away with our words behind it.
#pragma once

#include <chrono>
#include <ostream>
#include <string>

namespace hone::cli {

class StatusLine {
 public:
  // `shown` off: every call does nothing.
  StatusLine(std::ostream& err, bool shown, int fd) : err_(err), shown_(shown), fd_(fd) {}
  ~StatusLine() { Erase(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // At most once a second, and only what changed.
  void Show(const std::string& text);
  void Erase();

  // The bytes that put `text` on a terminal of this width; empty where it does not fit.
  static std::string Draw(const std::string& text, std::size_t width);

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& err_;
  const bool shown_;
  const int fd_;
  std::string text_;
  Clock::time_point last_{};
};

}  // namespace hone::cli
