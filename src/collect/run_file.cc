// SPDX-License-Identifier: Apache-2.0
#include "collect/run_file.h"

#include <unistd.h>

#include <string>

#include "collect/clock.h"
#include "collect/names.h"
#include "wire/control_page.h"

namespace hone::collect {

bool RunFile::Create(const char* folder) noexcept {
  constexpr int kMostExecs = 1000;  // one pid can run exec again and again, each time a new file
  const std::string stem = std::string(folder) + '/' + wire::kFilePrefix + std::to_string(getpid());
  for (int i = 1; i < kMostExecs; ++i) {
    const std::string path = (i == 1 ? stem : stem + '-' + std::to_string(i)) + wire::kFileSuffix;
    if (access(path.c_str(), F_OK) == 0) continue;
    Result<wire::FileWriter> created = wire::FileWriter::Create(path);
    if (!created) return false;
    file_.emplace(std::move(*created));
    return true;
  }
  return false;
}

wire::ChunkBuilder& RunFile::Rows(wire::Table table) noexcept {
  std::unique_ptr<wire::ChunkBuilder>& builder = builders_[static_cast<std::size_t>(table)];
  if (!builder) builder = std::make_unique<wire::ChunkBuilder>(table);
  return *builder;
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
  for (const std::unique_ptr<wire::ChunkBuilder>& builder : builders_) {
    if (!builder || builder->empty()) continue;
    if (everything || builder->bytes() >= kWorthWriting) Write(*builder);
  }
}

void RunFile::WriteAnchor() noexcept {
  const ClockAnchor anchor = TakeAnchor();
  Row(wire::Table::kClock, anchor.ticks, anchor.monotonic_ns, anchor.realtime_ns);
}

}  // namespace hone::collect
