// SPDX-License-Identifier: Apache-2.0
#include "base/loss.h"

#include "base/check.h"
#include "base/text.h"

namespace hone {
namespace {

// In the order of LossKind.
constexpr LossInfo kLosses[] = {
    {"truncated-input", Severity::kError, "the file ends in the middle of the trace", "",
     "what stands before the end was read; record again and let the profiler finish writing"},
    {"damaged-compression", Severity::kError, "the compressed stream is damaged", "",
     "what stands before the damage was read; copy the file again and compare checksums"},
    {"unreadable-event", Severity::kDataLoss, "events could not be read and were left out",
     "event could not be read and was left out", "the rest was read; record again"},
    {"repaired-event", Severity::kInfo, "events held invalid JSON and were repaired",
     "event held invalid JSON and was repaired", "nothing to do"},
    {"bad-time", Severity::kDataLoss,
     "events had no time, or one over 73 years away from zero, and were left out",
     "event had no time, or one over 73 years away from zero, and was left out",
     "the recorder wrote a wrong time; record again"},
    {"negative-duration", Severity::kDataLoss, "events had a duration below zero, taken as zero",
     "event had a duration below zero, taken as zero",
     "the recorder wrote a wrong time; record again"},
    {"unknown-event", Severity::kInfo, "events are of a kind that hone does not read",
     "event is of a kind that hone does not read", "what they recorded is missing below"},
    {"text-behind", Severity::kDataLoss, "bytes behind the end of the trace were not read",
     "byte behind the end of the trace was not read", "keep each trace in a file of its own"},
    {"unread-device", Severity::kDataLoss,
     "pieces of device work stand in records that hone does not read",
     "piece of device work stands in a record that hone does not read",
     "figures are those of the host alone"},
    {"unreadable-metadata", Severity::kInfo, "file-level fields could not be read",
     "file-level field could not be read", "device names or settings may be missing below"},
    {"unlinked-device-work", Severity::kDataLoss,
     "pieces of device work have no launching call in the file",
     "piece of device work has no launching call in the file",
     "record more steps, so that what was queued before them weighs less"},
    {"unattributed-device-work", Severity::kInfo,
     "pieces of device work were launched outside any recorded operator",
     "piece of device work was launched outside any recorded operator", "op tables leave them out"},
    {"graph-unattributed", Severity::kDataLoss,
     "kernels came from CUDA graphs; no operator can be named for them",
     "kernel came from a CUDA graph; no operator can be named for it",
     "record without CUDA graphs to see operators"},
    {"graph-opaque", Severity::kDataLoss, "CUDA graph launches were recorded as one piece each",
     "CUDA graph launch was recorded as one piece",
     "record without CUDA graphs to see their kernels"},
    {"ambiguous-correlation", Severity::kInfo, "correlation ids stand on more than one launch",
     "correlation id stands on more than one launch",
     "merged files collide; analyze the files of single ranks instead"},
    {"merged-ranks", Severity::kInfo, "ranks are merged into this file",
     "rank is merged into this file", "analyze each rank's own file, or a directory of them"},
    {"link-conflict", Severity::kInfo,
     "kernels name another operator by External id than by correlation",
     "kernel names another operator by External id than by correlation",
     "the launching call decides"},
    {"crossing-slices", Severity::kInfo, "host events overlap without nesting",
     "host event overlaps another without nesting", "self times of those threads are approximate"},
    {"stream-overlap", Severity::kInfo,
     "pieces of device work overlap their predecessor on the same stream",
     "piece of device work overlaps its predecessor on the same stream",
     "shares of a step are unions; tables of kernels and operators count it twice"},
    {"implausible-duration", Severity::kError,
     "pieces of device work are longer than everything else together and were left out",
     "piece of device work is longer than everything else together and was left out",
     "the recorder wrote a wrong end time; record again"},
    {"implausible-end", Severity::kDataLoss,
     "host events end long after everything else and were cut where that ends",
     "host event ends long after everything else and was cut where that ends",
     "the recorder wrote a wrong end time; record again"},
    {"far-time", Severity::kDataLoss,
     "events lie far away in time from all others and were left out",
     "event lies far away in time from all others and was left out",
     "the recorder wrote a wrong time; record again"},
    {"starts-before-launch", Severity::kDataLoss,
     "pieces of device work start before the call that launched them",
     "piece of device work starts before the call that launched it",
     "the clocks of host and device do not agree; record again"},
    {"enclosing-step", Severity::kDataLoss,
     "step marks enclose other steps and were cut where the next begins",
     "step mark encloses other steps and was cut where the next begins",
     "mark each step once, from its begin to its end"},
    {"recording-hole", Severity::kInfo,
     "stretches between steps that are no neighbours belong to no step and were left out",
     "stretch between steps that are no neighbours belongs to no step and was left out",
     "figures are those of the steps"},
    {"missing-table", Severity::kDataLoss, "tables that some answers need are not in the file",
     "table that some answers need is not in the file",
     "export or record again with the missing part"},
    {"crowded-table", Severity::kDataLoss,
     "threads or streams beyond the first 65,534 are counted as one",
     "thread or stream beyond the first 65,534 is counted with another",
     "analyze the files of single ranks, or record a shorter window"},
    {"unclosed-range", Severity::kInfo, "ranges have a start and no end and were left out",
     "range has a start and no end and was left out", "nothing to do"},
    {"dropped-by-recorder", Severity::kError, "records were dropped by the recording tool",
     "record was dropped by the recording tool", "record a shorter window"},
    {"damaged-chunk", Severity::kDataLoss, "pieces of the recording could not be read",
     "piece of the recording could not be read",
     "the rest was read; look at the disk, or copy the files again"},
    {"process-killed", Severity::kInfo,
     "the recording has no end: its process was killed or still runs, or the file was cut", "",
     "of a process that was killed the last half second may be missing; a file that was cut: copy "
     "it again"},
    {"recording-gap", Severity::kDataLoss, "pauses while another tool used the device",
     "pause while another tool used the device",
     "run without that tool, or let hone record after it"},
    {"other-window", Severity::kInfo, "other stretches of this recording are left out",
     "other stretch of this recording is left out", "the latest whole window is analyzed"},
    {"not-recorded", Severity::kDataLoss, "records are missing, as the recorder says",
     "record is missing, as the recorder says",
     "give it more memory or record less, as the reason says"},
    {"arguments-inferred", Severity::kInfo,
     "operators were given the arguments of the same operator in a sampled step",
     "operator was given the arguments of the same operator in a sampled step",
     "arguments are recorded in two steps of a window"},
};
static_assert(sizeof(kLosses) / sizeof(kLosses[0]) == kLossKindCount);

}  // namespace

const LossInfo& Describe(LossKind kind) { return kLosses[static_cast<std::size_t>(kind)]; }

std::string CountedLoss(LossKind kind, std::uint64_t count) {
  const LossInfo& info = Describe(kind);
  if (*info.one == '\0') return info.what;
  return count == 1 ? std::string("1 ") + info.one : WithThousands(count) + " " + info.what;
}

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kInfo: return "info";
    case Severity::kDataLoss: return "data-loss";
    case Severity::kError: return "error";
  }
  return "error";
}

void LossLog::Add(LossKind kind, std::uint64_t count, Nanos time_ns, std::string_view detail) {
  if (count == 0) return;
  LossCount& loss = counts_[static_cast<std::size_t>(kind)];
  if (loss.first_detail.empty()) loss.first_detail = detail;
  loss.count += count;
  loss.time_ns += time_ns;
}

void LossLog::Merge(const LossLog& other) {
  for (std::size_t i = 0; i < kLossKindCount; ++i) {
    const LossCount& loss = other.counts_[i];
    Add(static_cast<LossKind>(i), loss.count, loss.time_ns, loss.first_detail);
  }
}

bool LossLog::empty() const {
  for (const LossCount& loss : counts_) {
    if (loss.count != 0) return false;
  }
  return true;
}

}  // namespace hone
