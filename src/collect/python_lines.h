// SPDX-License-Identifier: Apache-2.0
// The line of an instruction, from the table that a code object carries. Pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace hone::collect {

// How CPython wrote its tables; told apart by trying, see python_layout.h.
enum class LineFormat : std::uint8_t {
  kLnotab = 0,     // to 3.9: pairs of (bytes, lines)
  kRanges = 1,     // 3.10: pairs of (length, lines), -128 for no line
  kLocations = 2,  // from 3.11: entries of variable length
};
inline constexpr int kLineFormats = 3;

// `offset`: of the instruction, in bytes from the first one; below 0: not begun. An instruction
// that has no line is told by the line before it in the table (first_line at the start).
int LineAt(LineFormat format, std::span<const std::uint8_t> table, int first_line,
           std::int64_t offset) noexcept;

}  // namespace hone::collect
