// SPDX-License-Identifier: Apache-2.0
// grad-in-inference: no node of an autograd graph is made where nothing goes backward.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "replay/edits/edits.h"
#include "replay/edits/grad_mode.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// What making a node and letting it go takes, and how much at most of the time from one operator to
// the next. Measured with torch 2.13 on a CPU: 0.9 us a node in linear layers, 1.4 in layer norms,
// 1.9 in an encoder, 0.24 to 0.41 of programs that do little else; operators that compute for long
// lose no more than that.
constexpr double kNodeNs = 1'200, kMostOfPitch = 0.4;
// A graph that grows from step to step takes new memory for all that it keeps: pages that the
// kernel clears at the first touch, and no cache holds. Measured with torch 2.13, a small diffusion
// model that samples on one core: 694 faults and 1.2 ms of the kernel a step, and 0.5 ms of its own
// code, for 1.98 MiB of activations; 3.3 us for 4 KiB. Dropped after each step the graph costs
// 0.2 ms of 2.1, which is its nodes; kept, 1.9.
constexpr double kFreshPageNs = 3'300, kPageBytes = 4'096, kMostOfStep = 0.6;
constexpr Range3 kStrength = {0.5, 1.0, 1.6};

class GradInInference : public Edit {
 public:
  GradInInference(HostCut cut, std::size_t nodes) : cut_(std::move(cut)), nodes_(nodes) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    cut_.Apply(model.graph(), kStrength.At(guess), plan);
  }

  std::string Scope(const Model& model) const override {
    return fmt::format("{:.0f} nodes of a graph that nobody uses are not made a step",
                       static_cast<double>(nodes_) / static_cast<double>(model.graph().steps));
  }

 private:
  const HostCut cut_;
  const std::size_t nodes_;
};

}  // namespace

FoundEdit FindGradInInference(const Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::Interval window = model.graph().window;
  if (Trains(trace, window)) return FoundEdit::Absent("the steps have a backward pass");
  const GradMode grad = LookAtGradMode(trace, model.lineage(), window);
  if (!grad.Builds(static_cast<double>(model.graph().steps))) {
    return FoundEdit::Absent("no autograd graph is made in the steps");
  }
  std::vector<double> nodes(trace.host.size(), 0);  // by outermost operator
  for (const RowId maker : grad.makers) {
    if (const RowId top = model.lineage().top_op[maker]; top != kNoRow) ++nodes[top];
  }
  // From an outermost operator to the next one of its thread: a graph is let go between them.
  const double step_ns = model.graph().measured_step_ns();
  const double fresh =
      step_ns <= 0 ? 0
                   : std::min(kMostOfStep, KeptOnHost(model.facts()) / kPageBytes * kFreshPageNs /
                                               step_ns);  // of all operators' time alike
  std::vector<HostSpan> spans;
  RowId before = kNoRow;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (model.lineage().top_op[i] != i || !model.InWindow(i)) continue;
    if (before != kNoRow && (nodes[before] > 0 || fresh > 0) &&
        model.LaneOf(before) == model.LaneOf(i)) {
      const trace::Interval span{trace.host.start_ns[before], trace.host.start_ns[i]};
      const auto pitch = static_cast<double>(span.length());
      const double gone = std::min(kNodeNs * nodes[before], kMostOfPitch * pitch) + fresh * pitch;
      spans.push_back({model.LaneOf(i), span, static_cast<Nanos>(std::max(0.0, pitch - gone))});
    }
    before = i;
  }
  return FoundEdit(std::make_unique<GradInInference>(HostCut(model.graph(), std::move(spans)),
                                                     grad.makers.size()));
}

}  // namespace hone::replay
