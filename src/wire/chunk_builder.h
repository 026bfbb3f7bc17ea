// SPDX-License-Identifier: Apache-2.0
// ChunkBuilder: rows of one table on their way into a file, encoded column by column as they come.
//
// Used inside other people's programs: no exceptions leave it, and it allocates only while its
// columns grow to the size of a chunk (they keep their memory from chunk to chunk). Not
// thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "wire/table.h"

namespace hone::wire {

class ChunkBuilder {
 public:
  explicit ChunkBuilder(Table table);

  // One whole row, one argument a column in the order of the table's spec: integers (any integral
  // or enum type), floating point for kDouble columns, std::string_view or const char* for kText.
  // The number and the kinds of arguments are checked at run time by HONE_CHECK.
  template <typename... Values>
  void Row(const Values&... values) {
    std::size_t column = 0;
    (Put(column++, values), ...);
    EndRow(column);
  }

  Table table() const { return table_; }
  std::uint32_t rows() const { return rows_; }
  std::size_t bytes() const { return bytes_; }  // of the columns so far, uncompressed
  bool empty() const { return rows_ == 0; }
  void Clear();  // keeps the memory

  // Appends the uncompressed payload of the chunk to `out` (layout: wire/file_writer.h).
  void AppendPayload(std::vector<std::uint8_t>& out) const;

 private:
  template <typename Value>
  void Put(std::size_t column, const Value& value) {
    if constexpr (std::is_floating_point_v<Value>) {
      PutDouble(column, static_cast<double>(value));
    } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      PutText(column, value);
    } else {
      PutInteger(column, static_cast<std::int64_t>(value));
    }
  }
  void PutInteger(std::size_t column, std::int64_t value);
  void PutDouble(std::size_t column, double value);
  void PutText(std::size_t column, std::string_view value);
  void EndRow(std::size_t columns);

  struct Column {
    Encoding encoding;
    std::int64_t last = 0;
    std::vector<std::uint8_t> bytes;
  };
  Table table_;
  std::uint32_t rows_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Column> columns_;
};

}  // namespace hone::wire
