// SPDX-License-Identifier: Apache-2.0
#include "import/hone/process_file.h"

#include <algorithm>
#include <charconv>

namespace hone::importer::hone_file {
namespace {

using wire::Table;

constexpr std::size_t kMostMarks = 1u << 22;  // hone.step() a million times an hour, and four hours
constexpr std::size_t kMostFacts = 4096;

void TakeClock(const wire::Chunk& chunk, ClockMap& clock) {
  const auto ticks = chunk.Integers("ticks"), monotonic = chunk.Integers("monotonic_ns");
  const auto realtime = chunk.Integers("realtime_ns");
  if (ticks.empty() || monotonic.empty()) return;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    clock.Add(ticks[i], monotonic[i], realtime.empty() ? 0 : realtime[i]);
  }
}

void TakeInfo(const wire::Chunk& chunk, ProcessFile& file) {
  const auto keys = chunk.Texts("key"), values = chunk.Texts("value");
  if (keys.empty() || values.empty()) return;
  for (std::size_t i = 0; i < keys.size() && file.info.size() < kMostFacts; ++i) {
    file.info.insert_or_assign(std::string(keys[i]), std::string(values[i]));
  }
}

void TakeMarks(const wire::Chunk& chunk, std::vector<Mark>& marks) {
  const auto times = chunk.Integers("time"), kinds = chunk.Integers("kind");
  const auto values = chunk.Integers("value");
  const auto texts = chunk.Texts("text");
  if (times.empty() || kinds.empty()) return;
  for (std::size_t i = 0; i < times.size() && marks.size() < kMostMarks; ++i) {
    if (kinds[i] < 0 || kinds[i] > static_cast<std::int64_t>(wire::kLastMarkKind)) continue;
    Mark mark;
    mark.ticks = times[i];
    mark.kind = static_cast<wire::MarkKind>(kinds[i]);
    if (!values.empty()) mark.value = values[i];
    if (!texts.empty()) mark.text = std::string(texts[i]);
    marks.push_back(std::move(mark));
  }
}

}  // namespace

std::string_view ProcessFile::Text(const std::string& key) const {
  const auto found = info.find(key);
  return found == info.end() ? std::string_view{} : std::string_view(found->second);
}

std::int64_t ProcessFile::Number(const std::string& key) const {
  const std::string_view text = Text(key);
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && number >= 0 && number < INT32_MAX ? number : -1;
}

bool ProcessFile::IsLoaderWorker() const {
  return Text("role").find("worker") != std::string_view::npos;
}

void ProcessFile::SetClockRate(double nanos_per_tick) {
  clock.SetRate(nanos_per_tick);
  for (Mark& mark : marks) mark.time_ns = clock.ToNanos(mark.ticks);
}

Result<ProcessFile> Survey(const FileBytes& bytes) {
  Result<wire::FileReader> reader = bytes.Open();
  if (!reader) return std::move(reader).error();
  ProcessFile file;
  file.bytes = bytes;
  file.file_bytes = reader->bytes();
  file.bytes.most = file.file_bytes;
  reader->Only({Table::kInfo, Table::kClock, Table::kMarks});
  wire::Chunk chunk;
  while (reader->Next(chunk)) {
    if (chunk.table() == "clock") TakeClock(chunk, file.clock);
    if (chunk.table() == "info") TakeInfo(chunk, file);
    if (chunk.table() == "marks") TakeMarks(chunk, file.marks);
  }
  for (Mark& mark : file.marks) mark.time_ns = file.clock.ToNanos(mark.ticks);
  std::stable_sort(file.marks.begin(), file.marks.end(),
                   [](const Mark& a, const Mark& b) { return a.time_ns < b.time_ns; });
  const auto rows = [&](Table table) { return reader->rows()[static_cast<std::size_t>(table)]; };
  file.host_rows = rows(Table::kHost) + rows(Table::kApi);
  file.device_rows =
      rows(Table::kKernels) + rows(Table::kCopies) + rows(Table::kSets) + rows(Table::kGraphs);
  file.sample_rows = rows(Table::kSamples);
  file.counter_rows = rows(Table::kCounters);
  return file;
}

}  // namespace hone::importer::hone_file
