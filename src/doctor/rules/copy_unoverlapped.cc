// SPDX-License-Identifier: Apache-2.0
// copy-unoverlapped: batches leave pinned memory, and kernels stand in line behind them.
#include "replay/edits/copy_unoverlapped.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using trace::kNoRow;
using trace::RowId;

constexpr const char* kRemedy =
    "def ahead(loader, side=torch.cuda.Stream()):   # for x, y in ahead(loader): ...\n"
    "    ready, main = None, torch.cuda.current_stream()\n"
    "    for batch in loader:                       # DataLoader(..., pin_memory=True)\n"
    "        main.wait_stream(side)                 # for the batch before this one\n"
    "        with torch.cuda.stream(side):\n"
    "            coming = [t.to(\"cuda\", non_blocking=True) for t in batch]\n"
    "        for t in coming: t.record_stream(main)\n"
    "        if ready is not None: yield ready\n"
    "        ready = coming\n"
    "    main.wait_stream(side)\n"
    "    if ready is not None: yield ready\n";

// By device: when it computes or communicates.
std::vector<trace::IntervalSet> BusyTimes(const Case& the_case) {
  std::vector<trace::IntervalSet> busy(the_case.trace.devices.size());
  if (!the_case.facts.timeline) return busy;
  for (const analyze::DeviceTimeline& one : the_case.facts.timeline->devices) {
    if (one.device < busy.size()) busy[one.device] = trace::Unite(one.compute, one.comm);
  }
  return busy;
}

}  // namespace

Judgement JudgeCopyUnoverlapped(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.facts.syncs) {
    return Judgement::Missing(the_case.facts.syncs.why_not() + "; " +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kDevice));
  }
  if (!the_case.whatif->Find("copy-unoverlapped")) return Judgement::Quiet();
  const replay::Model& model = the_case.whatif->model();
  const trace::DeviceWork& device = the_case.trace.device;
  double bytes = 0;
  Nanos total = 0, alone = 0;
  RowId longest = kNoRow;
  const std::vector<replay::CopyInLine> copies = FindCopiesInLine(model);
  const std::vector<trace::IntervalSet> busy = BusyTimes(the_case);
  for (const replay::CopyInLine& copy : copies) {
    const RowId work = model.graph().tasks[copy.task].row;
    bytes += static_cast<double>(std::max<Bytes>(0, device.bytes[work]));
    total += device.duration_ns[work];
    alone += device.duration_ns[work] -
             busy[the_case.trace.streams[device.stream[work]].device].LengthWithin(
                 {device.start_ns[work], device.end_ns(work)});
    if (longest == kNoRow || device.duration_ns[work] > device.duration_ns[longest]) longest = work;
  }
  const auto steps = static_cast<double>(model.graph().steps);

  Finding finding;
  finding.id = "copy-unoverlapped";
  finding.fix = {"copy-unoverlapped"};
  finding.effort = Effort::kFewLines;
  finding.title = "kernels wait for copies to the device that could run beside them";
  finding.evidence.push_back(
      fmt::format("{} a step, {} in all, on the stream of the kernels: of {} ms nothing runs "
                  "beside {} ms",
                  Times(static_cast<double>(copies.size()) / steps, "copy", "copies"),
                  HumanBytes(bytes / steps), ThreeDigits(static_cast<double>(total) / 1e6 / steps),
                  ThreeDigits(static_cast<double>(alone) / 1e6 / steps)));
  finding.where.push_back(Places(the_case).Of(device.api[longest]));
  finding.remedy = kRemedy;
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
