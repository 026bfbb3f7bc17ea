// SPDX-License-Identifier: Apache-2.0
// recompile: nothing is compiled inside the steps.
#include "replay/edits/recompile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "analyze/source_frame.h"
#include "base/median.h"
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
constexpr std::array<std::string_view, 8> kTimed = {
    "_compile.compile_inner", "entire_frame_compile", "entire_backward_compile", "backend_compile",
    "compile_fx_inner",       "async_compile.wait",   "inductor_compile",        "dynamo"};

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

namespace {

// The first call of what was just compiled loads it and chooses among its kernels. Later ones take
// as long as those in the window that follow no compile; where there is none, this and their
// launches (Inductor's wrapper on the host of an H200).
constexpr Nanos kCalmCall = 200 * kMicrosecond, kCalmLaunch = 10 * kMicrosecond;
// From the end of the compiler to the call, which is the same call of the program: guards are put
// in, 3 to 5 ms on the host of an H200. It is called without an operator between.
constexpr Nanos kRightAfter = 50 * kMillisecond;

bool NothingBetween(const trace::HostSlices& host, RowId compile, RowId region) {
  for (RowId i = region; i-- > compile && host.start_ns[i] >= host.end_ns(compile);) {
    if (host.kind[i] == SliceKind::kOp || host.kind[i] == SliceKind::kApi) return false;
  }
  return true;
}

// What a call launches for itself, not for candidates.
std::size_t OwnLaunches(const Model& model, RowId call, const std::vector<RowId>& compiles) {
  const trace::HostSlices& host = model.trace().host;
  std::size_t launches = 0;
  Nanos tried_until = 0;
  for (RowId i = call + 1; i < host.size() && host.thread[i] == host.thread[call] &&
                           host.start_ns[i] < host.end_ns(call);
       ++i) {
    if (std::binary_search(compiles.begin(), compiles.end(), i)) tried_until = host.end_ns(i);
    const bool launch = model.calls()[i] == analyze::ApiClass::kLaunch;
    if (launch && host.start_ns[i] >= tried_until) ++launches;
  }
  return launches;
}

// Calls of compiled code that begin where a compile ended, as spans of which a calm call is left.
// One that launches nothing computes on the host, and nobody knows for how long.
std::vector<HostSpan> FirstCalls(const Model& model, const std::vector<RowId>& compiles) {
  const trace::HostSlices& host = model.trace().host;
  const auto is_region = [](std::string_view name) {
    return name.starts_with("Torch-Compiled Region");
  };
  std::vector<RowId> first;
  std::vector<HostSpan> spans;
  std::vector<Nanos> others;
  auto compile = compiles.begin();
  for (const RowId row : model.HostRows(SliceKind::kOp, is_region)) {
    // Both are in row order: by thread, then by time.
    while (compile != compiles.end() &&
           (host.thread[*compile] < host.thread[row] ||
            (host.thread[*compile] == host.thread[row] &&
             host.end_ns(*compile) + kRightAfter < host.start_ns[row]))) {
      ++compile;
    }
    // The last of the compiles before it, which may be several in a row.
    while (compile != compiles.end() && std::next(compile) != compiles.end() &&
           host.thread[*std::next(compile)] == host.thread[row] &&
           host.end_ns(*std::next(compile)) <= host.start_ns[row]) {
      ++compile;
    }
    const bool follows = compile != compiles.end() && host.thread[*compile] == host.thread[row] &&
                         host.end_ns(*compile) <= host.start_ns[row] &&
                         NothingBetween(host, *compile, row);
    if (follows) {
      first.push_back(row);
      spans.push_back({model.LaneOf(row), {host.end_ns(*compile), host.start_ns[row]}, 0});
    } else {
      others.push_back(host.duration_ns[row]);
    }
  }
  const Nanos usual = UpperMedian(std::move(others));
  for (const RowId row : first) {
    const auto launches = static_cast<Nanos>(OwnLaunches(model, row, compiles));
    const Nanos calm = usual > 0 ? usual : kCalmCall + launches * kCalmLaunch;
    if (launches == 0 || calm >= host.duration_ns[row]) continue;
    spans.push_back({model.LaneOf(row), {host.start_ns[row], host.end_ns(row)}, calm});
  }
  return spans;
}

}  // namespace

FoundEdit FindRecompile(const Model& model) {
  const trace::Trace& trace = model.trace();
  const std::vector<RowId> compiles = FindCompiles(model);
  if (compiles.empty()) return FoundEdit::Absent("nothing is compiled inside the steps");
  std::vector<HostSpan> phases, spans = FirstCalls(model, compiles);
  const std::size_t calls = spans.size();
  for (const RowId row : compiles) {
    const HostSpan phase{model.LaneOf(row), {trace.host.start_ns[row], trace.host.end_ns(row)}, 0};
    phases.push_back(phase);
    const bool inside =
        std::any_of(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(calls),
                    [&](const HostSpan& call) {
                      return call.lane == phase.lane && call.span.begin_ns <= phase.span.begin_ns &&
                             phase.span.begin_ns < call.span.end_ns;
                    });
    if (!inside) spans.push_back(phase);
  }
  // Kernels that the compiler ran to choose; the call itself keeps its own.
  const HostCut compiler(model.graph(), std::move(phases));
  std::vector<TaskId> work;
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId call = trace.device.api[w];
    if (call == kNoRow || model.graph().of_device[w] == kNoTask) continue;
    if (compiler.Contains(model.LaneOf(call), trace.host.start_ns[call])) {
      work.push_back(model.graph().of_device[w]);
    }
  }
  return FoundEdit(
      std::make_unique<Recompile>(HostCut(model.graph(), std::move(spans)), std::move(work)));
}

}  // namespace hone::replay
