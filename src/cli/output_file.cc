// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace hone::cli {

namespace fs = std::filesystem;

Result<std::unique_ptr<OutputFile>> OutputFile::Open(const std::string& path, bool gzip,
                                                     Console& console) {
  std::unique_ptr<OutputFile> out(new OutputFile);
  out->path_ = path;
  out->base_ = &console.out;
  if (path != "-") {
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    if (fs::is_directory(status)) {
      return Error(fmt::format("{}: is a directory; name a file with -o", path));
    }
    if (!fs::exists(status) || fs::is_regular_file(status)) out->part_ = path + ".part";
    out->file_.open(out->part_.empty() ? path : out->part_, std::ios::binary | std::ios::trunc);
    if (!out->file_) {
      return Error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
    }
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

OutputFile::~OutputFile() {
  if (part_.empty()) return;
  file_.close();
  std::error_code ignored;
  fs::remove(part_, ignored);
}

Result<std::uint64_t> OutputFile::Commit() {
  if (gzip_) gzip_->Finish();
  base_->flush();
  if (!*base_) {
    return Error(fmt::format("{}: cannot be written in full: {}",
                             path_ == "-" ? "standard output" : path_, std::strerror(errno)));
  }
  if (path_ == "-") return std::uint64_t{0};
  file_.close();
  if (!file_) {
    return Error(fmt::format("{}: cannot be written in full: {}", path_, std::strerror(errno)));
  }
  if (part_.empty()) return std::uint64_t{0};
  std::error_code error;
  const std::uintmax_t size = fs::file_size(part_, error);
  HONE_RETURN_IF_ERROR(MoveInPlace(part_, path_));
  part_.clear();
  return error ? std::uint64_t{0} : std::uint64_t{size};
}

Status MoveInPlace(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return Ok();
  return Error(fmt::format("{}: cannot be written: {}", to, error.message()));
}

}  // namespace hone::cli
