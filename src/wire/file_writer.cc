// SPDX-License-Identifier: Apache-2.0
#include "wire/file_writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "wire/checksum.h"
#include "wire/little_endian.h"

namespace hone::wire {
namespace {

// Made-up rows as of a training step, 256 KiB a chunk: level 1 took 26 ns a row and left 5.4 bytes
// of it, level 3 took 44 ns and left 5.3.
constexpr int kLevel = 1;

// Programs walk over low descriptors (daemons close them all, shells redirect them).
constexpr int kHighDescriptor = 400;

bool NoRoom(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

}  // namespace

struct FileWriter::Compressor {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::vector<std::uint8_t> payload, stored;
  Compressor() = default;
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { ZSTD_freeCCtx(context); }

  // The payload's `raw` bytes into `stored`, behind the room for a head; how many they became.
  std::size_t Pack(std::size_t raw, bool& compressed) noexcept;
};

FileWriter::FileWriter(int fd, std::string path)
    : fd_(fd), path_(std::move(path)), compressor_(std::make_unique<Compressor>()) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      device_(other.device_),
      inode_(other.inode_),
      lost_rows_(other.lost_rows_),
      path_(std::move(other.path_)),
      bytes_written_(other.bytes_written_),
      status_(other.status_),
      error_number_(other.error_number_),
      compressor_(std::move(other.compressor_)) {}

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  if (this == &other) return *this;
  Close();
  fd_ = std::exchange(other.fd_, -1);
  device_ = other.device_;
  inode_ = other.inode_;
  lost_rows_ = other.lost_rows_;
  path_ = std::move(other.path_);
  bytes_written_ = other.bytes_written_;
  status_ = other.status_;
  error_number_ = other.error_number_;
  compressor_ = std::move(other.compressor_);
  return *this;
}

FileWriter::~FileWriter() { Close(); }

void FileWriter::Close() noexcept {
  if (fd_ >= 0 && StillOurs()) close(fd_);
  fd_ = -1;
}

void FileWriter::Abandon() noexcept {
  Close();  // the child's copy: the parent's stays open
  status_ = WriteStatus::kFailed;
  error_number_ = EBADF;
  static_cast<void>(compressor_.release());  // leaked: free() may wait for a lock nobody holds
}

bool FileWriter::StillOurs() const noexcept {
  struct stat now;
  return fstat(fd_, &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
}

Result<FileWriter> FileWriter::Create(const std::string& path) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Error(path + ": cannot be made (" + std::strerror(errno) +
                 "); check that its folder exists and can be written");
  }
  if (const int high = fcntl(fd, F_DUPFD_CLOEXEC, kHighDescriptor); high >= 0) {
    close(fd);
    fd = high;
  }
  FileWriter writer(fd, path);
  struct stat made;
  if (fstat(fd, &made) == 0) {
    writer.device_ = made.st_dev;
    writer.inode_ = made.st_ino;
  }
  std::uint8_t head[kFileHeadBytes] = {};
  std::memcpy(head, kFileMagic, sizeof kFileMagic);
  Store32(head + 8, kFileVersion);
  ChunkBuilder schema(Table::kSchema);
  for (const TableSpec& table : kTables) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      schema.Row(table.id, table.name, i, table.columns[i].name, table.columns[i].encoding);
    }
  }
  if (writer.Write(head, sizeof head) != WriteStatus::kOk ||
      writer.Append(schema) != WriteStatus::kOk) {
    return Error(path + ": cannot be written (" + std::strerror(writer.error_number_) +
                 "); free some space or choose another folder with --out");
  }
  return writer;
}

WriteStatus FileWriter::Fail(int error) noexcept {
  error_number_ = error;
  status_ = NoRoom(error) ? WriteStatus::kFull : WriteStatus::kFailed;
  return status_;
}

WriteStatus FileWriter::Write(const std::uint8_t* bytes, std::size_t size) noexcept {
  if (fd_ < 0 || !StillOurs()) {
    fd_ = -1;  // somebody else's by now: not ours to close
    return Fail(EBADF);
  }
  // Beyond the limit of the file's size the kernel would send SIGXFSZ, which ends the program.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      bytes_written_ + size > limit.rlim_cur) {
    return Fail(EFBIG);
  }
  std::size_t done = 0;
  while (done < size) {
    const ssize_t part =
        pwrite(fd_, bytes + done, size - done, static_cast<off_t>(bytes_written_ + done));
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) {
      Fail(part < 0 ? errno : ENOSPC);
      // Where cutting fails too, the torn chunk is found by its checksum.
      while (ftruncate(fd_, static_cast<off_t>(bytes_written_)) != 0 && errno == EINTR) {
      }
      return status_;
    }
    done += static_cast<std::size_t>(part);
  }
  bytes_written_ += size;
  return WriteStatus::kOk;
}

bool FileWriter::MakeRoom(std::size_t raw) noexcept {
  if (raw > kLargestChunk) return false;
  try {
    const std::size_t room = kChunkHeadBytes + ZSTD_compressBound(raw);
    if (compressor_->payload.size() < raw) compressor_->payload.resize(raw);
    if (compressor_->stored.size() < room) compressor_->stored.resize(room);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

std::size_t FileWriter::Compressor::Pack(std::size_t raw, bool& compressed) noexcept {
  std::uint8_t* const body = stored.data() + kChunkHeadBytes;
  compressed = false;
  if (context != nullptr) {
    const std::size_t size = ZSTD_compressCCtx(context, body, stored.size() - kChunkHeadBytes,
                                               payload.data(), raw, kLevel);
    compressed = ZSTD_isError(size) == 0 && size < raw && raw <= size * kMostExpansion;
    if (compressed) return size;
  }
  std::memcpy(body, payload.data(), raw);
  return raw;
}

WriteStatus FileWriter::Append(ChunkBuilder& chunk) noexcept {
  if (chunk.empty()) return status_;
  const std::size_t raw = chunk.PayloadBytes();
  if (status_ != WriteStatus::kOk || !MakeRoom(raw)) {
    lost_rows_ += chunk.rows();
    chunk.Clear();
    return status_;
  }
  chunk.CopyPayload(compressor_->payload.data());
  bool compressed = false;
  const std::size_t size = compressor_->Pack(raw, compressed);
  std::uint8_t* const head = compressor_->stored.data();
  Store32(head, kChunkMagic);
  Store16(head + 4, static_cast<std::uint16_t>(chunk.table()));
  Store16(head + 6, compressed ? kFlagZstd : 0);
  Store32(head + 8, chunk.rows());
  Store32(head + 12, static_cast<std::uint32_t>(raw));
  Store32(head + 16, static_cast<std::uint32_t>(size));
  Store32(head + 20, ChunkChecksum(head, head + kChunkHeadBytes, size));
  if (Write(head, kChunkHeadBytes + size) != WriteStatus::kOk) lost_rows_ += chunk.rows();
  chunk.Clear();
  return status_;
}

}  // namespace hone::wire
