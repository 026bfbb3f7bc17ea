// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "import/nsys/database_test.h"

namespace hone::importer::nsys {
namespace {

using trace::Trace;

TEST(NsysMetadata, ReadsRecorderClockAndNames) {
  const Trace trace = MustLoad(std::string(kFullSchema) + R"sql(
    CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
    INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION','2026.2.1.210'),
      ('EXPORT_PARAM_INPUT_FILE','run.nsys-rep'),(NULL,NULL);
    CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630014975716426);
    CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
    CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
    INSERT INTO StringIds VALUES (1,'pt_autograd_0'),(2,'elsewhere');
    INSERT INTO ThreadNames VALUES (1,20,)sql" +
                               Tid(5, 6) + "),(2,20," + Tid(7, 8) + R"sql();
    INSERT INTO PROCESSES VALUES ()sql" +
                               Pid(5) + ",5,'python3'),(" + Pid(7) + R"sql(,7,'sh');
    INSERT INTO NVTX_EVENTS (start,end,eventType,text,globalTid) VALUES
      (1,2,59,'x',)sql" + Tid(5, 6) +
                               ");");
  EXPECT_EQ(trace.info.recorder, "Nsight Systems 2026.2.1.210");
  EXPECT_EQ(trace.info.trace_name, "run.nsys-rep");
  EXPECT_EQ(trace.info.base_time_ns, 1779630014975716426);
  ASSERT_EQ(trace.threads.size(), 1U);  // the other thread has no events
  EXPECT_EQ(trace.threads[0].name, "pt_autograd_0");
  ASSERT_EQ(trace.processes.size(), 1U);
  EXPECT_EQ(trace.processes[0].name, "python3");
}

TEST(NsysMetadata, TimesThatCountFrom1970HaveNoBase) {
  const Trace trace = MustLoad(std::string(kFullSchema) + R"sql(
    CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
    INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE','true');
    CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630014975716426);
    INSERT INTO NVTX_EVENTS (start,end,eventType) VALUES (1779630014975716430,1779630014975716440,59);
  )sql");
  EXPECT_EQ(trace.info.base_time_ns, 0);
  EXPECT_EQ(trace.info.recorder, "Nsight Systems");
  ASSERT_EQ(trace.host.size(), 1U);
  EXPECT_EQ(trace.host.duration_ns[0], 10);
}

TEST(NsysMetadata, DevicesUnderTheirOldName) {
  const Trace old = MustLoad(std::string(kFullSchema) + R"sql(
    CREATE TABLE TARGET_INFO_CUDA_GPU (deviceId INTEGER, name TEXT, globalMemorySize INTEGER,
      numMultiprocessors INTEGER, numThreadsPerWarp INTEGER, maxWarpsPerMultiprocessor INTEGER,
      computeCapabilityMajor INTEGER, computeCapabilityMinor INTEGER);
    INSERT INTO TARGET_INFO_CUDA_GPU VALUES (1,'NVIDIA A100',85000000000,108,32,64,8,0);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
      (1,2,1,1,7,1,NULL,1,1,32,264,1,1,64,1,1,0,0,NULL,NULL);)sql");
  ASSERT_EQ(old.devices.size(), 1U);
  EXPECT_EQ(old.devices[0].id, 1);
  EXPECT_EQ(old.devices[0].name, "NVIDIA A100");
  EXPECT_EQ(old.devices[0].memory_bytes, 85000000000);
  EXPECT_EQ(old.devices[0].sm_count, 108);
  EXPECT_EQ(old.devices[0].compute_major, 8);
  EXPECT_EQ(old.devices[0].compute_minor, 0);
  EXPECT_EQ(old.devices[0].max_threads_per_sm, 2048);
  EXPECT_EQ(old.losses[LossKind::kUnreadableMetadata].count, 0U);
}

TEST(NsysMetadata, DevicesFromWhateverColumnsExist) {
  const Trace full = MustLoad(std::string(kFullSchema) + R"sql(
    CREATE TABLE TARGET_INFO_GPU (vmId, id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER,
      threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, computeMajor INTEGER, computeMinor INTEGER);
    INSERT INTO TARGET_INFO_GPU VALUES (0,0,'NVIDIA H200',150000000000,132,32,64,9,0);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
      (1,2,0,1,7,1,NULL,1,1,32,264,1,1,64,1,1,0,0,NULL,NULL);)sql");
  ASSERT_EQ(full.devices.size(), 1U);
  EXPECT_EQ(full.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(full.devices[0].memory_bytes, 150000000000);
  EXPECT_EQ(full.devices[0].sm_count, 132);
  EXPECT_EQ(full.devices[0].compute_major, 9);
  EXPECT_EQ(full.devices[0].compute_minor, 0);
  EXPECT_EQ(full.devices[0].max_threads_per_sm, 2048);
  EXPECT_FLOAT_EQ(full.launches[full.device.launch[0]].blocks_per_sm, 2);
  EXPECT_FLOAT_EQ(full.launches[full.device.launch[0]].warps_per_sm, 4);

  const Trace text = MustLoad(std::string(kFullSchema) + R"sql(
    CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, computeCapability TEXT);
    INSERT INTO TARGET_INFO_GPU VALUES (3,'NVIDIA L4','8.9'),(NULL,'nowhere','x'),(-2,'no','1.1');
  )sql");
  ASSERT_EQ(text.devices.size(), 1U);
  EXPECT_EQ(text.devices[0].id, 3);
  EXPECT_EQ(text.devices[0].compute_major, 8);
  EXPECT_EQ(text.devices[0].compute_minor, 9);
  EXPECT_EQ(text.devices[0].sm_count, -1);
}

TEST(NsysMetadata, TwoProcessesThatBothSayDeviceZero) {
  // CUDA_VISIBLE_DEVICES gives each rank one GPU, and both call it 0.
  const Trace trace = MustLoad(std::string(kFullSchema) + R"sql(
    CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid, uuid, numMultiprocessors);
    INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (4,0,11,'',132),(6,0,12,'',132);
    CREATE TABLE TARGET_INFO_GPU (id INTEGER, cuDevice INTEGER, name TEXT);
    INSERT INTO TARGET_INFO_GPU VALUES (4,0,'four'),(6,1,'six');
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,contextId,streamId,globalPid,
        demangledName,shortName) VALUES
      (1,2,0,1,7,)sql" + Pid(11) +
                               ",0,0),(3,4,0,1,7," + Pid(12) + ",0,0);");
  ASSERT_EQ(trace.device.size(), 2U);
  const auto device_of = [&](trace::RowId row) {
    return trace.devices[trace.streams[trace.device.stream[row]].device].name;
  };
  EXPECT_EQ(device_of(0), "four");
  EXPECT_EQ(device_of(1), "six");
}

TEST(NsysMetadata, TheFilesOwnEnumsDecide) {
  const std::string rows = R"sql(
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1,2,0,1,7,0,NULL,5,2,0,1,NULL,NULL,NULL),
      (3,4,0,1,7,0,NULL,5,11,4,2,NULL,NULL,NULL),(5,6,0,1,7,0,NULL,-5,99,-1,NULL,NULL,NULL,NULL);)sql";
  const Trace plain = MustLoad(std::string(kFullSchema) + rows);
  EXPECT_EQ(plain.DeviceName(0), "Memcpy DtoH (Pageable -> Pinned)");
  EXPECT_EQ(plain.DeviceName(1), "Memcpy HtoD (Managed -> Device)");
  EXPECT_EQ(plain.DeviceName(2), "Memcpy Unknown (Unknown -> Unknown)");
  EXPECT_EQ(plain.device.bytes[2], -1);
  const Trace renumbered = MustLoad(std::string(kFullSchema) + rows + R"sql(
    CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT, label TEXT);
    INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (2,'CUDA_MEMCPY_KIND_HTOD','Host-to-Device'),
      (99999999,'X','Y'),(-1,'X','Y');
    CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT);
    INSERT INTO ENUM_CUDA_MEM_KIND VALUES (1,'CUDA_MEMOPR_MEMORY_KIND_DEVICE');)sql");
  EXPECT_EQ(renumbered.DeviceName(0), "Memcpy HtoD (Pageable -> Device)");
}

TEST(NsysMetadata, DroppedRecordsAreALoss) {
  const Trace trace = MustLoad(std::string(kFullSchema) + R"sql(
    CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT);
    INSERT INTO DIAGNOSTIC_EVENT VALUES (1,1,'Profiling has started.'),
      (2,3,'1,500 CUDA events were dropped.'),(3,2,'Some NVTX data was lost.');)sql");
  EXPECT_EQ(trace.losses[LossKind::kDroppedByRecorder].count, 1501U);
  EXPECT_EQ(trace.losses[LossKind::kDroppedByRecorder].first_detail,
            "1,500 CUDA events were dropped.");
}

}  // namespace
}  // namespace hone::importer::nsys
