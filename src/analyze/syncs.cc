// SPDX-License-Identifier: Apache-2.0
#include "analyze/syncs.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "analyze/grouping.h"
#include "analyze/source_frame.h"
#include "base/torch_scope.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

bool IsProfilerFrame(const SourceFrame& frame) {
  return frame.file.find("torch/profiler/") != std::string_view::npos ||
         frame.file.ends_with("torch/autograd/profiler.py");
}

// PyTorch's profiler waits for the device once, when it stops: after the last step, outside any
// operator or annotation, as the last call of its thread. Where Python frames were recorded they
// decide instead. A user's own torch.cuda.synchronize() at the start of a step is the user's and
// counts.
class ProfilerSyncs {
 public:
  ProfilerSyncs(const trace::Trace& trace, const Lineage& lineage)
      : trace_(trace),
        lineage_(lineage),
        frame_(trace.host.size(), kOutside),
        profiler_(trace.host.size(), kNoRow),
        last_call_(trace.threads.size(), kNoRow),
        last_step_end_(trace.threads.size(), INT64_MIN) {
    const trace::HostSlices& host = trace.host;
    std::vector<std::uint8_t> names(trace.strings.size(), kUnseen);
    for (RowId i = 0; i < host.size(); ++i) {
      // Step annotations begin inside the profiler's frame and outlive it: what follows is not in
      // it.
      if (host.parent[i] != kNoRow) {
        frame_[i] = frame_[host.parent[i]];
        profiler_[i] = profiler_[host.parent[i]];
        if (frame_[i] == kProfiler && host.start_ns[i] >= host.end_ns(profiler_[i])) {
          frame_[i] = kPython;
        }
      }
      const std::uint16_t thread = host.thread[i];
      if (host.kind[i] == SliceKind::kApi) last_call_[thread] = i;
      if (host.kind[i] == SliceKind::kAnnotation && trace.HostName(i).starts_with(kProfilerStep)) {
        last_step_end_[thread] = std::max(last_step_end_[thread], host.end_ns(i));
      }
      if (host.kind[i] != SliceKind::kPython || frame_[i] == kProfiler) continue;
      std::uint8_t& name = names[static_cast<std::uint32_t>(host.name[i])];
      if (name == kUnseen) {
        name = IsProfilerFrame(ParseFrame(trace.HostName(i))) ? kProfiler : kPython;
      }
      frame_[i] = name;
      if (name == kProfiler) profiler_[i] = i;
    }
  }

  bool Contains(RowId call) const {
    if (frame_[call] != kOutside) return frame_[call] == kProfiler;
    const std::uint16_t thread = trace_.host.thread[call];
    return trace_.info.format == trace::Format::kKineto && last_call_[thread] == call &&
           IsDeviceWideSync(trace_.HostName(call)) && lineage_.op[call] == kNoRow &&
           lineage_.annotation[call] == kNoRow &&
           trace_.host.start_ns[call] >= last_step_end_[thread];
  }

 private:
  enum : std::uint8_t { kUnseen, kOutside, kPython, kProfiler };

  const trace::Trace& trace_;
  const Lineage& lineage_;
  std::vector<std::uint8_t> frame_;   // by host row: inside Python, inside the profiler's Python
  std::vector<RowId> profiler_;       // by host row: the profiler's frame that frame_ speaks of
  std::vector<RowId> last_call_;      // by thread
  std::vector<Nanos> last_step_end_;  // by thread
};

struct Key {
  StringId call, op;
  std::string_view where;
  bool by_profiler;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    const auto names =
        static_cast<std::uint64_t>(key.call) << 32 | static_cast<std::uint64_t>(key.op);
    return std::hash<std::string_view>{}(key.where) ^
           static_cast<std::size_t>(names * 0x9E3779B97F4A7C15ULL) ^ (key.by_profiler ? 1 : 0);
  }
};

bool InSteadyStep(const Steps& steps, Nanos time) {
  const auto after =
      std::upper_bound(steps.steps.begin(), steps.steps.end(), time,
                       [](Nanos t, const Step& step) { return t < step.host_span.begin_ns; });
  if (after == steps.steps.begin()) return false;
  const Step& step = *(after - 1);
  return !step.warm_up && time < step.host_span.end_ns;
}

}  // namespace

std::vector<RowId> FindProfilerSyncs(const trace::Trace& trace, const Lineage& lineage,
                                     const ApiCalls& calls) {
  const ProfilerSyncs by_profiler(trace, lineage);
  std::vector<RowId> rows;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (calls.Blocks(i) && by_profiler.Contains(i)) rows.push_back(i);
  }
  return rows;
}

Known<SyncFacts> FindSyncs(const trace::Trace& trace, const Lineage& lineage, const Steps& steps) {
  const ApiCalls calls(trace);
  if (!calls.any()) return Known<SyncFacts>::Absent("no API calls in this trace");
  const ProfilerSyncs by_profiler(trace, lineage);
  const CallSites sites(trace, lineage);

  SyncFacts facts;
  std::unordered_map<Key, std::size_t, KeyHash> index;  // one look-up a blocking call
  std::vector<std::uint64_t> in_steady;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (!calls.Blocks(i)) continue;
    // A driver call inside a runtime call that blocks is the same wait.
    const RowId parent = trace.host.parent[i];
    if (parent != kNoRow && calls.Blocks(parent)) continue;
    const RowId op = lineage.top_op[i];
    const Key key{trace.host.name[i], op == kNoRow ? StringId::kEmpty : trace.host.name[op],
                  sites.Of(i), by_profiler.Contains(i)};
    const auto [at, fresh] = index.try_emplace(key, facts.rows.size());
    if (fresh) {
      facts.rows.push_back(
          {.call = key.call, .op = key.op, .where = key.where, .by_profiler = key.by_profiler});
      in_steady.push_back(0);
    }
    SyncRow& row = facts.rows[at->second];
    const Nanos duration = trace.host.duration_ns[i];
    ++row.count;
    row.total_ns = SaturatingAdd(row.total_ns, duration);
    row.max_ns = std::max(row.max_ns, duration);
    if (InSteadyStep(steps, trace.host.start_ns[i])) ++in_steady[at->second];
    ++facts.count;
    facts.total_ns = SaturatingAdd(facts.total_ns, duration);
  }
  if (steps.steady_count() > 0) {
    for (std::size_t r = 0; r < facts.rows.size(); ++r) {
      facts.rows[r].per_step =
          static_cast<double>(in_steady[r]) / static_cast<double>(steps.steady_count());
    }
  }
  std::sort(facts.rows.begin(), facts.rows.end(), [&](const SyncRow& a, const SyncRow& b) {
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    if (a.count != b.count) return a.count > b.count;
    if (a.call != b.call) return trace.Name(a.call) < trace.Name(b.call);
    if (a.op != b.op) return trace.Name(a.op) < trace.Name(b.op);
    return a.where < b.where;
  });
  return facts;
}

}  // namespace hone::analyze
