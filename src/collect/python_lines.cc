// SPDX-License-Identifier: Apache-2.0
#include "collect/python_lines.h"

#include <cstddef>

namespace hone::collect {
namespace {

int LineInLnotab(std::span<const std::uint8_t> table, int first_line,
                 std::int64_t offset) noexcept {
  int line = first_line;
  std::int64_t at = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    at += table[i];
    if (at > offset) break;
    line += static_cast<std::int8_t>(table[i + 1]);
  }
  return line;
}

int LineInRanges(std::span<const std::uint8_t> table, int first_line,
                 std::int64_t offset) noexcept {
  constexpr std::int8_t kNoLine = -128;
  int line = first_line;
  std::int64_t end = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    end += table[i];
    const auto lines = static_cast<std::int8_t>(table[i + 1]);
    if (lines != kNoLine) line += lines;
    if (end > offset) break;
  }
  return line;
}

// Entries of the table of 3.11 (Objects/locations.md of CPython):
//   byte 0: 1 kkkk lll   kind, length - 1 in units of two bytes
//   then, by kind: 0-9 one byte of columns; 10-12 two bytes, lines += kind - 10;
//   13 a signed varint of lines; 14 the same and three varints of columns; 15 nothing, no line.
// Bytes after the first of an entry have the highest bit clear.
int LineInLocations(std::span<const std::uint8_t> table, int first_line,
                    std::int64_t offset) noexcept {
  int line = first_line;
  std::int64_t end = 0;
  std::size_t i = 0;
  while (i < table.size()) {
    const std::uint8_t first = table[i++];
    const int kind = (first >> 3) & 15;
    end += 2 * ((first & 7) + 1);
    if (kind >= 10 && kind <= 12) {
      line += kind - 10;
    } else if (kind == 13 || kind == 14) {
      std::uint32_t value = 0;
      for (int shift = 0; i < table.size() && shift < 30; shift += 6) {
        const std::uint8_t part = table[i++];
        value |= static_cast<std::uint32_t>(part & 63) << shift;
        if ((part & 64) == 0) break;
      }
      const int lines = static_cast<int>(value >> 1);
      line += (value & 1) != 0 ? -lines : lines;
    }
    if (end > offset) break;
    while (i < table.size() && (table[i] & 128) == 0) ++i;
  }
  return line;
}

}  // namespace

int LineAt(LineFormat format, std::span<const std::uint8_t> table, int first_line,
           std::int64_t offset) noexcept {
  if (offset < 0) return first_line;
  switch (format) {
    case LineFormat::kLnotab: return LineInLnotab(table, first_line, offset);
    case LineFormat::kRanges: return LineInRanges(table, first_line, offset);
    case LineFormat::kLocations: return LineInLocations(table, first_line, offset);
  }
  return first_line;
}

}  // namespace hone::collect
