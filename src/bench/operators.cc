// SPDX-License-Identifier: Apache-2.0
#include "bench/operators.h"

#include <set>

#include "base/text.h"

namespace hone::bench {
namespace {

// What a person calls by its name in a model comes first, then what it is made of, then copies,
// views and fills.
int Rank(const std::string& name) {
  for (const char* whole : {"aten::linear", "aten::conv1d", "aten::conv2d", "aten::conv3d",
                            "aten::dropout", "aten::embedding", "aten::layer_norm", "aten::lstm",
                            "aten::batch_norm", "aten::scaled_dot_product_attention"}) {
    if (name == whole) return 3;
  }
  for (const char* part : {"mm", "conv", "attention", "bernoulli", "norm", "softmax"}) {
    if (name.find(part) != std::string::npos) return 2;
  }
  for (const char* part : {"copy", "to", "empty", "view", "stride", "fill", "detach", "resolve"}) {
    if (name.find(part) != std::string::npos) return 0;
  }
  return 1;
}

std::int64_t Times(const OperatorCounts& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

std::optional<OperatorDifference> FindDifference(const OperatorCounts& first,
                                                 const OperatorCounts& second) {
  std::set<std::string> names;
  for (const auto& [name, count] : first) names.insert(name);
  for (const auto& [name, count] : second) names.insert(name);
  OperatorDifference found;
  std::size_t differ = 0;
  for (const std::string& name : names) {
    if (Times(first, name) == Times(second, name)) continue;
    ++differ;
    if (found.name.empty() || Rank(name) > Rank(found.name)) found.name = name;
  }
  if (differ == 0) return std::nullopt;
  found.first = Times(first, found.name);
  found.second = Times(second, found.name);
  found.others = differ - 1;
  return found;
}

std::string TimesText(std::int64_t times) {
  return times == 0 ? "never" : Count(static_cast<std::uint64_t>(times), "time");
}

}  // namespace hone::bench
