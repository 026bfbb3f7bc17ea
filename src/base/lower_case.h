// SPDX-License-Identifier: Apache-2.0
// Names without their case. ASCII only: what a name means does not depend on the locale.
#pragma once

#include <string>
#include <string_view>

namespace hone {

constexpr char LowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerCase(c);
  return lower;
}

}  // namespace hone
