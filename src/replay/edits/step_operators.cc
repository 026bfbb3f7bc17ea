// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/step_operators.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "analyze/autograd_engine.h"
#include "analyze/flops.h"
#include "base/torch_scope.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// Fewer are heads, scales, or the layers of a small model.
constexpr std::uint32_t kFewestTimes = 8;
// Operators between one and the same again: what one time round may have. More than that is a model
// whose calls take long enough to hide what calling it costs.
constexpr std::size_t kFarthest = 512;

// Where a row was called from: a recorded call stack, else the module around it, else the function.
StringId SiteOf(const Model& model, RowId row) {
  const trace::Trace& trace = model.trace();
  const StringId stack = trace.op_details[trace.host.detail[row]].stack;
  if (stack != StringId::kEmpty) return stack;
  const RowId module = model.lineage().module[row], function = model.lineage().python[row];
  if (module != kNoRow) return trace.host.name[module];
  return function != kNoRow ? trace.host.name[function] : StringId::kEmpty;
}

bool IsProduct(const Model& model, RowId row, std::vector<std::uint8_t>& judged) {
  std::uint8_t& known = judged[static_cast<std::uint32_t>(model.trace().host.name[row])];
  if (known == 0) {
    const auto kind = analyze::ModelKindOf(model.trace().HostName(row));
    known = kind == analyze::ModelKind::kProduct ? 2 : 1;
  }
  return known == 2;
}

// What optimizers and loaders call. Rows are asked for in order, of one thread.
class OthersBusiness {
 public:
  explicit OthersBusiness(const Model& model)
      : model_(model), judged_(model.trace().strings.size(), 0) {}

  bool Has(RowId row) { return InOptimizer(row) || ByName(row); }

 private:
  bool InOptimizer(RowId row) {
    const trace::HostSlices& host = model_.trace().host;
    const std::vector<OptimizerStep>& steps = model_.optimizer_steps();
    const auto passed = [&](const OptimizerStep& step) {
      return host.thread[step.row] != host.thread[row] ||
             host.end_ns(step.row) <= host.start_ns[row];
    };
    while (step_ < steps.size() && passed(steps[step_])) ++step_;
    return step_ < steps.size() && host.start_ns[row] >= steps[step_].begin_ns;
  }

  bool ByName(RowId row) {
    const RowId around = model_.lineage().annotation[row];
    if (around == kNoRow) return false;
    std::uint8_t& known = judged_[static_cast<std::uint32_t>(model_.trace().host.name[around])];
    if (known == 0) {
      const std::string_view name = model_.trace().HostName(around);
      const bool theirs =
          name.starts_with(kOptimizerZeroGrad) || name.find("DataLoader") != std::string_view::npos;
      known = theirs ? 2 : 1;
    }
    return known == 2;
  }

  const Model& model_;
  std::size_t step_ = 0;
  std::vector<std::uint8_t> judged_;  // by name: 0 unseen, 1 no, 2 yes
};

// Of keys that come often: the number that most of them share, else what all of them are a multiple
// of (a model of three linear layers and two activations), else the least.
std::uint32_t TimesRound(const std::map<std::uint32_t, std::uint32_t>& counts) {
  std::map<std::uint32_t, std::uint32_t> shared;
  std::uint32_t common = 0, least = UINT32_MAX;
  for (const auto& [key, count] : counts) {
    if (count + 1 < kFewestTimes) continue;
    ++shared[count];
    common = std::gcd(common, count + 1);  // the first time round is not counted
    least = std::min(least, count + 1);
  }
  if (shared.empty()) return 0;
  const auto most =
      std::max_element(shared.begin(), shared.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->second > 1) return most->first + 1;
  return common >= kFewestTimes ? common : least;
}

}  // namespace

std::vector<StepOperator> ListStepOperators(const Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::Thread& thread = trace.threads[model.graph().lanes[0].row];
  const std::vector<analyze::Step>& steps = model.facts().steps.steps;
  std::size_t step = 0;
  std::vector<StepOperator> list;
  std::vector<std::uint8_t> engine(trace.strings.size(), 0), product(trace.strings.size(), 0);
  OthersBusiness others(model);
  std::unordered_map<std::uint64_t, std::uint32_t> keys;
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    if (trace.host.kind[i] != SliceKind::kOp || !model.InWindow(i)) continue;
    const RowId top = model.lineage().top_op[i];
    if (top != i) {
      if (list.empty() || list.back().row != top) continue;
      ++list.back().slices;
      list.back().products += IsProduct(model, i, product) ? 1 : 0;
      if (list.back().backward && list.back().sequence < 0)
        list.back().sequence = trace.host.link[i];
      continue;
    }
    while (step + 1 < steps.size() &&
           steps[step + 1].host_span.begin_ns <= trace.host.start_ns[i]) {
      ++step;
    }
    if (others.Has(i)) continue;
    const auto name = static_cast<std::uint32_t>(trace.host.name[i]);
    if (engine[name] == 0) engine[name] = analyze::IsEngineSlice(trace.HostName(i)) ? 2 : 1;
    const std::uint64_t both =
        std::uint64_t{name} << 32U | static_cast<std::uint32_t>(SiteOf(model, i));
    const auto key = keys.try_emplace(both, static_cast<std::uint32_t>(keys.size())).first->second;
    list.push_back(
        {i, key, static_cast<std::uint32_t>(step), 1, 0, trace.host.link[i], engine[name] == 2});
  }
  return list;
}

std::vector<Stretch> FindStretches(const std::vector<StepOperator>& operators) {
  std::uint32_t keys = 0;
  for (const StepOperator& op : operators) keys = std::max(keys, op.key + 1);
  std::vector<std::size_t> last(keys, SIZE_MAX);
  const auto again = [&](std::size_t i) {
    const std::size_t before = last[operators[i].key];
    return before != SIZE_MAX && operators[before].step == operators[i].step &&
           i - before <= kFarthest;
  };
  std::vector<Stretch> found;
  std::map<std::uint32_t, std::uint32_t> counts;
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    const std::uint32_t times = TimesRound(counts);
    if (times > 0) {
      const auto most =
          std::max_element(counts.begin(), counts.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      found.push_back({begin, end, most->first, times});
    }
    counts.clear();
  };
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (again(i)) {
      ++counts[operators[i].key];
    } else {
      close(i);
      begin = i + 1;
    }
    last[operators[i].key] = i;
  }
  close(operators.size());
  return found;
}

}  // namespace hone::replay
