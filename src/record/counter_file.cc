// SPDX-License-Identifier: Apache-2.0
#include "record/counter_file.h"

#include <ctime>
#include <utility>

namespace hone::record {
namespace {

std::uint64_t Nanos(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint64_t MonotonicNanos() { return Nanos(CLOCK_MONOTONIC); }

CounterFile::CounterFile(wire::FileWriter writer) : writer_(std::move(writer)) {}

Result<CounterFile> CounterFile::Create(const std::string& path) {
  Result<wire::FileWriter> writer = wire::FileWriter::Create(path);
  if (!writer) return std::move(writer).error();
  return CounterFile(std::move(*writer));
}

std::uint32_t CounterFile::Name(std::string_view text) {
  const auto id = static_cast<std::uint32_t>(names_.size() + 1);
  const auto [entry, fresh] = names_.try_emplace(std::string(text), id);
  if (fresh) strings_.Row(id, text);
  return entry->second;
}

void CounterFile::Flush() {
  const std::uint64_t monotonic = Nanos(CLOCK_MONOTONIC);
  clock_.Row(monotonic, monotonic, Nanos(CLOCK_REALTIME));
  // Names stand before their first use.
  for (wire::ChunkBuilder* rows :
       {&info_, &clock_, &strings_, &devices_, &counters_, &losses_, &marks_}) {
    writer_.Append(*rows);
    rows->Clear();  // also when nothing is written any more: memory stays bounded
  }
}

void CounterFile::End() {
  marks_.Row(MonotonicNanos(), wire::MarkKind::kEnd, 0, "");
  Flush();
}

}  // namespace hone::record
