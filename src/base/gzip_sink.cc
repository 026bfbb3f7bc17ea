// SPDX-License-Identifier: Apache-2.0
#include "base/gzip_sink.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <vector>

namespace hone {

namespace {
constexpr std::size_t kPiece = std::size_t{256} << 10;
}

struct GzipSink::State {
  isal_zstream stream{};
  std::vector<std::uint8_t> level = std::vector<std::uint8_t>(ISAL_DEF_LVL1_DEFAULT);
  std::vector<char> pending, compressed = std::vector<char>(kPiece);
  bool finished = false;
};

GzipSink::GzipSink(std::ostream& out) : out_(out), state_(std::make_unique<State>()) {
  isal_deflate_init(&state_->stream);
  state_->stream.gzip_flag = IGZIP_GZIP;
  state_->stream.level = 1;
  state_->stream.level_buf = state_->level.data();
  state_->stream.level_buf_size = static_cast<std::uint32_t>(state_->level.size());
  state_->pending.reserve(kPiece);
}

GzipSink::~GzipSink() = default;

void GzipSink::Compress(const char* text, std::size_t size, bool last) {
  isal_zstream& stream = state_->stream;
  // The library only reads what it takes as non-const.
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text));  // NOLINT
  stream.avail_in = static_cast<std::uint32_t>(size);
  stream.end_of_stream = last ? 1 : 0;
  do {
    stream.next_out = reinterpret_cast<std::uint8_t*>(state_->compressed.data());  // NOLINT
    stream.avail_out = static_cast<std::uint32_t>(state_->compressed.size());
    isal_deflate(&stream);
    const std::size_t made = state_->compressed.size() - stream.avail_out;
    out_.write(state_->compressed.data(), static_cast<std::streamsize>(made));
  } while (stream.avail_out == 0);
}

GzipSink::int_type GzipSink::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  xsputn(&byte, 1);
  return c;
}

std::streamsize GzipSink::xsputn(const char* text, std::streamsize size) {
  std::vector<char>& pending = state_->pending;
  auto left = static_cast<std::size_t>(size);
  while (left > 0) {
    const std::size_t taken = std::min(left, kPiece - pending.size());
    pending.insert(pending.end(), text, text + taken);
    text += taken;
    left -= taken;
    if (pending.size() < kPiece) break;
    Compress(pending.data(), pending.size(), false);
    pending.clear();
  }
  return size;
}

void GzipSink::Finish() {
  if (state_->finished) return;
  state_->finished = true;
  Compress(state_->pending.data(), state_->pending.size(), true);
  state_->pending.clear();
}

}  // namespace hone
