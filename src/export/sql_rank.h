// SPDX-License-Identifier: Apache-2.0
// SqlRank: one rank's trace as the tables of sql_schema.h read it, with what has to be worked out
// for whole columns at once. Each such group of columns is made when a query first asks for it.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/api_class.h"
#include "analyze/facts.h"
#include "analyze/kernel_family.h"
#include "analyze/lineage.h"
#include "analyze/memory_owners.h"
#include "analyze/source_frame.h"
#include "analyze/work_class.h"
#include "export/sql_schema.h"
#include "export/sql_value.h"
#include "trace/trace.h"

namespace hone::exporter {

// Made on first use. Not thread-safe.
template <typename T>
class OnDemand {
 public:
  template <typename Make>
  const T& Get(const Make& make) const {
    if (value_ == nullptr) value_ = std::make_unique<const T>(make());
    return *value_;
  }

 private:
  mutable std::unique_ptr<const T> value_;
};

// By row of Trace::host.
struct SliceTimes {
  std::vector<Nanos> self_ns, once_ns;  // once: what no slice of its name on its thread covers yet
  std::vector<Nanos> device_ns, device_self_ns;
  std::vector<std::uint32_t> kernels, depth;
  std::vector<bool> outermost;  // no slice of its name and kind around it
};
struct SliceCalls {
  analyze::ApiCalls classes;
  std::vector<bool> launches;
  std::vector<trace::RowId> by_profiler, fetches;  // sorted
};
// By row of Trace::memory.
struct MemoryRows {
  std::vector<trace::RowId> op, freed_by;  // kNoRow: none
  std::vector<Bytes> allocated;  // after the event; relative where the trace has no totals
  analyze::MemoryOwners owners;
};

class SqlRank {
 public:
  using Counts = std::array<std::int64_t, kSqlTableCount>;

  // `before`: rows that each table has from ranks before this one. Trace and facts outlive it.
  SqlRank(const trace::Trace& trace, const analyze::Facts& facts, std::int64_t rank,
          const Counts& before);

  const trace::Trace& trace() const { return trace_; }
  const analyze::Facts& facts() const { return facts_; }
  std::int64_t rank() const { return rank_; }

  std::size_t RowsOf(SqlTableId table) const { return rows_[static_cast<std::size_t>(table)]; }
  std::int64_t FirstIdOf(SqlTableId table) const {
    return before_[static_cast<std::size_t>(table)] + 1;
  }
  Counts Behind() const;  // `before` of the next rank

  // The id of a row of that table; NULL for kNoRow and beyond. Rows of tables whose first row is
  // "none" (op_detail, launch, collective, frame) count from that one: Side.
  SqlValue Ref(SqlTableId table, trace::RowId row) const;
  SqlValue Side(SqlTableId table, std::uint32_t row) const {
    return row == 0 ? SqlValue() : Ref(table, row - 1);
  }
  // Text that is valid UTF-8 without NUL, whatever the trace has; NULL for "".
  SqlValue Text(std::string_view text) const;
  SqlValue Text(StringId id) const { return Text(trace_.strings[id]); }

  SqlValue HostStep(Nanos time) const;    // step that the host was in
  SqlValue DeviceStep(Nanos time) const;  // step by the clock that steps are measured on

  std::pair<Nanos, Nanos> Hull() const { return hull_; }  // first start, last end
  const analyze::Lineage& lineage() const;
  const analyze::CallSites& call_sites() const;
  const analyze::WorkClasses& work_classes() const;
  const SliceTimes& times() const;
  const SliceCalls& calls() const;
  const std::vector<trace::RowId>& forward() const;  // by host row
  const MemoryRows& memory() const;
  const analyze::KernelTraits& TraitsOf(StringId kernel) const;

 private:
  SqlValue StepAt(Nanos time, trace::Interval analyze::Step::*span) const;
  std::pair<Nanos, Nanos> FindHull() const;

  const trace::Trace& trace_;
  const analyze::Facts& facts_;
  const std::int64_t rank_;
  const Counts before_;
  std::array<std::size_t, kSqlTableCount> rows_{};
  std::pair<Nanos, Nanos> hull_;
  OnDemand<analyze::Lineage> lineage_;
  OnDemand<analyze::CallSites> call_sites_;
  OnDemand<analyze::WorkClasses> work_classes_;
  OnDemand<SliceTimes> times_;
  OnDemand<SliceCalls> calls_;
  OnDemand<std::vector<trace::RowId>> forward_;
  OnDemand<MemoryRows> memory_;
  mutable std::vector<std::optional<analyze::KernelTraits>> traits_;  // by StringId
  // Cleaned texts by what they were made of.
  mutable std::map<std::pair<const char*, std::size_t>, std::string> cleaned_;
};

}  // namespace hone::exporter
