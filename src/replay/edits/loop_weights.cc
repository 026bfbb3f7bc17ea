// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/loop_weights.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyze/flops.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Of the gradients of layers, each of which has one at least, those that are complete before the
// last quarter of the way back: three quarters. With the same weights all the time: none.
constexpr double kLookedAt = 0.75, kFewest = kLookedAt / 2;
// Of the operators with weights in a step, those of the loop; the rest is a layer's before or
// after.
constexpr double kNearlyAll = 0.9;
// Of the operators in a loop, those that read a value, for it to be one that reads.
constexpr double kReadsShare = 0.3;

bool OneOf(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

bool IsCell(std::string_view name) { return name.ends_with("_cell"); }

}  // namespace

LoopWeights::LoopWeights(const Model& model, const std::vector<StepOperator>& operators)
    : model_(model), operators_(operators), roles_(model.trace().strings.size(), kUnseen) {}

LoopWeights::Role LoopWeights::RoleOf(RowId row) const {
  std::uint8_t& role = roles_[static_cast<std::uint32_t>(model_.trace().host.name[row])];
  if (role != kUnseen) return static_cast<Role>(role);
  const std::string_view name = model_.trace().HostName(row);
  role =
      name.find("AccumulateGrad") != std::string_view::npos                        ? kAccumulates
      : name.starts_with("autograd::engine")                                       ? kOther
      : analyze::ModelKindOf(name) == analyze::ModelKind::kProduct || IsCell(name) ? kWeighs
      : OneOf(name, {"aten::select", "aten::slice", "aten::narrow", "aten::unsqueeze",
                     "aten::index", "aten::index_select"})
          ? kTakes
      : OneOf(name, {"aten::item", "aten::_local_scalar_dense", "aten::copy_", "aten::is_nonzero"})
          ? kGives
      : OneOf(name, {"aten::stack", "aten::cat"}) ? kGathers
                                                  : kOther;
  return static_cast<Role>(role);
}

LoopKind LoopWeights::KindOf(const OperatorLoop& loop) const {
  bool weighs = false, sigmoid = false, gru = false;
  std::size_t tanh = 0, reads = 0;
  for (const RowId row : loop.once) {
    const std::string_view name = model_.trace().HostName(row);
    weighs = weighs || RoleOf(row) == kWeighs;
    sigmoid = sigmoid || name == "aten::sigmoid" || name == "aten::sigmoid_";
    tanh += name == "aten::tanh" || name == "aten::tanh_" ? 1 : 0;
    gru = gru || IsCell(name);
    if (name == "aten::lstm_cell") return LoopKind::kLstm;
    reads += OneOf(name, {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"}) ? 1 : 0;
  }
  if (gru || (weighs && sigmoid && tanh == 1)) return LoopKind::kGru;
  if (weighs && sigmoid && tanh == 2) return LoopKind::kLstm;
  if (weighs) return LoopKind::kModel;
  const auto all = static_cast<double>(loop.once.size());
  return static_cast<double>(reads) >= kReadsShare * all ? LoopKind::kReads : LoopKind::kOperators;
}

std::vector<std::size_t> LoopWeights::BackwardOf(const std::vector<Stretch>& stretches) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> nodes;  // numbers, [first, last)
  for (const Stretch& stretch : stretches) {
    std::int64_t first = -1, last = -1;
    for (std::size_t i = stretch.first; i < stretch.last; ++i) {
      const StepOperator& op = operators_[i];
      if (op.backward || op.sequence < 0) continue;
      if (first < 0) first = op.sequence;
      last = op.sequence + op.slices;  // it makes no more nodes than that
    }
    if (first >= 0 && last > first) nodes.emplace_back(first, last);
  }
  std::sort(nodes.begin(), nodes.end());
  std::vector<std::size_t> back;
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    if (!operators_[i].backward || operators_[i].sequence < 0) continue;
    const auto after =
        std::upper_bound(nodes.begin(), nodes.end(), std::pair{operators_[i].sequence, INT64_MAX});
    if (after == nodes.begin() || std::prev(after)->second <= operators_[i].sequence) continue;
    back.push_back(i);
  }
  return back;
}

bool LoopWeights::ModulesTell(const OperatorLoop& loop) const {
  const auto in_module = [&](RowId row) {
    return RoleOf(row) != kWeighs || model_.lineage().module[row] != kNoRow;
  };
  return std::all_of(loop.once.begin(), loop.once.end(), in_module);
}

LoopWeights::Told LoopWeights::BackwardTells(const OperatorLoop& loop,
                                             const std::vector<Stretch>& stretches) const {
  for (const RowId row : loop.once) {
    if (RoleOf(row) == kAccumulates) return Told::kSame;
  }
  const std::vector<std::size_t> back = BackwardOf(stretches);
  const auto steps = static_cast<double>(model_.graph().steps);
  if (static_cast<double>(back.size()) < loop.times * steps / 2) return Told::kNothing;
  double complete = 0;
  for (std::size_t b = 0; b < back.size();) {
    std::size_t e = b;
    while (e < back.size() && operators_[back[e]].step == operators_[back[b]].step) ++e;
    const std::size_t middle = b + static_cast<std::size_t>(kLookedAt * static_cast<double>(e - b));
    for (std::size_t i = back[b]; i < back[std::min(middle, e - 1)]; ++i) {
      complete += RoleOf(operators_[i].row) == kAccumulates ? 1 : 0;
    }
    b = e;
  }
  return complete < kFewest * loop.times * steps ? Told::kSame : Told::kOwn;
}

int LoopWeights::OneSample(const OperatorLoop& loop) const {
  const trace::Trace& trace = model_.trace();
  int one = -1;
  for (const RowId row : loop.rows) {
    const trace::OpDetail& detail = trace.op_details[trace.host.detail[row]];
    if (RoleOf(row) != kWeighs || detail.dims == StringId::kEmpty) continue;
    const auto arguments =
        analyze::ParseArguments(trace.Name(detail.dims), trace.Name(detail.types), "");
    const std::string_view name = trace.HostName(row);
    const std::size_t at = name == "aten::addmm" || name == "aten::baddbmm" ? 1 : 0;
    if (arguments.size() <= at) continue;
    const std::vector<std::int64_t>& dims = arguments[at].dims;
    const bool convolution = name.find("onv") != std::string_view::npos;
    std::int64_t samples = convolution && !dims.empty() ? dims.front() : 1;
    for (std::size_t d = 0; !convolution && d + 1 < dims.size(); ++d) samples *= dims[d];
    if (samples != 1) return 0;
    one = 1;
  }
  return one;
}

bool LoopWeights::SamplesTell(const OperatorLoop& loop,
                              const std::vector<Stretch>& stretches) const {
  std::size_t weighs = 0, all = 0;
  for (const StepOperator& op : operators_) all += RoleOf(op.row) == kWeighs ? 1 : 0;
  for (const RowId row : loop.rows) weighs += RoleOf(row) == kWeighs ? 1 : 0;
  // The first time round is none of its rows.
  const double times = loop.times / std::max(loop.times - 1, 1.0);
  if (times * static_cast<double>(weighs) < kNearlyAll * static_cast<double>(all)) return false;
  bool takes = false, gives = false;
  for (const RowId row : loop.once) {
    takes = takes || RoleOf(row) == kTakes;
    gives = gives || RoleOf(row) == kGives;
  }
  const std::size_t end = stretches.front().last;
  gives = gives || (end < operators_.size() && RoleOf(operators_[end].row) == kGathers);
  const int one = OneSample(loop);
  return one == 1 ? takes || gives : one < 0 && takes && gives;
}

bool LoopWeights::MayBeOne(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const {
  if (loop.kind == LoopKind::kOperators || loop.kind == LoopKind::kReads) return true;
  const Told told = BackwardTells(loop, stretches);
  if (told != Told::kNothing) return told == Told::kSame;
  return ModulesTell(loop) || SamplesTell(loop, stretches);
}

}  // namespace hone::replay
