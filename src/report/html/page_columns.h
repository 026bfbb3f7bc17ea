// SPDX-License-Identifier: Apache-2.0
// PageColumns: the columns of docs/design/page.md, laid out one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "report/html/packed_stream.h"
#include "report/html/page_rows.h"
#include "report/html/page_strings.h"

namespace hone::report {

class PageColumns {
 public:
  // Names all strings of the rows. All must outlive it.
  PageColumns(const Input& input, const PageRows& rows, PageStrings& strings);

  std::size_t gaps() const { return gap_count_; }
  void WriteLayout(JsonWriter& json) const;  // {"start": {"type", "offset", "count"}, …}
  void WriteBytes(PackedStream& out) const;

 private:
  struct Layout {
    const char* name;
    const char* type;
    std::size_t size, count;  // bytes a value, values
    std::function<void(PackedStream&)> write;
  };
  template <typename T, typename Value>
  void Add(const char* name, const char* type, std::size_t count, Value value);
  void AddRows();
  void AddGaps();
  void FindCauses();

  const Input& input_;
  const PageRows& rows_;
  std::vector<std::uint32_t> name_, detail_, cause_;
  std::vector<std::uint8_t> kind_;
  std::size_t first_gap_ = 0, gap_count_ = 0;
  std::vector<Layout> columns_;
};

}  // namespace hone::report
