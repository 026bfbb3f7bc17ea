// SPDX-License-Identifier: Apache-2.0
// FileWriter: appends chunks to a .hone file. Whatever moment the process dies at, every chunk
// written before stands: a chunk is one write(2), and a torn one is found by its checksum.
//
//   file    = "HONE\r\n\x1a\n" | version u32 (1) | reserved u32 | chunk…
//   chunk   = magic u32 "hCHK" | table u16 | flags u16 (1: zstd) | rows u32 | raw_bytes u32
//             | stored_bytes u32 | checksum u32 | stored_bytes of payload
//   payload = for each column: number u16 | encoding u8 | 0 u8 | bytes u32 | the column's bytes
// All numbers little endian. checksum: XXH32 of the stored payload, its seed the XXH32 (seed 0)
// of the 20 bytes of header before it; 20 lines in any language, and 7 GB/s. A reader that meets a
// bad chunk looks for the next magic. A payload that zstd would make more than kMostExpansion times
// smaller is stored as it is, so a reader's memory is bounded by the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/chunk_builder.h"

namespace hone::wire {

inline constexpr char kFileMagic[8] = {'H', 'O', 'N', 'E', '\r', '\n', '\x1a', '\n'};
inline constexpr std::uint32_t kFileVersion = 1;
inline constexpr std::uint32_t kChunkMagic = 0x4B484368;  // "hCHK"
inline constexpr std::uint16_t kFlagZstd = 1;
inline constexpr std::size_t kFileHeadBytes = 16, kChunkHeadBytes = 24;
inline constexpr std::uint32_t kLargestChunk = 8u << 20;  // raw; readers refuse more
inline constexpr std::uint32_t kMostExpansion = 64;       // raw over stored; readers refuse more

// What another process is told of a file's limit, and when writing failed.
enum class WriteStatus : std::uint8_t { kOk, kFull, kFailed };

class FileWriter {
 public:
  // Makes the file (it must not exist: O_EXCL, mode 0644) and writes its head and schema.
  static Result<FileWriter> Create(const std::string& path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) noexcept;
  ~FileWriter();

  // Writes the rows as one chunk and clears the builder; nothing to do when it is empty. A short
  // or failed write is cut off again (ftruncate), so the file ends with a whole chunk; after it
  // every Append returns the same status, and nothing more is written.
  WriteStatus Append(ChunkBuilder& chunk) noexcept;

  // In the child of a fork: lets go of the parent's file, frees nothing, takes no lock.
  void Abandon() noexcept;

  std::uint64_t bytes_written() const { return bytes_written_; }
  WriteStatus status() const { return status_; }
  int error_number() const { return error_number_; }  // errno of the failure
  const std::string& path() const { return path_; }
  // Rows that were to be appended and are not in the file: after a failure, of chunks too large, or
  // where there was no memory.
  std::uint64_t lost_rows() const { return lost_rows_; }

 private:
  struct Compressor;
  FileWriter(int fd, std::string path);
  bool StillOurs() const noexcept;
  bool MakeRoom(std::size_t raw) noexcept;
  WriteStatus Write(const std::uint8_t* bytes, std::size_t size) noexcept;
  WriteStatus Fail(int error) noexcept;
  void Close() noexcept;

  int fd_ = -1;
  // Programs close descriptors that are not theirs, and the number is used again: what it was.
  std::uint64_t device_ = 0, inode_ = 0;
  std::uint64_t lost_rows_ = 0;
  std::string path_;
  std::uint64_t bytes_written_ = 0;
  WriteStatus status_ = WriteStatus::kOk;
  int error_number_ = 0;
  std::unique_ptr<Compressor> compressor_;
};

}  // namespace hone::wire
