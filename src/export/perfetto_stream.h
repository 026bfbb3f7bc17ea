// SPDX-License-Identifier: Apache-2.0
// PerfettoStream: the packets of one rank, and the state that Perfetto's reader keeps for them.
// Internal to export/perfetto.
//
// One packet sequence a rank. Names and long arguments are interned by their StringId; the state is
// cleared when it has grown large, so that neither side keeps more than that.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "export/perfetto_proto.h"
#include "trace/trace.h"

namespace hone::exporter {

// Categories and argument names are few and known: they are interned when the state is cleared.
enum class Category : std::uint8_t {
  kOp,
  kAnnotation,
  kApi,
  kPython,
  kOs,
  kOverhead,
  kOther,
  kGraphNode,  // as SliceKind
  kKernel,
  kCopy,
  kSet,
  kGraph,  // as WorkKind
  kSync,
  kDeviceAnnotation,
  kEvent,
  kStep,
  kIdle,
  kMemory,
  kCounter,
  kMark,
};
enum class Arg : std::uint8_t {
  kExternalId,
  kCorrelation,
  kSequence,
  kFwdThread,
  kDims,
  kTypes,
  kStrides,
  kConcrete,
  kModule,
  kStack,
  kPythonId,
  kPythonParent,
  kDevice,
  kStream,
  kOp,
  kBytes,
  kDirection,
  kGrid,
  kBlock,
  kRegisters,
  kSharedMemory,
  kBlocksPerSm,
  kWarpsPerSm,
  kOccupancy,
  kGraphId,
  kGraphNode,
  kCollective,
  kDtype,
  kInElements,
  kOutElements,
  kGroupSize,
  kGroupName,
  kGroupDescription,
  kGroupRanks,
  kCollectiveSequence,
  kSourceRank,
  kTargetRank,
  kWaitOnStream,
  kEventId,
  kStepNumber,
  kWarmUp,
  kBecauseOf,
  kNextWork,
  kAddress,
  kWholeDuration,
};

class PerfettoStream {
 public:
  // Text that all packets hold at a time before the state is cleared.
  static constexpr std::size_t kMostInterned = std::size_t{32} << 20;

  PerfettoStream(const trace::Trace& trace, std::uint32_t sequence, std::ostream& out);
  ~PerfettoStream() { Flush(); }
  PerfettoStream(const PerfettoStream&) = delete;
  PerfettoStream& operator=(const PerfettoStream&) = delete;

  // The two clocks at one moment: trace time, and time since 1970.
  void Clocks(std::uint64_t trace_ns, std::uint64_t realtime_ns);
  // `fields` is the inside of a TrackDescriptor.
  void Descriptor(const std::string& fields);

  // An event is Begin, then its fields in any order, then End.
  void Begin(proto::TrackEventType type, std::uint64_t track, std::uint64_t time_ns);
  void Name(StringId name);
  void Name(std::string_view name);  // not interned: for names that are not the trace's
  void InCategory(Category category);
  void Flow(std::uint64_t id);
  void EndFlow(std::uint64_t id);
  void Count(std::int64_t value);
  void Count(double value);
  void Annotate(Arg arg, std::int64_t value);
  void Annotate(Arg arg, double value);
  void Annotate(Arg arg, std::string_view text);
  void Annotate(Arg arg, StringId text);  // interned; nothing for the empty one
  void End();

  // A stack of Trace::stack_frames.
  void Sample(std::int64_t pid, std::int64_t tid, std::uint32_t frame, std::uint64_t time_ns,
              std::uint64_t weight);

  void Flush();

 private:
  void ClearState();
  void AddInterned(std::uint32_t field, std::uint64_t iid, std::string_view text);
  void InternFrames(std::uint32_t leaf);
  void Packet(std::uint32_t field, const std::string& data, std::uint64_t time_ns,
              std::uint32_t flags);
  void Emit();

  const trace::Trace& trace_;
  const std::uint32_t sequence_;
  std::ostream& out_;
  std::string buffer_, packet_, event_, part_, interned_;
  std::uint64_t event_time_ns_ = 0;
  std::vector<bool> names_, texts_, functions_, frames_, stacks_;  // interned since the last clear
  std::size_t interned_bytes_ = 0;
  bool first_ = true;
};

}  // namespace hone::exporter
