// SPDX-License-Identifier: Apache-2.0
// Tables as CPython 3.9.18, 3.10.13, 3.11.7 and 3.13.0 compiled them, with the lines they say
// themselves, of
//   1 def f(x):
//   2     y = [x,            (300 empty lines)
// 303              x + 1]
// 304     try:
// 305         return y
// 306     finally:
// 307         del x
#include "collect/python_lines.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace hone::collect {
namespace {

using Table = std::vector<std::uint8_t>;
using Lines = std::vector<std::pair<int, int>>;  // from this offset on: line

void ExpectLines(LineFormat format, const Table& table, const Lines& lines, int end) {
  int line = 1;
  std::size_t next = 0;
  for (int offset = 0; offset < end; offset += 2) {
    while (next < lines.size() && lines[next].first <= offset) line = lines[next++].second;
    EXPECT_EQ(LineAt(format, table, 1, offset), line) << "at byte " << offset;
  }
  EXPECT_EQ(LineAt(format, table, 1, -2), 1) << "not begun";
}

TEST(PythonLines, Lnotab) {
  ExpectLines(LineFormat::kLnotab, {0, 1,   2, 127, 0, 127, 0, 47, 6, 128, 0, 128, 0, 211,
                                    4, 127, 0, 127, 0, 48,  2, 1,  4, 2,   2, 254, 2, 2},
              {{0, 2}, {2, 303}, {8, 2}, {12, 304}, {14, 305}, {18, 307}, {20, 305}, {22, 307}},
              30);
}

TEST(PythonLines, Ranges) {
  ExpectLines(LineFormat::kRanges, {2, 1,   0, 127, 0, 127, 6, 47, 0, 129, 0, 129,
                                    4, 209, 0, 127, 0, 127, 2, 48, 4, 1,   8, 2},
              {{0, 2}, {2, 303}, {8, 2}, {12, 304}, {14, 305}, {18, 307}}, 26);
}

TEST(PythonLines, LocationsOf311) {
  ExpectLines(LineFormat::kLocations,
              {128, 0,   216, 9,  10,  240, 90, 9,   0,  10,  11, 136, 81, 137, 21, 240, 91,
               9,   109, 4,   9,  16,  128, 65, 240, 92, 9,   3,  5,   14, 216, 15, 16,  224,
               12,  13,  136, 65, 248, 136, 65, 136, 5,  136, 5,  136, 5,  136, 5},
              // Without a line at byte 24: told by the one before.
              {{0, 1}, {2, 2}, {4, 303}, {12, 2}, {16, 304}, {18, 305}, {20, 307}}, 36);
}

TEST(PythonLines, LocationsOf313) {
  ExpectLines(
      LineFormat::kLocations,
      {128, 0,  216, 9,  10,  240, 90, 9, 0, 10, 11,  136, 81, 137, 21, 240, 91,  9,   109, 4,
       9,   16, 128, 65, 240, 92,  9,  3, 5, 14, 216, 15,  16, 225, 12, 13,  248, 137, 65,  250},
      {{0, 1}, {2, 2}, {4, 303}, {12, 2}, {16, 304}, {18, 305}, {20, 307}}, 36);
}

TEST(PythonLines, CutTablesEndWithTheLastLineTheySay) {
  for (int format = 0; format < kLineFormats; ++format) {
    EXPECT_EQ(LineAt(static_cast<LineFormat>(format), {}, 7, 100), 7);
  }
  // An entry that says "a number follows", and nothing does.
  EXPECT_EQ(LineAt(LineFormat::kLocations, Table{240}, 7, 100), 7);
  EXPECT_EQ(LineAt(LineFormat::kRanges, Table{2, 1, 4}, 7, 100), 8);
}

}  // namespace
}  // namespace hone::collect
