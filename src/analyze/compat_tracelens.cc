// SPDX-License-Identifier: Apache-2.0
// TraceLens's gpu_timeline and kernel_summary, by the rules of its version 1.0 (see
// docs/user/compat.md). TraceLens computes in double microseconds; near 1.4e12 µs a double keeps
// 0.24 ns, so its totals carry that rounding. To agree with it we take the same doubles and add
// them in the same order.
#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>

#include "analyze/compat.h"
#include "analyze/compat_rules.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;
using trace::WorkKind;

struct Span {
  double begin, end;
};
using Spans = std::vector<Span>;

// Sorted by begin; touching spans merge.
Spans Merge(Spans spans) {
  const auto earlier = [](const Span& a, const Span& b) { return a.begin < b.begin; };
  if (!std::is_sorted(spans.begin(), spans.end(), earlier)) {
    std::stable_sort(spans.begin(), spans.end(), earlier);
  }
  Spans merged;
  for (const Span& span : spans) {
    if (!merged.empty() && span.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, span.end);
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

Spans Subtract(const Spans& from, const Spans& what) {
  Spans left;
  std::size_t first = 0;
  for (const Span& span : from) {
    double at = span.begin;
    while (first < what.size() && what[first].end <= span.begin) ++first;
    for (std::size_t i = first; i < what.size() && what[i].begin < span.end; ++i) {
      if (what[i].begin > at) left.push_back({at, std::min(span.end, what[i].begin)});
      at = std::max(at, what[i].end);
      if (at >= span.end) break;
    }
    if (at < span.end) left.push_back({at, span.end});
  }
  return left;
}

double Length(const Spans& spans) {
  double sum = 0;
  for (const Span& span : spans) sum += span.end - span.begin;
  return sum;
}

bool ContainsNoCase(std::string_view text, std::string_view lower) {
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
         }) != text.end();
}

bool IsCommunication(std::string_view name) {
  return ContainsNoCase(name, "rccl") || ContainsNoCase(name, "nccl") ||
         ContainsNoCase(name, "cross_device_reduce");
}

// For each API row, the operator that TraceLens names for its launches: it nests operators and
// calls by time, in double, and leaves out a slice that ends after the one around it. kNoRow: none.
std::vector<RowId> ParentOps(const trace::Trace& trace) {
  const trace::HostSlices& host = trace.host;
  struct Open {
    double end;
    RowId op;  // itself or the nearest operator around it
  };
  std::vector<RowId> parent_op(host.size(), kNoRow);
  std::vector<Open> open;
  for (RowId i = 0; i < host.size(); ++i) {
    if (i == 0 || host.thread[i] != host.thread[i - 1]) open.clear();
    const bool is_op = host.kind[i] == SliceKind::kOp;
    if (!is_op && host.kind[i] != SliceKind::kApi) continue;
    const double begin = DecimalMicros(host.start_ns[i]);
    const double end = begin + DecimalMicros(host.duration_ns[i]);
    while (!open.empty() && begin >= open.back().end) open.pop_back();
    if (!open.empty() && end > open.back().end) continue;
    const RowId around = open.empty() ? kNoRow : open.back().op;
    parent_op[i] = around;
    open.push_back({end, is_op ? i : around});
  }
  return parent_op;
}

// Which device work hangs on a launch. A graph launch holds everything with its correlation; any
// other call holds one piece, the last, because a later one replaces it in TraceLens's index.
std::vector<bool> LinkedWork(const trace::Trace& trace) {
  const trace::DeviceWork& device = trace.device;
  std::vector<bool> linked(device.size(), false);
  std::vector<RowId> last_of(trace.host.size(), kNoRow);
  for (RowId i = 0; i < device.size(); ++i) {
    const RowId api = device.api[i];
    if (api == kNoRow) continue;
    const std::string_view name = trace.HostName(api);
    linked[i] = true;
    if (name == "cudaGraphLaunch" || name == "hipGraphLaunch") continue;
    if (last_of[api] != kNoRow) linked[last_of[api]] = false;
    last_of[api] = i;
  }
  return linked;
}

TraceLensTimeline TimelineOf(const trace::Trace& trace, const std::vector<bool>& linked) {
  const trace::DeviceWork& device = trace.device;
  std::vector<std::uint8_t> is_comm(trace.strings.size(), 0);  // 0 unseen, 1 no, 2 yes
  Spans all, compute, comm, copy;
  for (RowId i = 0; i < device.size(); ++i) {
    if (!linked[i]) continue;
    const double begin = DecimalMicros(device.start_ns[i]);
    const Span span{begin, begin + DecimalMicros(device.duration_ns[i])};
    all.push_back(span);
    if (device.kind[i] == WorkKind::kCopy) {
      copy.push_back(span);
      continue;
    }
    std::uint8_t& known = is_comm[static_cast<std::uint32_t>(device.name[i])];
    if (known == 0) known = IsCommunication(trace.DeviceName(i)) ? 2 : 1;
    (known == 2 ? comm : compute).push_back(span);
  }
  all = Merge(std::move(all));
  compute = Merge(std::move(compute));
  comm = Merge(std::move(comm));
  copy = Merge(std::move(copy));

  TraceLensTimeline us;
  us.total = all.back().end - all.front().begin;
  us.computation = Length(compute);
  us.total_comm = Length(comm);
  us.exposed_comm = Length(Subtract(comm, compute));
  us.total_memcpy = Length(copy);
  us.exposed_memcpy = Length(Subtract(Subtract(copy, compute), comm));
  us.busy = Length(all);
  us.idle = us.total - us.busy;
  return {us.computation / 1e3, us.exposed_comm / 1e3, us.exposed_memcpy / 1e3,
          us.busy / 1e3,        us.idle / 1e3,         us.total / 1e3,
          us.total_comm / 1e3,  us.total_memcpy / 1e3};
}

struct RowKey {
  const char* category;  // a literal
  StringId parent, kernel;
  std::int64_t stream;
  friend bool operator==(const RowKey& a, const RowKey& b) {
    return a.parent == b.parent && a.kernel == b.kernel && a.stream == b.stream &&
           std::string_view(a.category) == b.category;
  }
};
// The category follows from operator and kernel but for rare cases; it stays out of the hash.
struct RowKeyHash {
  std::size_t operator()(const RowKey& key) const {
    std::uint64_t hash =
        (static_cast<std::uint64_t>(key.parent) << 32) + static_cast<std::uint64_t>(key.kernel);
    hash = (hash ^ static_cast<std::uint64_t>(key.stream)) * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(hash ^ (hash >> 29));
  }
};

// Decided once per distinct name.
class Categories {
 public:
  explicit Categories(const trace::Trace& trace)
      : trace_(trace),
        by_op_(trace.strings.size(), nullptr),
        by_work_(trace.strings.size(), nullptr) {}

  const char* operator()(StringId op, StringId first_work) {
    static constexpr const char kByWork[] = "";
    const char*& known = by_op_[static_cast<std::uint32_t>(op)];
    if (known == nullptr) {
      known = TraceLensOpCategory(trace_.Name(op));
      if (known == nullptr) known = kByWork;
    }
    if (known != kByWork) return known;
    const char*& work = by_work_[static_cast<std::uint32_t>(first_work)];
    if (work == nullptr) work = TraceLensWorkCategory(trace_.Name(first_work));
    return work;
  }

 private:
  const trace::Trace& trace_;
  std::vector<const char*> by_op_, by_work_;
};

// Kernels only, linked or not, by category, operator, name and stream.
std::vector<TraceLensKernelRow> KernelRows(const trace::Trace& trace,
                                           const std::vector<bool>& linked, double total_us) {
  const trace::DeviceWork& device = trace.device;
  const std::vector<RowId> parent_op = ParentOps(trace);
  // The first work that each operator launched itself decides a category of last resort.
  std::vector<RowId> first_work(trace.host.size(), kNoRow);
  for (RowId i = 0; i < device.size(); ++i) {
    if (!linked[i] || parent_op[device.api[i]] == kNoRow) continue;
    RowId& first = first_work[parent_op[device.api[i]]];
    if (first == kNoRow || device.api[i] < device.api[first]) first = i;
  }

  Categories categories(trace);
  std::vector<TraceLensKernelRow> rows;
  std::unordered_map<RowKey, std::size_t, RowKeyHash> index;
  double all_kernels = 0;
  for (RowId i = 0; i < device.size(); ++i) {
    if (device.kind[i] != WorkKind::kKernel) continue;
    RowKey key{"", StringId::kEmpty, device.name[i], trace.streams[device.stream[i]].id};
    if (linked[i]) {
      const RowId op = parent_op[device.api[i]];
      key.parent = trace.host.name[op != kNoRow ? op : device.api[i]];
      key.category = op != kNoRow ? categories(key.parent, device.name[first_work[op]])
                     : ContainsNoCase(trace.Name(key.parent), "cudagraph") ||
                             ContainsNoCase(trace.Name(key.parent), "graphlaunch")
                         ? "graph"
                         : "runtime";
    }
    const auto [it, is_new] = index.try_emplace(key, rows.size());
    if (is_new) {
      rows.push_back({key.category, std::string(trace.Name(key.parent)),
                      std::string(trace.Name(key.kernel)), key.stream});
    }
    TraceLensKernelRow& row = rows[it->second];
    const double duration = DecimalMicros(device.duration_ns[i]);
    row.min = row.count == 0 ? duration : std::min(row.min, duration);
    row.max = std::max(row.max, duration);
    row.sum += duration;
    ++row.count;
    all_kernels += duration;
  }
  for (TraceLensKernelRow& row : rows) {
    row.mean = row.sum / static_cast<double>(row.count);
    row.pct_of_kernels = all_kernels > 0 ? row.sum / all_kernels * 100 : 0;
    row.pct_of_total = total_us > 0 ? row.sum / total_us * 100 : 0;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.sum > b.sum; });
  return rows;
}

}  // namespace

double DecimalMicros(Nanos ns) {
  // Below 2^53 both numbers are exact, and IEEE division rounds once: the nearest double, which is
  // what a JSON parser makes of the text. Above (Unix time), the text itself is parsed.
  if (ns < (Nanos{1} << 53) && ns > -(Nanos{1} << 53)) return static_cast<double>(ns) / 1000.0;
  char text[32];
  const bool negative = ns < 0;
  const auto magnitude =
      negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  char* end = std::to_chars(text, text + 24, magnitude / 1000).ptr;
  const auto rest = static_cast<unsigned>(magnitude % 1000);
  *end++ = '.';
  for (const unsigned digit : {rest / 100, rest / 10 % 10, rest % 10}) {
    *end++ = static_cast<char>('0' + digit);
  }
  double value = 0;
  std::from_chars(text, end, value);
  return negative ? -value : value;
}

TraceLensFacts ComputeTraceLens(const trace::Trace& trace) {
  TraceLensFacts facts;
  if (trace.info.format != trace::Format::kKineto) {
    facts.timeline = Known<TraceLensTimeline>::Absent("TraceLens reads PyTorch traces only");
    return facts;
  }
  const std::vector<bool> linked = LinkedWork(trace);
  if (std::find(linked.begin(), linked.end(), true) == linked.end()) {
    facts.timeline = Known<TraceLensTimeline>::Absent(
        trace.device.size() == 0 ? "no device work in this trace"
                                 : "no device work has its launching call in this trace");
  } else {
    facts.timeline = TimelineOf(trace, linked);
  }
  facts.kernels =
      KernelRows(trace, linked, facts.timeline.has_value() ? facts.timeline->total * 1e3 : 0);
  return facts;
}

}  // namespace hone::analyze
