// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "import/import.h"

namespace hone::importer {
namespace {

using trace::kNoRow;
using trace::SliceKind;
using trace::Trace;

Trace Load(const std::string& text) {
  Result<Trace> trace = LoadKinetoText(text, "test");
  if (!trace) {
    ADD_FAILURE() << trace.error().message();
    return Trace();
  }
  return std::move(trace).value();
}

std::string Fail(const std::string& text) {
  const Result<Trace> trace = LoadKinetoText(text, "test");
  return trace ? "loaded" : trace.error().message();
}

std::string Wrap(const std::string& events) { return "{\"traceEvents\": [" + events + "]}"; }

const char kOp[] =
    R"json({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 5, "tid": 6, "ts": 100.5, "dur": 50.25, "args": {"External id": 9, "Sequence number": 3, "Input Dims": [[2, 3], []]}})json";
const char kCall[] =
    R"json({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": 6, "ts": 110, "dur": 5, "args": {"correlation": 77, "External id": 9}})json";
const char kKernel[] =
    R"json({"ph": "X", "cat": "kernel", "name": "vadd", "pid": 0, "tid": 7, "ts": 120, "dur": 8, "args": {"External id": 9, "device": 0, "stream": 7, "correlation": 77, "grid": [4, 2, 1], "block": [128, 1, 1], "registers per thread": 16, "blocks per SM": inf, "est. achieved occupancy %": 50}})json";

TEST(Kineto, ReadsAndLinksAnOpItsCallAndItsKernel) {
  const Trace trace = Load(Wrap(std::string(kKernel) + "," + kCall + "," + kOp));
  ASSERT_EQ(trace.host.size(), 2U);
  ASSERT_EQ(trace.device.size(), 1U);
  EXPECT_EQ(trace.host.start_ns[0], 100500);
  EXPECT_EQ(trace.host.duration_ns[0], 50250);
  EXPECT_EQ(trace.HostName(0), "aten::add");
  EXPECT_EQ(trace.host.parent[1], 0U);
  EXPECT_EQ(trace.device.api[0], 1U);
  EXPECT_EQ(trace.device.op[0], 0U);
  const trace::LaunchConfig& launch = trace.launches[trace.device.launch[0]];
  EXPECT_EQ(launch.grid[1], 2U);
  EXPECT_EQ(launch.occupancy_pct, 50);
  EXPECT_EQ(launch.blocks_per_sm, -1);  // inf is not a number
  EXPECT_EQ(trace.Name(trace.op_details[trace.host.detail[0]].dims), "[[2, 3], []]");
  EXPECT_TRUE(trace.losses.empty());
}

TEST(Kineto, KeyOrderDoesNotMatter) {
  const Trace trace = Load(Wrap(
      R"json({"args": {"correlation": 1}, "cat": "Kernel", "dur": 1, "name": "k", "ph": "X", "pid": 0, "tid": "stream 7", "ts": 1},
         {"args": {"name": "python3"}, "name": "process_name", "ph": "M", "pid": 5, "tid": 0, "ts": 0})json"));
  ASSERT_EQ(trace.device.size(), 1U);
  EXPECT_EQ(trace.streams[0].id, 7);
  EXPECT_EQ(trace.processes[0].name, "python3");
}

TEST(Kineto, CategoriesOf2021AreKnown) {
  const Trace trace = Load(Wrap(
      R"json({"ph":"X","cat":"Operator","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":9,"args":{}},
         {"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":2,"dur":1,"args":{"correlation":4}},
         {"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":7,"ts":4,"dur":1,"args":{"correlation":4}},
         {"ph":"X","cat":"Memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":6,"dur":1,"args":{
  "bytes" : 64}},
         {"ph":"X","cat":"Memset","name":"Memset (Device)","pid":0,"tid":7,"ts":8,"dur":1,"args":{}},
         {"ph":"s","cat":"async_cpu_to_gpu","name":"x","id":4,"pid":1,"tid":1,"ts":2})json"));
  EXPECT_EQ(trace.host.size(), 2U);
  ASSERT_EQ(trace.device.size(), 3U);
  EXPECT_EQ(trace.device.kind[1], trace::WorkKind::kCopy);
  EXPECT_EQ(trace.device.direction[1], trace::CopyDirection::kHostToDevice);
  EXPECT_EQ(trace.device.source[1], trace::MemoryKind::kPageable);
  EXPECT_EQ(trace.device.bytes[1], 64);
  EXPECT_EQ(trace.device.op[0], 0U);
}

// Until 2022 ranges stood among the operators; torch's own are never that, whatever the category.
TEST(Kineto, RangesAreNoOperators) {
  const auto kind_of = [](const std::string& category, const std::string& name) {
    const Trace trace = Load(Wrap(R"json({"ph":"X","pid":1,"tid":1,"ts":1,"dur":9,"cat":")json" +
                                  category + R"json(","name":")json" + name + "\"}"));
    return trace.host.size() == 1 ? trace.host.kind[0] : SliceKind::kOther;
  };
  for (const char* range :
       {"ProfilerStep#3", "Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad",
        "enumerate(DataLoader)#_It.__next__"}) {
    EXPECT_EQ(kind_of("Operator", range), SliceKind::kAnnotation) << range;
    EXPECT_EQ(kind_of("cpu_op", range), SliceKind::kAnnotation) << range;
  }
  for (const char* range : {"step 12", "DistributedDataParallel.forward", "nccl:all_reduce",
                            "[pl][profile]run_training_batch"}) {
    EXPECT_EQ(kind_of("Operator", range), SliceKind::kAnnotation) << range;
    EXPECT_EQ(kind_of("cpu_op", range), SliceKind::kOp) << range;
  }
  for (const char* op : {"aten::mm", "AddmmBackward0", "<forward op>", "record_param_comms",
                         "autograd::engine::evaluate_function: AddmmBackward0",
                         "torch::autograd::CppNode<(anonymous namespace)::Roi>"}) {
    EXPECT_EQ(kind_of("Operator", op), SliceKind::kOp) << op;
  }
}

TEST(Kineto, MetadataBeforeOrAfterTheEvents) {
  const std::string meta =
      R"json("deviceProperties": [{"id": 3, "name": "NVIDIA H200", "numSms": 132}], "baseTimeNanoseconds": 1790857026000000000, "with_stack": 1,
         "distributedInfo": {"rank": 2, "world_size": 4, "pg_config": [{"pg_name": "0", "pg_size": 4, "ranks": "[0, 1, 2, 3]"}]})json";
  for (const std::string& text : {"{" + meta + ", \"traceEvents\": [" + kOp + "]}",
                                  std::string("{\"traceEvents\": [") + kOp + "], " + meta + "}"}) {
    const Trace trace = Load(text);
    ASSERT_EQ(trace.devices.size(), 1U);
    EXPECT_EQ(trace.devices[0].name, "NVIDIA H200");
    EXPECT_EQ(trace.devices[0].sm_count, 132);
    EXPECT_EQ(trace.info.base_time_ns, 1790857026000000000);
    EXPECT_EQ(trace.info.with_stack, 1);
    EXPECT_EQ(trace.info.record_shapes, -1);
    EXPECT_EQ(trace.info.rank, 2);
    ASSERT_EQ(trace.process_groups.size(), 1U);
    EXPECT_EQ(trace.process_groups[0].ranks, (std::vector<std::int64_t>{0, 1, 2, 3}));
  }
}

TEST(Kineto, DevicePropertiesUnderTheirNamesOf2021) {
  const Trace trace = Load(
      R"json({"computeProperties": [{"id": 0, "name": "Tesla V100", "totalGlobalMem": 34084028416, "major": 7, "minor": 0, "maxThreadsPerMultiProcessor": 2048, "multiProcessorCount": 80}], "traceEvents": [)json" +
      std::string(kOp) + "]}");
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].name, "Tesla V100");
  EXPECT_EQ(trace.devices[0].compute_major, 7);
  EXPECT_EQ(trace.devices[0].compute_minor, 0);
  EXPECT_EQ(trace.devices[0].sm_count, 80);
  EXPECT_EQ(trace.devices[0].max_threads_per_sm, 2048);
}

TEST(Kineto, ReadsInstantsCountersFlowsAndText) {
  const Trace trace = Load(Wrap(
      R"json({"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":5,"tid":6,"ts":1,"args":{"Total Reserved":400,"Total Allocated":300,"Bytes":-128,"Device Id":0,"Device Type":1,"Addr":140213032583168}},
         {"ph":"C","cat":"hardware_counters","name":"sm","pid":"GPU 0 Counters","tid":0,"ts":2,"args":{"":37.5,"bytes":4}},
         {"ph":"s","id":3,"pid":5,"tid":6,"ts":3,"cat":"fwdbwd","name":"fwdbwd"},
         {"ph":"f","id":3,"pid":5,"tid":7,"ts":4,"cat":"fwdbwd","name":"fwdbwd","bp":"e"},
         {"ph":"X","cat":"Trace","ts":1,"dur":9,"pid":"Spans","tid":"PyTorch Profiler","name":"PyTorch Profiler (0)","args":{
  "Op count" : 0}},
         {"name":"Record Window End","ph":"i","s":"g","pid":"","tid":"","ts":5},
         {"ph":"X","cat":"python_function","name":"<built-in method add_ of Tensor object at 0x7f88d9945680>","pid":5,"tid":6,"ts":1,"dur":2,"args":{"Python id":4,"Python parent id":null}},
         {"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":1,"dur":2,"args":{"cuda_sync_kind":"Stream Sync","stream":7,"correlation":15,"device":0}})json"));
  ASSERT_EQ(trace.memory.size(), 1U);
  EXPECT_EQ(trace.memory.bytes[0], -128);
  EXPECT_EQ(trace.memory.total_reserved[0], 400);
  ASSERT_EQ(trace.counters.size(), 2U);
  EXPECT_DOUBLE_EQ(trace.counters.value[0], 37.5);
  EXPECT_EQ(trace.Name(trace.counters.series[1]), "bytes");
  EXPECT_EQ(trace.flows.size(), 2U);
  EXPECT_EQ(trace.instants.size(), 1U);
  ASSERT_EQ(trace.host.size(), 1U);
  EXPECT_EQ(trace.HostName(0), "<built-in method add_ of Tensor object>");
  EXPECT_EQ(trace.syncs.size(), 1U);
  EXPECT_TRUE(trace.losses.empty());
}

TEST(Kineto, CollectiveMetadataReachesTheKernel) {
  const Trace trace = Load(Wrap(
      R"json({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":40,"ts":1,"dur":9,"args":{"stream":40,"device":0,"correlation":1,"Collective name":"allreduce","In msg nelems":100,"Out msg nelems":100,"Group size":2,"dtype":"Float","Process Group Name":"0","Process Group Ranks":"[0, 1]","Seq":12}})json"));
  const trace::Collective& c = trace.collectives[trace.device.collective[0]];
  EXPECT_EQ(trace.Name(c.name), "allreduce");
  EXPECT_EQ(c.in_elements, 100);
  EXPECT_EQ(c.sequence, 12);
}

TEST(Kineto, OneCorrelationManyKernels) {
  std::string events = kCall;
  for (int i = 0; i < 500; ++i) {
    events +=
        R"json(,{"ph":"X","cat":"kernel","name":"g","pid":0,"tid":7,"ts":)json" +
        std::to_string(200 + i) +
        R"json(,"dur":1,"args":{"stream":7,"device":0,"correlation":77,"graph node id":)json" +
        std::to_string(i + 1) + "}}";
  }
  const Trace trace = Load(Wrap(events));
  ASSERT_EQ(trace.device.size(), 500U);
  EXPECT_EQ(trace.device.api[499], 0U);
  EXPECT_EQ(trace.losses[LossKind::kGraphUnattributed].count, 500U);
}

TEST(Kineto, WorkLaunchedBeforeTheWindowIsCounted) {
  const Trace trace = Load(Wrap(kKernel));
  EXPECT_EQ(trace.device.api[0], kNoRow);
  EXPECT_EQ(trace.losses[LossKind::kUnlinkedDeviceWork].count, 1U);
  EXPECT_EQ(trace.losses[LossKind::kUnlinkedDeviceWork].time_ns, 8000);
}

TEST(Kineto, DamageCostsOneEventAndIsCounted) {
  const std::string broken[] = {
      R"json({"ph": "X", "cat": "cpu_op", "name": "a, "pid": 1, "tid": 1, "ts": 1, "dur": 1}})json",
      R"json({"ph": "X", "cat": "cpu_op", "name" "x"})json",
      R"json({"ph": "X", "cat": "cpu_op", "name": "x", "args": {]})json",
  };
  for (const std::string& bad : broken) {
    const Trace trace = Load(Wrap(std::string(kOp) + "," + bad + "," + kCall));
    EXPECT_EQ(trace.host.size(), 2U) << bad;
    EXPECT_EQ(trace.losses[LossKind::kUnreadableEvent].count, 1U) << bad;
    EXPECT_EQ(trace.losses[LossKind::kTruncatedInput].count, 0U) << bad;
  }
}

TEST(Kineto, RepairsWhatItCan) {
  const std::string bad[] = {
      R"json({"ph": "X", "cat": "cpu_op", "name": "f("x").py", "pid": 5, "tid": 6, "ts": 1, "dur": 1})json",
      "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\nb\", \"pid\": 5, \"tid\": 6, \"ts\": 1, "
      "\"dur\": 1}",
      "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"\xff\xfe\", \"pid\": 5, \"tid\": 6, "
      "\"ts\": 1, \"dur\": 1}",
      R"json({"ph": "X", "cat": "cpu_op", "name": "C:\Work\y", "pid": 5, "tid": 6, "ts": 1, "dur": 1})json",
      R"json({"ph": "X", "cat": "cpu_op", "name": "n", "pid": 5, "tid": 6, "ts": 1, "dur": 1, "args": {"a": 1,},})json",
  };
  for (const std::string& event : bad) {
    const Trace trace = Load(Wrap(std::string(kOp) + "," + event + "," + kCall));
    EXPECT_EQ(trace.host.size(), 3U) << event;
    EXPECT_EQ(trace.losses[LossKind::kUnreadableEvent].count, 0U) << event;
  }
}

TEST(Kineto, TrailingCommaAndEmptyLastEvent) {
  EXPECT_EQ(Load(Wrap(std::string(kOp) + ",")).host.size(), 1U);
  const Trace trace = Load(Wrap(std::string(kOp) + ", {}"));
  EXPECT_EQ(trace.host.size(), 1U);
  EXPECT_EQ(trace.losses[LossKind::kUnreadableEvent].count, 0U);
}

TEST(Kineto, TruncationAnywhereIsSaidAndNothingBeforeIsLost) {
  const std::string whole = Wrap(std::string(kOp) + ", " + kCall + ", " + kKernel);
  const std::size_t first_end = whole.find(kOp) + sizeof(kOp) - 1;
  for (std::size_t size = first_end; size + 1 < whole.size(); ++size) {
    const Trace trace = Load(whole.substr(0, size));
    EXPECT_EQ(trace.losses[LossKind::kTruncatedInput].count, 1U) << size;
    EXPECT_GE(trace.host.size(), 1U) << size;
  }
}

TEST(Kineto, ArrayFormMayLackItsBracket) {
  EXPECT_EQ(Load(std::string("[") + kOp + "," + kCall + "]").host.size(), 2U);
  const Trace open = Load(std::string("[") + kOp + "," + kCall);
  EXPECT_EQ(open.host.size(), 2U);
  EXPECT_EQ(open.losses[LossKind::kTruncatedInput].count, 0U);
}

TEST(Kineto, BadTimesAreLeftOutAndCounted) {
  const Trace trace =
      Load(Wrap(std::string(kOp) +
                R"json(,{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":NaN,"dur":1},
          {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":1},
          {"ph":"X","cat":"cpu_op","name":"c","pid":1,"tid":1,"ts":1,"dur":-5},
          {"ph":"X","cat":"cpu_op","name":"d","pid":1,"tid":1,"ts":"12.5","dur":"1"})json"));
  EXPECT_EQ(trace.host.size(), 3U);
  EXPECT_EQ(trace.losses[LossKind::kBadTime].count, 2U);
  EXPECT_EQ(trace.losses[LossKind::kNegativeDuration].count, 1U);
}

TEST(Kineto, LogTextInTheMetadataCostsOnlyTheMetadata) {
  const Trace trace = Load(
      "{\"schemaVersion\": 1, WARNING: something\n\"deviceProperties\": [{\"id\": 0, \"name\": "
      "\"NVIDIA A100\"}], \"traceEvents\": [" +
      std::string(kOp) + "]}");
  EXPECT_EQ(trace.host.size(), 1U);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].name, "NVIDIA A100");
  EXPECT_EQ(trace.losses[LossKind::kUnreadableMetadata].count, 1U);
}

TEST(Kineto, WhatStandsBehindTheTraceIsCounted) {
  const std::string first = Wrap(std::string(kOp) + "," + kCall);
  const std::string second = Wrap(kKernel);
  for (const std::string_view between : {"", "\n", "\nWARNING: }\n"}) {
    const Trace trace = Load(first + std::string(between) + second + "\n");
    EXPECT_EQ(trace.host.size(), 2U);
    EXPECT_EQ(trace.device.size(), 0U);
    const std::size_t spaces = between.empty() ? 0 : 1;
    EXPECT_EQ(trace.losses[LossKind::kTextBehind].count, between.size() - spaces + second.size());
  }
  EXPECT_EQ(Load(first + " \n").losses[LossKind::kTextBehind].count, 0U);
  EXPECT_EQ(Load(std::string("[") + kOp + "] x").losses[LossKind::kTextBehind].count, 1U);
}

// Wherever the windows are cut.
TEST(Kineto, TheEndIsFoundInAnyWindow) {
  std::string events = kOp;
  for (int i = 0; i < 40; ++i) events += std::string(",") + kCall;
  const std::string first = Wrap(events), second = Wrap(events);
  for (const std::size_t window_bytes : {300U, 700U, 1500U, 100'000U}) {
    const Result<Trace> trace = LoadKinetoText(first + second, "test", window_bytes);
    ASSERT_TRUE(trace.has_value());
    EXPECT_EQ(trace.value().host.size(), 41U) << window_bytes;
    EXPECT_EQ(trace.value().losses[LossKind::kTextBehind].count, second.size()) << window_bytes;
    EXPECT_EQ(trace.value().losses[LossKind::kUnreadableEvent].count, 0U) << window_bytes;
  }
}

TEST(Kineto, EventsThatAreNoObjectsAreCounted) {
  for (const char* stray : {"null", "7", "\"text\"", "[{\"ph\": \"X\"}]"}) {
    const Trace trace = Load(Wrap(std::string(kOp) + "," + stray + "," + kCall));
    EXPECT_EQ(trace.host.size(), 2U) << stray;
    EXPECT_EQ(trace.losses[LossKind::kUnreadableEvent].count, 1U) << stray;
  }
}

TEST(Kineto, BeginsAndEndsNestOnTheirThread) {
  const Trace trace = Load(Wrap(
      R"json({"ph":"B","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":10,"args":{"External id":4}},
         {"ph":"B","cat":"cpu_op","name":"other","pid":1,"tid":2,"ts":11},
         {"ph":"B","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":12,"args":{"correlation":9}},
         {"ph":"E","pid":1,"tid":1,"ts":15},
         {"ph":"E","pid":1,"tid":1,"ts":30},
         {"ph":"E","pid":1,"tid":2,"ts":40},
         {"ph":"E","pid":1,"tid":2,"ts":41},
         {"ph":"B","cat":"cpu_op","name":"open","pid":1,"tid":1,"ts":50},
         {"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":50},
         {"ph":"E","pid":0,"tid":7,"ts":60})json"));
  ASSERT_EQ(trace.host.size(), 3U);
  EXPECT_EQ(trace.HostName(0), "outer");
  EXPECT_EQ(trace.host.duration_ns[0], 20'000);
  EXPECT_EQ(trace.host.id[0], 4);
  EXPECT_EQ(trace.host.parent[1], 0U);
  EXPECT_EQ(trace.host.id[1], 9);
  EXPECT_EQ(trace.host.duration_ns[2], 29'000);
  EXPECT_EQ(trace.losses[LossKind::kUnclosedRange].count, 1U);
  EXPECT_EQ(trace.losses[LossKind::kUnknownEvent].count, 2U);  // an E alone, and the kernel
  EXPECT_EQ(trace.losses[LossKind::kUnreadableEvent].count, 0U);
}

TEST(Kineto, BeginsAndEndsOutOfLimitsAreLeftOut) {
  const Trace trace =
      Load(Wrap(std::string(kOp) +
                R"json(,{"ph":"B","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":-9000000000000000},
         {"ph":"E","pid":1,"tid":1,"ts":9000000000000000},
         {"ph":"B","cat":"cpu_op","name":"b","pid":1,"tid":1},
         {"ph":"B","cat":"cpu_op","name":"c","pid":1,"tid":1,"ts":20},
         {"ph":"E","pid":1,"tid":1,"ts":10})json"));
  EXPECT_EQ(trace.host.size(), 2U);
  EXPECT_EQ(trace.losses[LossKind::kBadTime].count, 2U);
  EXPECT_EQ(trace.losses[LossKind::kNegativeDuration].count, 1U);
}

TEST(Kineto, WhatAnAscendDeviceDidIsCounted) {
  const Trace trace = Load(Wrap(
      std::string(kOp) +
      R"json(,{"ph":"X","name":"MatMulV2","pid":9,"tid":7,"ts":20,"dur":5,"args":{"Task Type":"AI_CORE"}},
         {"ph":"X","name":"AscendCL@aclnnMatmul","pid":8,"tid":7,"ts":15,"dur":5},
         {"ph":"M","name":"process_name","pid":9,"tid":0,"args":{"name":"Ascend Hardware"}})json"));
  EXPECT_EQ(trace.losses[LossKind::kUnreadDevice].count, 1U);
  EXPECT_EQ(trace.losses[LossKind::kUnknownEvent].first_detail, "MatMulV2, without a category");
}

TEST(Kineto, ATraceInsideAFieldIsRead) {
  EXPECT_EQ(Load("{\"data\": " + Wrap(kOp) + "}").host.size(), 1U);
  EXPECT_NE(Fail("{\"a\": {\"b\": " + Wrap(kOp) + "}}").find("no events"), std::string::npos);
}

TEST(Kineto, WhatIsNoTraceIsRefusedInOneSentence) {
  EXPECT_NE(Fail("").find("empty"), std::string::npos);
  EXPECT_NE(Fail("hello").find("not a trace"), std::string::npos);
  EXPECT_NE(Fail("{\"a\": 1}").find("not a trace"), std::string::npos);
  EXPECT_NE(Fail("[1, 2]").find("not a trace"), std::string::npos);
  EXPECT_NE(Fail("{\"traceEvents\": []}").find("no events"), std::string::npos);
  EXPECT_NE(
      Fail("[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 1}]").find("none of a kind"),
      std::string::npos);
}

}  // namespace
}  // namespace hone::importer
