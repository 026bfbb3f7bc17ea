// SPDX-License-Identifier: Apache-2.0
#include "report/words/kernel_name.h"

#include <array>

namespace hone::report {
namespace {

// The parenthesis that opens the list which ends the name; npos: there is none.
std::size_t ParameterList(std::string_view name) {
  if (name.empty() || name.back() != ')') return std::string_view::npos;
  std::size_t depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::string ShortKernelName(std::string_view name) {
  if (name.substr(0, 5) != "void ") return std::string(name);
  name.remove_prefix(5);
  const std::size_t list = ParameterList(name);
  if (list != std::string_view::npos && list > 0) name = name.substr(0, list);
  static constexpr std::array<std::string_view, 3> kNoise = {
      "at::native::", "(anonymous namespace)::", "at::cuda::"};
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    bool noise = false;
    for (const std::string_view word : kNoise) {
      if (name.substr(at, word.size()) != word) continue;
      at += word.size();
      noise = true;
      break;
    }
    if (!noise) text.push_back(name[at++]);
  }
  return text.empty() ? std::string(name) : text;
}

}  // namespace hone::report
