// SPDX-License-Identifier: Apache-2.0
// grad-in-inference: forward passes without a backward record what one would need.
//
// The dispatcher writes a sequence number on an operator only while grad mode is on, and the number
// grows only when a node of the autograd graph is made (Dispatcher.cpp, sequenceNumberForRunning-
// Operation; Node's constructor). Seen with torch 2.13: under no_grad and inference_mode no
// operator carries one; with grad mode on and nothing that requires grad it stands still.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using trace::RowId;

// Of the outermost operators of the steps, the share that ran with grad mode on. Below one half the
// forward pass is under no_grad and only code around it is not.
constexpr double kLeastShare = 0.5;
// Nodes a step. One or two are a stray scale or bias outside the guarded part.
constexpr double kFewestNodes = 3;

struct GradMode {
  std::uint64_t ops = 0, on = 0;  // outermost operators of the steps
  std::uint64_t nodes = 0;        // made in the steps, all threads
  trace::RowId example = trace::kNoRow;
};

GradMode Look(const Case& the_case, const analyze::Lineage& lineage) {
  const trace::HostSlices& host = the_case.trace.host;
  const trace::Interval window = the_case.facts.steps.host_window;
  GradMode found;
  for (const trace::Thread& thread : the_case.trace.threads) {
    std::int64_t last = -1;
    for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
      if (host.kind[i] != trace::SliceKind::kOp || host.start_ns[i] < window.begin_ns ||
          host.start_ns[i] >= window.end_ns) {
        continue;
      }
      const std::int64_t sequence = host.link[i];
      if (lineage.top_op[i] == i) {
        ++found.ops;
        if (sequence >= 0) ++found.on;
      }
      // Numbers count nodes of one thread; a gap is nodes of operators that were not recorded.
      if (sequence > last && last >= 0) {
        ++found.nodes;
        if (found.example == trace::kNoRow) found.example = lineage.top_op[i];
      }
      last = std::max(last, sequence);
    }
  }
  return found;
}

// What a forward pass holds above what stands between steps: with grad mode on, every activation.
void AddMemory(const Case& the_case, Finding& finding) {
  if (!the_case.facts.memory) return;
  for (const analyze::DeviceMemory& device : the_case.facts.memory->devices) {
    if (device.at_step_end.empty()) continue;
    const Bytes between = *std::min_element(device.at_step_end.begin(), device.at_step_end.end());
    const Bytes held = device.peak_allocated - between;
    if (held <= 0) continue;
    finding.evidence.push_back(
        fmt::format("the peak is {} above what is allocated between steps; without grad mode "
                    "activations are freed as soon as they were read",
                    HumanBytes(static_cast<double>(held))));
    return;
  }
}

}  // namespace

Judgement JudgeGradInInference(const Case& the_case) {
  if (the_case.facts.trust.present.ops == 0) {
    return Judgement::Missing(std::string("no operators in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kOperators));
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (Trains(the_case)) return Judgement::Quiet();
  const GradMode grad = Look(the_case, the_case.whatif->model().lineage());
  const double steps = static_cast<double>(std::max<std::size_t>(the_case.steps(), 1));
  const double nodes = static_cast<double>(grad.nodes) / steps;
  if (grad.ops == 0 || nodes < kFewestNodes) return Judgement::Quiet();
  const double share = static_cast<double>(grad.on) / static_cast<double>(grad.ops);
  if (share < kLeastShare) return Judgement::Quiet();

  Finding finding;
  finding.id = "grad-in-inference";
  finding.title = "inference runs with grad mode on and builds an autograd graph nobody uses";
  finding.severity = Severity::kMedium;
  finding.effort = Effort::kOneLine;
  finding.evidence.push_back(
      fmt::format("about {:.0f} autograd nodes are made a step, and the {} have no backward pass "
                  "and no optimizer",
                  nodes, Count(the_case.steps(), "steady step")));
  finding.evidence.push_back(
      fmt::format("{} of the outermost operators ran with grad mode on", Percent(share)));
  AddMemory(the_case, finding);
  if (grad.example != trace::kNoRow) {
    finding.where.push_back(Places(the_case).Of(grad.example));
  }
  finding.remedy =
      "with torch.inference_mode():   # or torch.no_grad() where outputs meet autograd later\n"
      "    out = model(x)\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
