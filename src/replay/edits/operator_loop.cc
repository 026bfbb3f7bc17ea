// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/operator_loop.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/slice_activity.h"
#include "replay/edits/edits.h"
#include "replay/edits/loop_weights.h"
#include "replay/edits/step_operators.h"

namespace hone::replay {
namespace {

using trace::RowId;

// What calling an operator costs beside what it computes: for itself, for each operator inside, and
// for a convolution, which asks its library for an algorithm. torch 2.13, one core, tensors of a
// few elements, and half as much again for caches that a real step does not keep: 1 us for
// elementwise ones, 2.5 us for linear layers of nine operators, 5 us for convolutions.
constexpr double kCallNs = 1'000, kInsideNs = 500, kConvolutionNs = 1'000;
// Of what a product of one row computes, what a row of a product of many does: weights are read
// once (512 x 512 on one core: 22 us and 6).
constexpr double kRowOfMany = 0.25;
// Of an operator's time, what one on all samples keeps of it at least, for each (0.03 to 0.2), and
// of a convolution's (0.3 to 0.8).
constexpr double kComputesAtLeast = 0.1, kConvolvesAtLeast = 0.3;
// Of a written-out cell's time, what nn.GRU and nn.LSTM take. torch 2.13, one core, 20 to 100 time
// steps, 1 to 32 samples, 32 to 128 units: GRU 0.62 to 0.92 in training and 0.34 to 0.87 without;
// LSTM, which has a library of its own, 0.06 to 0.58.
constexpr double kGruTrains = 0.75, kGruInfers = 0.55, kLstm = 0.3;
// Three times more than the step before is no chance.
constexpr std::size_t kStepsThatTell = 4;
// Of the steps, those that have as many more as the others; a recorder may lose an operator.
constexpr double kAlways = 0.9;
// Of a loop's time, what calling must cost: below that it is what operators compute that takes it,
// and constants of small operators say nothing.
constexpr double kLeastCalling = 0.2;
// Loops that are looked at, those with most time first.
constexpr std::size_t kMostLoops = 8;

struct Group {
  std::vector<Stretch> stretches;
  Nanos time_ns = 0;
};

// Of the recorded time, what is left without the recorder; on average.
double BareShare(const Model& model) {
  Plan bare(model.graph());
  if (const FoundEdit observer = FindObserver(model)) {
    (*observer)->Apply(model, Guess::kLikely, bare);
  }
  double recorded = 0, left = 0;
  for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
    if (model.graph().tasks[t].lane != 0) continue;
    recorded += static_cast<double>(model.graph().tasks[t].duration_ns);
    left += static_cast<double>(bare.duration_ns[t]);
  }
  return recorded > 0 ? std::max(left / recorded, 0.1) : 1;
}

class LoopFinder {
 public:
  explicit LoopFinder(const Model& model)
      : model_(model),
        host_(model.trace().host),
        operators_(ListStepOperators(model)),
        weights_(model, operators_),
        bare_(BareShare(model)) {
    const trace::DeviceWork& device = model.trace().device;
    for (RowId w = 0; w < device.size(); ++w) {
      const TaskId task = model.graph().of_device[w];
      if (task == kNoTask || device.api[w] == trace::kNoRow) continue;
      const RowId top = model.lineage().top_op[device.api[w]];
      if (top != trace::kNoRow) launched_.emplace(top, task);
    }
  }

  Known<OperatorLoop> Find() {
    Known<OperatorLoop> best =
        Known<OperatorLoop>::Absent("no operators are called over and over in a step");
    for (const Group& group : LargestGroups()) {
      OperatorLoop loop = Describe(group);
      if (loop.rows.empty() || !weights_.MayBeOne(loop, group.stretches)) continue;
      if (!launched_.empty() && WaitsForValues(loop)) continue;
      loop.one_row = weights_.OneRow(loop);
      if (!Cut(loop, group)) continue;
      if (!best || loop.cut.gone_ns() > best->cut.gone_ns()) best = std::move(loop);
    }
    return best;
  }

 private:
  // From the start of an operator to that of the next one of its step.
  trace::Interval Pitch(std::size_t at) const {
    const RowId row = operators_[at].row;
    Nanos end = host_.end_ns(row);
    if (at + 1 < operators_.size() && operators_[at + 1].step == operators_[at].step) {
      end = std::max(end, host_.start_ns[operators_[at + 1].row]);
    }
    return {host_.start_ns[row], end};
  }

  std::vector<Group> LargestGroups() const {
    std::map<std::uint32_t, Group> groups;  // by anchor
    for (const Stretch& stretch : FindStretches(operators_)) {
      // A backward pass goes with the operators that it is of.
      const bool engine =
          std::all_of(operators_.begin() + static_cast<std::ptrdiff_t>(stretch.first),
                      operators_.begin() + static_cast<std::ptrdiff_t>(stretch.last),
                      [](const StepOperator& op) { return op.backward; });
      if (engine) continue;
      Group& group = groups[stretch.anchor];
      group.stretches.push_back(stretch);
      for (std::size_t i = stretch.first; i < stretch.last; ++i) group.time_ns += Pitch(i).length();
    }
    std::vector<Group> sorted;
    sorted.reserve(groups.size());
    for (auto& [anchor, group] : groups) sorted.push_back(std::move(group));
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Group& a, const Group& b) { return a.time_ns > b.time_ns; });
    if (sorted.size() > kMostLoops) sorted.resize(kMostLoops);
    return sorted;
  }

  OperatorLoop Describe(const Group& group) const {
    OperatorLoop loop;
    for (const Stretch& stretch : group.stretches) {
      loop.times += stretch.times;
      for (std::size_t i = stretch.first; i < stretch.last; ++i) {
        loop.rows.push_back(operators_[i].row);
      }
    }
    loop.times /= static_cast<double>(model_.graph().steps);
    // One time round: from one anchor to the next, where it comes once in it; else a share.
    const Stretch& one = group.stretches.front();
    const std::size_t round = std::max<std::size_t>((one.last - one.first) / (one.times - 1), 1);
    for (std::size_t i = one.first; i < std::min(one.first + round, one.last); ++i) {
      loop.once.push_back(operators_[i].row);
    }
    loop.kind = weights_.KindOf(loop);
    const bool plain = loop.kind == LoopKind::kOperators || loop.kind == LoopKind::kReads;
    loop.growth = plain ? GrowthOf(group) : 0;
    return loop;
  }

  // From a device each value that is read is a wait, and so is each size that depends on values
  // (x[mask]): host-sync's business.
  bool WaitsForValues(const OperatorLoop& loop) const {
    if (loop.kind == LoopKind::kReads) return true;
    return std::any_of(loop.once.begin(), loop.once.end(), [&](RowId row) {
      for (RowId i = row; i < host_.size() && host_.thread[i] == host_.thread[row] &&
                          host_.start_ns[i] < host_.end_ns(row);
           ++i) {
        const std::string_view name = model_.trace().HostName(i);
        if (name == "aten::nonzero" || name == "aten::_local_scalar_dense") return true;
      }
      return false;
    });
  }

  double GrowthOf(const Group& group) const {
    std::map<std::uint32_t, std::size_t> counts;  // by step
    for (const Stretch& stretch : group.stretches) {
      counts[operators_[stretch.first].step] += stretch.last - stretch.first;
    }
    // A list that just began is too short to be a loop in the first steps.
    if (counts.size() < kStepsThatTell || 2 * counts.size() < model_.graph().steps) return 0;
    // Always as many more: batches that are sorted by length grow as they please.
    std::map<std::size_t, std::size_t> more;
    for (auto step = std::next(counts.begin()); step != counts.end(); ++step) {
      if (step->second <= std::prev(step)->second) return 0;
      ++more[step->second - std::prev(step)->second];
    }
    const auto most = std::max_element(
        more.begin(), more.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
    const auto all = static_cast<double>(counts.size() - 1);
    return static_cast<double>(most->second) >= kAlways * all ? static_cast<double>(most->first)
                                                              : 0;
  }

  // What is left of one call's pitch where one call does all. Of each call by itself: where calls
  // differ, a middle and a mean of them make gains out of nothing.
  double KeepShare(std::size_t at, const OperatorLoop& loop) const {
    const std::string_view name = model_.trace().HostName(operators_[at].row);
    const auto has = [&](std::string_view word) {
      return name.find(word) != std::string_view::npos;
    };
    const bool convolution = has("onv");
    const double calling =
        kCallNs + kInsideNs * (operators_[at].slices - 1) + (convolution ? kConvolutionNs : 0);
    const Nanos took = host_.duration_ns[operators_[at].row], pitch = Pitch(at).length();
    const double bare = bare_ * static_cast<double>(took);
    double computes = std::max(bare - calling, 0.0);
    if (loop.one_row && !convolution && (has("mm") || has("inear") || has("matmul"))) {
      computes *= kRowOfMany;
    }
    const double least = convolution ? kConvolvesAtLeast : kComputesAtLeast;
    computes = std::clamp(computes, least * bare, bare);
    // What it computes is the device's: all of the host's time is calling it.
    if (launched_.contains(operators_[at].row)) computes = 0;
    // Code that takes longer than getting to the next operator does something else, and stays.
    const auto other =
        static_cast<double>(std::max<Nanos>(pitch - took - analyze::kDispatchPause, 0));
    const double all = std::max(static_cast<double>(pitch), 1.0);
    return std::min((computes / bare_ + other) / all, 1.0);
  }

  // False: calling is so small a part that nobody would call it a loop of small operators.
  bool Cut(OperatorLoop& loop, const Group& group) const {
    std::vector<std::size_t> all = weights_.BackwardOf(group.stretches);
    loop.backward = !all.empty();
    for (const Stretch& stretch : group.stretches) {
      for (std::size_t i = stretch.first; i < stretch.last; ++i) all.push_back(i);
    }
    // Of a device's cells nothing was measured.
    const bool cells = launched_.empty();
    const bool lstm = cells && loop.kind == LoopKind::kLstm;
    const bool cell = lstm || (cells && loop.kind == LoopKind::kGru);
    std::vector<HostSpan> spans;
    double calling = 0, time = 0;
    for (const std::size_t i : all) {
      const auto pitch = static_cast<double>(Pitch(i).length());
      double keep = KeepShare(i, loop);
      calling += (1 - keep) * pitch;
      time += pitch;
      if (cell) keep = lstm ? kLstm : loop.backward ? kGruTrains : kGruInfers;
      spans.push_back({0, Pitch(i), 0, keep});
      const auto [begin, end] = launched_.equal_range(operators_[i].row);
      for (auto work = begin; work != end; ++work) loop.work.push_back(work->second);
    }
    if (calling < kLeastCalling * time) return false;
    // Beside a device, operators that launch nothing are what gets to a launch.
    if (!launched_.empty() && 4 * loop.work.size() < loop.rows.size()) return false;
    loop.cut = HostCut(model_.graph(), std::move(spans));
    return true;
  }

  const Model& model_;
  const trace::HostSlices& host_;
  const std::vector<StepOperator> operators_;
  const LoopWeights weights_;
  const double bare_;
  std::unordered_multimap<RowId, TaskId> launched_;  // by outermost operator
};

}  // namespace

Known<OperatorLoop> FindOperatorLoop(const Model& model) { return LoopFinder(model).Find(); }

}  // namespace hone::replay
