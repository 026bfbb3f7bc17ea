// SPDX-License-Identifier: Apache-2.0
// transfer-bound: the link between host and device is busier than the device.
#include "replay/edits/transfer_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using replay::LinkLoad;
using trace::CopyDirection;

constexpr const char* kBatches =
    "x = batch.to(\"cuda\", non_blocking=True).float() / 255   # send uint8, convert on the "
    "device\n";
constexpr const char* kParameters =
    "model.to(\"cuda\")                  # what every step needs stays there, not on the host\n"
    "model.to(torch.bfloat16)           # or half the bytes of it, or quantized\n"
    "# or a larger batch for each time that they are fetched\n";
constexpr const char* kResults =
    "y = logits.argmax(-1)                # reduce on the device, copy what is needed of it\n"
    "y = y.to(torch.bfloat16).cpu()       # or half the bytes of it\n";

// A batch comes in a few tensors; parameters that are fetched when they are needed come layer by
// layer. Eight tensors are more than batches of the labelled programs have (1 to 3).
constexpr double kPortions = 8;

std::string RemedyOf(const Case& the_case, const LinkLoad& link, double copies_a_step) {
  if (link.direction == CopyDirection::kDeviceToHost) return kResults;
  if (WrappedInFsdp(the_case.trace)) {
    return fmt::format("FSDP(model, cpu_offload=None)      # parameters stay on the device\n{}",
                       kParameters);
  }
  return copies_a_step < kPortions ? fmt::format("{}{}", kBatches, kParameters)
                                   : fmt::format("{}{}", kParameters, kBatches);
}

void Explain(const replay::Model& model, const LinkLoad& link, Finding& finding) {
  const auto steps = static_cast<double>(model.graph().steps);
  const auto millis = [&](Nanos ns) { return ThreeDigits(static_cast<double>(ns) / 1e6 / steps); };
  finding.evidence.push_back(
      fmt::format("{} a step, {} in all, keep the link busy for {} ms; kernels take {} ms",
                  Times(static_cast<double>(link.copies.size()) / steps, "copy", "copies"),
                  HumanBytes(link.bytes / steps), millis(link.busy_ns), millis(link.compute_ns)));
  if (link.bytes <= 0 || link.busy_ns <= 0 || link.pageable) return;
  std::string rate = fmt::format("they run at {} GB/s",
                                 ThreeDigits(link.bytes / static_cast<double>(link.busy_ns)));
  if (model.peaks() && model.peaks()->host_link_gbytes_per_s > 0) {
    rate += fmt::format("; the link of {} carries {} from pinned memory", model.peaks()->name,
                        ThreeDigits(model.peaks()->host_link_gbytes_per_s));
  }
  finding.evidence.push_back(rate);
}

}  // namespace

Judgement JudgeTransferBound(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (the_case.trace.device.size() == 0) {
    return Judgement::Missing(std::string("no device activity in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kDevice));
  }
  const replay::Model& model = the_case.whatif->model();
  const std::vector<LinkLoad> links = FindBindingLinks(model);
  if (links.empty()) return Judgement::Quiet();
  const LinkLoad& link = links.front();

  Finding finding;
  finding.id = "transfer-bound";
  finding.fix = {"transfer-bound"};
  finding.title = link.direction == CopyDirection::kHostToDevice
                      ? "copies from the host take longer than all kernels"
                      : "copies to the host take longer than all kernels";
  // That the link sets the pace is seen; whether the bytes can be fewer is not.
  finding.confidence = Confidence::kMedium;
  finding.effort = Effort::kFewLines;
  Explain(model, link, finding);
  const auto portions =
      static_cast<double>(link.copies.size()) / static_cast<double>(model.graph().steps);
  finding.remedy = RemedyOf(the_case, link, portions);
  const trace::DeviceWork& device = the_case.trace.device;
  const auto row = [&](replay::TaskId copy) { return model.graph().tasks[copy].row; };
  const replay::TaskId longest = *std::max_element(
      link.copies.begin(), link.copies.end(), [&](replay::TaskId a, replay::TaskId b) {
        return device.duration_ns[row(a)] < device.duration_ns[row(b)];
      });
  if (const trace::RowId call = device.api[row(longest)]; call != trace::kNoRow) {
    finding.where.push_back(Places(the_case).Of(call));
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
