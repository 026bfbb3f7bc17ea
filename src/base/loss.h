// SPDX-License-Identifier: Apache-2.0
// Counted losses: bad, missing or doubtful data. A loss never stops the work; it is counted, it is
// shown in every report that has one, and it lowers the trust verdict according to its severity.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace hone {

enum class Severity : std::uint8_t {
  kInfo,      // worth knowing, changes no number
  kDataLoss,  // some data is missing; numbers that depend on it are incomplete
  kError,     // much is missing or wrong; numbers may mislead
};

enum class LossKind : std::uint8_t {
  kTruncatedInput,          // the file ends in the middle
  kDamagedCompression,      // the gzip or zstd stream is broken
  kUnreadableEvent,         // an event that could not be understood and was left out
  kRepairedEvent,           // invalid JSON in an event that was repaired and kept
  kBadTime,                 // no usable start time or duration
  kNegativeDuration,        // duration below zero, taken as zero
  kUnknownEvent,            // a phase or category this version does not know
  kTextBehind,              // bytes behind the end of the trace: another trace, or anything else
  kUnreadDevice,            // work of a device whose records hone does not read
  kUnreadableMetadata,      // a file-level key that could not be understood
  kUnlinkedDeviceWork,      // device work whose launching call is not in the file
  kUnattributedDeviceWork,  // launching call known, but no operator around it
  kGraphUnattributed,       // kernels of a CUDA graph without node ids: no operator can be named
  kGraphOpaque,             // whole CUDA graphs recorded as one piece of device work
  kAmbiguousCorrelation,    // one correlation id on several launching calls
  kMergedRanks,             // several ranks put together in one file by another tool
  kLinkConflict,            // correlation and External id name different operators
  kCrossingSlices,          // host slices on one thread that overlap without nesting
  kStreamOverlap,           // device work that overlaps its predecessor on the same stream
  kImplausibleDuration,     // device work longer than the whole rest of the trace; left out of sums
  kImplausibleEnd,          // host events that end long after everything else; they end with it
  kFarTime,                 // events far away in time from all others; left out
  kStartsBeforeLaunch,      // device work that starts before the call that launched it
  kEnclosingStep,           // step marks that enclose other steps; they end where the next begins
  kRecordingHole,           // time between steps that are no neighbours; left out
  kMissingTable,            // a table or field that this analysis needs is not in the file
  kCrowdedTable,            // more threads or streams than a trace can tell apart
  kUnclosedRange,           // a range that starts and never ends
  kDroppedByRecorder,       // the recording tool says that it dropped data
  // Of hone's own recordings:
  kDamagedChunk,       // parts of a .hone file that cannot be read
  kProcessKilled,      // the process ended without notice; what it did last is missing
  kRecordingGap,       // recording paused for another tool
  kOtherWindow,        // windows of the same recording that are not in this answer
  kNotRecorded,        // what the recorder could not take, as it says itself
  kArgumentsInferred,  // arguments of operators, taken from a step in which they were recorded
};
inline constexpr std::size_t kLossKindCount =
    static_cast<std::size_t>(LossKind::kArgumentsInferred) + 1;

struct LossInfo {
  const char* id;  // stable, kebab-case, for JSON
  Severity severity;
  const char* what;  // noun phrase that follows a count: "events could not be read"
  const char* one;   // the same of one: "event could not be read"; empty: a file has it once, and
                     // `what` is a sentence
  const char* help;  // the way out, one clause
};
const LossInfo& Describe(LossKind kind);
// "1 event could not be read", "2,104 events could not be read", "the file ends in the middle …".
std::string CountedLoss(LossKind kind, std::uint64_t count);
const char* SeverityName(Severity severity);

struct LossCount {
  std::uint64_t count = 0;
  Nanos time_ns = 0;  // time affected, where it is known
  std::string
      first_detail;  // the first occurrence, for people: "byte 100,000", "table NVTX_EVENTS"
};

// Value type. One per trace; readers on several threads keep their own and Merge.
class LossLog {
 public:
  void Add(LossKind kind, std::uint64_t count = 1, Nanos time_ns = 0, std::string_view detail = {});
  void Merge(const LossLog& other);
  void Drop(LossKind kind) { counts_[static_cast<std::size_t>(kind)] = {}; }
  const LossCount& operator[](LossKind kind) const {
    return counts_[static_cast<std::size_t>(kind)];
  }
  bool empty() const;

 private:
  std::array<LossCount, kLossKindCount> counts_;
};

}  // namespace hone
