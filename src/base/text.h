// SPDX-License-Identifier: Apache-2.0
// Numbers and words for people. Everything here returns ASCII; nothing depends on the locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace hone {

// 1234567 -> "1,234,567".
std::string WithThousands(std::int64_t value);
std::string WithThousands(std::uint64_t value);
// 1234.567, 1 -> "1,234.6". "nan" and "inf" become "?".
std::string Fixed(double value, int decimals);
// Three significant digits or all digits before the point: 0.123, 1.23, 12.3, 123, 1,234.
std::string ThreeDigits(double value);

// "0 ns", "850 ns", "12.3 us", "196 ms", "4.21 s", "2 min 05 s", "3 h 02 min".
std::string HumanDuration(Nanos duration);
// "512 B", "1.50 KiB", "5.6 GiB"; "-" in front for negative sizes.
std::string HumanBytes(double bytes);
// Share 0..1 -> "48.7 %", "<0.1 %" for what is above zero and rounds to it.
std::string Percent(double share);
// 1, "step" -> "1 step"; 2,104, "launch", "launches" -> "2,104 launches".
std::string Count(std::uint64_t count, std::string_view one, std::string_view many = {});

// Exact decimal of value / 10^decimals: 1234567, 6 -> "1.234567". No rounding, no floating point.
std::string ExactDecimal(std::int64_t value, int decimals);

// The candidate that a misspelt word most likely meant: fewest insertions, deletions, replacements
// and swaps of neighbours, at most a third of the word's length. Nothing close: nullopt.
std::optional<std::string> NearestSpelling(std::string_view word,
                                           std::span<const std::string> candidates);
std::size_t EditDistance(std::string_view a, std::string_view b);

// Breaks at blanks so that no line is wider than `width` columns; a word that is wider stands
// alone on its line. A number stays with the word after it, which is its unit as a rule. Newlines
// in `text` count as blanks. At least one line.
std::vector<std::string> WrapWords(std::string_view text, std::size_t width);

// A command as it can be typed: words that a shell would take apart are quoted.
std::string ShellCommand(const std::vector<std::string>& words);

}  // namespace hone
