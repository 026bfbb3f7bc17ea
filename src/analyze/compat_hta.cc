// SPDX-License-Identifier: Apache-2.0
// HTA's temporal breakdown, idle breakdown and communication overlap, by the rules of version 0.6
// (docs/user/compat.md). HTA rounds every event to whole microseconds, begin up and end down, so a
// piece of work shorter than a microsecond may end before it begins; it keeps such rows, and so do
// we here.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "analyze/compat.h"
#include "analyze/compat_rules.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

enum class HtaClass : std::uint8_t { kUnseen, kCommunication, kMemory, kComputation, kOther };

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

HtaClass ClassOf(std::string_view name) {
  if (name.starts_with("nccl") || name.starts_with("hccl") || Contains(name, "ncclKernel")) {
    return HtaClass::kCommunication;
  }
  std::string_view rest = name;
  if (rest.starts_with("hip")) rest.remove_prefix(3);
  if (rest.starts_with("Memcpy") || rest.starts_with("Memset") || name.starts_with("dma")) {
    return HtaClass::kMemory;
  }
  if (name.starts_with("hip")) return HtaClass::kCommunication;
  const bool is_call = name.starts_with("cuda") && Contains(name, "LaunchKernel");
  if (is_call || Contains(name, "Memcpy") || Contains(name, "Memset") || Contains(name, "Sync") ||
      Contains(name, "Stream Wait Event")) {
    return HtaClass::kOther;
  }
  return HtaClass::kComputation;
}

struct Row {
  double begin, end;  // whole microseconds
  double launched;    // begin of the launching call; NaN: none
  std::int64_t stream;
  HtaClass kind;
  bool sync;  // a cuda_sync record: busy for HTA, but no kernel
};

double RoundUp(Nanos start) { return std::ceil(DecimalMicros(start)); }
double RoundEnd(Nanos start, Nanos duration) {
  return std::floor(DecimalMicros(start) + DecimalMicros(duration));
}

// HTA looks at what starts before the last ProfilerStep, when there are two or more. Marks on the
// device side count too: they carry no stream, so HTA takes them for host rows.
struct LoadFilter {
  bool active = false;
  double before = 0;
  std::vector<std::int64_t> correlations;  // of calls that stay, sorted

  bool Keeps(std::int64_t correlation, double begin) const {
    if (!active) return true;
    if (correlation == 0) return begin < before;
    return std::binary_search(correlations.begin(), correlations.end(), correlation);
  }
};

LoadFilter MakeFilter(const trace::Trace& trace) {
  LoadFilter filter;
  std::vector<std::uint8_t> is_step(trace.strings.size(), 0);  // 0 unseen, 1 no, 2 yes
  std::size_t distinct = 0;
  const auto look = [&](StringId name, Nanos start) {
    std::uint8_t& known = is_step[static_cast<std::uint32_t>(name)];
    if (known == 0) {
      known = Contains(trace.Name(name), "ProfilerStep") ? 2 : 1;
      if (known == 2) ++distinct;
    }
    if (known == 2) filter.before = std::max(filter.before, RoundUp(start));
  };
  const trace::HostSlices& host = trace.host;
  for (RowId i = 0; i < host.size(); ++i) look(host.name[i], host.start_ns[i]);
  const trace::DeviceAnnotations& marks = trace.device_annotations;
  for (RowId i = 0; i < marks.start_ns.size(); ++i) look(marks.name[i], marks.start_ns[i]);
  filter.active = distinct >= 2;
  if (!filter.active) return filter;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] == SliceKind::kApi && host.id[i] != 0 &&
        RoundUp(host.start_ns[i]) < filter.before) {
      filter.correlations.push_back(host.id[i]);
    }
  }
  std::sort(filter.correlations.begin(), filter.correlations.end());
  return filter;
}

template <typename Less>
void SortRows(std::vector<Row>& rows, const Less& less) {
  if (!std::is_sorted(rows.begin(), rows.end(), less)) {
    std::stable_sort(rows.begin(), rows.end(), less);
  }
}

std::vector<Row> LoadRows(const trace::Trace& trace) {
  const LoadFilter filter = MakeFilter(trace);
  std::vector<HtaClass> class_of(trace.strings.size(), HtaClass::kUnseen);
  const auto classify = [&](StringId name) {
    HtaClass& known = class_of[static_cast<std::uint32_t>(name)];
    if (known == HtaClass::kUnseen) known = ClassOf(trace.Name(name));
    return known;
  };
  std::vector<Row> rows;
  const trace::DeviceWork& device = trace.device;
  for (RowId i = 0; i < device.size(); ++i) {
    const double begin = RoundUp(device.start_ns[i]);
    if (!filter.Keeps(device.correlation[i], begin)) continue;
    const RowId api = device.api[i];
    rows.push_back({begin, RoundEnd(device.start_ns[i], device.duration_ns[i]),
                    api == kNoRow ? NAN : RoundUp(trace.host.start_ns[api]),
                    trace.streams[device.stream[i]].id, classify(device.name[i]), false});
  }
  const trace::SyncRecords& syncs = trace.syncs;
  for (RowId i = 0; i < syncs.size(); ++i) {
    const double begin = RoundUp(syncs.start_ns[i]);
    if (syncs.stream[i] == UINT16_MAX || !filter.Keeps(syncs.correlation[i], begin)) continue;
    rows.push_back({begin, RoundEnd(syncs.start_ns[i], syncs.duration_ns[i]), NAN,
                    trace.streams[syncs.stream[i]].id, classify(syncs.name[i]), true});
  }
  // HTA takes every row with a stream for device work, and Triton's operators carry one.
  const trace::HostSlices& host = trace.host;
  for (RowId i = 0; i < host.size(); ++i) {
    const std::int64_t stream = trace.op_details[host.detail[i]].stream;
    if (stream < 0 || !filter.Keeps(0, RoundUp(host.start_ns[i]))) continue;
    rows.push_back({RoundUp(host.start_ns[i]), RoundEnd(host.start_ns[i], host.duration_ns[i]), NAN,
                    stream, classify(host.name[i]), true});
  }
  SortRows(rows, [](const Row& a, const Row& b) { return a.begin < b.begin; });
  return rows;
}

struct Span {
  double begin, end;
};

// A row joins when it begins no later than every end before it. Rows stand in order of begin.
template <typename Wanted>
std::vector<Span> Merge(const std::vector<Row>& rows, const Wanted& wanted) {
  std::vector<Span> merged;
  double reach = -INFINITY;
  for (const Row& row : rows) {
    if (!wanted(row)) continue;
    if (!merged.empty() && row.begin <= reach) {
      merged.back().end = std::max(merged.back().end, row.end);
    } else {
      merged.push_back({row.begin, row.end});
    }
    reach = std::max(reach, row.end);
  }
  return merged;
}

double Length(const std::vector<Span>& spans) {
  double sum = 0;
  for (const Span& span : spans) sum += span.end - span.begin;
  return sum;
}

double IntersectLength(const std::vector<Span>& a, const std::vector<Span>& b) {
  double sum = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    sum += std::max(0.0, std::min(a[i].end, b[k].end) - std::max(a[i].begin, b[k].begin));
    a[i].end < b[k].end ? ++i : ++k;
  }
  return sum;
}

double TwoDecimals(double value) { return std::nearbyint(value * 100) / 100; }

HtaBreakdown BreakDown(const std::vector<Row>& rows) {
  const std::vector<Span> all = Merge(rows, [](const Row&) { return true; });
  HtaBreakdown result;
  result.kernel_time = all.back().end - all.front().begin;
  result.idle = result.kernel_time - Length(all);
  result.compute =
      Length(Merge(rows, [](const Row& row) { return row.kind == HtaClass::kComputation; }));
  result.non_compute = result.kernel_time - result.compute - result.idle;
  const auto percent = [&](double part) {
    return result.kernel_time > 0 ? TwoDecimals(100 * (part / result.kernel_time)) : 0;
  };
  result.idle_pct = percent(result.idle);
  result.compute_pct = percent(result.compute);
  result.non_compute_pct = percent(result.non_compute);
  return result;
}

// Per stream, the gap before each kernel, by cause. A gap may be negative (work that overlaps its
// predecessor); HTA adds it as it is. The first kernel has no gap and counts as "other".
std::vector<HtaIdleRow> BreakDownIdle(std::vector<Row> rows) {
  constexpr double kConsecutiveKernelDelay = 30;  // HTA's default; it says ns and compares µs
  std::erase_if(rows, [](const Row& row) { return row.sync; });
  SortRows(rows, [](const Row& a, const Row& b) { return a.stream < b.stream; });
  enum Cause { kHostWait, kKernelWait, kOther };
  constexpr const char* kNames[] = {"host_wait", "kernel_wait", "other"};
  std::vector<HtaIdleRow> result;
  for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
    double sums[3] = {0, 0, 0};
    bool seen[3] = {false, false, true};
    for (last = first + 1; last < rows.size() && rows[last].stream == rows[first].stream; ++last) {
      const double gap = rows[last].begin - rows[last - 1].end;
      const Cause cause = rows[last].launched > rows[last - 1].end ? kHostWait
                          : gap < kConsecutiveKernelDelay          ? kKernelWait
                                                                   : kOther;
      sums[cause] += gap;
      seen[cause] = true;
    }
    const double all = sums[0] + sums[1] + sums[2];
    for (const Cause cause : {kHostWait, kKernelWait, kOther}) {
      if (!seen[cause]) continue;
      result.push_back({rows[first].stream, kNames[cause], TwoDecimals(sums[cause]),
                        all != 0 ? TwoDecimals(sums[cause] / all) : 0});
    }
  }
  return result;
}

}  // namespace

HtaFacts ComputeHta(const trace::Trace& trace) {
  HtaFacts facts;
  const auto absent = [&](const char* why) {
    facts.breakdown = Known<HtaBreakdown>::Absent(why);
    facts.comm_comp_overlap_pct = Known<double>::Absent(why);
    return facts;
  };
  if (trace.info.format != trace::Format::kKineto) return absent("HTA reads PyTorch traces only");
  if (trace.device.size() == 0) return absent("no device work in this trace");
  const std::vector<Row> rows = LoadRows(trace);
  if (rows.empty()) return absent("no device work before the last profiler step, where HTA stops");
  facts.breakdown = BreakDown(rows);
  facts.idle = BreakDownIdle(rows);
  const auto of_class = [&](HtaClass kind) {
    return Merge(rows, [kind](const Row& row) { return row.kind == kind; });
  };
  const std::vector<Span> comm = of_class(HtaClass::kCommunication);
  const double comm_time = Length(comm);
  if (comm_time > 0) {
    facts.comm_comp_overlap_pct =
        TwoDecimals(100 * (IntersectLength(comm, of_class(HtaClass::kComputation)) / comm_time));
  } else {
    facts.comm_comp_overlap_pct = Known<double>::Absent("no communication kernels by HTA's names");
  }
  return facts;
}

}  // namespace hone::analyze
