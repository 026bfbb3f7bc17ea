// SPDX-License-Identifier: Apache-2.0
// Which operator tells most about how two steps differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace hone::bench {

using OperatorCounts = std::map<std::string, std::int64_t>;

struct OperatorDifference {
  std::string name;  // one that does arithmetic, where such a one differs
  std::int64_t first = 0, second = 0;
  std::size_t others = 0;  // that differ too
};

std::optional<OperatorDifference> FindDifference(const OperatorCounts& first,
                                                 const OperatorCounts& second);

// "never", "1 time", "6 times"
std::string TimesText(std::int64_t times);

}  // namespace hone::bench
