// SPDX-License-Identifier: Apache-2.0
#include "analyze/syncs.h"

#include <gtest/gtest.h>

#include "analyze/sketch_test.h"

namespace hone::analyze {
namespace {

using trace::CopyDirection;
using trace::MemoryKind;
using trace::Trace;

SyncFacts Find(const Trace& trace, const Steps& steps = {}) {
  const Known<SyncFacts> facts = FindSyncs(trace, Lineage(trace), steps);
  EXPECT_TRUE(facts.has_value());
  return facts ? *facts : SyncFacts{};
}

TEST(ClassifyApi, NamesOfAllVendorsAndVersions) {
  const auto expect = [](ApiClass expected, std::initializer_list<const char*> names) {
    for (const char* name : names) EXPECT_EQ(ClassifyApi(name), expected) << name;
  };
  expect(ApiClass::kSync, {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cuCtxSynchronize",
                           "cudaEventSynchronize", "cuStreamSynchronize", "hipDeviceSynchronize",
                           "cudaDeviceSynchronize_v3020", "cudaStreamSynchronize_ptsz",
                           "cuEventSynchronize", "urQueueFinish"});
  expect(ApiClass::kLaunch,
         {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx",
          "cudaLaunchKernel_v7000", "hipLaunchKernel", "hipExtModuleLaunchKernel",
          "hipModuleLaunchKernel", "cudaLaunchCooperativeKernel", "cudaMemsetAsync",
          "cuMemsetD8Async", "cuLaunchCooperativeKernel", "urEnqueueKernelLaunch"});
  expect(ApiClass::kGraphLaunch,
         {"cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch", "cudaGraphLaunch_v10000"});
  expect(ApiClass::kCopy,
         {"cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", "hipMemcpyAsync", "cudaMemcpyPeerAsync",
          "cudaMemcpy2DAsync", "cudaMemcpyAsync_v3020", "cuMemcpyHtoDAsync_v2_ptsz"});
  expect(ApiClass::kBlockingCopy, {"cudaMemcpy", "cuMemcpyDtoH_v2", "hipMemcpyWithStream",
                                   "cudaMemcpyToSymbol", "hipMemcpy"});
  expect(ApiClass::kAllocate, {"cudaMalloc", "cudaHostAlloc", "cuMemAlloc_v2", "cudaMallocAsync",
                               "cuMemCreate", "cuMemMap", "cuMemAddressReserve", "hipMalloc",
                               "hipHostMalloc", "cudaMallocManaged", "cudaHostRegister"});
  expect(ApiClass::kFree, {"cudaFree", "cudaFreeHost", "cuMemFree_v2", "cuMemUnmap", "hipFree",
                           "cudaFreeAsync", "hipHostFree"});
  expect(ApiClass::kEvent, {"cudaEventRecord", "cudaEventQuery", "cudaStreamWaitEvent"});
  expect(ApiClass::kOther, {"", "cuda", "cudaGetDevice", "cudaFuncSetAttribute", "synchronize",
                            "customLaunchKernel", "cudaMemGetInfo", "cudaStreamIsCapturing",
                            "cuModuleLoadData", "cudaLaunchHostFunc", "cuMemGetAddressRange_v2"});
}

TEST(Syncs, NoCallsIsAbsent) {
  const Trace trace = TraceSketch().Op("aten::mm", 0, 10).Finish();
  EXPECT_FALSE(FindSyncs(trace, Lineage(trace), {}).has_value());
}

TEST(Syncs, CallsWithoutSyncsIsAnEmptyList) {
  EXPECT_TRUE(Find(TraceSketch().Launch(0, 1).Kernel(5, 6, 1).Finish()).rows.empty());
}

TEST(Syncs, GroupsByCallAndOutermostOperator) {
  TraceSketch sketch;
  for (const double t : {0.0, 100.0}) {
    sketch.Op("aten::item", t, t + 50).Op("aten::_local_scalar_dense", t + 1, t + 49);
    sketch.Call("cudaStreamSynchronize", t + 10, t + 40 + t / 20);
  }
  sketch.Op("aten::nonzero", 200, 230).Call("cudaStreamSynchronize", 205, 225);
  sketch.Call("cudaDeviceSynchronize", 300, 304).Launch(400, 5);
  const Trace trace = sketch.Finish();
  const SyncFacts facts = Find(trace);
  ASSERT_EQ(facts.rows.size(), 3u);
  EXPECT_EQ(trace.Name(facts.rows[0].op), "aten::item");
  EXPECT_EQ(facts.rows[0].count, 2u);
  EXPECT_EQ(facts.rows[0].total_ns, 65'000);
  EXPECT_EQ(facts.rows[0].max_ns, 35'000);
  EXPECT_EQ(trace.Name(facts.rows[1].op), "aten::nonzero");
  EXPECT_EQ(facts.rows[2].op, StringId::kEmpty);
  EXPECT_FALSE(facts.rows[2].by_profiler);  // a launch follows
  EXPECT_EQ(facts.count, 4u);
  EXPECT_EQ(facts.total_ns, 89'000);
}

TEST(Syncs, PerStepCountsSteadyStepsOnly) {
  TraceSketch sketch;
  for (int i = 0; i < 6; ++i) sketch.Call("cudaStreamSynchronize", i * 100 + 10, i * 100 + 20);
  Steps steps;
  for (int i = 0; i < 3; ++i) {
    const trace::Interval span{i * 100'000, i * 100'000 + 90'000};
    steps.steps.push_back({"s", i, span, span, i == 0});
  }
  steps.warm_up_count = 1;
  const Trace trace = sketch.Finish();
  const SyncFacts facts = Find(trace, steps);
  ASSERT_EQ(facts.rows.size(), 1u);
  EXPECT_EQ(facts.rows[0].count, 6u);
  EXPECT_DOUBLE_EQ(facts.rows[0].per_step, 1.0);  // two in two steady steps
}

TEST(Syncs, PageableCopyBlocksWhenTheCallCoversIt) {
  TraceSketch sketch;
  sketch.Call("cudaMemcpyAsync", 0, 100, 1).CopyFromPageable(10, 104, 1);     // 90 of 94 inside
  sketch.Call("cudaMemcpyAsync", 200, 210, 2).CopyFromPageable(205, 300, 2);  // 5 of 95 inside
  sketch.Call("cudaMemcpyAsync", 400, 500, 3);
  sketch.Copy(410, 490, 3, CopyDirection::kHostToDevice, MemoryKind::kPinned, MemoryKind::kDevice);
  sketch.Call("cudaMemcpy", 600, 610, 4);
  const Trace trace = sketch.Finish();
  const SyncFacts facts = Find(trace);
  ASSERT_EQ(facts.rows.size(), 2u);
  EXPECT_EQ(facts.rows[0].count, 1u);
  EXPECT_EQ(facts.rows[0].total_ns, 100'000);
  EXPECT_EQ(facts.rows[1].total_ns, 10'000);
}

TEST(Syncs, DeviceToDeviceCopyThatOutlivesItsCallDoesNotBlock) {
  TraceSketch sketch;
  sketch.Call("cudaMemcpy", 0, 10, 1);
  sketch.Copy(5, 50, 1, CopyDirection::kDeviceToDevice, MemoryKind::kDevice, MemoryKind::kDevice);
  EXPECT_TRUE(Find(sketch.Finish()).rows.empty());
}

TEST(Syncs, DriverCallInsideARuntimeCallIsOneWait) {
  TraceSketch sketch;
  sketch.Call("cudaStreamSynchronize", 0, 50).Call("cuStreamSynchronize", 1, 49);
  const Trace trace = sketch.Finish();
  const SyncFacts facts = Find(trace);
  EXPECT_EQ(facts.count, 1u);
  EXPECT_EQ(facts.total_ns, 50'000);
}

TEST(Syncs, TheProfilersLastSynchronizationIsFlagged) {
  TraceSketch sketch;
  sketch.Annotation("ProfilerStep#2", 0, 100).Call("cudaDeviceSynchronize", 2, 4);
  sketch.Launch(50, 1).Kernel(60, 200, 1).Call("cudaDeviceSynchronize", 110, 205);
  const Trace trace = sketch.Finish();
  const SyncFacts facts = Find(trace);
  ASSERT_EQ(facts.rows.size(), 2u);
  EXPECT_TRUE(facts.rows[0].by_profiler);
  EXPECT_EQ(facts.rows[0].total_ns, 95'000);
  EXPECT_FALSE(facts.rows[1].by_profiler);  // the user's, at the start of a step
}

TEST(Syncs, PythonFramesSayWhoAndWhere) {
  TraceSketch sketch;
  sketch.Python("train.py(102): main", 0, 1000);
  sketch.Python("torch/cuda/__init__.py(1152): synchronize", 10, 40);
  sketch.Call("cudaDeviceSynchronize", 12, 38);
  sketch.Python("torch/profiler/profiler.py(865): __exit__", 900, 990);
  sketch.Python("torch/cuda/__init__.py(1152): synchronize", 910, 940);
  sketch.Call("cudaDeviceSynchronize", 912, 918);
  const Trace trace = sketch.Finish();
  const SyncFacts facts = Find(trace);
  ASSERT_EQ(facts.rows.size(), 2u);
  EXPECT_FALSE(facts.rows[0].by_profiler);
  EXPECT_EQ(facts.rows[0].where, "train.py(102): main");
  EXPECT_TRUE(facts.rows[1].by_profiler);
}

TEST(Syncs, AStepThatOutlivesTheProfilersFrameIsNotInsideIt) {
  // prof.step() ends one step annotation and begins the next, which then crosses its frame.
  const Trace trace = TraceSketch()
                          .Python("train.py(3): main", 0, 1000)
                          .Python("torch/profiler/profiler.py(884): step", 10, 30)
                          .Annotation("ProfilerStep#4", 20, 900)
                          .Python("train.py(9): step", 40, 800)
                          .Op("aten::item", 100, 200)
                          .Call("cudaStreamSynchronize", 110, 190)
                          .Finish();
  const SyncFacts facts = Find(trace);
  ASSERT_EQ(facts.rows.size(), 1U);
  EXPECT_FALSE(facts.rows[0].by_profiler);
  EXPECT_TRUE(FindProfilerSyncs(trace, Lineage(trace), ApiCalls(trace)).empty());
}

TEST(Syncs, CallStackOfTheOperatorSaysWhere) {
  TraceSketch sketch;
  trace::OpDetail detail;
  detail.stack = sketch.builder().Intern(
      "torch/nn/modules/module.py(1501): _call_impl;model.py(12): forward;train.py(3): <module>");
  trace::SliceInput op;
  op.duration_ns = 100'000;
  op.name = sketch.builder().Intern("aten::item");
  op.thread = sketch.builder().ThreadFor(1, TraceSketch::kMain);
  op.detail = sketch.builder().Detail(detail);
  sketch.builder().Add(op);
  sketch.Call("cudaStreamSynchronize", 10, 90);
  const Trace trace = sketch.Finish();
  const SyncFacts facts = Find(trace);
  ASSERT_EQ(facts.rows.size(), 1u);
  EXPECT_EQ(facts.rows[0].where, "model.py(12): forward");
}

}  // namespace
}  // namespace hone::analyze
