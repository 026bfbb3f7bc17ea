// SPDX-License-Identifier: Apache-2.0
#include "report/html/packed_stream.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/check.h"

namespace hone::report {
namespace {

constexpr std::size_t kBlock = 65'536;
constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

struct PackedStream::State {
  isal_zstream stream{};
  std::vector<unsigned char> work = std::vector<unsigned char>(ISAL_DEF_LVL1_DEFAULT);
  std::vector<unsigned char> packed = std::vector<unsigned char>(kBlock);
  std::array<unsigned char, 3> rest{};  // bytes that do not fill a group of three yet
  std::size_t rest_size = 0;
  std::string text;
};

PackedStream::PackedStream(std::ostream& out) : out_(out), state_(std::make_unique<State>()) {
  isal_deflate_init(&state_->stream);
  state_->stream.level = 1;  // level 2 and 3 are no smaller on such columns, and slower
  state_->stream.level_buf = state_->work.data();
  state_->stream.level_buf_size = static_cast<std::uint32_t>(state_->work.size());
  state_->stream.gzip_flag = IGZIP_GZIP;
}

PackedStream::~PackedStream() = default;

void PackedStream::Write(std::span<const std::byte> bytes) {
  written_ += bytes.size();
  while (!bytes.empty()) {  // the library counts in 32 bits
    const std::size_t part = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    Deflate(bytes.first(part), false);
    bytes = bytes.subspan(part);
  }
}

void PackedStream::Finish() { Deflate({}, true); }

void PackedStream::Deflate(std::span<const std::byte> bytes, bool last) {
  isal_zstream& stream = state_->stream;
  // The library reads only; its structure knows no const.
  stream.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
  stream.avail_in = static_cast<std::uint32_t>(bytes.size());
  stream.end_of_stream = last ? 1 : 0;
  do {
    stream.next_out = state_->packed.data();
    stream.avail_out = static_cast<std::uint32_t>(state_->packed.size());
    HONE_CHECK(isal_deflate(&stream) == COMP_OK);
    Encode({state_->packed.data(), state_->packed.size() - stream.avail_out}, false);
  } while (stream.avail_in > 0 || stream.avail_out == 0);
  if (last) Encode({}, true);
}

void PackedStream::Encode(std::span<const unsigned char> bytes, bool last) {
  State& state = *state_;
  state.text.clear();
  const auto group = [&](unsigned char a, unsigned char b, unsigned char c) {
    const char digits[4] = {kDigits[a >> 2], kDigits[(a & 3) << 4 | b >> 4],
                            kDigits[(b & 15) << 2 | c >> 6], kDigits[c & 63]};
    state.text.append(digits, 4);
  };
  while (state.rest_size > 0 && state.rest_size < 3 && !bytes.empty()) {
    state.rest[state.rest_size++] = bytes[0];
    bytes = bytes.subspan(1);
  }
  if (state.rest_size == 3) {
    group(state.rest[0], state.rest[1], state.rest[2]);
    state.rest_size = 0;
  }
  while (bytes.size() >= 3) {
    group(bytes[0], bytes[1], bytes[2]);
    bytes = bytes.subspan(3);
  }
  for (const unsigned char byte : bytes) state.rest[state.rest_size++] = byte;
  if (last && state.rest_size > 0) {
    const bool two = state.rest_size == 2;
    group(state.rest[0], two ? state.rest[1] : 0, 0);
    state.text[state.text.size() - 1] = '=';
    if (!two) state.text[state.text.size() - 2] = '=';
    state.rest_size = 0;
  }
  out_.write(state.text.data(), static_cast<std::streamsize>(state.text.size()));
}

}  // namespace hone::report
