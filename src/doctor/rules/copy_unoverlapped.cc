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

using trace::RowId;

constexpr const char* kRemedy =
    "def ahead(loader):                             # for x, y in ahead(loader): ...\n"
    "    side, main = torch.cuda.Stream(), torch.cuda.current_stream()\n"
    "    ready = None\n"
    "    for batch in loader:                       # DataLoader(..., pin_memory=True)\n"
    "        main.wait_stream(side)                 # for the batch before this one\n"
    "        with torch.cuda.stream(side):\n"
    "            coming = [t.to(\"cuda\", non_blocking=True) for t in batch]\n"
    "        for t in coming: t.record_stream(main)\n"
    "        if ready is not None: yield ready\n"
    "        ready = coming\n"
    "    main.wait_stream(side)\n"
    "    if ready is not None: yield ready\n";

// Of the time of copies, when their device neither computes nor communicates.
Known<Nanos> AloneTime(const Case& the_case, const std::vector<RowId>& copies) {
  const auto& timeline = the_case.facts.timeline;
  if (!timeline) return Known<Nanos>::Absent(timeline.why_not());
  const trace::DeviceWork& device = the_case.trace.device;
  std::vector<trace::IntervalSet> busy(the_case.trace.devices.size());
  for (const analyze::DeviceTimeline& one : timeline->devices) {
    if (one.device < busy.size()) busy[one.device] = trace::Unite(one.compute, one.comm);
  }
  Nanos alone = 0;
  for (const RowId copy : copies) {
    alone += device.duration_ns[copy] -
             busy[the_case.trace.streams[device.stream[copy]].device].LengthWithin(
                 {device.start_ns[copy], device.end_ns(copy)});
  }
  return alone;
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
  std::vector<RowId> copies;
  for (const replay::CopyInLine& copy : FindCopiesInLine(model)) {
    copies.push_back(model.graph().tasks[copy.task].row);
  }
  double bytes = 0;
  Nanos total = 0;
  for (const RowId copy : copies) {
    bytes += static_cast<double>(std::max<Bytes>(0, device.bytes[copy]));
    total += device.duration_ns[copy];
  }
  const RowId longest = *std::max_element(copies.begin(), copies.end(), [&](RowId a, RowId b) {
    return device.duration_ns[a] < device.duration_ns[b];
  });
  const Known<Nanos> alone = AloneTime(the_case, copies);
  const auto steps = static_cast<double>(model.graph().steps);

  Finding finding;
  finding.id = "copy-unoverlapped";
  finding.fix = {"copy-unoverlapped"};
  // What a batch is made of is not in the trace.
  finding.confidence = Confidence::kMedium;
  finding.effort = Effort::kFewLines;
  finding.title = "kernels wait for copies to the device that could run beside them";
  const auto millis = [&](Nanos ns) { return ThreeDigits(static_cast<double>(ns) / 1e6 / steps); };
  finding.evidence.push_back(fmt::format(
      "{} a step, {} in all, on the stream of the kernels: {}",
      Times(static_cast<double>(copies.size()) / steps, "copy", "copies"),
      HumanBytes(bytes / steps),
      alone ? fmt::format("of {} ms nothing runs beside {} ms", millis(total), millis(*alone))
            : fmt::format("{} ms", millis(total))));
  finding.where.push_back(Places(the_case).Of(device.api[longest]));
  finding.remedy = kRemedy;
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
