// SPDX-License-Identifier: Apache-2.0
// Scalars of a trace, read leniently from the text of a JSON token: writers put numbers in quotes,
// write inf and NaN, and give microseconds with decimals that a double would round.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "import/kineto/raw_event.h"

namespace hone::importer::kineto {

// Cuts white space around a token and, if it is a string, its quotes.
std::string_view Unquote(std::string_view token);

// "3847724019429.245" (microseconds) -> 3847724019429245 (nanoseconds), exactly; a fourth decimal
// rounds. Absent for anything else, and beyond ±292 years.
std::optional<Nanos> ParseMicros(std::string_view text);

// Whole numbers, "0x…" addresses, and numbers written with a fraction or exponent.
std::optional<std::int64_t> ParseInteger(std::string_view text);
std::optional<std::uint64_t> ParseAddress(std::string_view text);

// Finite numbers only.
std::optional<double> ParseDouble(std::string_view text);

// The token of a pid, tid or id.
IdValue ParseId(std::string_view token);

// Undoes the escapes of the text between the quotes. Malformed escapes stay as they are.
std::string Unescape(std::string_view raw);

}  // namespace hone::importer::kineto
