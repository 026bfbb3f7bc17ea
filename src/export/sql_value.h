// SPDX-License-Identifier: Apache-2.0
// SqlValue: one cell of a table that SQL can see. NULL is "not in this trace", never 0.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::exporter {

enum class SqlType : std::uint8_t { kInteger, kReal, kText };

// Texts are views into the trace (or into SqlRank) and live as long as it does.
class SqlValue {
 public:
  enum class Kind : std::uint8_t { kNull, kInteger, kReal, kText };

  SqlValue() : integer_(0) {}
  SqlValue(std::int64_t integer) : kind_(Kind::kInteger), integer_(integer) {}  // NOLINT: reads as
  SqlValue(double real) : kind_(Kind::kReal), real_(real) {}                    // NOLINT: the value
  SqlValue(std::string_view text) : kind_(Kind::kText), text_(text) {}          // NOLINT

  Kind kind() const { return kind_; }
  std::int64_t integer() const { return integer_; }
  double real() const { return real_; }
  std::string_view text() const { return text_; }

 private:
  Kind kind_ = Kind::kNull;
  union {  // NOLINTBEGIN(readability-identifier-naming): private, though clang-tidy says public
    std::int64_t integer_;
    double real_;
    std::string_view text_;
  };  // NOLINTEND(readability-identifier-naming)
};

// -1 stands for "unknown" in many columns of a trace.
inline SqlValue FromZero(std::int64_t value) { return value < 0 ? SqlValue() : SqlValue(value); }
// 0 stands for "none" in id columns.
inline SqlValue NotZero(std::int64_t value) { return value == 0 ? SqlValue() : SqlValue(value); }
inline SqlValue Flag(bool value) { return std::int64_t{value ? 1 : 0}; }

}  // namespace hone::exporter
