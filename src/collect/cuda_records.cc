// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_records.h"

#include <algorithm>
#include <cstring>

#include "collect/clock.h"
#include "collect/names.h"

namespace hone::collect {
namespace {

using gpu::ActivityKind;
using wire::Table;

// The shortest record of each kind that any CUPTI we know writes; a shorter one is not read.
template <typename Record>
bool Read(const std::uint8_t* from, std::size_t bytes, std::size_t least, Record& record) {
  if (bytes < least) return false;
  std::memcpy(&record, from, std::min(bytes, sizeof record));
  return true;
}
constexpr std::size_t kLeastKernel = 144, kLeastCopy = 48, kLeastPeer = 64, kLeastSet = 56;

std::int64_t OrNone(std::uint32_t id) {  // CUPTI says "all" or "none" by 2^32 - 1
  return id == UINT32_MAX ? -1 : static_cast<std::int64_t>(id);
}

// CUPTI has no time: 0, and all ones in copies that had not begun when they were asked for.
bool IsTime(std::uint64_t time) { return time != 0 && time != UINT64_MAX; }

std::uint64_t Span(std::uint64_t start, std::uint64_t end) { return end > start ? end - start : 0; }

}  // namespace

std::uint64_t CudaRecords::Time(std::uint64_t time) const noexcept {
  if (!converts_ || time == 0) return time;
  return time >= theirs_ ? ours_ + TicksIn(time - theirs_) : ours_ - TicksIn(theirs_ - time);
}

bool CudaRecords::ReadTimes(std::uint64_t start, std::uint64_t end, Times& times) noexcept {
  if (IsTime(start) && IsTime(end)) {
    times.start = Time(start);
    times.duration = Span(times.start, Time(end));
    return times.start <= ended_ticks_;
  }
  ++tally_.untimed;
  times = {};
  return !closed_;
}

// CUPTI counts in 32 bits and starts again; rows count on. Records come out of order, but never by
// half the range, so each id is the one nearest to the last.
std::int64_t CudaRecords::Correlation(std::uint32_t id) noexcept {
  if (last_correlation_ < 0) last_correlation_ = id;  // the first
  const auto difference =
      static_cast<std::int32_t>(id - static_cast<std::uint32_t>(last_correlation_));
  const std::int64_t whole = last_correlation_ + difference;
  if (whole < 0) return id;  // from before the first, across a wrap
  last_correlation_ = whole;
  return whole;
}

void CudaRecords::Kernel(const std::uint8_t* from, std::size_t bytes, Output& output) noexcept {
  gpu::KernelRecord r{};
  if (!Read(from, bytes, kLeastKernel, r)) return;
  Times times;
  if (!ReadTimes(r.start, r.end, times)) return;
  output.Row(Table::kKernels, times.start, times.duration, r.device, r.context, r.stream,
             Correlation(r.correlation), r.name == nullptr ? kUnnamed : InternNameAt(r.name),
             r.grid[0], r.grid[1], r.grid[2], r.block[0], r.block[1], r.block[2], r.registers,
             r.static_shared, r.dynamic_shared, r.graph, r.graph_node);
}

void CudaRecords::Copy(const std::uint8_t* from, std::size_t bytes, Output& output) noexcept {
  gpu::MemcpyRecord r{};
  if (!Read(from, bytes, kLeastCopy, r)) return;
  Times times;
  if (!ReadTimes(r.start, r.end, times)) return;
  output.Row(Table::kCopies, times.start, times.duration, r.device, r.context, r.stream,
             Correlation(r.correlation), r.bytes, r.copy_kind, r.source_kind, r.target_kind, -1,
             r.graph, r.graph_node);
}

void CudaRecords::PeerCopy(const std::uint8_t* from, std::size_t bytes, Output& output) noexcept {
  gpu::MemcpyPeerRecord r{};
  if (!Read(from, bytes, kLeastPeer, r)) return;
  Times times;
  if (!ReadTimes(r.start, r.end, times)) return;
  output.Row(Table::kCopies, times.start, times.duration, r.device, r.context, r.stream,
             Correlation(r.correlation), r.bytes, r.copy_kind, r.source_kind, r.target_kind,
             r.target_device, r.graph, r.graph_node);
}

void CudaRecords::Set(const std::uint8_t* from, std::size_t bytes, Output& output) noexcept {
  gpu::MemsetRecord r{};
  if (!Read(from, bytes, kLeastSet, r)) return;
  Times times;
  if (!ReadTimes(r.start, r.end, times)) return;
  output.Row(Table::kSets, times.start, times.duration, r.device, r.context, r.stream,
             Correlation(r.correlation), r.bytes, r.memory_kind, r.graph, r.graph_node);
}

void CudaRecords::Api(const std::uint8_t* from, std::size_t bytes, std::uint32_t domain,
                      Output& output) noexcept {
  gpu::ApiRecord r{};
  if (!Read(from, bytes, sizeof r, r)) return;
  const CudaTuning::Api level = domain == gpu::kRuntimeDomain ? runtime_ : driver_;
  if (!api_.Wanted(domain, r.cbid, level, events_)) return;
  const std::uint64_t start = Time(r.start);
  const CudaUse use = api_.UseOf(domain, r.cbid);
  const bool may_wait = use == CudaUse::kSync || use == CudaUse::kCopy;
  output.Row(Table::kApi, r.thread, start, Span(start, Time(r.end)), domain, r.cbid,
             api_.NameOf(domain, r.cbid), Correlation(r.correlation), r.result,
             may_wait ? sites_.FrameOf(r.thread, r.end) : 0);
}

void CudaRecords::Sync(const std::uint8_t* from, std::size_t bytes, Output& output) noexcept {
  gpu::SynchronizationRecord r{};
  if (!Read(from, bytes, sizeof r, r)) return;
  const std::uint64_t start = Time(r.start);
  output.Row(Table::kSyncs, start, Span(start, Time(r.end)), r.type, r.context, OrNone(r.stream),
             Correlation(r.correlation), OrNone(r.event));
}

void CudaRecords::Overhead(const std::uint8_t* from, std::size_t bytes, Output& output) noexcept {
  gpu::OverheadRecord r{};
  if (!Read(from, bytes, sizeof r, r)) return;
  const std::uint64_t start = Time(r.start);
  output.Row(Table::kOverhead, start, Span(start, Time(r.end)), r.overhead_kind,
             r.object_kind == gpu::kObjectThread ? r.thread : 0u);
}

void CudaRecords::Memory(const std::uint8_t* from, std::size_t bytes, Output& output) noexcept {
  gpu::MemoryRecord r{};
  if (!Read(from, bytes, sizeof r, r)) return;
  const auto size = static_cast<std::int64_t>(r.bytes);
  output.Row(Table::kDriverMemory, Time(r.time), r.address,
             r.operation == gpu::kMemoryReleased ? -size : size, r.memory_kind, r.device,
             Correlation(r.correlation), r.process);
}

void CudaRecords::Graph(const std::uint8_t* from, std::size_t bytes, Output& output) noexcept {
  gpu::GraphTraceRecord r{};
  if (!Read(from, bytes, sizeof r, r)) return;
  Times times;
  if (!ReadTimes(r.start, r.end, times)) return;
  output.Row(Table::kGraphs, times.start, times.duration, r.device, r.stream,
             Correlation(r.correlation), r.graph);
}

void CudaRecords::Row(const std::uint8_t* record, std::size_t bytes, Output& output) noexcept {
  ActivityKind kind{};
  if (bytes < sizeof kind) return;
  std::memcpy(&kind, record, sizeof kind);
  ++tally_.records;
  switch (kind) {
    case ActivityKind::kConcurrentKernel: return Kernel(record, bytes, output);
    case ActivityKind::kMemcpy: return Copy(record, bytes, output);
    case ActivityKind::kMemcpyPeer: return PeerCopy(record, bytes, output);
    case ActivityKind::kMemset: return Set(record, bytes, output);
    case ActivityKind::kRuntime: return Api(record, bytes, gpu::kRuntimeDomain, output);
    case ActivityKind::kDriver: return Api(record, bytes, gpu::kDriverDomain, output);
    case ActivityKind::kSynchronization: return Sync(record, bytes, output);
    case ActivityKind::kOverhead: return Overhead(record, bytes, output);
    case ActivityKind::kMemory2: return Memory(record, bytes, output);
    case ActivityKind::kGraphTrace: return Graph(record, bytes, output);
    default: ++tally_.unknown;
  }
}

void CudaRecords::Decode(std::uint8_t* data, std::size_t valid, Output& output) noexcept {
  // A record's size is known only when the next one's place is: versions differ.
  void* record = nullptr;
  const std::uint8_t* before = nullptr;
  gpu::CuptiResult result;
  while ((result = cupti_.get_next_record(data, valid, &record)) == gpu::kCuptiOk) {
    const auto* here = static_cast<const std::uint8_t*>(record);
    if (here < data || here >= data + valid || (before != nullptr && here <= before)) {
      ++tally_.cut;  // not a walk through our buffer
      break;
    }
    if (before != nullptr) Row(before, static_cast<std::size_t>(here - before), output);
    before = here;
  }
  if (before != nullptr) Row(before, static_cast<std::size_t>(data + valid - before), output);
  if (result != gpu::kCuptiOk && result != gpu::kCuptiMaxLimitReached) ++tally_.cut;
}

std::size_t CudaRecords::Count(std::uint8_t* data, std::size_t valid) const noexcept {
  std::size_t count = 0;
  void* record = nullptr;
  // No record is shorter than 24 bytes, so this ends.
  while (count <= valid / 24 && cupti_.get_next_record(data, valid, &record) == gpu::kCuptiOk) {
    ++count;
  }
  return count;
}

CudaRecords::Tally CudaRecords::TakeTally() noexcept {
  const Tally tally = tally_;
  tally_ = {};
  return tally;
}

}  // namespace hone::collect
