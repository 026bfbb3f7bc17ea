// SPDX-License-Identifier: Apache-2.0
// memory-pressure: the allocator gives memory back and asks for it again to stay inside the device.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/driver_memory.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

// Of the device's memory. The rest is what the context, cuBLAS, cuDNN and NCCL take for
// themselves, 0.5 to several GiB of 16 to 141: beyond it an allocation fails and the cache is
// flushed.
constexpr double kFull = 0.92;

const analyze::DeviceMemory* Fullest(const Case& the_case) {
  const analyze::DeviceMemory* fullest = nullptr;
  if (!the_case.facts.memory) return nullptr;
  for (const analyze::DeviceMemory& device : the_case.facts.memory->devices) {
    if (device.type != trace::MemoryDevice::kGpu || device.capacity <= 0) continue;
    const auto share = [](const analyze::DeviceMemory& d) {
      return static_cast<double>(d.peak_reserved) / static_cast<double>(d.capacity);
    };
    if (share(device) < kFull) continue;
    if (fullest == nullptr || share(device) > share(*fullest)) fullest = &device;
  }
  return fullest;
}

constexpr const char* kRemedy =
    "# less at a time: half the batch and accumulate, or recompute activations\n"
    "y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)\n"
    "# in the shell, where sizes vary: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n";

}  // namespace

Judgement JudgeMemoryPressure(const Case& the_case) {
  const bool calls = the_case.facts.trust.present.api_calls > 0 && the_case.whatif != nullptr;
  if (!calls && !the_case.facts.memory) {
    return Judgement::Missing(
        std::string("neither API calls in steps nor memory events in this trace; ") +
        trace::RecordAgain(the_case.trace.info, trace::Lacking::kMemory));
  }
  DriverMemory memory;
  if (calls) memory = CountDriverMemory(the_case.whatif->model());
  const analyze::DeviceMemory* full = Fullest(the_case);
  if (memory.retries == 0 && full == nullptr) return Judgement::Quiet();

  Finding finding;
  finding.id = "memory-pressure";
  finding.effort = Effort::kFewLines;
  finding.remedy = kRemedy;
  if (memory.retries > 0) {
    const replay::Model& model = the_case.whatif->model();
    const auto steps = static_cast<double>(model.graph().steps);
    finding.fix = {"allocator-churn"};
    finding.title = "memory is full: the allocator flushes its cache to make room";
    finding.evidence.push_back(
        fmt::format("memory is freed and allocated anew in {} a step: {} ms of host time",
                    Times(static_cast<double>(memory.retries) / steps, "operator"),
                    ThreeDigits(static_cast<double>(memory.retries_ns) / 1e6 / steps)));
    finding.where.push_back(Places(the_case).Of(memory.retry));
    if (full == nullptr) finding.confidence = Confidence::kMedium;
  } else {
    finding.title = "the device's memory is nearly full";
    finding.severity = Severity::kInfo;
  }
  if (full != nullptr) {
    finding.evidence.push_back(fmt::format(
        "{} reserved of {} ({})", HumanBytes(static_cast<double>(full->peak_reserved)),
        HumanBytes(static_cast<double>(full->capacity)),
        Percent(static_cast<double>(full->peak_reserved) / static_cast<double>(full->capacity))));
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
