// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/loop_weights.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "analyze/autograd_engine.h"
#include "analyze/flops.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Of the gradients of layers, each of which has one at least, those that are complete before the
// last quarter of the way back: three quarters. With the same weights all the time: none.
constexpr double kLookedAt = 0.75, kFewest = kLookedAt / 2;
// Of a tensor's samples, those that the loop takes, at least: the first or the last may be left
// out.
constexpr double kNearlyAll = 0.9;
// Of the operators in a loop, those that read a value, for it to be one that reads.
constexpr double kReadsShare = 0.3;

bool OneOf(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

bool IsCell(std::string_view name) { return name.ends_with("_cell"); }

bool HasWord(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

// Those that need not be products: norms, tables, and what does a layer or more at once.
bool MayHaveWeights(std::string_view name) {
  return analyze::ModelKindOf(name) == analyze::ModelKind::kProduct || IsCell(name) ||
         HasWord(name, {"linear", "conv", "embedding", "batch_norm", "layer_norm", "group_norm",
                        "rms_norm", "instance_norm", "mkldnn", "attention", "transformer"});
}

std::int64_t Elements(const std::vector<std::int64_t>& dims) {
  std::int64_t all = 1;
  for (const std::int64_t dim : dims) {
    if (__builtin_mul_overflow(all, dim, &all)) return -1;
  }
  return all;
}

// Which argument is the input, of an operator with weights.
std::size_t InputOf(std::string_view name) {
  return OneOf(name, {"aten::addmm", "aten::baddbmm", "aten::addmv"}) ||
                 name.starts_with("aten::embedding")
             ? 1
             : 0;
}

std::size_t RoundOf(const Stretch& stretch) {
  return std::max<std::size_t>((stretch.last - stretch.first) / (stretch.times - 1), 1);
}

}  // namespace

LoopWeights::LoopWeights(const Model& model, const std::vector<StepOperator>& operators)
    : model_(model), operators_(operators), roles_(model.trace().strings.size(), kUnseen) {
  for (const StepOperator& op : operators) {
    if (op.products == 0 || op.backward || RoleOf(op.row) != kOther) continue;
    roles_[static_cast<std::uint32_t>(model.trace().host.name[op.row])] = kWeighs;
  }
}

LoopWeights::Role LoopWeights::RoleOfName(std::string_view name) {
  if (HasWord(name, {"AccumulateGrad"})) return kAccumulates;
  if (analyze::IsEngineSlice(name)) return kOther;
  if (!name.starts_with("aten::")) return kForeign;
  if (OneOf(name, {"aten::gru", "aten::lstm", "aten::rnn_tanh", "aten::rnn_relu"})) {
    return kRemembers;
  }
  if (OneOf(name,
            {"aten::select", "aten::slice", "aten::narrow", "aten::index", "aten::index_select"})) {
    return kTakes;
  }
  if (OneOf(name, {"aten::unbind", "aten::split", "aten::chunk"})) return kParts;
  if (OneOf(name, {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"})) return kReads;
  if (OneOf(name, {"aten::stack", "aten::cat"})) return kGathers;
  if (name == "aten::add") return kAdds;
  if (HasWord(name, {"loss", "cross_entropy"})) return kLoses;
  if (MayHaveWeights(name)) return kWeighs;
  // What averages and hand-written optimizers do to parameters.
  return OneOf(name, {"aten::mul_", "aten::add_", "aten::sub_", "aten::lerp_", "aten::addcmul_",
                      "aten::addcdiv_", "aten::zero_"})
             ? kChanges
             : kOther;
}

LoopWeights::Role LoopWeights::RoleOf(RowId row) const {
  std::uint8_t& role = roles_[static_cast<std::uint32_t>(model_.trace().host.name[row])];
  if (role == kUnseen) role = RoleOfName(model_.trace().HostName(row));
  return static_cast<Role>(role);
}

bool LoopWeights::Has(const OperatorLoop& loop, Role role) const {
  return std::any_of(loop.once.begin(), loop.once.end(),
                     [&](RowId row) { return RoleOf(row) == role; });
}

LoopKind LoopWeights::KindOf(const OperatorLoop& loop) const {
  bool weighs = false, sigmoid = false, gru = false;
  std::size_t tanh = 0, reads = 0;
  for (const RowId row : loop.once) {
    const std::string_view name = model_.trace().HostName(row);
    const Role role = RoleOf(row);
    weighs = weighs || role == kWeighs || role == kForeign || role == kRemembers;
    sigmoid = sigmoid || name == "aten::sigmoid" || name == "aten::sigmoid_";
    tanh += name == "aten::tanh" || name == "aten::tanh_" ? 1 : 0;
    gru = gru || IsCell(name);
    if (name == "aten::lstm_cell") return LoopKind::kLstm;
    reads += role == kReads ? 1 : 0;
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

StringId LoopWeights::DimsOf(RowId row) const {
  return model_.trace().op_details[model_.trace().host.detail[row]].dims;
}

std::vector<std::int64_t> LoopWeights::DimsOf(RowId row, std::size_t argument) const {
  const trace::Trace& trace = model_.trace();
  if (DimsOf(row) == StringId::kEmpty) return {};
  const StringId types = trace.op_details[trace.host.detail[row]].types;
  const auto arguments = analyze::ParseArguments(trace.Name(DimsOf(row)), trace.Name(types), "");
  return argument < arguments.size() ? arguments[argument].dims : std::vector<std::int64_t>{};
}

int LoopWeights::OneSample(const OperatorLoop& loop) const {
  int one = -1;
  std::set<std::pair<StringId, StringId>> seen;
  for (const RowId row : loop.rows) {
    const std::string_view name = model_.trace().HostName(row);
    if (analyze::ModelKindOf(name) != analyze::ModelKind::kProduct) continue;
    if (DimsOf(row) == StringId::kEmpty) continue;
    if (!seen.emplace(model_.trace().host.name[row], DimsOf(row)).second) continue;
    const std::vector<std::int64_t> dims = DimsOf(row, InputOf(name));
    const bool convolution = name.find("onv") != std::string_view::npos;
    std::int64_t samples = convolution && !dims.empty() ? dims.front() : 1;
    for (std::size_t d = 0; !convolution && d + 1 < dims.size(); ++d) samples *= dims[d];
    if (dims.empty() || samples != 1) return 0;
    one = 1;
  }
  return one;
}

bool LoopWeights::OneRow(const OperatorLoop& loop) const {
  return loop.kind == LoopKind::kModel && OneSample(loop) == 1;
}

bool LoopWeights::Gathered(const Stretch& stretch) const {
  // What comes after it in the step may have come before too, and so be counted with it.
  const std::size_t end = std::min(stretch.last + 2, operators_.size());
  for (std::size_t i = stretch.last - std::min<std::size_t>(stretch.last, 2); i < end; ++i) {
    if (operators_[i].step != operators_[stretch.first].step) continue;
    if (RoleOf(operators_[i].row) == kGathers) return true;
  }
  return false;
}

std::size_t LoopWeights::PartsBefore(const Stretch& stretch) const {
  const std::size_t far = 2 + RoundOf(stretch);
  for (std::size_t i = stretch.first; i > 0 && stretch.first - i < far; --i) {
    if (operators_[i - 1].step != operators_[stretch.first].step) break;
    if (RoleOf(operators_[i - 1].row) == kParts) return i - 1;
  }
  return SIZE_MAX;
}

std::size_t LoopWeights::BeginOf(const Stretch& stretch) const {
  std::size_t begin = stretch.first;
  while (begin + 1 < stretch.last && operators_[begin].backward) ++begin;
  return begin;
}

bool LoopWeights::BeginsWithTaking(const Stretch& stretch) const {
  return RoleOf(operators_[BeginOf(stretch)].row) == kTakes || PartsBefore(stretch) != SIZE_MAX;
}

std::vector<LoopWeights::First> LoopWeights::FirstOfEach(const Stretch& stretch) const {
  const auto weighs = [&](std::size_t i) { return RoleOf(operators_[i].row) == kWeighs; };
  std::vector<First> each;
  if (const std::size_t parts = PartsBefore(stretch); parts != SIZE_MAX) {
    // Which of a round's is its first is known of the first time round only.
    std::size_t i = parts + 1;
    while (i < stretch.last && !weighs(i)) ++i;
    if (i < stretch.last) each.push_back({parts, i});
    return each;
  }
  std::size_t taken = SIZE_MAX;
  const std::size_t begin = BeginOf(stretch);
  for (std::size_t i = begin; i < stretch.last; ++i) {
    if (operators_[i].key == operators_[begin].key) taken = i;
    if (!weighs(i)) continue;
    if (taken != SIZE_MAX) each.push_back({taken, i});
    taken = SIZE_MAX;
  }
  return each;
}

bool LoopWeights::SameSizes(const Stretch& stretch) const {
  const std::size_t round = RoundOf(stretch);
  for (std::size_t i = stretch.first; i + round < stretch.last; ++i) {
    const RowId now = operators_[i].row, next = operators_[i + round].row;
    if (RoleOf(now) != kWeighs) continue;
    if (operators_[i].key != operators_[i + round].key) return false;
    const bool known = DimsOf(now) != StringId::kEmpty && DimsOf(next) != StringId::kEmpty;
    if (known && DimsOf(now) != DimsOf(next)) return false;
  }
  return true;
}

bool LoopWeights::ShapesTell(const OperatorLoop& loop,
                             const std::vector<Stretch>& stretches) const {
  std::size_t matches = 0;
  for (const Stretch& stretch : stretches) {
    if (!SameSizes(stretch)) return false;
    for (const First& first : FirstOfEach(stretch)) {
      const RowId taken = operators_[first.taken].row, weighs = operators_[first.weighs].row;
      const std::vector<std::int64_t> all = DimsOf(taken, 0);
      const std::vector<std::int64_t> one =
          DimsOf(weighs, InputOf(model_.trace().HostName(weighs)));
      if (all.empty() || one.empty()) continue;  // shapes are recorded in some steps only
      if (static_cast<double>(all.front()) < kNearlyAll * loop.times) return false;
      if (Elements(all) != all.front() * Elements(one)) return false;
      ++matches;
    }
  }
  return matches > 0;
}

LoopWeights::Input LoopWeights::FirstInput(const OperatorLoop& loop,
                                           const std::vector<Stretch>& stretches) const {
  std::map<std::int64_t, std::int64_t> nodes;  // [first, last) of each first product
  for (const Stretch& stretch : stretches) {
    for (const First& first : FirstOfEach(stretch)) {
      const StepOperator& op = operators_[first.weighs];
      // Up to where the next one begins; it makes no more nodes than operators.
      if (op.sequence < 0 || first.weighs + 1 >= operators_.size()) continue;
      // A convolution goes back in one operator, whatever its input is.
      if (HasWord(model_.trace().HostName(op.row), {"conv"})) continue;
      const StepOperator& next = operators_[first.weighs + 1];
      nodes[op.sequence] = next.backward ? op.sequence + op.slices : next.sequence;
    }
  }
  // Going back, a product makes one for its weights and one for its input, where that has a
  // gradient.
  std::size_t data = 0;
  for (const std::size_t i : BackwardOf(stretches)) {
    const StepOperator& op = operators_[i];
    const auto after = nodes.upper_bound(op.sequence);
    if (op.products == 0 || after == nodes.begin()) continue;
    if (std::prev(after)->second <= op.sequence) continue;
    if (op.products > 1) return Input::kResult;
    ++data;
  }
  const double all = loop.times * static_cast<double>(model_.graph().steps);
  return static_cast<double>(data) >= all / 2 ? Input::kData : Input::kUnknown;
}

bool LoopWeights::PlainMayBeOne(const OperatorLoop& loop,
                                const std::vector<Stretch>& stretches) const {
  if (loop.kind == LoopKind::kReads || Has(loop, kTakes) || Has(loop, kChanges)) return true;
  const bool sum = std::all_of(loop.once.begin(), loop.once.end(),
                               [&](RowId row) { return RoleOf(row) == kAdds; });
  return sum || Gathered(stretches.front()) || PartsBefore(stretches.front()) != SIZE_MAX;
}

bool LoopWeights::ModelMayBeOne(const OperatorLoop& loop,
                                const std::vector<Stretch>& stretches) const {
  const Told told = BackwardTells(loop, stretches);
  const int one = OneSample(loop);
  if (told == Told::kOwn || one == 0) return false;
  // A cell may have no gates but one tanh; and what needs a result needs the time before.
  const auto tanh = [&](RowId row) { return model_.trace().HostName(row) == "aten::tanh"; };
  if (std::any_of(loop.once.begin(), loop.once.end(), tanh)) return false;
  const Input input = FirstInput(loop, stretches);
  if (input == Input::kResult) return false;
  const bool gathered = Gathered(stretches.front());
  if (one == 1) {
    const bool same = told == Told::kSame || ModulesTell(loop) || gathered || Has(loop, kReads);
    return same && ShapesTell(loop, stretches);
  }
  // Micro-batches have backward passes of their own.
  if (told != Told::kSame || Has(loop, kAccumulates)) return false;
  return (gathered || Has(loop, kLoses)) && input == Input::kData;
}

bool LoopWeights::MayBeOne(const OperatorLoop& loop, const std::vector<Stretch>& stretches) const {
  if (Has(loop, kForeign) || Has(loop, kRemembers)) return false;
  if (loop.kind == LoopKind::kOperators || loop.kind == LoopKind::kReads) {
    return PlainMayBeOne(loop, stretches);
  }
  if (!BeginsWithTaking(stretches.front())) return false;
  if (loop.kind == LoopKind::kModel) return ModelMayBeOne(loop, stretches);
  const Told told = BackwardTells(loop, stretches);
  if (told != Told::kNothing) return told == Told::kSame;
  const auto cell = [&](RowId row) { return IsCell(model_.trace().HostName(row)); };
  const bool named = std::any_of(loop.once.begin(), loop.once.end(), cell);
  return ModulesTell(loop) || (named && Gathered(stretches.front()));
}

}  // namespace hone::replay
