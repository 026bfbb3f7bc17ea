// SPDX-License-Identifier: Apache-2.0
// White space as JSON knows it.
#pragma once

#include <cstddef>
#include <string_view>

namespace hone::importer::kineto {

inline bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// First index at or behind `at` that is no white space; text.size() when there is none.
inline std::size_t SkipSpace(std::string_view text, std::size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

}  // namespace hone::importer::kineto
