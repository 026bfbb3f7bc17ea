// SPDX-License-Identifier: Apache-2.0
// host-sync: the host goes on launching instead of waiting for the device in the step.
#include <fmt/format.h>

#include <vector>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"
#include "replay/edits/waits.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Operators that do nothing but fetch a value for the host: without the wish to know it the whole
// operator goes, not only its wait (16 us each on the host of an H200).
bool OnlyReads(std::string_view op) {
  return op == "aten::item" || op == "aten::is_nonzero" || op == "aten::_local_scalar_dense";
}

// Of x[mask] and x[mask] = y: what counts the mask and lists its places, which an operator that
// keeps the shape (torch.where) has no need of. Who asks for the places themselves still wants
// them.
RowId PlacesOfMask(const Model& model, RowId wait, RowId top) {
  const RowId op = model.lineage().op[wait];
  if (op == kNoRow || op == top) return kNoRow;
  return model.trace().HostName(op) == "aten::nonzero" ? op : kNoRow;
}

// Operators that go, and what they launch.
struct Gone {
  HostCut host;
  std::vector<TaskId> work;

  Gone() = default;
  Gone(const Model& model, std::vector<HostSpan> spans) : host(model.graph(), std::move(spans)) {
    const trace::Trace& trace = model.trace();
    for (RowId w = 0; w < trace.device.size(); ++w) {
      const RowId call = trace.device.api[w];
      if (call == kNoRow || model.graph().of_device[w] == kNoTask) continue;
      if (host.Contains(model.LaneOf(call), trace.host.start_ns[call])) {
        work.push_back(model.graph().of_device[w]);
      }
    }
  }
  void Apply(const Graph& graph, Plan& plan) const {
    host.Apply(graph, 1.0, plan);
    for (const TaskId task : work) plan.RemoveWork(task);
  }
};

// Printing a tensor reads it value by value; where frames were recorded the whole of it goes.
bool IsPrintFrame(std::string_view name) {
  return analyze::ParseFrame(name).file.ends_with("torch/_tensor_str.py");
}

// Where frames are those of the program only, as hone records them, printing shows as one line's
// operators in a row: it looks for the finite values to choose a format by, and reads them.
class PrintedLines {
 public:
  explicit PrintedLines(const Model& model) : model_(model) {}

  std::vector<HostSpan> Find() {
    const trace::HostSlices& host = model_.trace().host;
    for (RowId i = 0; i < host.size(); ++i) {
      if (host.kind[i] != trace::SliceKind::kOp || !model_.InWindow(i)) continue;
      if (model_.lineage().top_op[i] != i) continue;
      const StringId stack = model_.trace().op_details[host.detail[i]].stack;
      if (stack != stack_ || model_.LaneOf(i) != run_.lane) Begin(i, stack);
      run_.span.end_ns = host.end_ns(i);
      const std::string_view name = model_.trace().HostName(i);
      finite_ = finite_ || name == "aten::isfinite";
      chosen_ = chosen_ || name == "aten::masked_select";
      read_ = read_ || OnlyReads(name);
    }
    End();
    return std::move(found_);
  }

 private:
  void Begin(RowId op, StringId stack) {
    End();
    stack_ = stack;
    const Nanos start = model_.trace().host.start_ns[op];
    run_ = {model_.LaneOf(op), {start, start}, 0};
    finite_ = chosen_ = read_ = false;
  }
  void End() {
    if (stack_ != StringId::kEmpty && finite_ && chosen_ && read_) found_.push_back(run_);
  }

  const Model& model_;
  StringId stack_ = StringId::kEmpty;
  HostSpan run_;
  bool finite_ = false, chosen_ = false, read_ = false;
  std::vector<HostSpan> found_;
};

class HostSync : public Edit {
 public:
  HostSync(std::vector<TaskId> waits, Gone reads, Gone places)
      : waits_(std::move(waits)), reads_(std::move(reads)), places_(std::move(places)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    for (const TaskId wait : waits_) plan.DropWait(wait);
    // Least: the value is still fetched, only later.
    if (guess == Guess::kLeast) return;
    reads_.Apply(model.graph(), plan);
    // Whether the operators of the whole shape cost as much is not in the trace: a Monte Carlo
    // program with most of its mask set went from 106 to 59 ms, means of 28 classes from 4.5
    // to 4.8.
    if (guess == Guess::kMost) places_.Apply(model.graph(), plan);
  }

  std::string Scope(const Model& model) const override {
    return fmt::format(
        "the host does not wait {} times a step",
        ThreeDigits(static_cast<double>(waits_.size()) / static_cast<double>(model.graph().steps)));
  }

 private:
  const std::vector<TaskId> waits_;
  const Gone reads_;   // operators that only read, and printing
  const Gone places_;  // of masks
};

}  // namespace

FoundEdit FindHostSync(const Model& model) {
  const Graph& graph = model.graph();
  const trace::Trace& trace = model.trace();
  std::vector<TaskId> waits;
  std::vector<HostSpan> spans, places;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (ReasonOf(model, graph.tasks[t]) != WaitReason::kResult) continue;
    waits.push_back(t);
    const RowId top = model.lineage().top_op[graph.tasks[t].row];
    if (top == kNoRow) continue;
    const bool reads = OnlyReads(trace.HostName(top));
    const RowId op = reads ? top : PlacesOfMask(model, graph.tasks[t].row, top);
    if (op == kNoRow) continue;
    (reads ? spans : places)
        .push_back({model.LaneOf(op), {trace.host.start_ns[op], trace.host.end_ns(op)}, 0});
  }
  if (waits.empty()) return FoundEdit::Absent("no call in the steps waits for a result");
  for (const RowId row : model.HostRows(trace::SliceKind::kPython, IsPrintFrame)) {
    spans.push_back({model.LaneOf(row), {trace.host.start_ns[row], trace.host.end_ns(row)}, 0});
  }
  const std::vector<HostSpan> printed = PrintedLines(model).Find();
  spans.insert(spans.end(), printed.begin(), printed.end());
  return FoundEdit(std::make_unique<HostSync>(std::move(waits), Gone(model, std::move(spans)),
                                              Gone(model, std::move(places))));
}

}  // namespace hone::replay
