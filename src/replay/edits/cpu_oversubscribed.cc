// SPDX-License-Identifier: Apache-2.0
// cpu-oversubscribed: the process that makes the steps has no more threads than there are cores.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/machine_counters.h"
#include "replay/edits/crowded_cores.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

// Of what is likely to be left of operators, at most gained: barriers that spin burn whole time
// slices (convolutions with 16 threads on 2 cores took 12 times as long as with 2).
constexpr double kMost = 0.5;

class FewerThreads : public Edit {
 public:
  FewerThreads(HostCut cut, Range3 left, double wanted, double cores)
      : cut_(std::move(cut)), left_(left), wanted_(wanted), cores_(cores) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    cut_.Apply(model.graph(), 1.0 - left_.At(guess), plan);
  }

  std::string Scope(const Model& /*model*/) const override {
    return fmt::format("{:.1f} threads of the process that makes the steps share {:.1f} cores",
                       wanted_, cores_);
  }

 private:
  const HostCut cut_;
  const Range3 left_;  // share of the operators' time
  const double wanted_, cores_;
};

}  // namespace

FoundEdit FindCpuOversubscribed(const Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::Interval window = model.facts().steps.host_window.hull();
  const double cores = analyze::ReadCounter(trace, window, "cpu_cores").mean();
  if (cores <= 0) return FoundEdit::Absent("the number of cores is not in this trace");
  const auto own = analyze::ReadOwnDemand(trace, window);
  if (!own) return FoundEdit::Absent("whose threads want the cores is not in this trace");
  const auto step = model.StepDemand();
  if (!step) return FoundEdit::Absent(step.why_not());
  if (step->process_wanted < kCrowded * cores && step->waiting >= kLeastWaiting) {
    return FoundEdit::Absent(
        fmt::format("the process that makes the steps wants {:.1f} of {:.1f} cores: fewer of its "
                    "threads give nothing back, it waits for cores that others take",
                    step->process_wanted, cores));
  }
  if (step->process_wanted < kCrowded * cores || step->waiting < kLeastWaiting) {
    return FoundEdit::Absent("the process that makes the steps has cores for its threads");
  }
  // Likely: what the cores could not hold was in vain. That is so where threads wait for each other
  // (barriers of small operators); large products lose only what the cores idled, the least.
  const double likely = std::min(1.0, cores / step->process_wanted);
  const double least = std::clamp(own->running / cores, likely, 1.0);
  std::vector<HostSpan> spans;
  for (const trace::RowId row :
       model.HostRows(trace::SliceKind::kOp, [](std::string_view) { return true; })) {
    spans.push_back(
        {model.LaneOf(row), {trace.host.start_ns[row], trace.host.end_ns(row)}, 0, 0.0});
  }
  if (spans.empty()) return FoundEdit::Absent("no operator runs in the steps");
  return FoundEdit(std::make_unique<FewerThreads>(HostCut(model.graph(), std::move(spans)),
                                                  Range3{least, likely, kMost * likely},
                                                  step->process_wanted, cores));
}

}  // namespace hone::replay
