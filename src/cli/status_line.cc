// SPDX-License-Identifier: Apache-2.0
#include "cli/status_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/utf8.h"

namespace hone::cli {

using namespace std::chrono_literals;

std::string StatusLine::Draw(const std::string& text, std::size_t width) {
  // Half of the line stays the other's.
  const std::size_t wide = DisplayWidth(text);
  if (wide == 0 || 2 * wide >= width) return "";
  // Save the cursor, go to the column, write, and restore: DECSC and DECRC (VT100).
  return fmt::format("\0337\033[{}G\033[K\033[2m{}\033[22m\0338", width - wide, text);
}

void StatusLine::Show(const std::string& text) {
  if (!shown_ || text == text_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < 1s) return;
  if (::tcgetpgrp(fd_) != ::getpgrp()) return;  // in the background: the terminal is another's
  const std::string bytes = Draw(text, TerminalWidth(fd_));
  if (bytes.empty()) return;
  last_ = now;
  text_ = text;
  err_ << bytes << std::flush;
}

void StatusLine::Erase() {
  if (text_.empty()) return;
  const std::size_t width = TerminalWidth(fd_), wide = DisplayWidth(text_);
  text_.clear();
  if (width > wide) err_ << fmt::format("\0337\033[{}G\033[K\0338", width - wide) << std::flush;
}

}  // namespace hone::cli
