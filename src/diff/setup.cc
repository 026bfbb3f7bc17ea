// SPDX-License-Identifier: Apache-2.0
#include "diff/setup.h"

#include <fmt/format.h>

#include <array>
#include <map>

namespace hone::diff {
namespace {

// "NVIDIA H200", "2 x NVIDIA H100"; empty where no work names its device.
std::string DevicesOf(const trace::Trace& trace, const analyze::Facts& facts) {
  if (!facts.timeline) return "no device work";
  std::map<std::string, std::size_t> names;
  for (const analyze::DeviceTimeline& device : facts.timeline->devices) {
    if (device.device >= trace.devices.size()) return "";
    const std::string& name = trace.devices[device.device].name;
    if (name.empty()) return "";
    ++names[name];
  }
  std::string text;
  for (const auto& [name, count] : names) {
    if (!text.empty()) text += ", ";
    text += count > 1 ? fmt::format("{} x {}", count, name) : name;
  }
  return text;
}

std::string Number(std::int64_t value) { return value < 0 ? "" : std::to_string(value); }

// What was recorded besides operators and kernels, which costs the host time. By what is in the
// file: not every recorder writes its settings down.
std::string ExtrasOf(const analyze::InputPresence& present) {
  const std::array<std::pair<const char*, bool>, 3> extras = {
      {{"Python calls", present.python > 0 || present.stacks},
       {"shapes", present.shapes},
       {"memory", present.memory_events > 0}}};
  std::string text;
  for (const auto& [name, there] : extras) {
    if (there) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text.empty() ? "nothing else" : text;
}

std::string StepsOf(const analyze::Steps& steps) {
  return steps.source == analyze::StepSource::kNone ? "none" : std::to_string(steps.steady_count());
}

std::string SourceOf(const analyze::Steps& steps) {
  return steps.source == analyze::StepSource::kNone ? "" : analyze::StepSourceName(steps.source);
}

}  // namespace

Setup CompareSetup(const trace::Trace& trace_before, const analyze::Facts& facts_before,
                   const trace::Trace& trace_after, const analyze::Facts& facts_after) {
  Setup setup;
  const auto add = [&](const char* id, const char* what, const std::string& before,
                       const std::string& after, const char* so) {
    if (before.empty() || after.empty() || before == after) return;
    setup.differences.push_back({id, what, before, after, so});
  };
  const trace::TraceInfo &a = trace_before.info, &b = trace_after.info;
  const std::string device = DevicesOf(trace_before, facts_before);
  if (!a.recorder.empty() && a.recorder == b.recorder) setup.same.push_back(a.recorder);
  if (!device.empty() && device == DevicesOf(trace_after, facts_after)) {
    setup.same.push_back(device);
  }
  add("device", "device", device, DevicesOf(trace_after, facts_after), "other hardware");
  add("world_size", "world size", Number(a.world_size), Number(b.world_size),
      "a step is other work");
  add("recorder", "recorder", a.recorder, b.recorder, "each slows the program in its own way");
  add("extras", "recorded too", ExtrasOf(facts_before.trust.present),
      ExtrasOf(facts_after.trust.present), "recording costs the host time");
  add("cuda_runtime", "CUDA runtime", a.cuda_runtime_version, b.cuda_runtime_version, "");
  add("cuda_driver", "CUDA driver", a.cuda_driver_version, b.cuda_driver_version, "");
  add("nccl", "NCCL", a.nccl_version, b.nccl_version, "");
  add("backend", "backend", a.backend, b.backend, "");
  add("step_source", "steps from", SourceOf(facts_before.steps), SourceOf(facts_after.steps),
      "their boundaries are not the same");
  add("steps", "steady steps", StepsOf(facts_before.steps), StepsOf(facts_after.steps), "");
  return setup;
}

}  // namespace hone::diff
