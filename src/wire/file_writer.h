// SPDX-License-Identifier: Apache-2.0
// FileWriter: appends chunks to a .hone file. Whatever moment the process dies at, every chunk
// written before stands: a chunk is one write(2), and a torn one is found by its checksum.
//
//   file    = "HONE\r\n\x1a\n" | version u32 (1) | reserved u32 | chunk…
//   chunk   = magic u32 "hCHK" | table u16 | flags u16 (1: zstd) | rows u32 | raw_bytes u32
//             | stored_bytes u32 | checksum u32 | stored_bytes of payload
//   payload = for each column: number u16 | encoding u8 | 0 u8 | bytes u32 | the column's bytes
// All numbers little endian. checksum: low 32 bits of XXH3-64 over the header before it and the
// stored payload. A reader that meets a bad chunk looks for the next magic.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/chunk_builder.h"

namespace hone::wire {

inline constexpr char kFileMagic[8] = {'H', 'O', 'N', 'E', '\r', '\n', '\x1a', '\n'};
inline constexpr std::uint32_t kFileVersion = 1;
inline constexpr std::uint32_t kChunkMagic = 0x4B484368;   // "hCHK"
inline constexpr std::uint32_t kLargestChunk = 64u << 20;  // raw; readers refuse more

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

  // Forgets the descriptor without closing the shared offset's file for the parent: after fork.
  void Abandon() noexcept;

  std::uint64_t bytes_written() const { return bytes_written_; }
  WriteStatus status() const { return status_; }
  int error_number() const { return error_number_; }  // errno of the failure
  const std::string& path() const { return path_; }

 private:
  struct Compressor;
  FileWriter(int fd, std::string path);
  int fd_ = -1;
  std::string path_;
  std::uint64_t bytes_written_ = 0;
  WriteStatus status_ = WriteStatus::kOk;
  int error_number_ = 0;
  std::unique_ptr<Compressor> compressor_;
};

}  // namespace hone::wire
