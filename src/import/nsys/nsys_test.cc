// SPDX-License-Identifier: Apache-2.0
// Whole exports made by SQL, and what the trace says of them.
#include <gtest/gtest.h>

#include "import/nsys/database_test.h"

namespace hone::importer::nsys {
namespace {

using trace::SliceKind;
using trace::Trace;
using trace::WorkKind;

std::string TwoProcesses() {
  // Both processes use device 0, stream 7, and correlation 100: only the process tells them apart.
  return std::string(kFullSchema) + R"sql(
    INSERT INTO StringIds VALUES (1,'void gemm<float>(float*)'),(2,'gemm'),
      (3,'cudaLaunchKernel_v7000'),(4,'cudaMemcpyAsync_ptsz_v7000'),(5,'cuLaunchKernel');
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
      (1000,1500,0,)sql" +
         Tid(11, 12) + R"sql(,100,3,0,NULL),
      (2000,2100,0,)sql" +
         Tid(21, 22) + R"sql(,100,5,0,NULL),
      (3000,3200,0,)sql" +
         Tid(21, 22) + R"sql(,101,4,0,NULL);
    INSERT INTO NVTX_EVENTS (start,end,eventType,text,globalTid) VALUES
      (900,1600,59,'aten::mm, seq = 4, op_id = 9, sizes = [[2, 3], [3, 4]]',)sql" +
         Tid(11, 12) +
         R"sql(),
      (1900,2200,59,'aten::add, op_id = 9',)sql" +
         Tid(21, 22) + R"sql();
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
      (5000,6000,0,1,7,100,)sql" +
         Pid(11) + R"sql(,1,2,32,10,2,1,128,1,1,1024,512,NULL,NULL),
      (5500,5600,0,1,7,100,)sql" +
         Pid(21) + R"sql(,1,2,32,10,2,1,128,1,1,1024,512,77,5);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
      (7000,7100,0,1,7,101,)sql" +
         Pid(21) + R"sql(,4096,1,0,2,NULL,NULL,NULL),
      (7200,7300,0,1,7,0,)sql" +
         Pid(21) + R"sql(,8,8,2,2,0,1,NULL);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES
      (8000,8001,0,1,7,0,)sql" +
         Pid(21) + R"sql(,0,16,NULL,2);
  )sql";
}

TEST(Nsys, JoinsCorrelationIdsPerProcess) {
  const Trace trace = MustLoad(TwoProcesses());
  ASSERT_EQ(trace.device.size(), 5U);
  ASSERT_EQ(trace.streams.size(), 2U);
  EXPECT_EQ(trace.host.size(), 5U);
  const trace::RowId first = trace.device.api[0], second = trace.device.api[1];
  ASSERT_NE(first, trace::kNoRow);
  ASSERT_NE(second, trace::kNoRow);
  EXPECT_EQ(trace.HostName(first), "cudaLaunchKernel");
  EXPECT_EQ(trace.HostName(second), "cuLaunchKernel");
  EXPECT_EQ(trace.processes[trace.threads[trace.host.thread[first]].process].pid, 11);
  EXPECT_EQ(trace.threads[trace.host.thread[second]].tid, 22);
  EXPECT_EQ(trace.HostName(trace.device.op[0]), "aten::mm");
  EXPECT_EQ(trace.HostName(trace.device.op[1]), "aten::add");
  EXPECT_EQ(trace.HostName(trace.device.api[2]), "cudaMemcpyAsync");
  EXPECT_EQ(trace.losses[LossKind::kUnlinkedDeviceWork].count, 2U);  // the copy and set with id 0
  EXPECT_EQ(trace.losses[LossKind::kMissingTable].count, 0U);
  EXPECT_EQ(trace.info.format, trace::Format::kNsys);
  EXPECT_EQ(trace.info.events_seen, 5U + 3 + 2 + 2 + 2 + 1);
}

TEST(Nsys, GraphKernelsFindTheOperatorThatCapturedThem) {
  // Node 77 of process 21 is a copy of node 70, which was made inside aten::mul, long before.
  const Trace trace = MustLoad(TwoProcesses() + R"sql(
    CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER, end INTEGER, eventClass INTEGER,
      globalTid INTEGER, nameId INTEGER, graphNodeId INTEGER, originalGraphNodeId INTEGER);
    INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (150,160,0,)sql" +
                               Tid(21, 22) + R"sql(,NULL,70,NULL),
      (300,310,0,)sql" + Tid(21, 22) +
                               R"sql(,NULL,77,70);
    INSERT INTO NVTX_EVENTS (start,end,eventType,text,globalTid) VALUES
      (100,200,59,'aten::mul, op_id = 3',)sql" +
                               Tid(21, 22) + R"sql();
  )sql");
  ASSERT_EQ(trace.graph_nodes[trace.device.graph[1]].node_id, 77);
  EXPECT_EQ(trace.HostName(trace.device.op[1]), "aten::mul");
  EXPECT_EQ(trace.HostName(trace.device.op[0]), "aten::mm");
}

TEST(Nsys, KeepsGeometryNodesShapesAndBytes) {
  const Trace trace = MustLoad(TwoProcesses());
  const trace::LaunchConfig& launch = trace.launches[trace.device.launch[0]];
  EXPECT_EQ(launch.grid[0], 10U);
  EXPECT_EQ(launch.grid[1], 2U);
  EXPECT_EQ(launch.block[0], 128U);
  EXPECT_EQ(launch.registers_per_thread, 32);
  EXPECT_EQ(launch.shared_memory_bytes, 1536);
  EXPECT_EQ(trace.DeviceName(0), "void gemm<float>(float*)");
  EXPECT_EQ(trace.device.graph[0], 0U);
  EXPECT_EQ(trace.graph_nodes[trace.device.graph[1]], (trace::GraphNode{5, 77}));
  const trace::RowId op = trace.device.op[0];
  EXPECT_EQ(trace.host.link[op], 4);
  EXPECT_EQ(trace.Name(trace.op_details[trace.host.detail[op]].dims), "[[2, 3], [3, 4]]");
  EXPECT_EQ(trace.device.kind[2], WorkKind::kCopy);
  EXPECT_EQ(trace.device.bytes[2], 4096);
  EXPECT_EQ(trace.device.direction[2], trace::CopyDirection::kHostToDevice);
  EXPECT_EQ(trace.device.source[2], trace::MemoryKind::kPageable);
  EXPECT_EQ(trace.DeviceName(2), "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(trace.device.direction[3], trace::CopyDirection::kPeerToPeer);  // devices 0 and 1
  EXPECT_EQ(trace.device.kind[4], WorkKind::kSet);
  EXPECT_EQ(trace.DeviceName(4), "Memset (Device)");
}

TEST(Nsys, MinimalSchemaIsOneProcess) {
  const Trace trace = MustLoad(R"sql(
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (1,'k'),(2,'cudaLaunchKernel');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, streamId, correlationId,
      shortName);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10,20,0,7,5,1),(30,40,0,7,6,1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", correlationId, nameId);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2,5,2),(3,4,6,2);)sql");
  EXPECT_EQ(trace.processes.size(), 1U);
  ASSERT_EQ(trace.device.size(), 2U);
  EXPECT_EQ(trace.host.start_ns[trace.device.api[1]], 3);
  EXPECT_EQ(trace.DeviceName(0), "k");
  EXPECT_EQ(trace.device.launch[0], 0U);
  EXPECT_EQ(trace.losses[LossKind::kMissingTable].count, 1U);
  EXPECT_EQ(trace.losses[LossKind::kMissingTable].first_detail, "NVTX_EVENTS");
}

TEST(Nsys, CallsWithoutAProcessJoinAcrossTheFile) {
  const Trace trace = MustLoad(R"sql(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, streamId, correlationId,
      globalPid, name TEXT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10,20,0,7,5,)sql" +
                               Pid(9) + R"sql(,'named');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", correlationId, name TEXT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2,5,'cudaLaunchKernel');)sql");
  ASSERT_EQ(trace.device.size(), 1U);
  EXPECT_EQ(trace.DeviceName(0), "named");
  ASSERT_NE(trace.device.api[0], trace::kNoRow);
  EXPECT_EQ(trace.HostName(trace.device.api[0]), "cudaLaunchKernel");
}

TEST(Nsys, NamesEveryMissingTable) {
  const Trace trace = MustLoad(
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT);"
      "INSERT INTO NVTX_EVENTS VALUES (1, 5, 'phase');");
  EXPECT_EQ(trace.losses[LossKind::kMissingTable].count, 3U);
  EXPECT_EQ(trace.losses[LossKind::kMissingTable].first_detail,
            "CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME, StringIds");
  ASSERT_EQ(trace.host.size(), 1U);
  EXPECT_EQ(trace.HostName(0), "phase");
}

TEST(Nsys, OddValuesAreCountedNotTrusted) {
  const Trace trace = MustLoad(R"sql(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, streamId, correlationId,
      globalPid, demangledName, gridX);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
      ('100','200','0','7','1',NULL,'text name',-5),     -- text where numbers belong
      (NULL,200,0,7,2,NULL,1,1),                         -- no start
      (300,NULL,0,7,3,NULL,1,1),                         -- no end
      (500,400,0,7,4,NULL,1,1),                          -- ends before it starts
      (9223372036854775807,9223372036854775807,0,7,5,NULL,1,1),
      (-9223372036854775807,9223372036854775807,0,7,5,NULL,1,1),
      (600,1e300,0,7,6,NULL,1,1),
      (700,'soon',0,7,6,NULL,1,1),                       -- 'soon' is 0
      (800,x'00ff',-9,9e99,x'',NULL,x'ff',NULL);         -- blobs
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", correlationId);)sql");
  ASSERT_EQ(trace.device.size(), 4U);
  EXPECT_EQ(trace.device.start_ns[0], 100);
  EXPECT_EQ(trace.device.duration_ns[0], 100);
  EXPECT_EQ(trace.DeviceName(0), "text name");
  EXPECT_EQ(trace.launches[trace.device.launch[0]].grid[0], 0U);
  EXPECT_EQ(trace.device.duration_ns[1], 0);
  EXPECT_EQ(trace.losses[LossKind::kNegativeDuration].count, 3U);
  EXPECT_EQ(trace.losses[LossKind::kBadTime].count, 5U);
}

TEST(Nsys, DurationsCannotOverflowTogether) {
  const Trace trace = MustLoad(R"sql(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, streamId);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<100)
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 0, 288230376151711743, 0, i FROM n;)sql");
  Nanos total = 0;  // 2^58 - 1 each: two fit
  for (const Nanos duration : trace.device.duration_ns.span()) total += duration;
  EXPECT_LT(total, Nanos{1} << 59);
  EXPECT_EQ(trace.losses[LossKind::kBadTime].count, 98U);
}

TEST(Nsys, WholeGraphsAreOneOpaquePiece) {
  const Trace trace = MustLoad(std::string(kFullSchema) + R"sql(
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, "end", deviceId, contextId, streamId,
      correlationId, globalPid, graphId, graphExecId);
    INSERT INTO StringIds VALUES (1,'cudaGraphLaunch_v10000');
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10,20,0,)sql" +
                               Tid(1, 2) + R"sql(,8,1,0,0);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES
      (30,90,0,1,7,8,)sql" + Pid(1) +
                               R"sql(,42,43);)sql");
  ASSERT_EQ(trace.device.size(), 1U);
  EXPECT_EQ(trace.device.kind[0], WorkKind::kGraph);
  EXPECT_EQ(trace.DeviceName(0), "CUDA graph 42");
  EXPECT_EQ(trace.HostName(trace.device.api[0]), "cudaGraphLaunch");
  EXPECT_EQ(trace.losses[LossKind::kGraphOpaque].count, 1U);
  EXPECT_EQ(trace.losses[LossKind::kGraphOpaque].time_ns, 60);
}

TEST(Nsys, NvtxOfEveryKind) {
  const Trace trace = MustLoad(std::string(kFullSchema) + R"sql(
    INSERT INTO StringIds VALUES (5,'registered');
    INSERT INTO NVTX_EVENTS VALUES
      (0,NULL,75,NULL,'NCCL',)sql" +
                               Tid(1, 2) + R"sql(,NULL,NULL,3),
      (0,NULL,33,NULL,'category',)sql" +
                               Tid(1, 2) + R"sql(,NULL,NULL,3),
      (10,50,59,NULL,'outer',)sql" +
                               Tid(1, 2) + R"sql(,NULL,NULL,0),
      (20,30,59,NULL,NULL,)sql" +
                               Tid(1, 2) + R"sql(,NULL,5,0),
      (25,60,60,1,'crosses threads',)sql" +
                               Tid(1, 2) + "," + Tid(1, 3) + R"sql(,NULL,0),
      (60,70,60,2,'same thread',)sql" +
                               Tid(1, 2) + "," + Tid(1, 2) + R"sql(,NULL,0),
      (40,NULL,34,NULL,'mark',)sql" +
                               Tid(1, 2) + R"sql(,NULL,NULL,0),
      (45,NULL,59,NULL,'left open',)sql" +
                               Tid(1, 2) + R"sql(,NULL,NULL,0),
      (46,NULL,60,NULL,'left open too',)sql" +
                               Tid(1, 2) + R"sql(,NULL,NULL,0),
      (47,48,59,NULL,NULL,)sql" +
                               Tid(1, 2) + R"sql(,NULL,NULL,0),
      (49,50,12345,NULL,'new kind',)sql" +
                               Tid(1, 2) + R"sql(,NULL,NULL,0);)sql");
  ASSERT_EQ(trace.host.size(), 5U);
  EXPECT_EQ(trace.HostName(0), "outer");
  EXPECT_EQ(trace.HostName(1), "registered");
  EXPECT_EQ(trace.host.parent[1], 0U);
  EXPECT_EQ(trace.HostName(2), "");
  EXPECT_EQ(trace.HostName(3), "same thread");
  EXPECT_EQ(trace.HostName(4), "crosses threads");
  EXPECT_EQ(trace.threads[trace.host.thread[4]].tid, -1);
  for (const SliceKind kind : trace.host.kind.span()) EXPECT_EQ(kind, SliceKind::kAnnotation);
  ASSERT_EQ(trace.instants.size(), 1U);
  EXPECT_EQ(trace.instants.time_ns[0], 40);
  EXPECT_EQ(trace.losses[LossKind::kUnclosedRange].count, 2U);
  EXPECT_EQ(trace.losses[LossKind::kUnclosedRange].first_detail, "left open");
  EXPECT_EQ(trace.losses[LossKind::kUnknownEvent].count, 1U);
  EXPECT_EQ(trace.losses[LossKind::kCrossingSlices].count, 0U);
}

TEST(Nsys, WaitsFindTheirEventBySyncIdWithinTheProcess) {
  const Trace trace = MustLoad(std::string(kFullSchema) + R"sql(
    CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp, deviceId, contextId, streamId,
      correlationId, globalPid, eventId, eventSyncId);
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, "end", deviceId, contextId, streamId,
      correlationId, globalPid, syncType, eventId, eventSyncId);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,contextId,streamId,globalPid,
        demangledName,shortName) VALUES (1,2,1,2,30,)sql" +
                               Pid(2) + R"sql(,0,0);
    INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES
      (0,0,1,7,50,)sql" + Pid(1) +
                               R"sql(,9,900),
      (0,0,1,8,51,)sql" + Pid(1) +
                               R"sql(,9,901),   -- the same handle again
      (0,0,2,33,52,)sql" + Pid(2) +
                               R"sql(,9,901);
    INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
      (10,11,0,1,14,60,)sql" + Pid(1) +
                               R"sql(,2,9,901),
      (20,21,0,2,30,61,)sql" + Pid(2) +
                               R"sql(,2,9,901),
      (30,35,0,2,30,62,)sql" + Pid(2) +
                               R"sql(,3,0,0),
      (40,45,0,2,4294967295,63,)sql" +
                               Pid(2) + R"sql(,4,0,0),
      (50,55,0,2,4294967295,64,)sql" +
                               Pid(2) + R"sql(,1,9,900);)sql");
  ASSERT_EQ(trace.syncs.size(), 5U);
  EXPECT_EQ(trace.Name(trace.syncs.name[0]), "Stream Wait Event");
  EXPECT_EQ(trace.syncs.wait_on_stream[0], 8);
  EXPECT_EQ(trace.syncs.event_record_correlation[0], 51);
  EXPECT_EQ(trace.syncs.event_record_correlation[1], 52);
  EXPECT_EQ(trace.syncs.wait_on_stream[2], -1);
  EXPECT_EQ(trace.Name(trace.syncs.name[2]), "Stream Sync");
  EXPECT_EQ(trace.Name(trace.syncs.name[3]), "Context Sync");
  EXPECT_EQ(trace.syncs.stream[3], UINT16_MAX);
  EXPECT_EQ(trace.Name(trace.syncs.name[4]), "Event Sync");
  EXPECT_EQ(trace.syncs.event_record_correlation[4], 0);  // 900 belongs to the other process
  // Stream 30 of context 2 lives on device 1, as its kernel shows, whatever the wait says.
  EXPECT_EQ(trace.syncs.stream[1], trace.device.stream[0]);
  EXPECT_EQ(trace.events.size(), 3U);
}

TEST(Nsys, OverheadAndOperatingSystemCalls) {
  const Trace trace = MustLoad(std::string(kFullSchema) + R"sql(
    CREATE TABLE OSRT_API (start, "end", globalTid, nameId);
    CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start, "end", globalTid, nameId, overheadType);
    CREATE TABLE ENUM_CUPTI_OVERHEAD_TYPE (id INTEGER, name TEXT, label TEXT);
    INSERT INTO ENUM_CUPTI_OVERHEAD_TYPE VALUES (3,'FLUSH','Buffer flush (Profiler)');
    INSERT INTO StringIds VALUES (1,'poll'),(2,'Command Buffer Full');
    INSERT INTO OSRT_API VALUES (10,20,)sql" +
                               Tid(1, 2) + R"sql(,1);
    INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES
      (30,40,)sql" + Tid(1, 2) +
                               R"sql(,2,8),(50,60,)sql" + Tid(1, 2) + R"sql(,NULL,3);)sql");
  ASSERT_EQ(trace.host.size(), 3U);
  EXPECT_EQ(trace.host.kind[0], SliceKind::kOs);
  EXPECT_EQ(trace.HostName(0), "poll");
  EXPECT_EQ(trace.host.kind[1], SliceKind::kOverhead);
  EXPECT_EQ(trace.HostName(1), "Command Buffer Full");
  EXPECT_EQ(trace.HostName(2), "Buffer flush (Profiler)");
}

}  // namespace
}  // namespace hone::importer::nsys
