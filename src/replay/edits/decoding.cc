// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/decoding.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyze/flops.h"
#include "analyze/grouping.h"
#include "trace/record_again.h"

namespace hone::replay {
namespace {

using trace::RowId;

// Passes that must follow each other with the same growth, in every product with a weight. Lengths
// of a batch that is padded anew each time go up by the same amount twice in a row about never.
constexpr std::size_t kFewestGrowths = 2;
// Of all changes of length, those by the same amount. The rest are new sequences that begin.
constexpr double kSameGrowth = 0.8;
// A prefix this much longer than what is new: below it there is nothing to save.
constexpr std::int64_t kLeastPrefix = 4;

// Where the operator keeps its rows and its weight; none: it is not one of those looked at.
struct Operands {
  std::size_t rows = 0, weight = 0;
  bool lookup = false;  // every element of the rows is a row
};
std::optional<Operands> OperandsOf(std::string_view op) {
  if (op == "aten::embedding") return Operands{1, 0, true};
  if (op == "aten::linear" || op == "aten::mm" || op == "aten::matmul") return Operands{0, 1};
  if (op == "aten::addmm") return Operands{1, 2};
  return std::nullopt;
}

struct Shape {
  std::int64_t rows = 0;     // 0: not usable
  std::uint32_t weight = 0;  // number of the weight's shape
  double weight_bytes = 0;
};

// Parses each distinct set of arguments once.
class Shapes {
 public:
  explicit Shapes(const Model& model) : trace_(model.trace()) {}

  const Shape& Of(RowId row, const Operands& operands) {
    const std::uint64_t key = analyze::PairKey(static_cast<std::uint32_t>(trace_.host.name[row]),
                                               trace_.host.detail[row]);
    const auto [found, added] = known_.try_emplace(key);
    if (added) found->second = Read(trace_.op_details[trace_.host.detail[row]], operands);
    return found->second;
  }

 private:
  Shape Read(const trace::OpDetail& detail, const Operands& operands) {
    const std::vector<analyze::ArgumentShape> arguments = analyze::ParseArguments(
        trace_.Name(detail.dims), trace_.Name(detail.types), trace_.Name(detail.concrete));
    if (std::max(operands.rows, operands.weight) >= arguments.size()) return {};
    const analyze::ArgumentShape& rows = arguments[operands.rows];
    const analyze::ArgumentShape& weight = arguments[operands.weight];
    // A second operand with more dimensions is an activation (attention), not a weight.
    if (weight.dims.size() != 2 || rows.dims.empty()) return {};
    double count = 1;
    const std::size_t used = rows.dims.size() - (operands.lookup ? 0 : 1);
    for (std::size_t d = 0; d < used; ++d) count *= static_cast<double>(rows.dims[d]);
    if (!(count >= 1) || count > 1e15) return {};
    Shape shape;
    shape.rows = static_cast<std::int64_t>(count);
    shape.weight = weights_
                       .try_emplace({weight.dims[0], weight.dims[1]},
                                    static_cast<std::uint32_t>(weights_.size()))
                       .first->second;
    shape.weight_bytes = operands.lookup ? 0 : weight.Bytes();
    return shape;
  }

  const trace::Trace& trace_;
  std::unordered_map<std::uint64_t, Shape> known_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> weights_;
};

struct Run {  // calls in a row with the same number of rows
  Nanos start_ns = 0;
  std::int64_t rows = 0;
};

struct Group {  // one operator with one shape of weight
  StringId op = StringId::kEmpty, dims = StringId::kEmpty;
  RowId last = trace::kNoRow;
  std::vector<Run> runs;

  // The growth that nearly all changes have; 0: none.
  std::int64_t Growth() const {
    std::unordered_map<std::int64_t, std::size_t> counts;
    std::size_t changes = 0;
    for (std::size_t i = 1; i < runs.size(); ++i) {
      const std::int64_t change = runs[i].rows - runs[i - 1].rows;
      ++changes;
      if (change > 0) ++counts[change];
    }
    std::int64_t best = 0;
    std::size_t most = 0;
    for (const auto& [change, count] : counts) {
      if (count > most || (count == most && change < best)) {
        best = change;
        most = count;
      }
    }
    if (most < kFewestGrowths ||
        static_cast<double>(most) < kSameGrowth * static_cast<double>(changes)) {
      return 0;
    }
    const auto longest = std::max_element(
        runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.rows < b.rows; });
    return longest->rows >= kLeastPrefix * best ? best : 0;
  }
};

std::vector<Group> GroupCalls(const Model& model) {
  const trace::HostSlices& host = model.trace().host;
  std::vector<std::optional<Operands>> operands(model.trace().strings.size());
  std::vector<std::uint8_t> judged(model.trace().strings.size(), 0);
  Shapes shapes(model);
  analyze::GroupIndex index;
  std::vector<Group> groups;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != trace::SliceKind::kOp || host.detail[i] == 0 || !model.InWindow(i) ||
        model.LaneOf(i) != 0) {
      continue;
    }
    const auto name = static_cast<std::uint32_t>(host.name[i]);
    if (judged[name] == 0) {
      judged[name] = 1;
      operands[name] = OperandsOf(model.trace().HostName(i));
    }
    if (!operands[name]) continue;
    const Shape& shape = shapes.Of(i, *operands[name]);
    if (shape.rows == 0) continue;
    const std::uint32_t id = index.IdOf(analyze::PairKey(name, shape.weight));
    if (id == groups.size()) groups.emplace_back().op = host.name[i];
    Group& group = groups[id];
    if (!group.runs.empty() && group.runs.back().rows == shape.rows) continue;
    group.runs.push_back({host.start_ns[i], shape.rows});
    group.dims = model.trace().op_details[host.detail[i]].dims;
    group.last = i;
  }
  return groups;
}

}  // namespace

Known<Decoding> FindDecoding(const Model& model) {
  if (!model.facts().trust.present.shapes) {
    return Known<Decoding>::Absent(std::string("no shapes in this trace; ") +
                                   trace::RecordAgain(model.trace().info, trace::Lacking::kShapes));
  }
  const std::vector<Group> groups = GroupCalls(model);
  const Group* best = nullptr;
  std::int64_t growth = 0;
  for (const Group& group : groups) {
    const std::int64_t own = group.Growth();
    if (own == 0) continue;
    // Most passes; of those most new rows (positions are looked up once for all texts of a batch);
    // of those whoever comes first in a pass.
    const auto rank = [](const Group& one, std::int64_t rows) {
      return std::tuple(one.runs.size(), rows, -one.runs.front().start_ns);
    };
    if (best != nullptr && rank(group, own) <= rank(*best, growth)) continue;
    best = &group;
    growth = own;
  }
  if (best == nullptr) {
    return Known<Decoding>::Absent("no forward pass grows by the same number of tokens each time");
  }
  Decoding decoding;
  decoding.new_rows = growth;
  decoding.op = best->op;
  decoding.dims = best->dims;
  decoding.last = best->last;
  for (std::size_t i = 0; i < best->runs.size(); ++i) {
    Pass pass;
    const bool last = i + 1 == best->runs.size();
    pass.span = {best->runs[i].start_ns,
                 last ? model.graph().window.end_ns : best->runs[i + 1].start_ns};
    pass.rows = best->runs[i].rows;
    pass.grown = i > 0 && pass.rows - best->runs[i - 1].rows == growth;
    if (pass.grown) ++decoding.grown;
    decoding.passes.push_back(pass);
  }
  return decoding;
}

double WeightBytes(const Model& model, RowId op) {
  const std::optional<Operands> operands = OperandsOf(model.trace().HostName(op));
  if (!operands || model.trace().host.detail[op] == 0) return 0;
  Shapes shapes(model);
  return shapes.Of(op, *operands).weight_bytes;
}

}  // namespace hone::replay
