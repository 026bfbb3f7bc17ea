// SPDX-License-Identifier: Apache-2.0
#include "report/html/packed_stream.h"

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace hone::report {
namespace {

// A decoder that shares nothing with the writer: digit by digit, into bits.
std::vector<std::uint8_t> FromBase64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  EXPECT_EQ(text.size() % 4, 0U);
  std::uint32_t bits = 0, count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = digits.find(c);
    EXPECT_NE(digit, std::string::npos) << c;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> count & 0xFF));
  }
  return bytes;
}

std::string Unpack(const std::string& text, std::size_t size) {
  std::vector<std::uint8_t> packed = FromBase64(text);
  std::string bytes(size + 1, '\0');
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  state.next_in = packed.data();
  state.avail_in = static_cast<std::uint32_t>(packed.size());
  state.next_out = reinterpret_cast<std::uint8_t*>(bytes.data());
  state.avail_out = static_cast<std::uint32_t>(bytes.size());
  EXPECT_EQ(isal_inflate(&state), ISAL_DECOMP_OK);
  EXPECT_EQ(state.block_state, ISAL_BLOCK_FINISH);  // the checksum was right, too
  bytes.resize(state.total_out);
  return bytes;
}

// Bytes that do not compress, so that blocks of output fill up.
std::string Noise(std::size_t size) {
  std::string bytes;
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < size; ++i) {
    state = state * 1664525 + 1013904223;
    bytes.push_back(static_cast<char>(state >> 24));
  }
  return bytes;
}

TEST(PackedStream, ReadsBackWhateverTheLengthAndThePieces) {
  const std::string all = Noise(300'000);
  for (const std::size_t size : {0UL, 1UL, 2UL, 3UL, 4UL, 5UL, 1000UL, 65'536UL, 300'000UL}) {
    for (const std::size_t piece : {1UL, 7UL, 4096UL, 300'000UL}) {
      if (piece == 1 && size > 1000) continue;
      std::ostringstream out;
      PackedStream stream(out);
      for (std::size_t at = 0; at < size; at += piece) {
        const std::string part = all.substr(at, std::min(piece, size - at));
        stream.Write(std::as_bytes(std::span(part)));
      }
      stream.Finish();
      EXPECT_EQ(stream.written(), size);
      EXPECT_EQ(Unpack(out.str(), size), all.substr(0, size)) << size << " in " << piece;
    }
  }
}

TEST(PackedStream, RepeatedRowsGetSmall) {
  std::ostringstream out;
  PackedStream stream(out);
  const std::string row(1000, 'x');
  for (int i = 0; i < 1000; ++i) stream.Write(std::as_bytes(std::span(row)));
  stream.Finish();
  EXPECT_LT(out.str().size(), 20'000U);
  EXPECT_EQ(Unpack(out.str(), 1'000'000), std::string(1'000'000, 'x'));
}

}  // namespace
}  // namespace hone::report
