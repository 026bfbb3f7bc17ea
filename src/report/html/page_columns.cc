// SPDX-License-Identifier: Apache-2.0
#include "report/html/page_columns.h"

#include <array>
#include <bit>
#include <span>
#include <type_traits>

#include "analyze/forward_index.h"
#include "analyze/work_class.h"
#include "report/html/row_detail.h"

namespace hone::report {
namespace {

using trace::kNoRow;
using trace::RowId;

static_assert(std::endian::native == std::endian::little, "columns are little-endian");

constexpr std::size_t kAlignment = 8;  // of a column: a Float64Array must start on one

std::size_t Aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// As docs/design/page.md numbers them.
std::uint8_t KindOf(trace::SliceKind kind) { return static_cast<std::uint8_t>(kind); }
static_assert(static_cast<int>(trace::SliceKind::kOp) == 0 &&
              static_cast<int>(trace::SliceKind::kAnnotation) == 1 &&
              static_cast<int>(trace::SliceKind::kApi) == 2 &&
              static_cast<int>(trace::SliceKind::kPython) == 3 &&
              static_cast<int>(trace::SliceKind::kOs) == 4 &&
              static_cast<int>(trace::SliceKind::kOverhead) == 5 &&
              static_cast<int>(trace::SliceKind::kOther) == 6);

std::uint8_t KindOf(trace::WorkKind kind, bool communication) {
  if (communication) return 10;
  switch (kind) {
    case trace::WorkKind::kKernel: return 7;
    case trace::WorkKind::kCopy: return 8;
    case trace::WorkKind::kSet: return 9;
    case trace::WorkKind::kGraph: return 11;
  }
  return 6;
}

}  // namespace

// Values are made as they are written, a few thousand at a time.
template <typename T, typename Value>
void PageColumns::Add(const char* name, const char* type, std::size_t count, Value value) {
  const auto write = [count, value](PackedStream& out) {
    std::array<T, 4096> some;
    std::size_t used = 0;
    for (std::size_t i = 0; i < count; ++i) {
      some[used++] = value(static_cast<std::uint32_t>(i));
      if (used == some.size() || i + 1 == count) {
        out.Write(std::as_bytes(std::span(some.data(), used)));
        used = 0;
      }
    }
  };
  columns_.push_back({name, type, sizeof(T), count, write});
}

PageColumns::PageColumns(const Input& input, const PageRows& rows, PageStrings& strings)
    : input_(input), rows_(rows) {
  const trace::Trace& trace = input.trace;
  RowDetails details(trace, strings);
  const analyze::WorkClasses classes(trace);
  name_.reserve(rows.size());
  detail_.reserve(rows.size());
  kind_.reserve(rows.size());
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    const RowId i = rows.source[row];
    const bool host = rows.is_host(row);
    name_.push_back(strings.Of(host ? trace.host.name[i] : trace.device.name[i]));
    detail_.push_back(host ? details.OfHost(i) : details.OfDevice(i));
    kind_.push_back(host ? KindOf(trace.host.kind[i])
                         : KindOf(trace.device.kind[i], classes.IsCommunication(i)));
  }
  FindCauses();
  AddRows();
  AddGaps();
}

void PageColumns::FindCauses() {
  const trace::Trace& trace = input_.trace;
  const analyze::ForwardIndex forward(trace);
  cause_.assign(rows_.size(), kNoPageRow);
  for (std::uint32_t row = 0; row < rows_.size(); ++row) {
    const RowId i = rows_.source[row];
    RowId cause = kNoRow;
    if (!rows_.is_host(row)) {
      cause = trace.device.api[i];
    } else if (analyze::IsBackward(trace, i)) {
      cause = forward.Find(trace, i);
    }
    if (cause != kNoRow) cause_[row] = rows_.of_host[cause];
  }
}

void PageColumns::AddRows() {
  const trace::Trace& trace = input_.trace;
  const Nanos begin = rows_.shown.begin_ns;
  Add<double>("start", "f64", rows_.size(), [this, &trace, begin](std::uint32_t row) {
    const RowId i = rows_.source[row];
    const Nanos start = rows_.is_host(row) ? trace.host.start_ns[i] : trace.device.start_ns[i];
    return static_cast<double>(start - begin);
  });
  Add<double>("duration", "f64", rows_.size(), [this, &trace](std::uint32_t row) {
    const RowId i = rows_.source[row];
    return static_cast<double>(rows_.is_host(row) ? trace.host.duration_ns[i]
                                                  : trace.device.duration_ns[i]);
  });
  const auto plain = [&]<typename T>(const char* name, const char* type,
                                     const std::vector<T>& values) {
    Add<T>(name, type, values.size(), [&values](std::uint32_t row) { return values[row]; });
  };
  plain("name", "u32", name_);
  plain("detail", "u32", detail_);
  plain("cause", "u32", cause_);
  plain("depth", "u8", rows_.depth);
  plain("kind", "u8", kind_);
}

void PageColumns::AddGaps() {
  const Known<analyze::IdleFacts>& idle = input_.facts.idle;
  const std::vector<analyze::IdleGap> none;
  const std::vector<analyze::IdleGap>& gaps = idle ? idle->gaps : none;
  // In time order, so those that are shown stand together.
  while (first_gap_ < gaps.size() && gaps[first_gap_].span.begin_ns < rows_.shown.begin_ns) {
    ++first_gap_;
  }
  while (first_gap_ + gap_count_ < gaps.size() &&
         gaps[first_gap_ + gap_count_].span.begin_ns < rows_.shown.end_ns) {
    ++gap_count_;
  }
  const Nanos begin = rows_.shown.begin_ns;
  const analyze::IdleGap* first = gap_count_ == 0 ? nullptr : &gaps[first_gap_];
  Add<double>("gap_start", "f64", gap_count_, [first, begin](std::uint32_t gap) {
    return static_cast<double>(first[gap].span.begin_ns - begin);
  });
  Add<double>("gap_duration", "f64", gap_count_,
              [first](std::uint32_t gap) { return static_cast<double>(first[gap].span.length()); });
  Add<std::uint32_t>("gap_blamed", "u32", gap_count_, [this, first](std::uint32_t gap) {
    const RowId blamed = first[gap].blamed;
    return blamed == kNoRow ? kNoPageRow : rows_.of_host[blamed];
  });
  Add<std::uint8_t>("gap_cause", "u8", gap_count_, [first](std::uint32_t gap) {
    return static_cast<std::uint8_t>(first[gap].cause);
  });
}

void PageColumns::WriteLayout(JsonWriter& json) const {
  std::size_t offset = 0;
  json.BeginObject();
  for (const Layout& column : columns_) {
    json.Key(column.name).BeginObject(JsonWriter::Layout::kInline);
    json.Field("type", column.type);
    json.Field("offset", offset);
    json.Field("count", column.count);
    json.EndObject();
    offset += Aligned(column.size * column.count);
  }
  json.EndObject();
}

void PageColumns::WriteBytes(PackedStream& out) const {
  constexpr std::array<std::byte, kAlignment> kZeros{};
  for (const Layout& column : columns_) {
    column.write(out);
    const std::size_t bytes = column.size * column.count;
    out.Write(std::span(kZeros).first(Aligned(bytes) - bytes));
  }
}

}  // namespace hone::report
