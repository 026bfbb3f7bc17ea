// SPDX-License-Identifier: Apache-2.0
#include "collect/run_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "collect/clock.h"
#include "collect/names.h"
#include "wire/control_page.h"

namespace hone::collect {

bool RunFile::Create(const char* folder) noexcept {
  constexpr int kMostExecs = 1000;  // one pid can run exec again and again, each time a new file
  char path[4096];                  // options keep a folder to 3,072 bytes
  char number[16] = "";
  for (int i = 1; i < kMostExecs; ++i) {
    if (i > 1) std::snprintf(number, sizeof(number), "-%d", i);
    std::snprintf(path, sizeof(path), "%s/%s%d%s%s", folder, wire::kFilePrefix, getpid(), number,
                  wire::kFileSuffix);
    if (access(path, F_OK) != 0) return Make(path);
  }
  return false;
}

// The wire's files and builders allocate as they are made, by means that throw.
bool RunFile::Make(const char* path) noexcept {
  try {
    for (std::size_t i = 0; i < builders_.size(); ++i) {
      builders_[i].emplace(static_cast<wire::Table>(i));
    }
    Result<wire::FileWriter> created = wire::FileWriter::Create(path);
    if (!created) {
      error_ = errno;
      return false;
    }
    file_.emplace(std::move(*created));
    return true;
  } catch (const std::bad_alloc&) {
    error_ = ENOMEM;
    return false;
  }
}

wire::ChunkBuilder& RunFile::Rows(wire::Table table) noexcept {
  return *builders_[static_cast<std::size_t>(table)];
}

void RunFile::Loss(std::string_view what, std::uint64_t count, std::string_view detail) noexcept {
  Row(wire::Table::kLosses, what, count, detail);
}

void RunFile::WriteNewStrings() noexcept {
  const std::uint32_t count = NameCount();
  if (count == strings_written_) return;
  wire::ChunkBuilder& strings = Rows(wire::Table::kStrings);
  while (strings_written_ < count) {
    ++strings_written_;
    strings.Row(strings_written_, NameText(strings_written_));
  }
  file_->Append(strings);
}

void RunFile::Write(wire::ChunkBuilder& rows) noexcept {
  WriteNewStrings();
  file_->Append(rows);
}

void RunFile::Flush(bool everything) noexcept {
  for (std::optional<wire::ChunkBuilder>& builder : builders_) {
    if (builder->empty()) continue;
    if (everything || builder->bytes() >= kWorthWriting) Write(*builder);
  }
}

void RunFile::WriteAnchor() noexcept {
  const ClockAnchor anchor = TakeAnchor();
  Row(wire::Table::kClock, anchor.ticks, anchor.monotonic_ns, anchor.realtime_ns);
}

}  // namespace hone::collect
