// SPDX-License-Identifier: Apache-2.0
#include "report/html/packed_stream.h"

namespace hone::report {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

void Base64Sink::Group(unsigned char a, unsigned char b, unsigned char c) {
  const char digits[4] = {kDigits[a >> 2], kDigits[(a & 3) << 4 | b >> 4],
                          kDigits[(b & 15) << 2 | c >> 6], kDigits[c & 63]};
  text_.append(digits, 4);
}

Base64Sink::int_type Base64Sink::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  xsputn(&byte, 1);
  return c;
}

std::streamsize Base64Sink::xsputn(const char* bytes, std::streamsize size) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes);  // NOLINT: bytes are bytes
  auto left = static_cast<std::size_t>(size);
  text_.clear();
  for (; rest_size_ > 0 && rest_size_ < 3 && left > 0; --left) rest_[rest_size_++] = *at++;
  if (rest_size_ == 3) {
    Group(rest_[0], rest_[1], rest_[2]);
    rest_size_ = 0;
  }
  for (; left >= 3; left -= 3, at += 3) Group(at[0], at[1], at[2]);
  for (; left > 0; --left) rest_[rest_size_++] = *at++;
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  return size;
}

void Base64Sink::Finish() {
  if (rest_size_ == 0) return;
  const bool two = rest_size_ == 2;
  text_.clear();
  Group(rest_[0], two ? rest_[1] : 0, 0);
  text_[3] = '=';
  if (!two) text_[2] = '=';
  rest_size_ = 0;
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
}

void PackedStream::Write(std::span<const std::byte> bytes) {
  written_ += bytes.size();
  gzip_.sputn(reinterpret_cast<const char*>(bytes.data()),  // NOLINT: bytes are bytes
              static_cast<std::streamsize>(bytes.size()));
}

void PackedStream::Finish() {
  gzip_.Finish();
  base64_.Finish();
}

}  // namespace hone::report
