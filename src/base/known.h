// SPDX-License-Identifier: Apache-2.0
// Known<T>: a number, or the reason why this trace cannot give it. Reports print the reason; they
// never print 0 for something nobody measured.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace hone {

template <typename T>
class Known {
 public:
  Known() : why_not_("not computed") {}
  Known(T value) : value_(std::move(value)) {}  // NOLINT: reads as the value

  static Known Absent(std::string why) {  // NOLINT(performance-unnecessary-value-param): moved
    Known absent;
    absent.why_not_ = std::move(why);
    return absent;
  }

  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() { return *value_; }
  T* operator->() { return &*value_; }
  // Lower-case clause, e.g. "profile_memory was off". Empty when there is a value.
  const std::string& why_not() const { return why_not_; }

 private:
  std::optional<T> value_;
  std::string why_not_;
};

}  // namespace hone
