// SPDX-License-Identifier: Apache-2.0
// PackedStream: bytes in, base64 of gzip out, as they come.
#pragma once

#include <cstddef>
#include <memory>
#include <ostream>
#include <span>

namespace hone::report {

class PackedStream {
 public:
  explicit PackedStream(std::ostream& out);
  ~PackedStream();
  PackedStream(const PackedStream&) = delete;
  PackedStream& operator=(const PackedStream&) = delete;

  void Write(std::span<const std::byte> bytes);
  void Finish();                                    // once, after the last byte
  std::size_t written() const { return written_; }  // bytes that went in

 private:
  struct State;
  void Deflate(std::span<const std::byte> bytes, bool last);
  void Encode(std::span<const unsigned char> bytes, bool last);

  std::ostream& out_;
  std::unique_ptr<State> state_;
  std::size_t written_ = 0;
};

}  // namespace hone::report
