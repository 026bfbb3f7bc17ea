// SPDX-License-Identifier: Apache-2.0
// The fields of Perfetto's protos that we write, by their numbers in
// protos/perfetto/trace/perfetto_trace.proto (fields are never renumbered there).
#pragma once

#include <cstdint>

namespace hone::exporter::proto {

enum Trace : std::uint32_t { kPacket = 1 };

enum TracePacket : std::uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,  // trusted_packet_sequence_id
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kDefaults = 59,  // trace_packet_defaults
  kTrackDescriptor = 60,
  kPerfSample = 66,
  kFirstPacketOnSequence = 87,
};
enum SequenceFlags : std::uint32_t { kStateCleared = 1, kNeedsState = 2 };
enum TracePacketDefaults : std::uint32_t { kTimestampClockId = 58 };

enum ClockSnapshot : std::uint32_t { kClocks = 1, kPrimaryTraceClock = 2 };
enum Clock : std::uint32_t { kClockId = 1, kClockTimestamp = 2 };
enum BuiltinClock : std::uint32_t { kRealtime = 1, kBoottime = 6 };

enum TrackEvent : std::uint32_t {
  kCategoryIids = 3,
  kDebugAnnotations = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kName = 23,
  kCounterValue = 30,
  kDoubleCounterValue = 44,
  kFlowIds = 47,             // fixed64
  kTerminatingFlowIds = 48,  // fixed64
};
enum TrackEventType : std::uint32_t {
  kSliceBegin = 1,
  kSliceEnd = 2,
  kInstant = 3,
  kCounter = 4,
};
enum DebugAnnotation : std::uint32_t {
  kAnnotationNameIid = 1,
  kIntValue = 4,
  kDoubleValue = 5,
  kStringValue = 6,
  kStringValueIid = 17,
};

enum TrackDescriptor : std::uint32_t {
  kUuid = 1,
  kTrackName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kCounterDescriptor = 8,
  kChildOrdering = 11,
  kSiblingOrderRank = 12,
  kSiblingMergeBehavior = 15,
};
enum ChildTracksOrdering : std::uint32_t { kExplicitOrder = 3 };
enum SiblingMergeBehavior : std::uint32_t { kMergeNone = 2 };
enum ProcessDescriptor : std::uint32_t { kPid = 1, kProcessSortIndex = 3, kProcessName = 6 };
enum ThreadDescriptor : std::uint32_t { kThreadPid = 1, kTid = 2, kThreadName = 5 };
enum CounterDescriptor : std::uint32_t { kUnit = 3 };
enum CounterUnit : std::uint32_t { kUnitUnspecified = 0, kUnitSizeBytes = 3 };

enum InternedData : std::uint32_t {
  kEventCategories = 1,
  kEventNames = 2,
  kDebugAnnotationNames = 3,
  kFunctionNames = 5,
  kFrames = 6,
  kCallstacks = 7,
  kMappingPaths = 17,
  kMappings = 19,
  kDebugAnnotationStringValues = 29,
};
enum Interned : std::uint32_t { kIid = 1, kText = 2 };  // EventName, InternedString and their kin
enum Mapping : std::uint32_t { kMappingPathIds = 7 };
enum Frame : std::uint32_t { kFunctionNameId = 2, kMappingId = 3 };
enum Callstack : std::uint32_t { kFrameIds = 2 };
enum PerfSample : std::uint32_t {
  kSamplePid = 2,
  kSampleTid = 3,
  kSampleCallstackIid = 4,
  kCpuMode = 5,
  kTimebaseCount = 6,
};
enum CpuMode : std::uint32_t { kModeUser = 2 };

}  // namespace hone::exporter::proto
