// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/embedding_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyze/autograd_engine.h"
#include "analyze/flops.h"

namespace hone::replay {
namespace {

using analyze::ArgumentShape;
using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

using Dims = std::vector<std::int64_t>;
using Arguments = std::vector<ArgumentShape>;
using Shape = EmbeddingTables::Shape;
using Call = EmbeddingTables::Call;

// A megabyte in float32: smaller tables stay in caches, and dense updates of them cost no more than
// sparse ones (torch 2.13, one core: 10,000 x 32 with 1,000 lookups 1.2x, with Adam).
constexpr double kSmallElements = 250'000;

// What SparseAdam takes for a table: torch 2.13, one core, 256 to 10,000 lookups of 16 to 128 wide
// in tables of 10,000 to 300,000 rows; the table is in docs/user/rules/dense-embedding-gradients.
struct UpdateCost {
  double call_ns, row_ns, element_ns;
};
constexpr UpdateCost kSparseAdam = {150e3, 400, 10}, kAdagrad = {110e3, 300, 7.5},
                     kSgd = {15e3, 30, 1};

// SGD without momentum and weight decay goes over each parameter once.
constexpr double kPlainSgd = 1.5;

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

enum class Role : std::uint8_t {
  kUnseen,
  kOther,
  kDense,     // makes the dense gradient
  kDenseBag,  // likewise
  kLookup,
  kNorm,
  kZero,
  kScale
};

Role RoleOf(std::string_view name) {
  if (name == "aten::embedding_dense_backward") return Role::kDense;
  if (name == "aten::_embedding_bag_dense_backward") return Role::kDenseBag;
  if (name == "aten::embedding" || name == "aten::embedding_bag" ||
      name == "aten::_embedding_bag") {
    return Role::kLookup;
  }
  if (name == "aten::linalg_vector_norm" || name == "aten::norm" || name == "aten::_foreach_norm") {
    return Role::kNorm;
  }
  if (name == "aten::zero_" || name == "aten::fill_" || name == "aten::_foreach_zero_") {
    return Role::kZero;
  }
  if (name == "aten::mul_" || name == "aten::_foreach_mul_") return Role::kScale;
  return Role::kOther;
}

std::int64_t IntegerAt(const Arguments& arguments, std::size_t index) {
  if (index >= arguments.size()) return -1;
  const std::string_view text = arguments[index].concrete;
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : -1;
}

bool FlagAt(const Arguments& arguments, std::size_t index) {
  return index < arguments.size() &&
         (arguments[index].concrete == "True" || arguments[index].concrete == "true");
}

// Nodes of a backward pass, by the slice around what they run.
enum class Node : std::uint8_t { kNone, kLookup, kLeaf, kOther };

Node NodeOf(std::string_view top) {
  std::string_view node = analyze::EngineNode(top);
  if (node.empty() && Has(top, "Backward")) node = top;
  if (node.empty()) return Node::kNone;
  if (node.starts_with("Embedding")) return Node::kLookup;
  return node.ends_with("AccumulateGrad") ? Node::kLeaf : Node::kOther;
}

struct Match {
  bool known = false;
  std::vector<double> tables;  // by shape, how many of them; empty: none
  bool listed = false;
  bool turned = false;  // a tensor is a table's transpose
  double share = 1;
};

struct Found {
  double calls = 0, indices = 0, sets = 0, adds = 0, updates = 0;
  // With shapes of what makes the gradient: where those change, recorders note them in fewer steps
  // than others, and all of this is counted in these alone.
  std::set<std::size_t> steps;
  bool spoilt = false;  // its gradient is dense for another reason, or has no sparse form
};

class Reader {
 public:
  explicit Reader(const Model& model)
      : model_(model),
        trace_(model.trace()),
        host_(trace_.host),
        roles_(trace_.strings.size(), Role::kUnseen),
        nodes_(trace_.strings.size(), std::pair(false, Node::kNone)) {}

  EmbeddingTables Read() {
    FindShapes();
    if (found_.empty()) return {};
    Keep([](const Shape& shape, const Found&) { return shape.Elements() >= kSmallElements; });
    Survey();
    Keep([&](Shape& shape, const Found& found) {
      const auto steps = static_cast<double>(found.steps.size());
      const double leaves = found.sets > 0 ? found.sets : found.adds;
      shape.tables = std::max(1.0, (leaves > 0 ? leaves : found.calls) / steps);
      shape.indices = found.indices / steps / shape.tables;
      return !found.spoilt && shape.indices <= kMostTouched * static_cast<double>(shape.rows);
    });
    if (tables_.shapes.empty()) return {};
    Collect();
    Price();
    FillIn();
    std::erase_if(tables_.calls, [&](const Call& call) { return !model_.InWindow(call.row); });
    std::sort(tables_.calls.begin(), tables_.calls.end(),
              [](const Call& a, const Call& b) { return a.row < b.row; });
    for (const Call& call : tables_.calls) {
      if (call.updates || NodeAt(call.row) != Node::kLookup) continue;
      const RowId top = model_.lineage().top_op[call.row];
      if (tables_.nodes.empty() || tables_.nodes.back() != top) tables_.nodes.push_back(top);
    }
    return std::move(tables_);
  }

  bool AnyDense() {
    for (RowId i = 0; i < host_.size(); ++i) {
      if (IsDense(RoleAt(i)) && model_.InSteadySteps(i)) return true;
    }
    return false;
  }

 private:
  static bool IsDense(Role role) { return role == Role::kDense || role == Role::kDenseBag; }

  Role RoleAt(RowId i) {
    if (host_.kind[i] != SliceKind::kOp) return Role::kOther;
    Role& role = roles_[static_cast<std::uint32_t>(host_.name[i])];
    if (role == Role::kUnseen) role = RoleOf(trace_.HostName(i));
    return role;
  }
  Node NodeAt(RowId i) {
    const RowId top = model_.lineage().top_op[i];
    if (top == kNoRow) return Node::kNone;
    auto& [judged, node] = nodes_[static_cast<std::uint32_t>(host_.name[top])];
    if (!judged) node = NodeOf(trace_.HostName(top));
    judged = true;
    return node;
  }
  bool HasShapes(RowId i) const {
    return host_.kind[i] == SliceKind::kOp && host_.detail[i] != 0 &&
           trace_.op_details[host_.detail[i]].dims != StringId::kEmpty;
  }
  Arguments ArgumentsOf(RowId i) const {
    const trace::OpDetail& detail = trace_.op_details[host_.detail[i]];
    return analyze::ParseArguments(trace_.Name(detail.dims), trace_.Name(detail.types),
                                   trace_.Name(detail.concrete));
  }
  std::size_t StepOf(RowId i) const {
    const std::vector<analyze::Step>& steps = model_.facts().steps.steps;
    return static_cast<std::size_t>(std::upper_bound(steps.begin(), steps.end(), host_.start_ns[i],
                                                     [](Nanos time, const analyze::Step& step) {
                                                       return time < step.host_span.begin_ns;
                                                     }) -
                                    steps.begin());
  }
  // The row behind the last one that lies in `row`, of its thread.
  RowId EndOf(RowId row) const {
    const RowId last = trace_.threads[host_.thread[row]].last_slice;
    RowId i = row + 1;
    while (i < last && host_.start_ns[i] < host_.end_ns(row)) ++i;
    return i;
  }

  // What a call makes a gradient for: its rows stand among its numbers, else in what it zeroes.
  std::int64_t RowsOf(RowId i, const Arguments& arguments) {
    const std::int64_t rows = IntegerAt(arguments, RoleAt(i) == Role::kDense ? 2 : 5);
    if (rows > 0) return rows;
    const RowId end = EndOf(i);
    for (RowId inner = i + 1; inner < end; ++inner) {
      if (RoleAt(inner) != Role::kZero || !HasShapes(inner)) continue;
      const Arguments zeroed = ArgumentsOf(inner);
      if (!zeroed.empty() && zeroed[0].dims.size() == 2) return zeroed[0].dims[0];
    }
    return -1;
  }

  void FindShapes() {
    std::map<Dims, std::size_t> by_dims;
    for (RowId i = 0; i < host_.size(); ++i) {
      const Role role = RoleAt(i);
      if (!IsDense(role) || !HasShapes(i) || !model_.InSteadySteps(i)) continue;
      const Arguments arguments = ArgumentsOf(i);
      if (arguments.size() < 2 || arguments[0].dims.empty()) continue;
      const Dims dims = {RowsOf(i, arguments), arguments[0].dims.back()};
      if (dims[0] <= 0 || dims[1] <= 0) continue;
      const auto [at, added] = by_dims.try_emplace(dims, found_.size());
      if (added) {
        found_.emplace_back();
        Shape& shape = tables_.shapes.emplace_back();
        shape.rows = dims[0];
        shape.width = dims[1];
        shape.lookup = i;
      }
      constexpr std::int64_t kMaximum = 2;  // of `mode`
      const bool bag = role == Role::kDenseBag;
      Found& found = found_[at->second];
      found.spoilt = found.spoilt || FlagAt(arguments, bag ? 6 : 4) ||
                     (bag && IntegerAt(arguments, 7) == kMaximum);
      ++found.calls;
      found.indices += arguments[1].Elements();
      found.steps.insert(StepOf(i));
    }
  }

  template <typename Wanted>
  void Keep(Wanted&& wanted) {
    std::vector<Shape> shapes;
    std::vector<Found> found;
    for (std::size_t s = 0; s < found_.size(); ++s) {
      if (!wanted(tables_.shapes[s], found_[s])) continue;
      shapes.push_back(std::move(tables_.shapes[s]));
      found.push_back(std::move(found_[s]));
    }
    tables_.shapes = std::move(shapes);
    found_ = std::move(found);
    matches_.assign(trace_.op_details.size(), {});
  }

  std::size_t ShapeAt(const Dims& dims) const {
    const std::vector<Shape>& shapes = tables_.shapes;
    if (dims.size() != 2) return shapes.size();
    return static_cast<std::size_t>(
        std::find_if(shapes.begin(), shapes.end(),
                     [&](const Shape& s) { return s.rows == dims[0] && s.width == dims[1]; }) -
        shapes.begin());
  }

  const Match& MatchOf(RowId i) {
    Match& match = matches_[host_.detail[i]];
    if (match.known) return match;
    match.known = true;
    const std::size_t none = tables_.shapes.size();
    const auto count = [&](std::size_t shape) {
      match.tables.resize(none, 0);
      ++match.tables[shape];
    };
    const Arguments arguments = ArgumentsOf(i);
    for (const ArgumentShape& argument : arguments) {
      if (argument.dims.size() != 2) continue;
      const std::size_t shape = ShapeAt(argument.dims);
      const std::size_t turned = ShapeAt({argument.dims[1], argument.dims[0]});
      if (shape == none && turned == none) continue;
      match.turned = shape == none;
      count(shape == none ? turned : shape);
      return match;
    }
    if (arguments.empty() || arguments[0].list.empty()) return match;
    match.listed = true;
    double all = 0, of_tables = 0;
    for (const Dims& dims : arguments[0].list) {
      double elements = 1;
      for (const std::int64_t dim : dims) elements *= static_cast<double>(dim);
      all += elements;
      const std::size_t shape = ShapeAt(dims);
      if (shape == none) continue;
      of_tables += elements;
      count(shape);
    }
    match.share = all > 0 ? of_tables / all : 0;
    return match;
  }

  // How many tables take a gradient, and what else has one for them.
  void Survey() {
    RowId leaf = kNoRow;
    for (RowId i = 0; i < host_.size(); ++i) {
      if (!HasShapes(i) || !model_.InSteadySteps(i)) continue;
      const Node node = NodeAt(i);
      if (node != Node::kLeaf && node != Node::kOther) continue;
      const Match& match = MatchOf(i);
      if (match.tables.empty() || match.listed) continue;
      Found& found = found_[static_cast<std::size_t>(
          std::max_element(match.tables.begin(), match.tables.end()) - match.tables.begin())];
      if (node == Node::kOther) {
        found.spoilt = true;
        continue;
      }
      const RowId top = model_.lineage().top_op[i];
      if (top == leaf || match.turned || !found.steps.contains(StepOf(i))) continue;
      leaf = top;
      (trace_.HostName(i).starts_with("aten::add") ? found.adds : found.sets) += 1;
    }
  }

  // Which optimizer's own work the row is; rows are asked in order.
  const OptimizerStep* OptimizerAt(RowId i) {
    const std::vector<OptimizerStep>& marks = model_.steady_optimizer_steps();
    while (mark_ + 1 < marks.size() && marks[mark_ + 1].row <= i) ++mark_;
    if (mark_ >= marks.size() || marks[mark_].row > i) return nullptr;
    const OptimizerStep& mark = marks[mark_];
    const bool inside = host_.thread[mark.row] == host_.thread[i] &&
                        host_.start_ns[i] >= mark.begin_ns &&
                        host_.start_ns[i] < host_.end_ns(mark.row);
    return inside ? &mark : nullptr;
  }

  void Collect() {
    RowId inside = kNoRow;  // a lookup or a call that was taken
    for (RowId i = 0; i < host_.size(); ++i) {
      if (!HasShapes(i) || !model_.InSteadySteps(i)) continue;
      if (inside != kNoRow && host_.thread[inside] == host_.thread[i] &&
          host_.start_ns[i] < host_.end_ns(inside)) {
        continue;
      }
      const Match& match = MatchOf(i);
      if (match.tables.empty() || match.turned) continue;
      inside = i;
      const Role role = RoleAt(i);
      if (role == Role::kLookup) {
        for (std::size_t s = 0; s < match.tables.size(); ++s) {
          Shape& shape = tables_.shapes[s];
          if (match.tables[s] > 0 && RoleAt(shape.lookup) != Role::kLookup) shape.lookup = i;
        }
        continue;
      }
      const Node node = NodeAt(i);
      const OptimizerStep* optimizer = OptimizerAt(i);
      if (node == Node::kNone && optimizer == nullptr) {
        // Of what else goes over a table, what clipping and resetting gradients takes.
        tables_.clipped = tables_.clipped || role == Role::kNorm;
        if (role != Role::kNorm && role != Role::kZero &&
            !(tables_.clipped && role == Role::kScale)) {
          inside = kNoRow;
          continue;
        }
      }
      const bool updates = node == Node::kNone && optimizer != nullptr;
      Call& call = tables_.calls.emplace_back();
      call.row = i;
      call.updates = updates;
      call.share = match.share;
      if (updates) NoteUpdate(i, match, *optimizer);
    }
  }

  void NoteUpdate(RowId i, const Match& match, const OptimizerStep& optimizer) {
    const std::string_view mark = trace_.HostName(optimizer.row);  // Optimizer.step#Adam.step
    const std::size_t hash = mark.find('#'), dot = mark.rfind('.'), step = StepOf(i);
    const bool fused_momentum =
        trace_.HostName(i) == "aten::_fused_sgd_" && [&, arguments = ArgumentsOf(i)] {
          return arguments.size() > 2 && !arguments[2].list.empty();
        }();
    for (std::size_t s = 0; s < match.tables.size(); ++s) {
      if (match.tables[s] == 0) continue;
      Shape& shape = tables_.shapes[s];
      if (found_[s].steps.contains(step)) {
        found_[s].updates += match.tables[s] * (fused_momentum ? 2 : 1);
      }
      if (hash != std::string_view::npos && dot > hash + 1) {
        shape.optimizer = std::string(mark.substr(hash + 1, dot - hash - 1));
      }
    }
  }

  // What sparse gradients leave of the updates, spread over the operators of dense ones.
  void Price() {
    std::vector<double> operators, each_ns;
    for (std::size_t s = 0; s < tables_.shapes.size(); ++s) {
      Shape& shape = tables_.shapes[s];
      const auto steps = static_cast<double>(found_[s].steps.size());
      operators.push_back(std::max(1.0, found_[s].updates / steps / shape.tables));
      UpdateCost cost = kSparseAdam;
      shape.form = SparseForm::kOther;
      if (found_[s].updates == 0) {
        shape.form = SparseForm::kNone;
      } else if (shape.optimizer == "Adam") {
        shape.form = SparseForm::kAdam;
      } else if (shape.optimizer == "Adagrad") {
        shape.form = SparseForm::kAsIs;
        cost = kAdagrad;
      } else if (shape.optimizer == "SGD" && operators.back() < kPlainSgd) {
        shape.form = SparseForm::kAsIs;
        cost = kSgd;
      }
      each_ns.push_back(cost.call_ns +
                        shape.indices *
                            (cost.row_ns + static_cast<double>(shape.width) * cost.element_ns));
    }
    for (Call& call : tables_.calls) {
      if (!call.updates) continue;
      const Match& match = MatchOf(call.row);
      for (std::size_t s = 0; s < match.tables.size(); ++s) {
        call.tables += match.tables[s] / operators[s];
        call.remains_ns += match.tables[s] / operators[s] * each_ns[s];
      }
    }
  }

  // A node of the backward pass that looks up, or what is an optimizer's own.
  struct Segment {
    RowId first = 0, last = 0;
    std::size_t step = 0;
    bool optimizer = false;
    std::size_t place = 0;  // among those of the step
    std::uint64_t names = 0;
    bool shaped = false;
  };

  std::vector<Segment> Segments() {
    std::vector<Segment> segments;
    for (RowId i = 0; i < host_.size(); ++i) {
      if (model_.lineage().top_op[i] != i || NodeAt(i) != Node::kLookup) continue;
      if (model_.InSteadySteps(i)) segments.push_back({i, EndOf(i), StepOf(i), false});
    }
    for (const OptimizerStep& mark : model_.steady_optimizer_steps()) {
      RowId first = mark.row;
      const RowId last = EndOf(mark.row);
      while (first < last && host_.start_ns[first] < mark.begin_ns) ++first;
      segments.push_back({first, last, StepOf(mark.row), true});
    }
    std::map<std::pair<std::size_t, bool>, std::size_t> places;
    for (Segment& segment : segments) {
      segment.place = places[{segment.step, segment.optimizer}]++;
      constexpr std::uint64_t kPrime = 1'099'511'628'211;  // FNV
      for (RowId i = segment.first; i < segment.last; ++i) {
        if (host_.kind[i] != SliceKind::kOp) continue;
        segment.names = (segment.names ^ static_cast<std::uint32_t>(host_.name[i])) * kPrime;
        segment.shaped = segment.shaped || HasShapes(i);
      }
    }
    return segments;
  }

  void FillIn() {
    using Key = std::tuple<std::uint64_t, std::size_t, bool>;
    struct Known {
      std::size_t ordinal;  // among the operators of the segment
      Call call;
    };
    const std::vector<Segment> segments = Segments();
    const auto key = [](const Segment& s) { return Key{s.names, s.place, s.optimizer}; };
    std::map<Key, std::vector<Known>> known;
    std::vector<std::uint32_t> call_at(host_.size(), 0);  // 1 + index
    for (std::size_t c = 0; c < tables_.calls.size(); ++c) {
      call_at[tables_.calls[c].row] = static_cast<std::uint32_t>(c + 1);
    }
    for (const Segment& segment : segments) {
      if (!segment.shaped) continue;
      std::vector<Known> calls;
      std::size_t ordinal = 0;
      for (RowId i = segment.first; i < segment.last; ++i) {
        if (host_.kind[i] != SliceKind::kOp) continue;
        if (call_at[i] != 0) calls.push_back({ordinal, tables_.calls[call_at[i] - 1]});
        ++ordinal;
      }
      // Shapes may begin in the middle of one.
      std::vector<Known>& best = known[key(segment)];
      if (calls.size() > best.size()) best = std::move(calls);
    }
    for (const Segment& segment : segments) {
      const auto found = segment.shaped ? known.end() : known.find(key(segment));
      if (found == known.end()) continue;
      std::size_t ordinal = 0;
      auto next = found->second.begin();
      for (RowId i = segment.first; i < segment.last && next != found->second.end(); ++i) {
        if (host_.kind[i] != SliceKind::kOp || ordinal++ != next->ordinal) continue;
        tables_.calls.push_back((next++)->call);
        tables_.calls.back().row = i;
      }
    }
  }

  const Model& model_;
  const trace::Trace& trace_;
  const trace::HostSlices& host_;
  std::vector<Role> roles_;                   // by name
  std::vector<std::pair<bool, Node>> nodes_;  // by name
  EmbeddingTables tables_;
  std::vector<Found> found_;    // by shape
  std::vector<Match> matches_;  // by row of Trace::op_details
  std::size_t mark_ = 0;
};

}  // namespace

EmbeddingTables LookAtEmbeddingTables(const Model& model) {
  if (!model.facts().trust.present.shapes) return {};
  EmbeddingTables tables = Reader(model).Read();
  std::sort(tables.shapes.begin(), tables.shapes.end(),
            [](const Shape& a, const Shape& b) { return a.Elements() > b.Elements(); });
  return tables;
}

bool HasDenseEmbeddings(const Model& model) { return Reader(model).AnyDense(); }

}  // namespace hone::replay
