// SPDX-License-Identifier: Apache-2.0
#include "wire/chunk_builder.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.h"
#include "wire/little_endian.h"

namespace hone::wire {
namespace {

constexpr std::size_t kLongestVarint = 10;
constexpr std::size_t kColumnHead = 8;

std::uint64_t ZigZag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

std::uint8_t* PutVarint(std::uint8_t* out, std::uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<std::uint8_t>(value) | 0x80;
    value >>= 7;
  }
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

}  // namespace

ChunkBuilder::ChunkBuilder(Table table) : table_(table) {
  const auto number = static_cast<std::size_t>(table);
  HONE_CHECK(number < kTableCount);
  columns_.reserve(kTables[number].columns.size());
  for (const ColumnSpec& spec : kTables[number].columns) {
    columns_.push_back({.encoding = spec.encoding, .last = 0, .used = 0, .bytes = {}});
  }
}

std::uint8_t* ChunkBuilder::RoomFor(Column& column, std::size_t bytes) noexcept {
  const std::size_t needed = column.used + bytes;
  if (needed > column.bytes.size()) [[unlikely]] {
    try {
      column.bytes.resize(std::max({needed, 2 * column.bytes.size(), std::size_t{4096}}));
    } catch (const std::bad_alloc&) {
      failed_ = true;
      return nullptr;
    }
  }
  return column.bytes.data() + column.used;
}

void ChunkBuilder::PutInteger(std::size_t index, std::int64_t value) noexcept {
  HONE_CHECK(index < columns_.size());
  Column& column = columns_[index];
  if (column.encoding == Encoding::kDouble) return PutDouble(index, static_cast<double>(value));
  HONE_CHECK(column.encoding == Encoding::kDelta || column.encoding == Encoding::kValue);
  std::int64_t coded = value;
  if (column.encoding == Encoding::kDelta) {
    // Differences wrap: addresses and counters use all 64 bits.
    coded = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) -
                                      static_cast<std::uint64_t>(column.last));
    column.last = value;
  }
  std::uint8_t* room = RoomFor(column, kLongestVarint);
  if (room == nullptr) return;
  const std::uint64_t bits = ZigZag(coded);
  if (bits < 0x80) {  // most values: unchanged from the row before
    *room = static_cast<std::uint8_t>(bits);
    ++column.used;
    ++bytes_;
    return;
  }
  const auto written = static_cast<std::size_t>(PutVarint(room, bits) - room);
  column.used += written;
  bytes_ += written;
}

void ChunkBuilder::PutDouble(std::size_t index, double value) noexcept {
  HONE_CHECK(index < columns_.size() && columns_[index].encoding == Encoding::kDouble);
  Column& column = columns_[index];
  std::uint8_t* room = RoomFor(column, sizeof value);
  if (room == nullptr) return;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  Store64(room, bits);
  column.used += sizeof bits;
  bytes_ += sizeof bits;
}

void ChunkBuilder::PutText(std::size_t index, std::string_view value) noexcept {
  HONE_CHECK(index < columns_.size() && columns_[index].encoding == Encoding::kText);
  Column& column = columns_[index];
  value = value.substr(0, kLongestText);
  std::uint8_t* room = RoomFor(column, kLongestVarint + value.size());
  if (room == nullptr) return;
  std::uint8_t* text = PutVarint(room, value.size());
  if (!value.empty()) std::memcpy(text, value.data(), value.size());
  const auto written = static_cast<std::size_t>(text - room) + value.size();
  column.used += written;
  bytes_ += written;
}

void ChunkBuilder::EndRow(std::size_t columns) noexcept {
  HONE_CHECK(columns == columns_.size());
  ++rows_;
  if (!failed_) return;
  // The columns are out of step. Rare enough that the whole chunk may go.
  lost_rows_ += rows_;
  Clear();
}

void ChunkBuilder::Clear() noexcept {
  for (Column& column : columns_) {
    column.last = 0;
    column.used = 0;
  }
  rows_ = 0;
  bytes_ = 0;
  failed_ = false;
}

std::size_t ChunkBuilder::PayloadBytes() const { return bytes_ + columns_.size() * kColumnHead; }

void ChunkBuilder::CopyPayload(std::uint8_t* out) const noexcept {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    Store16(out, static_cast<std::uint16_t>(i));
    out[2] = static_cast<std::uint8_t>(column.encoding);
    out[3] = 0;
    Store32(out + 4, static_cast<std::uint32_t>(column.used));
    out += kColumnHead;
    if (column.used != 0) std::memcpy(out, column.bytes.data(), column.used);
    out += column.used;
  }
}

}  // namespace hone::wire
