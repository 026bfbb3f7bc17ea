// SPDX-License-Identifier: Apache-2.0
// pageable-copy: copies to the device out of pageable memory.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "replay/edits/waits.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using trace::kNoRow;
using trace::RowId;

// CUDA stages pageable copies of up to 64 KiB without waiting for them (CUDA runtime API, "API
// synchronization behavior"); what costs there is not the copy but that PyTorch waits after it.
constexpr double kSmallBytes = 64.0 * 1024;

struct Copies {
  std::uint64_t count = 0;
  double bytes = 0;
  Nanos total_ns = 0;      // on the device
  Nanos host_ns = 0;       // inside the call and the wait behind it
  RowId longest = kNoRow;  // its call
};

Copies Collect(const replay::Model& model) {
  const replay::Graph& graph = model.graph();
  const trace::Trace& trace = model.trace();
  Copies copies;
  for (const replay::Task& task : graph.tasks) {
    if (task.kind == replay::TaskKind::kWait &&
        ReasonOf(model, task) == replay::WaitReason::kPageableCopy &&
        model.calls()[task.row] == analyze::ApiClass::kSync) {
      copies.host_ns += trace.host.duration_ns[task.row];
    }
    if (graph.lanes[task.lane].kind != replay::LaneKind::kStream ||
        !replay::IsPageableInput(trace.device, task.row)) {
      continue;
    }
    ++copies.count;
    copies.bytes += static_cast<double>(std::max<Bytes>(0, trace.device.bytes[task.row]));
    copies.total_ns += trace.device.duration_ns[task.row];
    const RowId call = trace.device.api[task.row];
    if (call == kNoRow) continue;
    copies.host_ns += trace.host.duration_ns[call];
    if (copies.longest == kNoRow ||
        trace.host.duration_ns[call] > trace.host.duration_ns[copies.longest]) {
      copies.longest = call;
    }
  }
  return copies;
}

void Explain(const replay::Model& model, const Copies& copies, double steps, Finding& finding) {
  finding.evidence.push_back(
      fmt::format("{} a step, {} in all: the host is held for {} ms",
                  Times(static_cast<double>(copies.count) / steps, "copy", "copies"),
                  HumanBytes(copies.bytes / steps),
                  ThreeDigits(static_cast<double>(copies.host_ns) / 1e6 / steps)));
  if (copies.bytes > 0 && copies.total_ns > 0) {
    std::string rate = fmt::format(
        "they run at {} GB/s", ThreeDigits(copies.bytes / static_cast<double>(copies.total_ns)));
    if (model.peaks() && model.peaks()->host_link_gbytes_per_s > 0) {
      rate += fmt::format("; the link of {} carries {} from pinned memory", model.peaks()->name,
                          ThreeDigits(model.peaks()->host_link_gbytes_per_s));
    }
    finding.evidence.push_back(rate);
  }
}

}  // namespace

Judgement JudgePageableCopy(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (the_case.facts.trust.present.copies == 0) {
    return the_case.trace.device.size() > 0
               ? Judgement::Quiet()
               : Judgement::Missing(
                     std::string("no device activity in this trace; ") +
                     trace::RecordAgain(the_case.trace.info, trace::Lacking::kDevice));
  }
  if (!the_case.whatif->Find("pageable-copy")) return Judgement::Quiet();
  const replay::Model& model = the_case.whatif->model();
  const Copies copies = Collect(model);
  const auto steps = static_cast<double>(model.graph().steps);
  const bool small = copies.bytes / static_cast<double>(copies.count) <= kSmallBytes;

  Finding finding;
  finding.id = "pageable-copy";
  finding.fix = {"pageable-copy"};
  finding.title = small ? "the host waits after copying small tensors to the device"
                        : "batches are copied to the device out of pageable memory";
  Explain(model, copies, steps, finding);
  if (copies.longest != kNoRow) finding.where.push_back(Places(the_case).Of(copies.longest));
  if (small) {
    finding.effort = Effort::kFewLines;
    finding.remedy =
        "x = torch.arange(n, device=\"cuda\")                       # make it where it is used\n"
        "x = x_cpu.pin_memory().to(\"cuda\", non_blocking=True)     # or copy without waiting\n";
  } else if (the_case.facts.loader) {
    finding.remedy =
        "DataLoader(..., pin_memory=True)\n"
        "batch = batch.to(\"cuda\", non_blocking=True)\n";
  } else {
    finding.remedy =
        "buffer = torch.empty(shape, pin_memory=True)            # once, before the loop\n"
        "buffer.copy_(batch); x = buffer.to(\"cuda\", non_blocking=True)\n";
    finding.effort = Effort::kFewLines;
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
