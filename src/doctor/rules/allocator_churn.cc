// SPDX-License-Identifier: Apache-2.0
// allocator-churn: device memory is allocated and freed inside the steps.
#include <fmt/format.h>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/driver_memory.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

// Whether Python frames show torch.cuda.empty_cache() in the window.
bool SeesEmptyCache(const replay::Model& model) {
  return !model
              .HostRows(trace::SliceKind::kPython,
                        [](std::string_view name) {
                          return analyze::ParseFrame(name).function == "empty_cache";
                        })
              .empty();
}

void Advise(const Case& the_case, const DriverMemory& memory, Finding& finding) {
  const bool seen = SeesEmptyCache(the_case.whatif->model());
  if (seen || memory.frees_outside > 0) {
    finding.title = seen
                        ? "torch.cuda.empty_cache() gives memory back in the step, only to take it "
                          "again"
                        : "memory is given back to the driver in the step, only to be taken again";
    finding.remedy =
        "# remove torch.cuda.empty_cache() (and gc.collect()) from the loop: the cache is what "
        "makes\n# allocations free\n";
    finding.effort = Effort::kOneLine;
  } else if (2 * memory.host_allocations > memory.allocations) {
    finding.title = "pinned host memory is allocated in the step";
    finding.remedy =
        "buffer = torch.empty(shape, pin_memory=True)   # once, before the loop\n"
        "DataLoader(..., pin_memory=True)               # or let the loader keep it\n";
    finding.effort = Effort::kFewLines;
  } else {
    finding.title = "the memory cache grows and shrinks in the steps, since sizes change";
    finding.remedy =
        "# in the shell: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
        "x = F.pad(x, (0, -x.shape[-1] % 128))   # or few different sizes\n";
    finding.effort = Effort::kOneLine;
  }
}

}  // namespace

Judgement JudgeAllocatorChurn(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (the_case.facts.trust.present.api_calls == 0) {
    return Judgement::Missing(std::string("no API calls in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kDevice));
  }
  if (!the_case.whatif->Find("allocator-churn")) return Judgement::Quiet();
  const replay::Model& model = the_case.whatif->model();
  const DriverMemory memory = CountDriverMemory(model);
  if (memory.longest == trace::kNoRow) return Judgement::Quiet();
  const auto steps = static_cast<double>(model.graph().steps);
  const auto a_step = [&](std::uint64_t count) { return static_cast<double>(count) / steps; };

  Finding finding;
  finding.id = "allocator-churn";
  finding.fix = {"allocator-churn"};
  finding.evidence.push_back(fmt::format(
      "{} and {} a step take {} ms of host time", Times(a_step(memory.allocations), "allocation"),
      Times(a_step(memory.frees), "free"),
      ThreeDigits(static_cast<double>(memory.total_ns) / 1e6 / steps)));
  if (memory.frees_outside > 0) {
    finding.evidence.push_back(
        fmt::format("{} outside any operator, waiting for the device: {} ms a step",
                    Times(a_step(memory.frees_outside), "free"),
                    ThreeDigits(static_cast<double>(memory.frees_outside_ns) / 1e6 / steps)));
  }
  Advise(the_case, memory, finding);
  finding.where.push_back(Places(the_case).Of(memory.longest));
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
