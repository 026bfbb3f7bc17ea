// SPDX-License-Identifier: Apache-2.0
#include "analyze/step_split.h"

namespace hone::analyze {

Known<StepSplit> SplitStep(const Facts& facts, StepWindow window) {
  if (!facts.timeline) return Known<StepSplit>::Absent(facts.timeline.why_not());
  StepSplit split;
  const bool stepped = facts.steps.source != StepSource::kNone && window == StepWindow::kSteady;
  split.steps = stepped ? facts.steps.steady_count() : 0;
  const DeviceTimeline& device = facts.timeline->main_device();
  const TimelineSplit& time = split.steps > 0 ? device.steady : device.whole;
  split.window = time.window;
  split.total_ns = time.total_ns;
  split.busy_ns = time.busy_ns;
  if (split.steps > 0 && facts.steps.stats) {
    const Nanos inside = facts.steps.stats->mean_ns * static_cast<Nanos>(split.steps);
    split.between_steps = time.total_ns - inside > time.total_ns / 20;
  }
  split.parts[0] = {StepPartKind::kCompute, {}, time.compute_ns};
  split.parts[1] = {StepPartKind::kCommunication, {}, time.exposed_comm_ns};
  split.parts[2] = {StepPartKind::kCopy, {}, time.exposed_copy_ns};
  for (std::size_t i = 0; i < kIdleCauseCount; ++i) {
    const Nanos idle = !facts.idle       ? 0
                       : split.steps > 0 ? facts.idle->steady_ns[i]
                                         : facts.idle->whole_ns[i];
    split.parts[3 + i] = {StepPartKind::kIdle, static_cast<IdleCause>(i), idle};
  }
  split.parts.back() = {StepPartKind::kIdle, {}, facts.idle ? 0 : time.idle_ns};
  return split;
}

}  // namespace hone::analyze
