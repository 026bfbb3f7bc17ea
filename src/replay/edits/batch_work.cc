// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/batch_work.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "analyze/autograd_engine.h"
#include "analyze/forward_index.h"
#include "analyze/grouping.h"
#include "analyze/modelled_calls.h"
#include "analyze/roofline.h"
#include "replay/edits/optimizer_kernels.h"

namespace hone::replay {
namespace {

using analyze::ArgumentShape;
using analyze::ModelKind;
using trace::kNoRow;
using trace::RowId;

using Dims = std::vector<std::int64_t>;
using Arguments = std::vector<ArgumentShape>;

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// Operators and marks of which everything inside is about parameters.
bool NamesParameters(std::string_view name) {
  return name.starts_with("Optimizer.") || name.starts_with("aten::_foreach") ||
         name.starts_with("aten::_fused_adam") || name.starts_with("aten::_fused_sgd") ||
         name.starts_with("aten::_fused_adagrad") || name.starts_with("aten::_amp_") ||
         Has(name, "AccumulateGrad");
}

// Which argument is a parameter, whatever the batch; -1: cannot be told.
int ParameterAt(std::string_view op) {
  if (Has(op, "AccumulateGrad") || op == "aten::embedding") return 0;
  if (op == "aten::linear" || op == "aten::convolution" || op == "aten::_convolution" ||
      op == "aten::cudnn_convolution" || op == "aten::miopen_convolution") {
    return 1;
  }
  return -1;
}

// The weight of a forward product that is written as a plain one; -1: it has none.
int WeightAt(std::string_view op) {
  if (op == "aten::mm" || op == "aten::matmul") return 1;
  return op == "aten::addmm" || op == "aten::_addmm_activation" ? 2 : -1;
}

// Statistics of batch norms and gradients of a norm's scale: a block for some channels, whatever
// the batch. What applies them has blocks for the samples.
bool GoesOverBatch(std::string_view kernel) {
  if (Has(kernel, "GammaBetaBackward") || Has(kernel, "bn_fw_tr") || Has(kernel, "bn_bw")) {
    return true;
  }
  return Has(kernel, "batch_norm") && !Has(kernel, "transform_input") && !Has(kernel, "elemt");
}

constexpr std::string_view kRecurrent = "aten::_cudnn_rnn";

class Reader {
 public:
  explicit Reader(const Model& model)
      : model_(model), trace_(model.trace()), work_(model.graph().tasks.size()) {}

  std::vector<BatchWork> Read() {
    MarkParameters();
    if (model_.facts().trust.present.shapes) {
      calls_ = std::make_unique<analyze::ModelledCalls>(trace_);
      CollectShapes();
      SumCalls();
    }
    const std::vector<Task>& tasks = model_.graph().tasks;
    for (TaskId t = 0; t < tasks.size(); ++t) {
      if (IsWork(tasks[t])) work_[t] = Judge(tasks[t].row);
    }
    FillIn();
    return std::move(work_);
  }

  HostBatch ReadHost() {
    const trace::HostSlices& host = trace_.host;
    HostBatch batch;
    MarkParameters();
    if (model_.facts().trust.present.shapes) {
      calls_ = std::make_unique<analyze::ModelledCalls>(trace_);
      CollectShapes();
      call_ns_.assign(host.duration_ns.begin(), host.duration_ns.end());
      main_.assign(host.size(), kNoRow);
      for (RowId i = 0; i < host.size(); ++i) {
        if (host.kind[i] != trace::SliceKind::kOp || !model_.InWindow(i)) continue;
        if (calls_->OwnerOf(i) != i) continue;
        BatchWork work = OfCall(i);
        if (about_parameters_[i] != 0) work.role = BatchRole::kParameters;
        batch.calls.push_back({i, work});
      }
    }
    batch.about_parameters = std::move(about_parameters_);
    return batch;
  }

 private:
  // An optimizer that is given a closure (Lightning, LBFGS) runs the whole pass inside its mark;
  // what is its own comes after.
  void MarkParameters() {
    const trace::HostSlices& host = trace_.host;
    std::vector<std::uint8_t> judged(trace_.strings.size(), 0);
    about_parameters_.resize(host.size(), 0);
    backward_.resize(host.size(), 0);
    std::unordered_map<RowId, Nanos> own_begin;  // by mark
    for (const OptimizerStep& step : model_.optimizer_steps()) own_begin[step.row] = step.begin_ns;
    RowId mark = kNoRow;
    for (RowId i = 0; i < host.size(); ++i) {
      const RowId parent = host.parent[i];
      std::uint8_t& name = judged[static_cast<std::uint32_t>(host.name[i])];
      if (name == 0) {
        const std::string_view text = trace_.HostName(i);
        name = 1;
        if (NamesParameters(text)) name |= 2;
        if (analyze::IsEngineSlice(text)) name |= 4;
        if (text.starts_with("Optimizer.step")) name |= 8;
      }
      if (own_begin.contains(i)) mark = i;
      const bool inside = mark != kNoRow && host.thread[mark] == host.thread[i] &&
                          host.start_ns[i] < host.end_ns(mark);
      const bool by_mark = inside && host.start_ns[i] >= own_begin[mark];
      const bool by_name = (name & 2) != 0 && !(inside && (name & 8) != 0);
      const bool by_parent = parent != kNoRow && about_parameters_[parent] != 0;
      about_parameters_[i] = by_mark || by_name || by_parent ? 1 : 0;
      backward_[i] = (name & 4) != 0 || analyze::IsBackward(trace_, i) ||
                     (parent != kNoRow && backward_[parent]);
    }
  }

  Arguments ArgumentsOf(std::uint32_t row) const {
    const trace::OpDetail& detail = trace_.op_details[row];
    return analyze::ParseArguments(trace_.Name(detail.dims), trace_.Name(detail.types),
                                   trace_.Name(detail.concrete));
  }

  void CollectShapes() {
    const trace::HostSlices& host = trace_.host;
    std::unordered_set<std::uint64_t> seen;
    std::vector<std::optional<int>> at_of_name(trace_.strings.size());
    for (RowId i = 0; i < host.size(); ++i) {
      if (host.kind[i] != trace::SliceKind::kOp || host.detail[i] == 0) continue;
      const auto name = static_cast<std::uint32_t>(host.name[i]);
      if (!at_of_name[name]) at_of_name[name] = ParameterAt(trace_.HostName(i));
      const int at = *at_of_name[name];
      if (at < 0 || !seen.insert(analyze::PairKey(name, host.detail[i])).second) continue;
      const Arguments arguments = ArgumentsOf(host.detail[i]);
      if (static_cast<std::size_t>(at) < arguments.size() && !arguments[at].dims.empty()) {
        shapes_.insert(arguments[at].dims);
        if (trace_.HostName(i) == "aten::embedding") tables_.insert(arguments[at].dims);
        if (at == 1) weights_.insert(arguments[at].dims);
      }
    }
  }

  static bool IsIn(const std::set<Dims>& shapes, const Dims& dims) {
    return shapes.contains(dims) || (dims.size() == 2 && shapes.contains({dims[1], dims[0]}));
  }

  // A table of positions has the shape of one sample's activations: only filling it is told apart.
  bool IsParameter(std::string_view op, const Dims& dims) const {
    if (!shapes_.contains(dims)) return false;
    return !tables_.contains(dims) || op == "aten::zero_" || op == "aten::fill_";
  }

  RowId OwnerOf(RowId work) const {
    const RowId op = trace_.device.op[work];
    if (calls_ == nullptr || op == kNoRow) return kNoRow;
    const RowId owner = calls_->OwnerOf(op);
    return owner == kNoRow && trace_.HostName(op).starts_with(kRecurrent) ? op : owner;
  }

  // Time of each call, and the precision of its longest product kernel.
  void SumCalls() {
    call_ns_.resize(trace_.host.size(), 0);
    main_.resize(trace_.host.size(), kNoRow);
    for (RowId w = 0; w < trace_.device.size(); ++w) {
      const RowId owner = OwnerOf(w);
      if (owner == kNoRow || trace_.device.kind[w] != trace::WorkKind::kKernel) continue;
      call_ns_[owner] += trace_.device.duration_ns[w];
      RowId& main = main_[owner];
      if (main == kNoRow || trace_.device.duration_ns[w] > trace_.device.duration_ns[main]) {
        main = w;
      }
    }
  }

  bool ServesParameters(RowId work) const {
    if (trace_.device.kind[work] == trace::WorkKind::kKernel) {
      if (model_.Traits(work).family == analyze::KernelFamily::kOptimizer) return true;
      if (ServesManyParameters(trace_.DeviceName(work))) return true;
    }
    const RowId call = trace_.device.api[work];
    return model_.classes().IsCommunication(work) ||
           (call != kNoRow && about_parameters_[call] != 0);
  }

  static bool IsWork(const Task& task) {
    return task.kind == TaskKind::kKernel || task.kind == TaskKind::kCopy ||
           task.kind == TaskKind::kCollective;
  }

  BatchWork Judge(RowId w) {
    BatchWork work;
    if (ServesParameters(w)) {
      work.role = BatchRole::kParameters;
      return work;
    }
    if (const RowId owner = OwnerOf(w); owner != kNoRow && call_ns_[owner] > 0)
      work = OfCall(owner);
    if (trace_.device.kind[w] != trace::WorkKind::kKernel) return work;
    const std::string_view kernel = trace_.DeviceName(w);
    if (Has(kernel, "wgrad")) work.role = BatchRole::kWeightGradient;  // cuDNN's own word
    if (GoesOverBatch(kernel)) work.role = BatchRole::kOverBatch;
    return work;
  }

  BatchWork OfCall(RowId owner) {
    const std::uint32_t entry = calls_->EntryOf(owner);
    BatchWork work;
    if (entry == 0) {
      work = Recurrent(owner);
    } else {
      const auto [found, added] = by_entry_.try_emplace(analyze::PairKey(entry, backward_[owner]));
      if (added) found->second = OfEntry(calls_->entries()[entry], owner);
      work = found->second;
    }
    work.call_ns = static_cast<double>(call_ns_[owner]);
    if (main_[owner] == kNoRow) return work;
    const analyze::Precision by_name = model_.Traits(main_[owner]).precision;
    if (work.product && by_name != analyze::Precision::kUnknown) work.precision = by_name;
    return work;
  }

  // A recurrent layer multiplies with its weights once for each time step, one after the other.
  BatchWork Recurrent(RowId owner) const {
    BatchWork work;
    const Arguments arguments = ArgumentsOf(trace_.host.detail[owner]);
    if (arguments.size() < 2 || arguments[0].dims.size() != 3) return work;
    const auto turns = static_cast<double>(arguments[0].dims[0]);
    const auto rows = static_cast<double>(arguments[0].dims[1]);
    double elements = 0;
    for (const Dims& dims : arguments[1].list) {
      if (dims.size() == 2) elements += static_cast<double>(dims[0]) * static_cast<double>(dims[1]);
    }
    if (turns < 1 || rows < 1 || elements <= 0) return work;
    // Backward: gradients of the input and of the weights.
    const double passes = Has(trace_.HostName(owner), "backward") ? 2 : 1;
    work.modelled = work.product = true;
    work.turns = turns;
    work.flops = 2 * passes * turns * rows * elements;
    work.kept_bytes = turns * elements * analyze::TypeBytes(arguments[0].type);
    work.bytes = work.kept_bytes + arguments[0].Bytes();
    work.precision = analyze::TypePrecision(arguments[0].type);
    return work;
  }

  // What every call with these arguments has; `owner` is one of them.
  BatchWork OfEntry(const analyze::ModelledCalls::Entry& entry, RowId owner) const {
    const Arguments arguments = ArgumentsOf(entry.detail);
    BatchWork work;
    work.modelled = true;
    work.flops = entry.work.flops;
    work.bytes = entry.work.bytes;
    work.product = entry.kind == ModelKind::kProduct;
    constexpr int kFloat = 4;
    const RowId main = main_[owner];
    work.bytes += entry.work.unsized_elements *
                  (main == kNoRow ? kFloat : std::max(model_.Traits(main).element_bytes, 2));
    if (work.product) {
      // Without a kernel that tells, by what is multiplied.
      const auto tensor = std::find_if(arguments.begin(), arguments.end(),
                                       [](const ArgumentShape& a) { return a.IsTensor(); });
      if (main == kNoRow && tensor != arguments.end()) {
        work.precision = analyze::TypePrecision(tensor->type);
      }
      Product(trace_.Name(entry.op), arguments, backward_[owner] != 0, work);
    } else if (entry.kind == ModelKind::kElementwise || entry.kind == ModelKind::kCopy ||
               entry.kind == ModelKind::kRandom) {
      const auto largest = std::max_element(
          arguments.begin(), arguments.end(),
          [](const ArgumentShape& a, const ArgumentShape& b) { return a.Bytes() < b.Bytes(); });
      if (largest != arguments.end() && IsParameter(trace_.Name(entry.op), largest->dims)) {
        work.role = BatchRole::kParameters;
      }
    }
    return work;
  }

  void Product(std::string_view op, const Arguments& arguments, bool backward,
               BatchWork& work) const {
    work.batched = Has(op, "bmm") || Has(op, "attention");
    if (work.batched) return;
    const int weight = backward ? -1 : WeightAt(op);
    std::vector<const ArgumentShape*> matrices;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const ArgumentShape& argument = arguments[i];
      if (!argument.IsTensor() || argument.dims.size() < 2) continue;
      matrices.push_back(&argument);
      const bool plain = static_cast<int>(i) == weight && argument.dims.size() == 2;
      if (plain || IsIn(weights_, argument.dims)) work.kept_bytes += argument.Bytes();
    }
    if (!backward || matrices.size() != 2 || matrices[0]->dims.size() != 2 ||
        matrices[1]->dims.size() != 2) {
      return;
    }
    // The other product of a layer's backward multiplies with the weight itself.
    const Dims result = {matrices[0]->dims[0], matrices[1]->dims[1]};
    if (!IsIn(shapes_, result) || IsIn(weights_, matrices[1]->dims)) return;
    work.role = BatchRole::kWeightGradient;
    work.kept_bytes = work.bytes - matrices[0]->Bytes() - matrices[1]->Bytes();
  }

  std::uint64_t KeyOf(RowId w) const {
    return analyze::PairKey(static_cast<std::uint32_t>(trace_.device.name[w]),
                            trace_.device.launch[w]);
  }

  // What shapes told in one step, for the same kernels in the others.
  void FillIn() {
    if (calls_ == nullptr) return;
    const std::vector<Task>& tasks = model_.graph().tasks;
    std::unordered_map<std::uint64_t, std::vector<RowId>> known;  // empty: asked for
    std::vector<TaskId> asking;
    for (TaskId t = 0; t < tasks.size(); ++t) {
      if (tasks[t].kind != TaskKind::kKernel || work_[t].modelled ||
          work_[t].role == BatchRole::kParameters || HasShapes(tasks[t].row)) {
        continue;
      }
      known.try_emplace(KeyOf(tasks[t].row));
      asking.push_back(t);
    }
    if (asking.empty()) return;
    constexpr std::size_t kEnough = 16;
    for (RowId w = 0; w < trace_.device.size(); ++w) {
      if (OwnerOf(w) == kNoRow) continue;
      const auto found = known.find(KeyOf(w));
      if (found != known.end() && found->second.size() < kEnough) found->second.push_back(w);
    }
    for (const TaskId t : asking) {
      const std::vector<RowId>& rows = known[KeyOf(tasks[t].row)];
      if (rows.empty()) continue;
      const auto apart = [&](RowId other) {
        return std::abs(trace_.device.duration_ns[other] - tasks[t].duration_ns);
      };
      work_[t] = Judge(*std::min_element(rows.begin(), rows.end(),
                                         [&](RowId a, RowId b) { return apart(a) < apart(b); }));
    }
  }

  // Its operator has shapes, and they say nothing.
  bool HasShapes(RowId work) const {
    const RowId op = trace_.device.op[work];
    return op != kNoRow && trace_.host.detail[op] != 0 &&
           trace_.op_details[trace_.host.detail[op]].dims != StringId::kEmpty;
  }

  const Model& model_;
  const trace::Trace& trace_;
  std::vector<BatchWork> work_;
  std::vector<std::uint8_t> about_parameters_, backward_;  // by host row
  std::unique_ptr<analyze::ModelledCalls> calls_;          // null: no shapes
  std::unordered_map<std::uint64_t, BatchWork> by_entry_;
  std::set<Dims> weights_, tables_;  // of products, of lookups
  std::set<Dims> shapes_;            // of parameters
  std::vector<Nanos> call_ns_;       // by owner
  std::vector<RowId> main_;          // by owner: its longest kernel
};

}  // namespace

std::vector<BatchWork> ReadBatchWork(const Model& model) { return Reader(model).Read(); }

HostBatch ReadHostBatch(const Model& model) { return Reader(model).ReadHost(); }

}  // namespace hone::replay
