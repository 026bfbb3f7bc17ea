// SPDX-License-Identifier: Apache-2.0
#include "export/sql_rank.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "export/sql_columns.h"

namespace hone::exporter {

using trace::RowId;

namespace {

// Nearly all names are ASCII: eight bytes at a time.
bool IsCleanAscii(std::string_view text) {
  constexpr std::uint64_t kHigh = 0x8080808080808080ULL, kOnes = 0x0101010101010101ULL;
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & kHigh) != 0 || ((word - kOnes) & ~word & kHigh) != 0) return false;
  }
  for (; at < text.size(); ++at) {
    if (text[at] <= 0) return false;
  }
  return true;
}

bool IsClean(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    if (!c.valid || c.code == 0) return false;
    at += c.size;
  }
  return true;
}

std::string Cleaned(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    AppendUtf8(c.valid && c.code != 0 ? c.code : kReplacementCharacter, out);
    at += c.size;
  }
  return out;
}

}  // namespace

SqlRank::SqlRank(const trace::Trace& trace, const analyze::Facts& facts, std::int64_t rank,
                 const Counts& before)
    : trace_(trace), facts_(facts), rank_(rank), before_(before) {
  for (const SqlTable& table : AllSqlTables()) {
    rows_[static_cast<std::size_t>(table.id)] = table.size(*this);
  }
  hull_ = FindHull();
}

SqlRank::Counts SqlRank::Behind() const {
  Counts behind = before_;
  for (std::size_t i = 0; i < kSqlTableCount; ++i) {
    behind[i] += static_cast<std::int64_t>(rows_[i]);
  }
  return behind;
}

SqlValue SqlRank::Ref(SqlTableId table, RowId row) const {
  if (row >= RowsOf(table)) return {};
  return FirstIdOf(table) + row;
}

SqlValue SqlRank::Text(std::string_view text) const {
  if (text.empty()) return {};
  if (IsCleanAscii(text) || IsClean(text)) return text;
  const auto [at, fresh] = cleaned_.try_emplace({text.data(), text.size()});
  if (fresh) at->second = Cleaned(text);
  return std::string_view(at->second);
}

SqlValue SqlRank::StepAt(Nanos time, trace::Interval analyze::Step::*span) const {
  const auto& steps = facts_.steps.steps;
  const auto after = std::upper_bound(
      steps.begin(), steps.end(), time,
      [&](Nanos t, const analyze::Step& step) { return t < (step.*span).begin_ns; });
  if (after == steps.begin() || time >= ((*(after - 1)).*span).end_ns) return {};
  return Ref(SqlTableId::kStep, static_cast<RowId>(after - 1 - steps.begin()));
}

SqlValue SqlRank::HostStep(Nanos time) const { return StepAt(time, &analyze::Step::host_span); }
SqlValue SqlRank::DeviceStep(Nanos time) const { return StepAt(time, &analyze::Step::span); }

std::pair<Nanos, Nanos> SqlRank::FindHull() const {
  std::pair<Nanos, Nanos> hull{INT64_MAX, INT64_MIN};
  const auto add = [&](Nanos begin, Nanos end) {
    hull.first = std::min(hull.first, begin);
    hull.second = std::max(hull.second, end);
  };
  for (RowId i = 0; i < trace_.host.size(); ++i) {
    if (trace_.host.kind[i] == trace::SliceKind::kGraphNode) continue;
    add(trace_.host.start_ns[i], trace_.host.end_ns(i));
  }
  for (RowId i = 0; i < trace_.device.size(); ++i) {
    add(trace_.device.start_ns[i], trace_.device.end_ns(i));
  }
  for (const Nanos time : trace_.memory.time_ns) add(time, time);
  for (const Nanos time : trace_.samples.time_ns) add(time, time);
  return hull;
}

const analyze::Lineage& SqlRank::lineage() const {
  return lineage_.Get([&] { return analyze::Lineage(trace_); });
}

const analyze::CallSites& SqlRank::call_sites() const {
  return call_sites_.Get([&] { return analyze::CallSites(trace_, lineage()); });
}

const analyze::WorkClasses& SqlRank::work_classes() const {
  return work_classes_.Get([&] { return analyze::WorkClasses(trace_); });
}

const SliceTimes& SqlRank::times() const {
  return times_.Get([&] { return MakeSliceTimes(trace_, lineage()); });
}

const SliceCalls& SqlRank::calls() const {
  return calls_.Get([&] { return MakeSliceCalls(trace_, lineage()); });
}

const std::vector<RowId>& SqlRank::forward() const {
  return forward_.Get([&] { return MakeForward(trace_); });
}

const MemoryRows& SqlRank::memory() const {
  return memory_.Get([&] { return MakeMemoryRows(trace_, lineage()); });
}

const analyze::KernelTraits& SqlRank::TraitsOf(StringId kernel) const {
  const auto index = static_cast<std::size_t>(kernel);
  if (traits_.empty()) traits_.resize(trace_.strings.size());
  if (!traits_[index]) traits_[index] = analyze::ClassifyKernel(trace_.strings[kernel]);
  return *traits_[index];
}

}  // namespace hone::exporter
