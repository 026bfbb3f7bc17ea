// SPDX-License-Identifier: Apache-2.0
// OutputFile: a file that appears under its name only when it is complete.
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

class OutputFile {
 public:
  // "-" is the console's out. Else writes to PATH.part beside the file, and straight into what is
  // no regular file (/dev/null, a pipe). Compresses when asked to.
  static Result<std::unique_ptr<OutputFile>> Open(const std::string& path, bool gzip,
                                                  Console& console);
  ~OutputFile();  // what was not committed is removed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return *stream_; }
  // Bytes in the file; of the console, 0.
  Result<std::uint64_t> Commit();

 private:
  OutputFile() = default;

  std::string path_, part_;  // part_ empty: written in place
  std::ofstream file_;
  std::ostream* base_ = nullptr;  // the file or the console
  std::unique_ptr<GzipSink> gzip_;
  std::unique_ptr<std::ostream> compressed_;
  std::ostream* stream_ = nullptr;
};

// Puts a finished file or folder under its name. The error says why it cannot.
Status MoveInPlace(const std::string& from, const std::string& to);

}  // namespace hone::cli
