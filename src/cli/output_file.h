// SPDX-License-Identifier: Apache-2.0
// Files that appear under their name only when they are complete.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>

#include "base/gzip_sink.h"
#include "base/result.h"
#include "cli/console.h"

namespace hone::cli {

// A hidden .NAME.PID-N.part beside the place where a file or folder is to be; moved there in the
// end.
class PartPath {
 public:
  PartPath() = default;
  // The error: the place is a folder with something in it.
  static Result<std::unique_ptr<PartPath>> Make(const std::string& path);
  ~PartPath();  // what was not moved is removed
  PartPath(const PartPath&) = delete;
  PartPath& operator=(const PartPath&) = delete;

  const std::string& part() const { return part_; }
  // Bytes in it, those of all files of a folder together.
  Result<std::uint64_t> Commit();

 private:
  std::string path_, part_;
};

// A stream to a file, or to the console for "-". Compresses when asked to.
class OutputFile {
 public:
  // Writes straight into what is no regular file (/dev/null, a pipe).
  static Result<std::unique_ptr<OutputFile>> Open(const std::string& path, bool gzip,
                                                  Console& console);

  std::ostream& stream() { return *stream_; }
  // Bytes in the file; 0 where it is none.
  Result<std::uint64_t> Commit();

 private:
  std::string path_;
  std::unique_ptr<PartPath> part_;  // null: written in place
  std::ofstream file_;
  std::ostream* base_ = nullptr;  // the file or the console
  std::unique_ptr<GzipSink> gzip_;
  std::unique_ptr<std::ostream> compressed_;
  std::ostream* stream_ = nullptr;
};

}  // namespace hone::cli
