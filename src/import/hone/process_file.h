// SPDX-License-Identifier: Apache-2.0
// ProcessFile: what one .hone file says about its process, without its rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "import/hone/clock_map.h"
#include "wire/file_reader.h"

namespace hone::importer::hone_file {

// A file on disk, or one in memory.
struct FileBytes {
  std::string name;
  bool in_memory = false;
  std::string_view image = {};
  // Of a file on disk: what is written later is not read. A program that runs on opens its next
  // window at any time, and marks and rows must be of the same ones.
  std::uint64_t most = UINT64_MAX;

  Result<wire::FileReader> Open() const {
    return in_memory ? wire::FileReader::OpenImage(image, name)
                     : wire::FileReader::Open(name, most);
  }
};

struct Mark {
  std::int64_t ticks = 0;
  Nanos time_ns = 0;
  wire::MarkKind kind = wire::MarkKind::kEnd;
  std::int64_t value = 0;
  std::string text;
};

struct ProcessFile {
  FileBytes bytes;
  std::unordered_map<std::string, std::string> info;  // the last value of each key
  ClockMap clock;
  std::vector<Mark> marks;  // by time
  std::uint64_t host_rows = 0, device_rows = 0, sample_rows = 0, counter_rows = 0;
  std::uint64_t file_bytes = 0;

  std::string_view Text(const std::string& key) const;  // "" when not said
  std::int64_t Number(const std::string& key) const;    // -1 when not said
  bool IsLoaderWorker() const;                          // as its role says
  // For a file whose anchors do not tell how fast its clock runs.
  void SetClockRate(double nanos_per_tick);
  std::uint64_t work() const { return host_rows + device_rows; }  // operators, calls, device work
};

// Reads the small tables and walks over the others. Linear in the number of chunks. What is read of
// the file from now on ends where it ended here.
Result<ProcessFile> Survey(const FileBytes& bytes);

}  // namespace hone::importer::hone_file
