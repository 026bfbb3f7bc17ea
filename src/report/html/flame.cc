// SPDX-License-Identifier: Apache-2.0
#include "report/html/flame.h"

#include <algorithm>
#include <vector>

#include "analyze/sample_time.h"
#include "analyze/source_frame.h"
#include "trace/running.h"

namespace hone::report {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

constexpr std::uint32_t kNoNode = CallTree::kRoot;

// Where every thread of Python begins, called by nobody. PyTorch's profiler records threads that it
// does not know as one, the second inside the first.
bool IsThreadEntry(std::string_view name) {
  const analyze::SourceFrame frame = analyze::ParseFrame(name);
  return frame.function == "_bootstrap" && frame.file.ends_with("threading.py");
}

// Slices of one kind by nesting; what stands between them is not there. Under operators also the
// calls that they make, so that an operator's own time is that of the table.
Flame ByNesting(const trace::Trace& trace, SliceKind kind, PageStrings& strings) {
  const trace::HostSlices& host = trace.host;
  Flame flame;
  std::vector<std::uint32_t> node(host.size(), kNoNode);  // of the nearest slice of that kind
  std::vector<RowId> nearest(host.size(), kNoRow);        // that slice
  trace::Running running(host);
  for (RowId i = 0; i < host.size(); ++i) {
    const bool entry = kind == SliceKind::kPython && IsThreadEntry(trace.HostName(i));
    const RowId parent = host.parent[i];
    const RowId around = entry || parent == kNoRow ? kNoRow : nearest[parent];
    nearest[i] = around;
    if (around != kNoRow) node[i] = node[around];
    const bool call = kind == SliceKind::kOp && host.kind[i] == SliceKind::kApi && around != kNoRow;
    if (host.kind[i] != kind && !call) continue;
    const RowId interrupted = entry ? kNoRow : running.Around(i);
    if (interrupted != kNoRow) {
      flame.tree.AddSelf(node[interrupted], -trace::TimeInside(host, i, interrupted));
    }
    running.Begin(i);
    node[i] = flame.tree.Child(node[i], strings.Of(host.name[i]));
    nearest[i] = i;
    flame.tree.AddSelf(node[i], host.duration_ns[i]);
    flame.tree.AddCalls(node[i], 1);
  }
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId from = trace.device.api[w] != kNoRow ? trace.device.api[w] : trace.device.op[w];
    if (from != kNoRow && node[from] != kNoNode) {
      flame.tree.AddDevice(node[from], trace.device.duration_ns[w]);
    }
  }
  flame.device = trace.device.size() > 0;
  return flame;
}

Flame BySamples(const Input& input, PageStrings& strings) {
  const trace::Trace& trace = input.trace;
  const trace::StackFrames& frames = trace.stack_frames;
  const analyze::CountedSamples counts(trace, input.facts.steps);
  Flame flame;
  flame.sampled = true;
  flame.device = false;
  // Samples in which a frame is on the stack: callers stand before callees, so one backward pass.
  std::vector<std::uint64_t> samples(frames.size(), 0);
  for (std::size_t i = 0; i < trace.samples.size(); ++i) {
    if (counts(i)) ++samples[trace.samples.frame[i]];
  }
  for (std::size_t f = frames.size(); f-- > 1;) samples[frames.caller[f]] += samples[f];
  std::vector<std::uint32_t> node(frames.size(), kNoNode);
  for (std::size_t f = 1; f < frames.size(); ++f) {
    if (samples[f] == 0) continue;
    node[f] = flame.tree.Child(node[frames.caller[f]], strings.Of(frames.function[f]));
    flame.tree.AddCalls(node[f], samples[f]);
  }
  for (std::size_t i = 0; i < trace.samples.size(); ++i) {
    const std::uint32_t frame = trace.samples.frame[i];
    if (frame != 0 && counts(i)) flame.tree.AddSelf(node[frame], trace.samples.period_ns[i]);
  }
  return flame;
}

bool HasKind(const trace::Trace& trace, SliceKind kind) {
  return std::find(trace.host.kind.begin(), trace.host.kind.end(), kind) != trace.host.kind.end();
}

}  // namespace

Known<Flame> FlameByOp(const Input& input, PageStrings& strings) {
  if (HasKind(input.trace, SliceKind::kOp)) return ByNesting(input.trace, SliceKind::kOp, strings);
  const std::string& why = input.facts.ops.why_not();
  return Known<Flame>::Absent(why.empty() ? "no operators in this trace" : why);
}

Known<Flame> FlameByPython(const Input& input, PageStrings& strings) {
  if (HasKind(input.trace, SliceKind::kPython)) {
    return ByNesting(input.trace, SliceKind::kPython, strings);
  }
  if (input.trace.samples.size() > 0) {
    Flame flame = BySamples(input, strings);
    if (flame.tree.size() > 0) return flame;
    return Known<Flame>::Absent("no sample of Python falls into the steady steps");
  }
  const std::string& why = input.facts.python.why_not();
  return Known<Flame>::Absent(
      why.empty() ? "the trace has call stacks of operators, but no Python functions" : why);
}

}  // namespace hone::report
