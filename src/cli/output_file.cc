// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace hone::cli {

namespace fs = std::filesystem;

namespace {

Error CannotWrite(const std::string& path, const char* how) {
  return Error(fmt::format("{}: cannot be written{}: {}", path, how, std::strerror(errno)));
}

std::uint64_t SizeOf(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const std::uintmax_t size = fs::file_size(path, error);
    return error ? 0 : size;
  }
  std::uint64_t size = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const std::uintmax_t one = entry.file_size(error);
    if (!error) size += one;
  }
  return size;
}

// Beside the place, hidden, and nobody else's: what has the name already is passed by.
std::string FreeName(const fs::path& place) {
  static std::atomic<int> made = 0;
  std::error_code error;
  while (true) {
    fs::path part = place;
    part.replace_filename(fmt::format(".{}.{}-{}.part", place.filename().string(),
                                      static_cast<int>(::getpid()), made++));
    if (!fs::exists(fs::symlink_status(part, error))) return part.string();
  }
}

}  // namespace

Result<std::unique_ptr<PartPath>> PartPath::Make(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error) && !fs::is_empty(path, error)) {
    return Error(fmt::format(
        "{}: is a folder with something in it; remove it, or name another place with -o", path));
  }
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    return Error(
        fmt::format("{}: is a device or a pipe, and this needs a file; name one with -o", path));
  }
  auto made = std::make_unique<PartPath>();
  // Through a link to what it stands for: moving the finished file would replace the link itself.
  made->path_ = fs::exists(status) ? fs::canonical(path, error).string() : path;
  made->part_ = FreeName(made->path_);
  return made;
}

PartPath::~PartPath() {
  std::error_code ignored;
  if (!part_.empty()) fs::remove_all(part_, ignored);
}

Result<std::uint64_t> PartPath::Commit() {
  const std::uint64_t size = SizeOf(part_);
  std::error_code error;
  fs::rename(part_, path_, error);
  if (error) return Error(fmt::format("{}: cannot be written: {}", path_, error.message()));
  part_.clear();
  return size;
}

Result<std::unique_ptr<OutputFile>> OutputFile::Open(const std::string& path, bool gzip,
                                                     Console& console) {
  auto out = std::make_unique<OutputFile>();
  out->path_ = path == "-" ? "standard output" : path;
  out->base_ = &console.out;
  if (path != "-") {
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    if (fs::is_directory(status)) {
      return Error(fmt::format("{}: is a folder; name a file with -o", path));
    }
    if (!fs::exists(status) || fs::is_regular_file(status)) {
      Result<std::unique_ptr<PartPath>> part = PartPath::Make(path);
      if (!part) return std::move(part).error();
      out->part_ = std::move(*part);
    }
    out->file_.open(out->part_ ? out->part_->part() : path, std::ios::binary | std::ios::trunc);
    if (!out->file_) return CannotWrite(path, "");
    out->base_ = &out->file_;
  }
  out->stream_ = out->base_;
  if (gzip) {
    out->gzip_ = std::make_unique<GzipSink>(*out->base_);
    out->compressed_ = std::make_unique<std::ostream>(out->gzip_.get());
    out->stream_ = out->compressed_.get();
  }
  return out;
}

Result<std::uint64_t> OutputFile::Commit() {
  if (gzip_) gzip_->Finish();
  base_->flush();
  if (!*base_) return CannotWrite(path_, " in full");
  if (base_ != &file_) return std::uint64_t{0};
  file_.close();
  if (!file_) return CannotWrite(path_, " in full");
  if (!part_) return std::uint64_t{0};
  return part_->Commit();
}

}  // namespace hone::cli
