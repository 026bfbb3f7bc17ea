// SPDX-License-Identifier: Apache-2.0
// CUDA events and the waits on them. Event handles are reused within a run, so a wait finds its
// record by eventSyncId, which is unique within a process; files without that column stay unjoined.
#include <unordered_map>

#include "import/nsys/session.h"

namespace hone::importer::nsys {
namespace {

constexpr std::int64_t kInvalidStream = 0xFFFFFFFF;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE

struct EventKey {
  trace::RowId process;
  std::int64_t sync_id;
  friend bool operator==(const EventKey&, const EventKey&) = default;
};
struct EventKeyHash {
  std::size_t operator()(const EventKey& key) const {
    return (static_cast<std::size_t>(key.process) * 0x9E3779B97F4A7C15ULL) ^
           (static_cast<std::size_t>(key.sync_id) * 0xC2B2AE3D27D4EB4FULL);
  }
};
struct EventRecord {
  std::int64_t stream, correlation;
};
using EventMap = std::unordered_map<EventKey, EventRecord, EventKeyHash>;

// Both tables list these first. Their deviceId may be 0 for all; the context is to be trusted.
enum Column {
  kStart,
  kEnd,
  kPid,
  kDevice,
  kContext,
  kStream,
  kCorrelation,
  kSyncId,
  kType,
  kOldType
};
constexpr int kTime = kStart;

std::uint16_t StreamOf(Session& session, const Row& row, trace::RowId process) {
  const std::int64_t stream = row.Int(kStream, kInvalidStream);
  if (stream < 0 || stream >= kInvalidStream) return UINT16_MAX;
  std::int64_t gpu = row.Int(kDevice, -1);
  if (gpu < 0 || gpu >= INT32_MAX) gpu = -1;
  if (row.Has(kPid)) gpu = session.GpuOf(PidOf(row.Int(kPid)), gpu);
  gpu = session.GpuOfContext(process, row.Int(kContext, -1), gpu);
  return session.builder.StreamFor(gpu, stream, process);
}

EventMap ReadEvents(Session& session) {
  EventMap events;
  session.database.Scan("CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                        {"timestamp", "", "globalPid", "deviceId", "contextId", "streamId",
                         "correlationId", "eventSyncId"},
                        [&](const Row& row) {
                          Nanos time = 0;  // "not collected", as older exports have it
                          if (row.Has(kTime) && !session.ReadTime(row, kTime, time)) return;
                          const trace::RowId process = session.ProcessOf(row, kPid);
                          const std::int64_t sync_id = row.Int(kSyncId);
                          session.builder.AddEventRecord(time, StreamOf(session, row, process),
                                                         row.Int(kCorrelation), sync_id);
                          if (sync_id == 0) return;
                          events.insert_or_assign(
                              EventKey{process, sync_id},
                              EventRecord{row.Int(kStream, -1), row.Int(kCorrelation)});
                        });
  return events;
}

}  // namespace

void ReadSyncs(Session& session) {
  const EventMap events = ReadEvents(session);
  session.database.Scan(
      "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
      {"start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId",
       "eventSyncId", "syncType", "deprecatedSyncType"},
      [&](const Row& row) {
        Span span;
        if (!session.ReadSpan(row, kStart, kEnd, span)) return;
        const trace::RowId process = session.ProcessOf(row, kPid);
        trace::SyncInput sync;
        sync.start_ns = span.start_ns;
        sync.duration_ns = span.duration_ns;
        sync.name = session.builder.Intern(session.words.Sync(row.Int(kType, row.Int(kOldType))));
        sync.stream = StreamOf(session, row, process);
        sync.correlation = row.Int(kCorrelation);
        sync.event_id = row.Int(kSyncId);
        if (const auto event = events.find({process, sync.event_id});
            sync.event_id != 0 && event != events.end()) {
          sync.wait_on_stream = event->second.stream;
          sync.event_record_correlation = event->second.correlation;
        }
        session.builder.Add(sync);
      });
}

}  // namespace hone::importer::nsys
