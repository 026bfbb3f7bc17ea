// SPDX-License-Identifier: Apache-2.0
// PackedStream: bytes in, base64 of gzip out, as they come.
#pragma once

#include <array>
#include <cstddef>
#include <ostream>
#include <span>
#include <streambuf>
#include <string>

#include "base/gzip_sink.h"

namespace hone::report {

// A stream buffer that writes base64 of what is written through it.
class Base64Sink : public std::streambuf {
 public:
  explicit Base64Sink(std::ostream& out) : out_(out) {}
  void Finish();  // once, after the last byte

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* bytes, std::streamsize size) override;

 private:
  void Group(unsigned char a, unsigned char b, unsigned char c);

  std::ostream& out_;
  std::array<unsigned char, 3> rest_{};  // bytes that do not fill a group of three yet
  std::size_t rest_size_ = 0;
  std::string text_;
};

class PackedStream {
 public:
  explicit PackedStream(std::ostream& out) : base64_(out), encoded_(&base64_), gzip_(encoded_) {}

  void Write(std::span<const std::byte> bytes);
  void Finish();                                    // once, after the last byte
  std::size_t written() const { return written_; }  // bytes that went in

 private:
  Base64Sink base64_;
  std::ostream encoded_;
  GzipSink gzip_;
  std::size_t written_ = 0;
};

}  // namespace hone::report
