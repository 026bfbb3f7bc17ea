// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/user_operators.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "analyze/flops.h"
#include "analyze/slice_activity.h"
#include "replay/edits/call_tree.h"
#include "replay/edits/grad_mode.h"
#include "replay/edits/step_operators.h"

namespace hone::replay {
namespace {

using trace::RowId;

// Of a function's operators, by time, those that gradients go through, for it to be a part of the
// model or of its loss: hardly any, since what they cost need not be what the rest does. One may
// be taken for another's where a recorder lost an operator.
constexpr double kOfTheModel = 0.01;
// Of a function's time, what one that it calls must have to be named in its place.
constexpr double kNearlyAll = 0.8;
// Of a function's time, what makes it something else than work that can be left out.
constexpr double kMostly = 0.5, kWeighs = 0.1;
// Fewer samples of a line may have missed the model that it calls.
constexpr std::uint64_t kLeastSamples = 5;

bool HasWord(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

bool OneOf(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

// What an operator may be there for.
struct Purpose {
  bool copies = false, random = false, takes = false, changes = false;
  bool weighs = false;                      // layers
  bool product = false, activates = false;  // layers written out
};

Purpose PurposeOf(std::string_view name) {
  Purpose purpose;
  purpose.copies = OneOf(
      name, {"aten::copy_", "aten::clone", "aten::set_", "aten::empty", "aten::empty_like",
             "aten::empty_strided", "aten::detach", "detach", "aten::resize_", "aten::alias"});
  purpose.random = analyze::ModelKindOf(name) == analyze::ModelKind::kRandom ||
                   HasWord(name, {"rand", "normal", "bernoulli", "multinomial", "dropout"});
  purpose.takes = OneOf(name, {"aten::index", "aten::index_select", "aten::slice", "aten::select",
                               "aten::narrow", "aten::split", "aten::stack"});
  purpose.changes =
      OneOf(name, {"aten::add_", "aten::sub_", "aten::mul_", "aten::div_", "aten::lerp_",
                   "aten::addcmul_", "aten::addcdiv_", "aten::zero_"}) ||
      name.find("_foreach_") != std::string_view::npos;
  purpose.weighs = HasWord(name, {"linear", "addmm", "conv", "embedding", "_norm", "attention",
                                  "lstm", "gru", "rnn", "quantized", "mkldnn"}) &&
                   !HasWord(name, {"linalg", "vector_norm"});
  purpose.product = analyze::ModelKindOf(name) == analyze::ModelKind::kProduct ||
                    OneOf(name, {"aten::matmul", "aten::einsum"});
  purpose.activates = HasWord(name, {"relu", "gelu", "silu", "tanh", "sigmoid", "softmax", "elu"});
  return purpose;
}

// One outermost operator of the steps.
struct Call {
  RowId row = trace::kNoRow;
  std::uint32_t node = 0, step = 0;
  bool back = false;  // gradients go through it
  bool graph = false;
  bool from_data = false;   // with grad mode on, and nothing that needs a gradient goes in
  bool of_results = false;  // with grad mode off, between a forward pass and its backward pass
  bool behind = false;      // a backward pass, and before the next forward pass
};

class Finder {
 public:
  explicit Finder(const Model& model)
      : model_(model),
        host_(model.trace().host),
        tree_(model),
        drives_(tree_.functions(), 0),
        samples_(tree_.functions(), 0),
        gradients_(tree_.functions(), 0) {}

  Known<UserOperators> Find() {
    ReadSamples();
    ListCalls();
    if (calls_.empty()) return Absent("no call stacks in this trace");
    if (!result_.trains && Trains(model_.trace(), model_.graph().window)) {
      return Absent("no numbers of autograd in this trace tell what gradients go through");
    }
    FindDrivers();
    FindGradients();
    if (!result_.trains && !RunsModel())
      return Absent("nothing in this trace is called as a model");
    if (!Choose()) return Absent("no function computes much of a step beside the model");
    Describe();
    const double least = !result_.trains  ? kLeastBesideInference
                         : result_.copies ? kLeastCopies
                                          : kLeastBeside;
    if (static_cast<double>(result_.cut.gone_ns()) <
        least * static_cast<double>(model_.graph().measured_ns)) {
      return Absent("what a function computes beside the model is a small part of the step");
    }
    if (!MayGo()) return Absent("what computes most beside the model may be a part of it");
    return std::move(result_);
  }

 private:
  using Node = CallTree::Node;
  static Known<UserOperators> Absent(const char* why) { return Known<UserOperators>::Absent(why); }
  const Node& At(std::uint32_t node) const { return tree_.nodes()[node]; }
  bool Frames() const { return model_.facts().trust.present.python > 0; }

  // Stacks of operators leave out what of the framework is innermost; samples have it.
  void ReadSamples() {
    if (Frames()) return;
    const trace::Trace& trace = model_.trace();
    const trace::StackFrames& frames = trace.stack_frames;
    std::vector<std::uint32_t> function(frames.size(), 0);
    std::vector<std::uint8_t> drives(frames.size(), 0);
    for (std::uint32_t f = 1; f < frames.size(); ++f) {
      const std::string_view place = trace.Name(frames.place[f]);
      function[f] = tree_.FunctionOf(place);
      drives[f] = RoleOfCode(place) == CodeRole::kModel ? 1 : 0;
    }
    for (auto f = static_cast<std::uint32_t>(frames.size()); f-- > 1;) {
      if (drives[f] == 0) continue;
      const std::uint32_t caller = frames.caller[f];
      drives[caller] = 1;
      if (caller == 0) continue;
      drives_[function[caller]] = 1;
      lines_that_drive_.insert(trace.Name(frames.place[caller]));
    }
    const std::uint32_t thread = model_.graph().lanes[0].row;
    for (std::size_t i = 0; i < trace.samples.size(); ++i) {
      if (trace.samples.thread[i] != thread) continue;
      std::set<std::uint32_t> seen;
      for (std::uint32_t f = trace.samples.frame[i]; f != 0; f = frames.caller[f]) {
        if (seen.insert(function[f]).second) ++samples_[function[f]];
        ++line_samples_[trace.Name(frames.place[f])];
      }
    }
  }

  void ListCalls() {
    const std::vector<StepOperator> operators = ListStepOperators(model_);
    std::vector<std::int64_t> back;
    for (const StepOperator& op : operators) {
      if (op.backward && op.sequence >= 0) back.push_back(op.sequence);
      if (model_.trace().HostName(op.row).find("AccumulateGrad") != std::string_view::npos) {
        ++accumulates_;
      }
    }
    std::sort(back.begin(), back.end());
    result_.trains = !back.empty();
    // Operators carry the number of the node that comes next, whether they make it or not.
    std::int64_t next = INT64_MAX;
    std::vector<Call> calls(operators.size());
    for (std::size_t i = operators.size(); i-- > 0;) {
      const StepOperator& op = operators[i];
      if (op.backward) continue;
      Call& call = calls[i] = {op.row, tree_.Of(op.row), op.step};
      if (op.sequence < 0) continue;
      const auto first = std::lower_bound(back.begin(), back.end(), op.sequence);
      call.graph = next > op.sequence;
      call.from_data = next == op.sequence;
      call.back = first != back.end() && *first < next;
      next = op.sequence;
    }
    bool results = false, behind = false;
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const StepOperator& op = operators[i];
      Call& call = calls[i];
      results = !op.backward && (results || call.back);
      behind = op.backward || (behind && !call.back);
      if (op.backward || call.node == 0) continue;
      call.of_results = results && op.sequence < 0;
      call.behind = behind;
      // What is not PyTorch's own may do anything.
      const std::string_view name = model_.trace().HostName(op.row);
      call.back = call.back || (!name.starts_with("aten::") && name != "detach");
      calls_.push_back(call);
    }
  }

  void FindDrivers() {
    std::vector<std::uint8_t> around(tree_.nodes().size(), 0);
    for (std::size_t n = tree_.nodes().size(); n-- > 1;) {
      const Node& node = At(static_cast<std::uint32_t>(n));
      if (node.role == CodeRole::kModel || drives_[node.function] != 0) around[n] = 1;
      if (around[n] != 0) {
        around[node.caller] = 1;
        drives_[At(node.caller).function] = 1;
      }
    }
  }

  // Functions that gradients go through, with what they call.
  void FindGradients() {
    std::vector<Nanos> all(tree_.nodes().size(), 0), back(tree_.nodes().size(), 0);
    for (const Call& call : calls_) {
      all[call.node] += host_.duration_ns[call.row];
      if (call.back) back[call.node] += host_.duration_ns[call.row];
    }
    std::vector<Nanos> all_of(tree_.functions(), 0), back_of(tree_.functions(), 0);
    for (std::size_t n = tree_.nodes().size(); n-- > 1;) {
      const Node& node = At(static_cast<std::uint32_t>(n));
      all[node.caller] += all[n];
      back[node.caller] += back[n];
      all_of[node.function] += all[n];
      back_of[node.function] += back[n];
    }
    for (std::size_t f = 1; f < gradients_.size(); ++f) {
      gradients_[f] =
          static_cast<double>(back_of[f]) > kOfTheModel * static_cast<double>(all_of[f]);
    }
  }

  // Whether a model is what the steps are there for, so that something else is beside it.
  bool RunsModel() const {
    return std::any_of(calls_.begin(), calls_.end(), [&](const Call& call) {
      const Node& node = At(call.node);
      return node.in_model || (node.user != 0 && lines_that_drive_.contains(At(node.user).place));
    });
  }

  // The outermost function that is not the loop of the steps nor anything that runs the model. In
  // that loop: its own line. Where gradients go through what is around it, it is of the model.
  bool Choose() {
    const std::size_t count = tree_.nodes().size();
    std::vector<std::uint32_t> owner(count, 0);  // by node: a function
    std::vector<std::uint8_t> taken(count, 0), inside(count, 0);
    std::vector<Nanos> functions(tree_.functions(), 0);
    std::map<std::string_view, Nanos> lines;
    for (std::uint32_t n = 1; n < count; ++n) {
      const Node& node = At(n);
      owner[n] = owner[node.caller];
      inside[n] = inside[node.caller];
      const bool called_back = At(node.caller).in_model && !node.in_model;
      const bool of_caller = taken[node.caller] != 0 && !called_back;
      taken[n] = of_caller || (node.in_model && inside[n] == 0) ? 1 : 0;
      if (node.role != CodeRole::kUser || owner[n] != 0 || drives_[node.function] != 0) continue;
      owner[n] = node.function;
      if (gradients_[node.function] != 0) {
        taken[n] = 1;
      } else if (CalledByWhatLearns(node)) {
        inside[n] = 1;
        taken[n] = 0;
      }
    }
    const auto counts = [&](const Call& call) {
      return !call.back && (!call.of_results || At(call.node).measures) && taken[call.node] == 0 &&
             At(call.node).user != 0 && (inside[call.node] == 0 || call.from_data);
    };
    for (const Call& call : calls_) {
      const Node& node = At(call.node);
      if (!counts(call)) continue;
      if (owner[call.node] != 0) {
        functions[owner[call.node]] += host_.duration_ns[call.row];
      } else if (node.measures || !lines_that_drive_.contains(At(node.user).place)) {
        lines[At(node.user).place] += host_.duration_ns[call.row];
      }
    }
    const auto function = std::max_element(functions.begin(), functions.end());
    const auto line =
        std::max_element(lines.begin(), lines.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const Nanos of_line = line == lines.end() ? 0 : line->second;
    if (*function == 0 && of_line == 0) return false;
    result_.line = of_line > *function;
    const auto chosen = static_cast<std::uint32_t>(function - functions.begin());
    for (const Call& call : calls_) {
      const Node& node = At(call.node);
      if (!counts(call)) continue;
      const bool its = result_.line ? owner[call.node] == 0 && At(node.user).place == line->first
                                    : owner[call.node] == chosen;
      if (!its) continue;
      its_.push_back(call);
      result_.inside = result_.inside || inside[call.node] != 0;
    }
    result_.place = result_.line ? line->first : Narrow(chosen);
    if (Frames()) return true;
    // Without samples of it nobody knows what it calls.
    const auto seen = line_samples_.find(result_.place);
    const std::uint64_t samples =
        result_.line ? (seen == line_samples_.end() ? 0 : seen->second) : samples_[chosen];
    return samples >= kLeastSamples;
  }

  // By a forward pass that gradients go through: of a model that is frozen nothing tells.
  bool CalledByWhatLearns(const Node& node) const {
    const Node& around = At(At(node.caller).user);
    return around.role == CodeRole::kUser && around.in_model && gradients_[around.function] != 0;
  }

  // Of the functions in the chosen one, the innermost that has nearly all of its time; its busiest
  // line. Linear in nodes, as functions may call each other a thousand deep: the tree is cut above
  // the chosen one and laid out so that what a node calls stands behind it in a row.
  std::string_view Narrow(std::uint32_t chosen) const {
    const auto count = static_cast<std::uint32_t>(tree_.nodes().size());
    std::vector<Nanos> time(count, 0);  // with what it calls
    for (const Call& call : its_) time[At(call.node).user] += host_.duration_ns[call.row];
    std::vector<std::uint32_t> caller(count, 0), size(count, 1), depth(count, 0);
    for (std::uint32_t n = 1; n < count; ++n) {
      const bool user = At(n).role == CodeRole::kUser;
      if (!user || At(n).function != chosen) caller[n] = At(n).caller;
      depth[n] = depth[caller[n]] + (user ? 1 : 0);
    }
    for (std::uint32_t n = count; n-- > 1;) {
      time[caller[n]] += time[n];
      size[caller[n]] += size[n];
    }
    std::vector<std::uint32_t> at(count, 0), next(count, 1), row(count, 0);
    for (std::uint32_t n = 1; n < count; ++n) {
      at[n] = next[caller[n]];
      next[caller[n]] += size[n];
      next[n] = at[n] + 1;
      row[at[n]] = n;
    }
    struct Function {
      Nanos time_ns = 0;
      std::uint32_t depth = 0, until = 0;  // inside of itself until there
    };
    std::vector<Function> functions(tree_.functions());
    for (const std::uint32_t n : row) {
      if (time[n] == 0 || At(n).role != CodeRole::kUser) continue;
      Function& function = functions[At(n).function];
      if (at[n] < function.until) continue;
      function.until = at[n] + size[n];
      function.time_ns += time[n];
      function.depth = std::max(function.depth, depth[n]);
    }
    std::uint32_t best = chosen, deepest = 0;
    for (std::uint32_t f = 0; f < functions.size(); ++f) {
      if (static_cast<double>(functions[f].time_ns) < kNearlyAll * static_cast<double>(time[0]) ||
          functions[f].depth <= deepest) {
        continue;
      }
      deepest = functions[f].depth;
      best = f;
    }
    return BusiestLine(best, time);
  }

  std::string_view BusiestLine(std::uint32_t function, const std::vector<Nanos>& time) const {
    std::map<std::string_view, Nanos> places;
    for (std::uint32_t n = 1; n < time.size(); ++n) {
      const bool its = At(n).role == CodeRole::kUser && At(n).function == function;
      if (its && time[n] > 0) places[At(n).place] += time[n];
    }
    return std::max_element(places.begin(), places.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  void Describe() {
    std::map<std::string_view, Nanos> names;
    Nanos graph = 0, copies = 0;
    std::vector<HostSpan> spans;
    for (std::size_t i = 0; i < its_.size(); ++i) {
      const RowId row = its_[i].row;
      const std::string_view name = model_.trace().HostName(row);
      const Nanos time = host_.duration_ns[row];
      names[name] += time;
      result_.time_ns += time;
      result_.rows.push_back(row);
      if (its_[i].graph) graph += time;
      if (PurposeOf(name).copies) copies += time;
      // With the way to its next operator: what that frees is no more than it computed.
      Nanos end = host_.end_ns(row);
      if (i + 1 < its_.size() && its_[i + 1].step == its_[i].step) {
        const Nanos begin = host_.start_ns[its_[i + 1].row];
        if (begin - end <= std::max(time, analyze::kDispatchPause)) end = std::max(end, begin);
      }
      spans.push_back({0, {host_.start_ns[row], end}});
    }
    for (const auto& [name, time] : names) result_.names.push_back({name, time});
    std::stable_sort(result_.names.begin(), result_.names.end(),
                     [](const auto& a, const auto& b) { return a.time_ns > b.time_ns; });
    result_.graph = 2 * graph > result_.time_ns;
    result_.copies = 2 * copies > result_.time_ns;
    result_.cut = HostCut(model_.graph(), std::move(spans));
  }

  // What is made of gradients comes behind them and changes weights where they are, one by one. It
  // may leave out all but the matrices, a third of the parameters of a transformer.
  bool UpdatesWeights() const {
    std::uint64_t changes = 0;
    for (const Call& call : its_) {
      if (!call.behind) return false;
      changes += PurposeOf(model_.trace().HostName(call.row)).changes ? 1 : 0;
    }
    constexpr std::uint64_t kFewest = 2, kOfParameters = 4;
    return changes >= std::max(kFewest * model_.graph().steps, accumulates_ / kOfParameters);
  }

  // Not where it may be a model on plain tensors, new random numbers, taking a batch, or an
  // optimizer or an average of weights: what comes once for every parameter.
  bool MayGo() const {
    if (std::all_of(its_.begin(), its_.end(),
                    [&](const Call& call) { return At(call.node).measures; })) {
      return true;  // sorts and takes what a loop's own code may be needed for
    }
    Nanos random = 0, takes = 0, changes = 0, weighs = 0;
    bool product = false, activates = false;
    std::map<std::string_view, std::uint64_t> counts;
    for (const RowId row : result_.rows) ++counts[model_.trace().HostName(row)];
    std::string_view busiest;
    for (const UserOperators::Share& share : result_.names) {
      const Purpose purpose = PurposeOf(share.name);
      if (purpose.random) random += share.time_ns;
      if (purpose.takes) takes += share.time_ns;
      if (purpose.changes) changes += share.time_ns;
      if (purpose.weighs) weighs += share.time_ns;
      product = product || purpose.product;
      activates = activates || purpose.activates;
      if (busiest.empty() && !purpose.copies) busiest = share.name;
    }
    const auto is = [&](Nanos time, double share) {
      return static_cast<double>(time) > share * static_cast<double>(result_.time_ns);
    };
    // What is made of new random numbers is new in every step, however little drawing them takes.
    if (is(random, kWeighs) || is(takes, kMostly) || is(changes, kMostly) || is(weighs, kWeighs)) {
      return false;
    }
    if (UpdatesWeights() && !result_.copies) return false;
    if (product && (activates || result_.inside || !result_.trains)) return false;
    const std::uint64_t times = busiest.empty() ? 0 : counts[busiest];
    const bool each = accumulates_ >= 2 * model_.graph().steps && times >= accumulates_ &&
                      times % accumulates_ == 0;
    return result_.copies || !each;
  }

  const Model& model_;
  const trace::HostSlices& host_;
  const CallTree tree_;
  std::vector<std::uint8_t> drives_;     // by function: it runs a framework, or calls what does
  std::vector<std::uint64_t> samples_;   // by function
  std::vector<std::uint8_t> gradients_;  // by function
  std::set<std::string_view> lines_that_drive_;
  std::map<std::string_view, std::uint64_t> line_samples_;
  std::vector<Call> calls_, its_;
  std::uint64_t accumulates_ = 0;
  UserOperators result_;
};

}  // namespace

Known<UserOperators> FindUserOperators(const Model& model) {
  if (model.trace().device.size() > 0) {
    return Known<UserOperators>::Absent("where there is a device, its work tells");
  }
  return Finder(model).Find();
}

}  // namespace hone::replay
