// SPDX-License-Identifier: Apache-2.0
// ChunkBuilder: rows of one table on their way into a file, encoded column by column as they come.
//
// Used inside other people's programs: no exceptions leave it, and it allocates only while its
// columns grow to the size of a chunk (they keep their memory from chunk to chunk). Where memory
// cannot be had, the rows of this chunk are dropped and counted. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wire/table.h"

namespace hone::wire {

class ChunkBuilder {
 public:
  explicit ChunkBuilder(Table table);

  // One whole row, one argument a column in the order of the table's spec: integers (any integral
  // or enum type), numbers for kDouble columns, std::string_view or const char* for kText (cut at
  // kLongestText). The number and the kinds of arguments are checked at run time by HONE_CHECK.
  template <typename... Values>
  void Row(const Values&... values) noexcept {
    std::size_t column = 0;
    (Put(column++, values), ...);
    EndRow(column);
  }

  Table table() const { return table_; }
  std::uint32_t rows() const { return rows_; }
  std::size_t bytes() const { return bytes_; }  // of the columns so far, uncompressed
  bool empty() const { return rows_ == 0; }
  void Clear() noexcept;  // keeps the memory
  // Rows dropped for want of memory since the builder was made.
  std::uint64_t lost_rows() const { return lost_rows_; }

  // The payload of the chunk (layout: wire/file_writer.h), PayloadBytes() of them, to `out`.
  std::size_t PayloadBytes() const;
  void CopyPayload(std::uint8_t* out) const noexcept;

  static constexpr std::size_t kLongestText = 1u << 20;

 private:
  template <typename Value>
  void Put(std::size_t column, const Value& value) noexcept {
    if constexpr (std::is_floating_point_v<Value>) {
      PutDouble(column, static_cast<double>(value));
    } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      PutText(column, value);
    } else {
      PutInteger(column, static_cast<std::int64_t>(value));
    }
  }
  struct Column {
    Encoding encoding;
    std::int64_t last = 0;
    std::size_t used = 0;             // of bytes
    std::vector<std::uint8_t> bytes;  // its size is the room there is
  };
  void PutInteger(std::size_t column, std::int64_t value) noexcept;
  void PutDouble(std::size_t column, double value) noexcept;
  void PutText(std::size_t column, std::string_view value) noexcept;
  void EndRow(std::size_t columns) noexcept;
  std::uint8_t* RoomFor(Column& column, std::size_t bytes) noexcept;  // null: no memory

  Table table_;
  bool failed_ = false;  // the row under way lacks a value
  std::uint32_t rows_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t lost_rows_ = 0;
  std::vector<Column> columns_;
};

}  // namespace hone::wire
