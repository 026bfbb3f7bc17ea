// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error, for what can happen at run time. Shaped like C++23's
// std::expected so that the swap will be mechanical. We throw nowhere.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace hone {

// One sentence for a person: starts lower-case, names the object and the numbers, ends with the
// next step, no full stop.
class [[nodiscard]] Error {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}

  const std::string& message() const { return message_; }

  // "context: message". Adds the object's name on the way up.
  Error WithContext(const std::string& context) && {
    return Error(context + ": " + std::move(message_));
  }

 private:
  std::string message_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return value;` and `return Error("…");` both read naturally.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    HONE_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    HONE_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    HONE_CHECK(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    HONE_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    HONE_CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

struct Unit {};
using Status = Result<Unit>;
inline Status Ok() { return Unit{}; }

}  // namespace hone

// Returns the error of `expression` (a Result or Status) from the enclosing function.
#define HONE_RETURN_IF_ERROR(expression)                     \
  do {                                                       \
    auto hone_status = (expression);                         \
    if (!hone_status) return std::move(hone_status).error(); \
  } while (false)
