// SPDX-License-Identifier: Apache-2.0
#include "diff/names.h"

namespace hone::diff {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Where the parameter list that ends the name begins; its size where there is none.
std::size_t ParameterList(std::string_view name) {
  if (name.empty() || name.back() != ')') return name.size();
  std::size_t depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at;
  }
  return name.size();
}

}  // namespace

Names::Names() : steps_(1) { index_.IdOf(0); }

PathId Names::Inside(PathId around, StringId name) {
  const PathId path = index_.IdOf(analyze::PairKey(around, static_cast<std::uint32_t>(name)));
  if (path == steps_.size()) steps_.push_back({around, name});
  return path;
}

std::vector<std::string_view> Names::Around(PathId path, std::size_t most) const {
  std::vector<std::string_view> names;
  for (PathId at = steps_[path].around; at != kNoPath && names.size() < most;) {
    names.push_back(pool_[steps_[at].name]);
    at = steps_[at].around;
  }
  return names;
}

std::string LooseName(std::string_view name) {
  // "Memcpy HtoD (Pageable -> Device)" is no signature.
  const bool copy = name.starts_with("Mem");
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (!copy && ParameterList(name) > 0) name = name.substr(0, ParameterList(name));
  if (name.starts_with("triton_")) {
    std::size_t end = name.size();
    while (end > 0 && IsDigit(name[end - 1])) --end;
    if (end > 0 && end < name.size() && name[end - 1] == '_') name = name.substr(0, end - 1);
  }
  std::string loose;
  for (const char c : name) {
    if (c != ' ') loose += c;
  }
  return loose;
}

std::string_view WithoutNumber(std::string_view label) {
  while (!label.empty() && IsDigit(label.back())) label.remove_suffix(1);
  return label;
}

}  // namespace hone::diff
