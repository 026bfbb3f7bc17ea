// SPDX-License-Identifier: Apache-2.0
#include "wire/file_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "wire/checksum.h"
#include "wire/file_writer.h"
#include "wire/little_endian.h"

namespace hone::wire {
namespace {

constexpr std::size_t kColumnHead = 8;
constexpr std::size_t kMostColumns = 256;  // of a chunk; the widest table has 18

}  // namespace

struct FileReader::Decoder {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  std::unordered_map<std::uint32_t, std::string> tables;
  std::unordered_map<std::uint32_t, std::string> columns;  // by table << 16 | column

  // Ids are stable, so the schema of this version stands in where the file's own is damaged.
  Decoder() {
    for (const TableSpec& table : kTables) {
      const auto number = static_cast<std::uint32_t>(table.id);
      tables[number] = table.name;
      for (std::uint32_t i = 0; i < table.columns.size(); ++i) {
        columns[number << 16 | i] = table.columns[i].name;
      }
    }
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { ZSTD_freeDCtx(context); }
};

FileReader::FileReader() : decoder_(std::make_unique<Decoder>()) {}

FileReader::FileReader(FileReader&& other) noexcept { *this = std::move(other); }

FileReader& FileReader::operator=(FileReader&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(position_, other.position_);
  std::swap(chunk_number_, other.chunk_number_);
  std::swap(hash_budget_, other.hash_budget_);
  std::swap(wanted_, other.wanted_);
  std::swap(rows_, other.rows_);
  std::swap(version_, other.version_);
  std::swap(mapped_, other.mapped_);
  std::swap(damage_, other.damage_);
  std::swap(decoder_, other.decoder_);
  return *this;
}

FileReader::~FileReader() {
  if (mapped_) munmap(const_cast<std::uint8_t*>(data_), size_);
}

Result<FileReader> FileReader::Open(const std::string& path, std::uint64_t most) {
  const auto failed = [&](const char* what) {
    return Error(path + ": " + what + " (" + std::strerror(errno) + "); check its permissions");
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed("cannot be opened");
  struct stat about;
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(fd);
    return Error(path + ": not a file; name a .hone file or the folder of a recording");
  }
  FileReader reader;
  reader.size_ = std::min(static_cast<std::uint64_t>(about.st_size), most);
  if (reader.size_ != 0) {
    void* memory = mmap(nullptr, reader.size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED) {
      close(fd);
      return failed("cannot be mapped");
    }
    madvise(memory, reader.size_, MADV_SEQUENTIAL);
    reader.data_ = static_cast<const std::uint8_t*>(memory);
    reader.mapped_ = true;
  }
  close(fd);
  HONE_RETURN_IF_ERROR(reader.ReadHead(path));
  return reader;
}

Result<FileReader> FileReader::OpenImage(std::string_view bytes, const std::string& name) {
  FileReader reader;
  reader.data_ = reinterpret_cast<const std::uint8_t*>(bytes.data());
  reader.size_ = bytes.size();
  HONE_RETURN_IF_ERROR(reader.ReadHead(name));
  return reader;
}

Status FileReader::ReadHead(const std::string& name) {
  const std::size_t seen = std::min<std::uint64_t>(size_, sizeof kFileMagic);
  if (seen != 0 && std::memcmp(data_, kFileMagic, seen) != 0) {
    return Error(name +
                 ": not a recording of hone (its first bytes are others); name a .hone file");
  }
  // Every chunk is hashed once; the rest is for looking at what only looks like a chunk.
  hash_budget_ = 4 * size_ + (std::uint64_t{16} << 20);
  if (size_ < kFileHeadBytes) {
    position_ = size_;
    damage_.torn_end = true;
    damage_.bytes_skipped = size_;
    damage_.first = "the file ends within its own head, at byte " + WithThousands(size_);
    return Ok();
  }
  version_ = Load32(data_ + 8);
  position_ = kFileHeadBytes;
  return Ok();
}

// Whether a whole chunk stands there. Says nothing yet about the values in it.
FileReader::Verdict FileReader::Look(std::uint64_t at, const char*& why) {
  const std::uint64_t left = size_ - at;
  std::uint8_t magic[4];
  Store32(magic, kChunkMagic);
  if (std::memcmp(data_ + at, magic, std::min<std::uint64_t>(left, 4)) != 0) {
    why = "no chunk begins here";
    return Verdict::kBad;
  }
  if (left < kChunkHeadBytes) return Verdict::kBeyondEnd;
  const std::uint8_t* head = data_ + at;
  const std::uint32_t raw = Load32(head + 12), stored = Load32(head + 16);
  const bool compressed = (Load16(head + 6) & kFlagZstd) != 0;
  if (raw > kLargestChunk || stored > raw || (!compressed && stored != raw) ||
      raw > std::uint64_t{stored} * kMostExpansion || Load32(head + 8) > raw) {
    why = "its head says sizes that cannot be";
    return Verdict::kBad;
  }
  if (stored > left - kChunkHeadBytes) return Verdict::kBeyondEnd;
  if (!Wanted(at)) return Verdict::kWhole;
  if (stored > hash_budget_) {
    why = "too much damage before it";
    return Verdict::kBad;
  }
  hash_budget_ -= stored;
  if (ChunkChecksum(head, head + kChunkHeadBytes, stored) != Load32(head + 20)) {
    why = "bad checksum";
    return Verdict::kBad;
  }
  return Verdict::kWhole;
}

void FileReader::Note(std::uint64_t at, const char* why) {
  if (!damage_.first.empty()) return;
  damage_.first =
      "chunk " + WithThousands(chunk_number_ + 1) + " at byte " + WithThousands(at) + ": " + why;
}

// From a position at which no whole chunk stands to the next at which one does, or to the end.
void FileReader::Resynchronize() {
  const std::uint64_t from = position_;
  const char* why = "";
  std::uint64_t at = from;
  while (++at < size_) {
    const void* found = std::memchr(data_ + at, kChunkMagic & 0xFF, size_ - at);
    if (found == nullptr) break;
    at = static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(found) - data_);
    if (Look(at, why) != Verdict::kWhole) continue;
    position_ = at;
    damage_.bytes_skipped += at - from;
    return;
  }
  damage_.bytes_skipped += size_ - from;
  position_ = size_;
}

void FileReader::Only(std::initializer_list<Table> tables) {
  wanted_ = std::uint64_t{1} << static_cast<unsigned>(Table::kSchema);
  for (const Table table : tables) wanted_ |= std::uint64_t{1} << static_cast<unsigned>(table);
}

bool FileReader::Wanted(std::uint64_t at) const {
  return (wanted_ >> std::min<unsigned>(Load16(data_ + at + 4), 63) & 1) != 0;
}

bool FileReader::Next(Chunk& chunk) {
  while (position_ < size_) {
    const std::uint64_t at = position_;
    const char* why = "it goes on beyond the end of the file";
    const Verdict verdict = Look(at, why);
    if (verdict != Verdict::kWhole) {
      Note(at, why);
      Resynchronize();
      if (verdict == Verdict::kBeyondEnd && position_ == size_) {
        damage_.torn_end = true;
      } else {
        ++damage_.chunks;
      }
      ++chunk_number_;
      continue;
    }
    const std::uint64_t whole = kChunkHeadBytes + Load32(data_ + at + 16);
    const std::uint16_t table = Load16(data_ + at + 4);
    const bool wanted = Wanted(at);
    const bool decoded = !wanted || Decode(chunk);
    if (decoded && table < kTableCount) rows_[table] += Load32(data_ + at + 8);
    if (!decoded) {
      Note(at, "its contents cannot be decoded");
      ++damage_.chunks;
      damage_.bytes_skipped += whole;
    }
    position_ += whole;
    ++chunk_number_;
    if (!decoded || !wanted) continue;
    if (table != static_cast<std::uint16_t>(Table::kSchema)) return true;
    TakeSchema(chunk);
  }
  return false;
}

bool FileReader::Decode(Chunk& chunk) {
  const std::uint8_t* head = data_ + position_;
  const std::uint16_t flags = Load16(head + 6);
  const std::uint32_t raw = Load32(head + 12), stored = Load32(head + 16);
  if ((flags & ~kFlagZstd) != 0) return false;  // a way of storing that this version does not know
  chunk.raw_.resize(raw);
  if ((flags & kFlagZstd) != 0) {
    if (decoder_->context == nullptr ||
        ZSTD_decompressDCtx(decoder_->context, chunk.raw_.data(), raw, head + kChunkHeadBytes,
                            stored) != raw) {
      return false;
    }
  } else if (raw != 0) {
    std::memcpy(chunk.raw_.data(), head + kChunkHeadBytes, raw);
  }
  const std::uint32_t table = Load16(head + 4);
  const auto name = decoder_->tables.find(table);
  chunk.table_ = name == decoder_->tables.end() ? std::string() : name->second;
  chunk.rows_ = Load32(head + 8);
  chunk.used_ = 0;
  for (std::size_t at = 0; at < raw;) {
    if (raw - at < kColumnHead) return false;
    const std::uint8_t* column_head = chunk.raw_.data() + at;
    const std::size_t size = Load32(column_head + 4);
    at += kColumnHead;
    if (size > raw - at) return false;
    const auto known = decoder_->columns.find(table << 16 | Load16(column_head));
    if (known != decoder_->columns.end() && !known->second.empty()) {
      if (chunk.used_ == kMostColumns) return false;
      if (chunk.used_ == chunk.columns_.size()) chunk.columns_.emplace_back();
      Chunk::Column& column = chunk.columns_[chunk.used_++];
      column.name = known->second;
      column.encoding = static_cast<Encoding>(column_head[2]);
      if (!column.Decode({chunk.raw_.data() + at, size}, chunk.rows_)) return false;
    }
    at += size;
  }
  return true;
}

void FileReader::TakeSchema(const Chunk& chunk) {
  const auto tables = chunk.Integers("table"), columns = chunk.Integers("column");
  const auto table_names = chunk.Texts("table_name"), column_names = chunk.Texts("column_name");
  if (tables.empty() || table_names.empty() || columns.empty() || column_names.empty()) return;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (tables[i] <= 0 || tables[i] > UINT16_MAX || columns[i] < 0 || columns[i] > UINT16_MAX) {
      continue;  // the schema of the schema itself does not change
    }
    const auto table = static_cast<std::uint32_t>(tables[i]);
    decoder_->tables[table] = table_names[i];
    decoder_->columns[table << 16 | static_cast<std::uint32_t>(columns[i])] = column_names[i];
  }
}

}  // namespace hone::wire
