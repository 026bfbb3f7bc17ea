// SPDX-License-Identifier: Apache-2.0
#include "base/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace hone {
namespace {

// Large enough that a read is not the cost, small enough to stay in the second-level cache.
constexpr std::size_t kInputChunk = std::size_t{256} * 1024;

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        unread_(std::move(other.unread_)),
        error_(std::move(other.error_)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  // Bytes read; less than `count` only at the end of the file or on an error, kept in error().
  std::size_t Read(void* out, std::size_t count) {
    std::size_t done = std::min(count, unread_.size());
    std::memcpy(out, unread_.data(), done);
    unread_.erase(0, done);
    while (done < count) {
      const ssize_t got = ::read(descriptor_, static_cast<char*>(out) + done, count - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) error_ = std::strerror(errno);
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  // Gives bytes back to be read again: pipes cannot be rewound.
  void Unread(std::string_view bytes) { unread_.insert(0, bytes); }
  const std::string& error() const { return error_; }

 private:
  int descriptor_;
  std::string unread_;
  std::string error_;
};

class FileSource : public ByteSource {
 protected:
  FileSource(File file, std::uint64_t size) : file_(std::move(file)) { input_size_ = size; }

  // Less than `count` only at the end of the file or where it cannot be read further. That is then
  // what is wrong, whatever a decoder says of a stream that ends there.
  std::size_t Take(void* out, std::size_t count) {
    const std::size_t got = file_.Read(out, count);
    input_taken_ += got;
    return got;
  }
  void TellWhatCannotBeRead() {
    if (file_.error().empty()) return;
    damage_ =
        fmt::format("reading stops at byte {}: {}", WithThousands(input_taken_), file_.error());
  }

 private:
  File file_;
};

class PlainSource final : public FileSource {
 public:
  PlainSource(File file, std::uint64_t size) : FileSource(std::move(file), size) {}

  std::size_t Read(char* out, std::size_t capacity) override {
    const std::size_t got = Take(out, capacity);
    TellWhatCannotBeRead();
    return got;
  }
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) { input_size_ = bytes.size(); }

  std::size_t Read(char* out, std::size_t capacity) override {
    const std::size_t got = std::min(capacity, bytes_.size() - input_taken_);
    if (got != 0) std::memcpy(out, bytes_.data() + input_taken_, got);
    input_taken_ += got;
    return got;
  }

 private:
  std::string_view bytes_;
};

class GzipSource final : public FileSource {
 public:
  GzipSource(File file, std::uint64_t size)
      : FileSource(std::move(file), size), input_(kInputChunk) {
    StartMember();
  }

  std::size_t Read(char* out, std::size_t capacity) override {
    state_.next_out = reinterpret_cast<std::uint8_t*>(out);
    std::size_t left = capacity;
    while (left > 0 && !finished_ && damage_.empty()) {
      if (state_.avail_in == 0 && !Refill()) {
        // Output may still be held inside the decoder after the last input byte.
        if (!mid_member_) break;
      }
      state_.avail_out = static_cast<std::uint32_t>(std::min<std::size_t>(left, UINT32_MAX));
      const std::uint32_t room = state_.avail_out;
      const std::uint32_t input_before = state_.avail_in;
      const int status = isal_inflate(&state_);
      const std::uint32_t produced = room - state_.avail_out;
      left -= produced;
      mid_member_ = true;
      // Positive states only ask for more input or more room.
      if (status < ISAL_DECOMP_OK) {
        damage_ = fmt::format("gzip stream is corrupt at byte {} ({})", WithThousands(Position()),
                              StatusText(status));
      } else if (state_.block_state == ISAL_BLOCK_FINISH) {
        EndMember();
      } else if (produced == 0 && state_.avail_in == input_before &&
                 (input_before > 0 || !Refill())) {
        damage_ = fmt::format("gzip stream ends early at byte {}", WithThousands(Position()));
      }
    }
    TellWhatCannotBeRead();
    return capacity - left;
  }

 private:
  static const char* StatusText(int status) {
    switch (status) {
      case ISAL_INCORRECT_CHECKSUM: return "the checksum does not match";
      case ISAL_INVALID_WRAPPER: return "the header is not gzip";
      default: return "invalid data";
    }
  }
  std::uint64_t Position() const { return input_taken_ - state_.avail_in; }

  void StartMember() {
    std::uint8_t* next_in = state_.next_in;
    std::uint8_t* next_out = state_.next_out;
    const std::uint32_t avail_in = started_ ? state_.avail_in : 0;
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    state_.next_in = next_in;
    state_.next_out = next_out;
    state_.avail_in = avail_in;
    started_ = true;
    mid_member_ = false;
  }

  // A gzip file may hold several members; what stands behind the last is ignored, as gzip itself
  // does, and counted.
  void EndMember() {
    mid_member_ = false;
    if (state_.avail_in < 2) {
      std::uint8_t kept[2] = {};
      const std::uint32_t count = state_.avail_in;
      std::copy_n(state_.next_in, count, kept);
      RefillBehind(kept, count);
    }
    if (state_.avail_in >= 2 && state_.next_in[0] == 0x1f && state_.next_in[1] == 0x8b) {
      StartMember();
    } else {
      finished_ = true;
      CountIgnored();
    }
  }

  void CountIgnored() {
    std::uint64_t seen = 0;
    do {
      for (std::uint32_t i = 0; i < state_.avail_in; ++i) {
        ++seen;
        if (state_.next_in[i] != 0) ignored_bytes_ = seen;
      }
      state_.avail_in = 0;
    } while (Refill());
  }

  bool Refill() { return RefillBehind(nullptr, 0); }
  bool RefillBehind(const std::uint8_t* kept, std::uint32_t kept_count) {
    if (kept_count > 0 || state_.avail_in == 0) {
      std::copy_n(kept, kept_count, input_.data());
      const std::size_t got = Take(input_.data() + kept_count, kInputChunk - kept_count);
      state_.next_in = input_.data();
      state_.avail_in = static_cast<std::uint32_t>(got + kept_count);
      return got > 0;
    }
    return true;
  }

  std::vector<std::uint8_t> input_;
  inflate_state state_{};
  bool started_ = false, mid_member_ = false, finished_ = false;
};

class ZstdSource final : public FileSource {
 public:
  ZstdSource(File file, std::uint64_t size)
      : FileSource(std::move(file), size), input_(kInputChunk), stream_(ZSTD_createDStream()) {}
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  std::size_t Read(char* out, std::size_t capacity) override {
    ZSTD_outBuffer output{out, capacity, 0};
    while (output.pos < capacity && damage_.empty()) {
      if (buffer_.pos == buffer_.size) {
        const std::size_t got = Take(input_.data(), input_.size());
        buffer_ = {input_.data(), got, 0};
      }
      const std::size_t before = output.pos;
      const bool at_end = buffer_.size == 0;
      const std::size_t status = ZSTD_decompressStream(stream_, &output, &buffer_);
      if (ZSTD_isError(status)) {
        damage_ = fmt::format("zstd stream is corrupt at byte {} ({})",
                              WithThousands(input_taken_ - (buffer_.size - buffer_.pos)),
                              ZSTD_getErrorName(status));
      } else if (at_end && output.pos == before) {
        if (unfinished_) {
          damage_ = fmt::format("zstd stream ends early at byte {}", WithThousands(input_taken_));
        }
        break;
      }
      if (!at_end) unfinished_ = status != 0;
    }
    TellWhatCannotBeRead();
    return output.pos;
  }

 private:
  std::vector<char> input_;
  ZSTD_DStream* stream_;
  ZSTD_inBuffer buffer_{nullptr, 0, 0};
  bool unfinished_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) return Error("no such file");
    return Error(fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  File file(descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    return Error(fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) return Error("is a directory");
  const std::uint64_t size = status.st_size > 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  unsigned char magic[4] = {};
  const std::size_t got = file.Read(magic, sizeof magic);
  file.Unread({reinterpret_cast<const char*>(magic), got});
  std::unique_ptr<ByteSource> source;
  if (got >= 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
    source = std::make_unique<GzipSource>(std::move(file), size);
  } else if (got == 4 && magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f &&
             magic[3] == 0xfd) {
    source = std::make_unique<ZstdSource>(std::move(file), size);
  } else {
    source = std::make_unique<PlainSource>(std::move(file), size);
  }
  return source;
}

std::unique_ptr<ByteSource> MemoryByteSource(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}

std::string ReadFileHead(const std::string& path, std::size_t count) {
  struct stat status {};
  // What is read from a pipe is gone for the next reader.
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  File file(descriptor);
  std::string head(count, '\0');
  head.resize(file.Read(head.data(), count));
  return head;
}

}  // namespace hone
