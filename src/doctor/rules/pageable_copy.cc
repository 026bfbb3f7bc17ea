// SPDX-License-Identifier: Apache-2.0
// pageable-copy: copies to the device out of pageable memory, and of results into it.
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

struct Copies {
  std::uint64_t count = 0;
  double bytes = 0;
  Nanos total_ns = 0;      // on the device
  Nanos host_ns = 0;       // inside the call and the wait behind it
  RowId longest = kNoRow;  // its call
};

void Add(const trace::Trace& trace, RowId work, Copies& copies) {
  ++copies.count;
  copies.bytes += static_cast<double>(std::max<Bytes>(0, trace.device.bytes[work]));
  copies.total_ns += trace.device.duration_ns[work];
  const RowId call = trace.device.api[work];
  if (call == kNoRow) return;
  copies.host_ns += trace.host.duration_ns[call];
  if (copies.longest == kNoRow ||
      trace.host.duration_ns[call] > trace.host.duration_ns[copies.longest]) {
    copies.longest = call;
  }
}

struct BothWays {
  Copies to_device, to_host;
};

BothWays Collect(const replay::Model& model) {
  const replay::Graph& graph = model.graph();
  const trace::Trace& trace = model.trace();
  BothWays copies;
  for (const replay::Task& task : graph.tasks) {
    if (task.kind == replay::TaskKind::kWait &&
        ReasonOf(model, task) == replay::WaitReason::kPageableCopy &&
        model.calls()[task.row] == analyze::ApiClass::kSync) {
      copies.to_device.host_ns += trace.host.duration_ns[task.row];
    }
    if (graph.lanes[task.lane].kind != replay::LaneKind::kStream) continue;
    if (replay::IsPageableInput(trace.device, task.row)) Add(trace, task.row, copies.to_device);
    if (replay::IsPageableResult(trace.device, task.row)) Add(trace, task.row, copies.to_host);
  }
  return copies;
}

std::string Amount(const Copies& copies, double steps) {
  return fmt::format("{} a step, {} in all",
                     Times(static_cast<double>(copies.count) / steps, "copy", "copies"),
                     HumanBytes(copies.bytes / steps));
}

void Explain(const replay::Model& model, const Copies& copies, const std::string& cost,
             Finding& finding) {
  finding.evidence.push_back(
      fmt::format("{}: {}", Amount(copies, static_cast<double>(model.graph().steps)), cost));
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

void SpeakOfBatches(const Case& the_case, const Copies& copies, double steps, Finding& finding) {
  // What costs with small ones is not the copy but that PyTorch waits after it.
  const bool small = copies.bytes / static_cast<double>(copies.count) <=
                     static_cast<double>(replay::kStagedAtOnce);
  finding.title = small ? "the host waits after copying small tensors to the device"
                        : "batches are copied to the device out of pageable memory";
  Explain(the_case.whatif->model(), copies,
          fmt::format("the host is held for {} ms",
                      ThreeDigits(static_cast<double>(copies.host_ns) / 1e6 / steps)),
          finding);
  if (small) {
    finding.effort = Effort::kFewLines;
    finding.remedy =
        "x = torch.arange(n, device=\"cuda\")                       # make it where it is used\n"
        "x = x_cpu.pin_memory().to(\"cuda\", non_blocking=True)     # or copy without waiting\n";
  } else if (the_case.facts.loader) {
    finding.needed =
        "DataLoader(..., pin_memory=True)\n"
        "batch = batch.to(\"cuda\", non_blocking=True)\n";
    finding.remedy = finding.needed;
  } else {
    finding.needed =
        "buffer = torch.empty(shape, pin_memory=True)            # once, before the loop\n"
        "buffer.copy_(batch); x = buffer.to(\"cuda\", non_blocking=True)\n";
    finding.remedy = finding.needed;
    finding.effort = Effort::kFewLines;
  }
}

void SpeakOfResults(const Case& the_case, const Copies& copies, double steps, Finding& finding) {
  finding.title = "results are copied to the host into pageable memory";
  Explain(the_case.whatif->model(), copies,
          fmt::format("the device spends {} ms on it",
                      ThreeDigits(static_cast<double>(copies.total_ns) / 1e6 / steps)),
          finding);
  finding.effort = Effort::kFewLines;
  finding.needed =
      "out = torch.empty_like(y, device=\"cpu\", pin_memory=True)     # once, before the loop\n"
      "out.copy_(y, non_blocking=True)\n"
      "torch.cuda.current_stream().synchronize()                   # before out is read\n";
  finding.remedy = finding.needed;
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
  const BothWays copies = Collect(model);
  const auto steps = static_cast<double>(model.graph().steps);

  Finding finding;
  finding.id = "pageable-copy";
  finding.fix = {"pageable-copy"};
  const bool results = copies.to_host.total_ns > copies.to_device.host_ns;
  const Copies& main = results ? copies.to_host : copies.to_device;
  const Copies& other = results ? copies.to_device : copies.to_host;
  if (results) {
    SpeakOfResults(the_case, main, steps, finding);
  } else {
    SpeakOfBatches(the_case, main, steps, finding);
  }
  if (other.count > 0) {
    finding.evidence.push_back(fmt::format(
        "and {} {}", Amount(other, steps),
        results ? "to the device, out of pageable memory" : "to the host, into pageable memory"));
  }
  if (main.longest != kNoRow) finding.where.push_back(Places(the_case).Of(main.longest));
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
