// SPDX-License-Identifier: Apache-2.0
// PageStrings: the strings that a page's rows and trees name, each once, numbered as they come.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/trace.h"

namespace hone::report {

// The trace must outlive it. 0 is "".
class PageStrings {
 public:
  explicit PageStrings(const trace::Trace& trace)
      : trace_(trace), number_(trace.strings.size(), kUnseen), list_(1) {
    number_[0] = 0;
  }

  std::uint32_t Of(StringId id) {
    std::uint32_t& number = number_[static_cast<std::uint32_t>(id)];
    if (number == kUnseen) number = Append(trace_.Name(id));
    return number;
  }
  // Texts that the trace does not hold.
  std::uint32_t Of(const std::string& text) {
    if (text.empty()) return 0;
    const auto known = made_.find(text);
    if (known != made_.end()) return known->second;
    const std::string& kept = own_.emplace_back(text);
    return made_.emplace(kept, Append(kept)).first->second;
  }

  const std::vector<std::string_view>& list() const { return list_; }

 private:
  static constexpr std::uint32_t kUnseen = UINT32_MAX;

  std::uint32_t Append(std::string_view text) {
    list_.push_back(text);
    return static_cast<std::uint32_t>(list_.size() - 1);
  }

  const trace::Trace& trace_;
  std::vector<std::uint32_t> number_;  // by StringId
  std::vector<std::string_view> list_;
  std::deque<std::string> own_;  // never moves
  std::unordered_map<std::string_view, std::uint32_t> made_;
};

}  // namespace hone::report
