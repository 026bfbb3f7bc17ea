// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/grad_mode.h"

#include <algorithm>
#include <functional>

#include "analyze/autograd_engine.h"

namespace hone::replay {
namespace {

using trace::RowId;
using trace::SliceKind;

// Of the outermost operators of the steps, the share that ran with grad mode on. Below one half the
// forward pass is under no_grad and only code around it is not.
constexpr double kLeastShare = 0.5;
// Nodes a step. One or two are a stray scale or bias outside the guarded part.
constexpr double kFewestNodes = 3;
// As memory-growth counts it: three intervals that all go up, by a mebibyte.
constexpr std::size_t kFewestEnds = 4;
constexpr double kLeastGrowth = 1 << 20;

bool TellsOfBackward(std::string_view name, SliceKind kind) {
  if (kind == SliceKind::kOp) {
    return analyze::IsEngineSlice(name) || name.find("Backward") != std::string_view::npos;
  }
  return kind == SliceKind::kAnnotation && name.starts_with("Optimizer.step");
}

}  // namespace

bool GradMode::Builds(double steps) const {
  if (ops == 0 || static_cast<double>(makers.size()) < kFewestNodes * steps) return false;
  return static_cast<double>(on) >= kLeastShare * static_cast<double>(ops);
}

GradMode LookAtGradMode(const trace::Trace& trace, const analyze::Lineage& lineage,
                        trace::Interval window) {
  const trace::HostSlices& host = trace.host;
  GradMode found;
  for (const trace::Thread& thread : trace.threads) {
    std::int64_t last = -1;
    for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
      if (host.kind[i] != SliceKind::kOp || host.start_ns[i] < window.begin_ns ||
          host.start_ns[i] >= window.end_ns) {
        continue;
      }
      const std::int64_t sequence = host.link[i];
      if (lineage.top_op[i] == i) {
        ++found.ops;
        if (sequence >= 0) ++found.on;
      }
      // Numbers count nodes of one thread; a gap is nodes of operators that were not recorded.
      if (sequence > last && last >= 0) found.makers.push_back(i);
      last = std::max(last, sequence);
    }
  }
  return found;
}

double KeptOnHost(const analyze::Facts& facts) {
  if (!facts.memory) return 0;
  for (const analyze::DeviceMemory& memory : facts.memory->devices) {
    const std::vector<Bytes>& ends = memory.at_step_end;
    if (memory.type != trace::MemoryDevice::kHost || !memory.growth_per_step) continue;
    if (ends.size() < kFewestEnds || *memory.growth_per_step < kLeastGrowth) continue;
    if (std::is_sorted(ends.begin(), ends.end(), std::less_equal<>())) {
      return *memory.growth_per_step;
    }
  }
  return 0;
}

bool Trains(const trace::Trace& trace, trace::Interval window) {
  std::vector<std::uint8_t> judged(trace.strings.size(), 0);  // 1: no, 2: yes
  for (RowId i = 0; i < trace.host.size(); ++i) {
    const SliceKind kind = trace.host.kind[i];
    if (kind != SliceKind::kOp && kind != SliceKind::kAnnotation) continue;
    if (trace.host.start_ns[i] < window.begin_ns || trace.host.start_ns[i] >= window.end_ns) {
      continue;
    }
    if (kind == SliceKind::kOp && trace.op_details[trace.host.detail[i]].fwd_thread > 0) {
      return true;
    }
    std::uint8_t& name = judged[static_cast<std::uint32_t>(trace.host.name[i])];
    if (name == 0) name = TellsOfBackward(trace.HostName(i), kind) ? 2 : 1;
    if (name == 2) return true;
  }
  return false;
}

}  // namespace hone::replay
