// SPDX-License-Identifier: Apache-2.0
// The columns of a chunk, from bytes to values.
#include <cstring>

#include "wire/file_reader.h"
#include "wire/little_endian.h"

namespace hone::wire {
namespace {

struct Bytes {
  const std::uint8_t* at;
  const std::uint8_t* end;

  bool Varint(std::uint64_t& value) {
    if (at != end && *at < 0x80) {
      value = *at++;
      return true;
    }
    value = 0;
    for (int shift = 0; shift < 64 && at != end; shift += 7) {
      const std::uint8_t byte = *at++;
      if (shift == 63 && byte > 1) return false;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
};

bool DecodeIntegers(Bytes in, std::uint32_t rows, bool delta, std::vector<std::int64_t>& out) {
  out.resize(rows);
  std::uint64_t last = 0;
  for (std::uint32_t i = 0; i < rows; ++i) {
    std::uint64_t coded = 0;
    if (!in.Varint(coded)) return false;
    const std::uint64_t value = (coded >> 1) ^ (0 - (coded & 1));
    last = delta ? last + value : value;
    out[i] = static_cast<std::int64_t>(last);
  }
  return in.at == in.end;
}

bool DecodeTexts(Bytes in, std::uint32_t rows, std::vector<std::string_view>& out) {
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) {
    std::uint64_t length = 0;
    if (!in.Varint(length) || length > static_cast<std::uint64_t>(in.end - in.at)) return false;
    out[i] = {reinterpret_cast<const char*>(in.at), static_cast<std::size_t>(length)};
    in.at += length;
  }
  return in.at == in.end;
}

bool DecodeDoubles(Bytes in, std::uint32_t rows, std::vector<double>& out) {
  if (static_cast<std::uint64_t>(in.end - in.at) != 8ull * rows) return false;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) {
    const std::uint64_t bits = Load64(in.at + 8ull * i);
    std::memcpy(&out[i], &bits, sizeof bits);
  }
  return true;
}

}  // namespace

bool Chunk::Column::Decode(std::span<const std::uint8_t> bytes, std::uint32_t rows) {
  integers.clear();
  doubles.clear();
  texts.clear();
  const Bytes in{bytes.data(), bytes.data() + bytes.size()};
  // Every value takes a byte at least, so the columns are no larger than the file allows.
  const bool enough = bytes.size() >= rows;
  switch (encoding) {
    case Encoding::kDelta:
    case Encoding::kValue:
      return enough && DecodeIntegers(in, rows, encoding == Encoding::kDelta, integers);
    case Encoding::kText: return enough && DecodeTexts(in, rows, texts);
    case Encoding::kDouble: return DecodeDoubles(in, rows, doubles);
  }
  return true;  // an encoding of a newer version: the column reads as absent
}

const Chunk::Column* Chunk::Find(std::string_view name) const {
  for (std::size_t i = 0; i < used_; ++i) {
    if (columns_[i].name == name) return &columns_[i];
  }
  return nullptr;
}

std::span<const std::int64_t> Chunk::Integers(std::string_view column) const {
  const Column* found = Find(column);
  return found == nullptr ? std::span<const std::int64_t>{} : found->integers;
}
std::span<const double> Chunk::Doubles(std::string_view column) const {
  const Column* found = Find(column);
  return found == nullptr ? std::span<const double>{} : found->doubles;
}
std::span<const std::string_view> Chunk::Texts(std::string_view column) const {
  const Column* found = Find(column);
  return found == nullptr ? std::span<const std::string_view>{} : found->texts;
}

}  // namespace hone::wire
