// SPDX-License-Identifier: Apache-2.0
// recompile: nothing is compiled inside the steps.
#include "replay/edits/recompile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// torch/_dynamo/utils.py, dynamo_timed(): record_function(f"{key} (dynamo_timed)") from 2.1 on;
// some recorders and later versions leave the brackets out, so the outermost keys count by name.
constexpr std::array<std::string_view, 7> kTimed = {
    "_compile.compile_inner", "entire_frame_compile", "entire_backward_compile", "backend_compile",
    "compile_fx_inner",       "async_compile.wait",   "inductor_compile"};

bool IsTimedPhase(std::string_view name) {
  if (name.ends_with(" (dynamo_timed)")) return true;
  if (name.starts_with("CachingAutotuner.")) return true;
  return std::find(kTimed.begin(), kTimed.end(), name) != kTimed.end();
}

// Entered only when something is compiled, not when a compiled frame runs.
bool IsCompileFrame(std::string_view name) {
  const analyze::SourceFrame frame = analyze::ParseFrame(name);
  const auto is = [&](std::string_view file, std::string_view function) {
    return frame.file.ends_with(file) && frame.function == function;
  };
  return is("torch/_dynamo/convert_frame.py", "_compile") ||
         is("torch/_inductor/compile_fx.py", "compile_fx") ||
         is("torch/_inductor/async_compile.py", "wait") ||
         is("torch/_inductor/runtime/triton_heuristics.py", "autotune_to_one_config");
}

class Recompile : public Edit {
 public:
  Recompile(HostCut cut, std::vector<TaskId> work) : cut_(std::move(cut)), work_(std::move(work)) {}

  void Apply(const Model& model, Guess /*guess*/, Plan& plan) const override {
    cut_.Apply(model.graph(), 1.0, plan);
    cut_.DropWaits(model.graph(), plan);
    for (const TaskId task : work_) plan.RemoveWork(task);
  }

  std::string Scope(const Model& model) const override {
    return fmt::format("{} ms a step of compiling",
                       ThreeDigits(static_cast<double>(cut_.gone_ns()) / 1e6 /
                                   static_cast<double>(model.graph().steps)));
  }

 private:
  const HostCut cut_;
  const std::vector<TaskId> work_;  // candidates that the compiler ran to choose
};

}  // namespace

std::vector<RowId> FindCompiles(const Model& model) {
  const trace::Trace& trace = model.trace();
  enum : std::uint8_t { kUnseen, kNo, kYes };
  std::vector<std::uint8_t> names(trace.strings.size(), kUnseen), frames = names;
  std::vector<RowId> rows;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    const SliceKind kind = trace.host.kind[i];
    const bool python = kind == SliceKind::kPython;
    if (!python && kind != SliceKind::kAnnotation && kind != SliceKind::kOp) continue;
    std::uint8_t& seen = (python ? frames : names)[static_cast<std::uint32_t>(trace.host.name[i])];
    if (seen == kUnseen) {
      const std::string_view name = trace.HostName(i);
      seen = (python ? IsCompileFrame(name) : IsTimedPhase(name)) ? kYes : kNo;
    }
    if (seen == kNo || !model.InWindow(i)) continue;
    if (!rows.empty() && trace.host.thread[rows.back()] == trace.host.thread[i] &&
        trace.host.start_ns[i] < trace.host.end_ns(rows.back())) {
      continue;
    }
    rows.push_back(i);
  }
  return rows;
}

FoundEdit FindRecompile(const Model& model) {
  const trace::Trace& trace = model.trace();
  std::vector<HostSpan> spans;
  for (const RowId row : FindCompiles(model)) {
    spans.push_back({model.LaneOf(row), {trace.host.start_ns[row], trace.host.end_ns(row)}, 0});
  }
  if (spans.empty()) return FoundEdit::Absent("nothing is compiled inside the steps");
  HostCut cut(model.graph(), std::move(spans));
  std::vector<TaskId> work;
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId call = trace.device.api[w];
    if (call == kNoRow || model.graph().of_device[w] == kNoTask) continue;
    if (cut.Contains(model.LaneOf(call), trace.host.start_ns[call])) {
      work.push_back(model.graph().of_device[w]);
    }
  }
  return FoundEdit(std::make_unique<Recompile>(std::move(cut), std::move(work)));
}

}  // namespace hone::replay
