// SPDX-License-Identifier: Apache-2.0
// fragmentation: the allocator holds memory that its tensors do not use.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"

namespace hone::doctor {
namespace {

using analyze::DeviceMemory;

// Of the reserve, unused at its fullest moment. The allocator rounds segments up to 2 and 20 MiB
// and keeps what earlier steps needed, so some is always unused: 13 to 21 % in four jobs that had
// no trouble (training ResNet-50 and a transformer, inference with BERT and Qwen).
constexpr double kLeastShare = 0.30;
// And so much that it matters: a tensor of a large model, or a twentieth of a small device.
constexpr double kLeastBytes = 1024.0 * 1024 * 1024, kLeastOfCapacity = 0.05;
// The reserve itself near the end of the device: the next request is an out-of-memory error.
constexpr double kNearlyFull = 0.90;
// Unused memory worth a larger batch.
constexpr double kMuch = 0.20;

double Unused(const DeviceMemory& memory) {
  return *memory.fragmentation * static_cast<double>(memory.peak_reserved);
}

bool Fragmented(const DeviceMemory& memory) {
  if (!memory.fragmentation || memory.peak_reserved <= 0) return false;
  if (*memory.fragmentation < kLeastShare) return false;
  const auto capacity = static_cast<double>(memory.capacity);
  return Unused(memory) >= kLeastBytes ||
         (capacity > 0 && Unused(memory) >= kLeastOfCapacity * capacity);
}

Severity SeverityOf(const DeviceMemory& memory) {
  if (memory.capacity <= 0) return Severity::kLow;
  const auto capacity = static_cast<double>(memory.capacity);
  if (static_cast<double>(memory.peak_reserved) >= kNearlyFull * capacity) return Severity::kHigh;
  return Unused(memory) >= kMuch * capacity ? Severity::kMedium : Severity::kLow;
}

}  // namespace

Judgement JudgeFragmentation(const Case& the_case) {
  const Known<analyze::MemoryFacts>& memory = the_case.facts.memory;
  if (!memory) return JudgeWithoutMemory(the_case);
  const DeviceMemory* worst = nullptr;
  std::string why;
  bool known = false;
  for (const DeviceMemory& device : memory->devices) {
    if (device.type == trace::MemoryDevice::kHost) continue;  // keeps no reserve
    if (!device.fragmentation) why = device.fragmentation.why_not();
    known = known || device.fragmentation.has_value();
    if (Fragmented(device) && (worst == nullptr || Unused(device) > Unused(*worst))) {
      worst = &device;
    }
  }
  if (worst == nullptr) {
    return known || why.empty() ? Judgement::Quiet() : Judgement::Missing(why);
  }
  Finding finding;
  finding.id = "fragmentation";
  finding.title = fmt::format("{} of the memory that the allocator holds is in no tensor",
                              Percent(*worst->fragmentation));
  finding.severity = SeverityOf(*worst);
  // What an earlier phase needed and nobody asks for any more looks the same.
  finding.confidence = Confidence::kMedium;
  finding.effort = Effort::kOneLine;
  finding.evidence.push_back(fmt::format(
      "device {}: {} reserved at the peak, {} of it unused at its fullest moment", worst->device_id,
      HumanBytes(static_cast<double>(worst->peak_reserved)), HumanBytes(Unused(*worst))));
  if (worst->capacity > 0) {
    const auto capacity = static_cast<double>(worst->capacity);
    finding.evidence.push_back(
        fmt::format("the device has {}: {} reserved, {} reserved and unused", HumanBytes(capacity),
                    Percent(static_cast<double>(worst->peak_reserved) / capacity),
                    Percent(Unused(*worst) / capacity)));
  }
  finding.remedy =
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py\n"
      "# newer releases also call it PYTORCH_ALLOC_CONF; the name above works in all of them\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
