// SPDX-License-Identifier: Apache-2.0
// The middle of a few measurements, where one that was really measured is wanted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hone {

// The upper one of two; `none` of nothing. O(n).
template <typename Value>
Value UpperMedian(std::vector<Value> values, Value none = {}) {
  if (values.empty()) return none;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace hone
