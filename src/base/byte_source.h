// SPDX-License-Identifier: Apache-2.0
// ByteSource: a file as a stream of bytes, with gzip or zstd undone. The compression is told from
// the first bytes, not from the name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills up to `capacity` bytes and returns how many. Less than asked, 0 included, means the end
  // of the data or damage(); every byte before the damage has been handed out by then.
  virtual std::size_t Read(char* out, std::size_t capacity) = 0;

  // What is wrong with the file, as a clause ("gzip stream ends early at byte 100,000"); empty
  // while nothing is.
  const std::string& damage() const { return damage_; }

  // Bytes behind the end of the compressed stream that belong to no stream; zeros that fill a block
  // are none. Known at the end of the data.
  std::uint64_t ignored_bytes() const { return ignored_bytes_; }

  // Bytes of the file, and how many of them have been taken so far.
  std::uint64_t input_size() const { return input_size_; }
  std::uint64_t input_taken() const { return input_taken_; }

 protected:
  std::string damage_;
  std::uint64_t input_size_ = 0;
  std::uint64_t input_taken_ = 0;
  std::uint64_t ignored_bytes_ = 0;
};

// The error is one clause without the path: "no such file", "is a directory", "cannot be read: …".
Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path);

// Over memory that outlives the source; compression is not undone.
std::unique_ptr<ByteSource> MemoryByteSource(std::string_view bytes);

// The first bytes of a file as they stand on disk, at most `count`; empty if it cannot be read
// or is no regular file.
std::string ReadFileHead(const std::string& path, std::size_t count);

}  // namespace hone
