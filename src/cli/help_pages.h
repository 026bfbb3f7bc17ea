// SPDX-License-Identifier: Apache-2.0
// The manual inside the program: docs/user/*.md and rules/*.md, embedded at build time
// (cmake/embed_docs.cmake).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace hone::cli {

struct HelpPage {
  const char* name;  // file name without its ending
  const char* text;  // Markdown
  bool rule;         // about one rule of the doctor, which it is named after
};

std::span<const HelpPage> HelpPages();  // sorted by name, rules last

}  // namespace hone::cli
