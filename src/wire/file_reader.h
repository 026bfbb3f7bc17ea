// SPDX-License-Identifier: Apache-2.0
// FileReader: chunk after chunk of a .hone file, never trusting a byte of it.
//
// Damage is stepped over and counted: a torn last chunk (the process was killed), a chunk with a
// bad checksum, bytes that are no chunk. Memory is bounded by the largest chunk and the file's
// size. Linear in the file.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/table.h"

namespace hone::wire {

// One decoded chunk. Columns are asked by name; those the file does not have read as 0 or "".
class Chunk {
 public:
  std::string_view table() const { return table_; }  // "kernels"; empty: no table we know
  std::uint32_t rows() const { return rows_; }
  // rows() values, or an empty span when the chunk has no such column of that kind.
  std::span<const std::int64_t> Integers(std::string_view column) const;
  std::span<const double> Doubles(std::string_view column) const;
  std::span<const std::string_view> Texts(std::string_view column) const;

 private:
  friend class FileReader;
  struct Column {
    std::string name;
    Encoding encoding = Encoding::kValue;
    std::vector<std::int64_t> integers;
    std::vector<double> doubles;
    std::vector<std::string_view> texts;  // into raw_

    bool Decode(std::span<const std::uint8_t> bytes, std::uint32_t rows);
  };
  const Column* Find(std::string_view name) const;

  std::string table_;
  std::uint32_t rows_ = 0;
  std::size_t used_ = 0;  // of columns_; the rest keep their memory for the next chunk
  std::vector<Column> columns_;
  std::vector<std::uint8_t> raw_;
};

struct ReadDamage {
  std::uint64_t chunks = 0;         // with a bad checksum or contents that do not decode
  std::uint64_t bytes_skipped = 0;  // that are no chunk, or belong to a bad one
  bool torn_end = false;            // the file ends inside a chunk
  std::string first;                // about the first: "chunk 12 at byte 4,096: bad checksum"
};

class FileReader {
 public:
  // Maps the file, of one that still grows `most` bytes. The error is one sentence that ends with
  // the next step. A file that ends within its own head opens, torn and without chunks.
  static Result<FileReader> Open(const std::string& path, std::uint64_t most = UINT64_MAX);
  // Reads from memory that must outlive the reader.
  static Result<FileReader> OpenImage(std::string_view bytes, const std::string& name);
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  ~FileReader();

  // The next whole chunk into `chunk` (reusing its memory); false at the end. Schema chunks are
  // taken in and not handed out.
  bool Next(Chunk& chunk);
  // From now on Next steps over chunks of all other tables without a look at their contents: a walk
  // from head to head. Their rows still count in rows(). Damage inside them goes unnoticed.
  void Only(std::initializer_list<Table> tables);
  // Rows by the number of their table, of the chunks passed so far.
  const std::array<std::uint64_t, kTableCount>& rows() const { return rows_; }

  const ReadDamage& damage() const { return damage_; }
  std::uint64_t bytes() const { return size_; }
  std::uint64_t bytes_done() const { return position_; }
  std::uint32_t version() const { return version_; }
  bool newer_version() const { return version_ > 1; }

 private:
  struct Decoder;
  enum class Verdict : std::uint8_t { kWhole, kBad, kBeyondEnd };
  FileReader();
  Result<Unit> ReadHead(const std::string& name);
  Verdict Look(std::uint64_t at, const char*& why);
  bool Wanted(std::uint64_t at) const;
  bool Decode(Chunk& chunk);
  void TakeSchema(const Chunk& chunk);
  void Resynchronize();
  void Note(std::uint64_t at, const char* why);

  const std::uint8_t* data_ = nullptr;
  std::uint64_t size_ = 0, position_ = 0;
  std::uint64_t chunk_number_ = 0;
  std::uint64_t hash_budget_ = 0;             // bytes the search for whole chunks may still look at
  std::uint64_t wanted_ = ~std::uint64_t{0};  // a bit for each table; beyond 63: the last
  std::uint32_t version_ = 0;
  bool mapped_ = false;
  std::array<std::uint64_t, kTableCount> rows_{};
  ReadDamage damage_;
  std::unique_ptr<Decoder> decoder_;  // zstd context and the schema read so far
};

}  // namespace hone::wire
