// SPDX-License-Identifier: Apache-2.0
// What the place that output goes to can show.
#pragma once

#include <cstddef>

namespace hone {

enum class ColorChoice { kAuto, kAlways, kNever };

bool IsTerminal(int fd);
// Columns of the terminal behind `fd`; 0 when it is none.
std::size_t TerminalWidth(int fd);
// From LC_ALL, LC_CTYPE and LANG, in that order, the way setlocale reads them.
bool LocaleIsUtf8();
// Auto: on a terminal that is not "dumb", unless NO_COLOR is set and not empty (no-color.org).
bool WantsColor(ColorChoice choice, int fd);

}  // namespace hone
