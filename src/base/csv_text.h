// SPDX-License-Identifier: Apache-2.0
// Text as a field of CSV (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace hone {

// The text, in quotes where it needs them. Control characters other than tab and line ends, and
// bytes that are not UTF-8, become U+FFFD: CSV is also looked at in terminals.
std::string CsvText(std::string_view text);

}  // namespace hone
