// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace hone {
namespace {

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

bool IsTerminal(int fd) { return isatty(fd) == 1; }

std::size_t TerminalWidth(int fd) {
  winsize size{};
  if (!IsTerminal(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

// Read from the environment and not by setlocale: a locale that is named but not installed (bare
// containers) would otherwise count as ASCII although the terminal shows UTF-8.
bool LocaleIsUtf8() {
  std::string_view locale = Environment("LC_ALL");
  if (locale.empty()) locale = Environment("LC_CTYPE");
  if (locale.empty()) locale = Environment("LANG");
  std::string lower;
  for (const char c : locale) lower.push_back(c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c);
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

bool WantsColor(ColorChoice choice, int fd) {
  if (choice != ColorChoice::kAuto) return choice == ColorChoice::kAlways;
  return IsTerminal(fd) && Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
}

}  // namespace hone
