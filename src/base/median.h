// SPDX-License-Identifier: Apache-2.0
// Middles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace hone {

// Of an even number, what lies between the two in the middle; puts the values in another order.
// `values` not empty. O(n).
template <typename Value>
Value MedianInPlace(std::vector<Value>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

// Where one that was really measured is wanted: the upper one of two; `none` of nothing. O(n).
template <typename Value>
Value UpperMedian(std::vector<Value> values, Value none = {}) {
  if (values.empty()) return none;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace hone
