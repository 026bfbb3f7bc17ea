// SPDX-License-Identifier: Apache-2.0
#include "analyze/comm.h"

#include <gtest/gtest.h>

#include "analyze/fixture_test.h"
#include "import/import.h"

namespace hone::analyze {
namespace {

using trace::Trace;

Known<CommFacts> Measure(const Trace& trace, const Steps& steps = {}) {
  const WorkClasses classes(trace);
  return MeasureComm(trace, classes, ComputeTimeline(trace, classes, steps.steady_window), steps);
}

// Two steady steps of this length from there on.
Steps TwoSteps(Nanos begin, Nanos length) {
  Steps steps;
  steps.steps.resize(2);
  steps.steady_window.AppendSorted({begin, begin + 2 * length});
  steps.host_window = steps.steady_window;
  return steps;
}

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)";

trace::Collective Meta(TraceFixture& f, const char* name, const char* dtype, std::int64_t in,
                       std::int64_t out, std::int64_t size = 4, const char* group = "0") {
  return {.name = f.builder.Intern(name),
          .dtype = f.builder.Intern(dtype),
          .in_elements = in,
          .out_elements = out,
          .group_size = size,
          .group_name = f.builder.Intern(group)};
}

// 2 MB of bfloat16 in 1 ms and in 3 ms: mean 2 ms, so 1 GB/s; on the bus 1 · 2 · 3/4.
TEST(Comm, BandwidthAtTheMeanDuration) {
  TraceFixture f;
  const auto meta = f.builder.CollectiveRow(Meta(f, "allreduce", "BFloat16", 1'000'000, 1'000'000));
  f.Kernel(0, kMillisecond, kAllReduce, 0, 0, meta);
  f.Kernel(10 * kMillisecond, 3 * kMillisecond, kAllReduce, 0, 0, meta);
  f.builder.trace().info.base_time_ns = 5'000;
  const Trace trace = f.Finish();
  const auto facts = Measure(trace);
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->rows.size(), 1U);
  const CollectiveRow& row = facts->rows[0];
  EXPECT_EQ(row.kind, "all_reduce");
  EXPECT_EQ(row.dtype, "bfloat16");
  EXPECT_EQ(*row.message_bytes, 2e6);
  EXPECT_EQ(row.group_size, 4);
  EXPECT_EQ(row.count, 2U);
  EXPECT_EQ(row.mean_ns, 2 * kMillisecond);
  EXPECT_EQ(row.max_ns, 3 * kMillisecond);
  EXPECT_DOUBLE_EQ(*row.algorithm_gbytes_per_s, 1);
  EXPECT_DOUBLE_EQ(*row.bus_gbytes_per_s, 1.5);
  ASSERT_EQ(facts->runs.size(), 2U);
  EXPECT_EQ(facts->runs[0].start_ns, 5'000);
  EXPECT_EQ(facts->runs[1].order, 1);
  EXPECT_EQ(facts->runs[1].group, "0");
  EXPECT_EQ(facts->backend, "nccl");
}

TEST(Comm, OverlapIsOfUnions) {
  TraceFixture f;
  f.Kernel(0, 100, kAllReduce, 0, 0, 0, 1);
  f.Kernel(50, 100, kAllReduce, 0, 0, 0, 2);  // together [0, 150)
  f.Kernel(120, 80, "gemm", 0, 0, 0, 3);      // hides [120, 150)
  f.Kernel(120, 80, "gemm", 0, 0, 0, 4);
  const Trace trace = f.Finish();
  const auto facts = Measure(trace);
  EXPECT_EQ(facts->total_ns, 150);
  EXPECT_EQ(*facts->exposed_ns, 120);
  EXPECT_DOUBLE_EQ(*facts->overlap_pct, 20);
}

// DistributedDataParallel sends its parameters once, before the first step.
TEST(Comm, StartUpIsNoPartOfTheSteps) {
  TraceFixture f;
  f.Kernel(0, 500, "ncclDevKernel_Broadcast_RING_LL(x)", 0, 0, 0, 1);
  f.Kernel(1'000, 100, kAllReduce, 0, 0, 0, 1);
  f.Kernel(1'050, 100, "gemm", 0, 0, 0, 3);
  f.Kernel(1'490, 20, kAllReduce, 0, 0, 0, 1);  // [1,490, 1,500) of it
  const Trace trace = f.Finish();
  const auto facts = Measure(trace, TwoSteps(1'000, 250));
  EXPECT_EQ(facts->steps, 2U);
  ASSERT_EQ(facts->rows.size(), 1U);
  EXPECT_EQ(facts->rows[0].kind, "all_reduce");
  EXPECT_EQ(facts->rows[0].count, 2U);
  EXPECT_EQ(facts->total_ns, 110);
  EXPECT_EQ(*facts->exposed_ns, 60);
  EXPECT_EQ(facts->runs.size(), 3U);
  EXPECT_EQ(facts->exposed.length(), 570);
  const auto whole = Measure(trace);
  EXPECT_EQ(whole->steps, 0U);
  EXPECT_EQ(whole->rows.size(), 2U);
  EXPECT_EQ(whole->total_ns, 620);
  const auto none = Measure(trace, TwoSteps(2'000, 250));
  EXPECT_TRUE(none->rows.empty());
  EXPECT_EQ(none->total_ns, 0);
  EXPECT_FALSE(none->overlap_pct);
}

TEST(Comm, StartUpOnTheHostIsNoPartOfTheSteps) {
  TraceFixture f;
  f.Annotation(0, 500, "gloo:all_gather");
  f.Annotation(1'000, 100, "gloo:all_reduce");
  f.Annotation(1'490, 20, "gloo:all_reduce");
  const Trace trace = f.Finish();
  const auto facts = Measure(trace, TwoSteps(1'000, 250));
  ASSERT_EQ(facts->rows.size(), 1U);
  EXPECT_EQ(facts->rows[0].count, 2U);
  EXPECT_EQ(facts->total_ns, 110);
  EXPECT_EQ(facts->runs.size(), 3U);
}

TEST(Comm, MetadataOfTheLaunchingOperator) {
  TraceFixture f;
  const auto meta = f.builder.CollectiveRow(Meta(f, "_allgather_base", "Float", 1000, 4000));
  f.Op(0, 100, "record_param_comms", {.collective = meta});
  f.Annotation(5, 80, "nccl:_all_gather_base");
  f.Api(10, 5, 1);
  f.Kernel(50, 16'000, "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", 1);
  const Trace trace = f.Finish();
  const CollectiveRow row = Measure(trace)->rows[0];
  EXPECT_EQ(row.kind, "all_gather");
  EXPECT_EQ(row.dtype, "float32");
  EXPECT_EQ(*row.message_bytes, 16'000);  // the whole output
  EXPECT_DOUBLE_EQ(*row.bus_gbytes_per_s, 0.75);
}

// Files of 2022: a SendRecv kernel, and an annotation that says what for and how much.
TEST(Comm, AnnotationTellsWhatAGenericKernelDoes) {
  TraceFixture f;
  f.Annotation(0, 100, "nccl:all_to_all",
               {.dims = f.builder.Intern("[[8, 1000]]"), .types = f.builder.Intern("[\"float\"]")});
  f.Api(10, 5, 1);
  f.Kernel(50, 32'000, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", 1);
  f.Kernel(90'000, 10, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", 2);
  const Trace trace = f.Finish();
  const auto facts = Measure(trace);
  ASSERT_EQ(facts->rows.size(), 2U);
  EXPECT_EQ(facts->rows[0].kind, "all_to_all");
  EXPECT_EQ(*facts->rows[0].message_bytes, 32'000);
  EXPECT_DOUBLE_EQ(*facts->rows[0].algorithm_gbytes_per_s, 1);
  EXPECT_NE(facts->rows[0].bus_gbytes_per_s.why_not().find("group"), std::string::npos);
  EXPECT_EQ(facts->rows[1].kind, "send_recv");
  EXPECT_FALSE(facts->rows[1].message_bytes);
  EXPECT_FALSE(facts->rows[1].algorithm_gbytes_per_s);
}

TEST(Comm, NameAloneGivesKindAndTypeButNoSize) {
  TraceFixture f;
  f.Kernel(0, 100, kAllReduce);
  const Trace trace = f.Finish();
  const CollectiveRow row = Measure(trace)->rows[0];
  EXPECT_EQ(row.kind, "all_reduce");
  EXPECT_EQ(row.dtype, "bfloat16");
  EXPECT_FALSE(row.message_bytes);
  EXPECT_EQ(row.group_size, -1);
}

TEST(Comm, TheOnlyGroupOfTheFileIsTheGroup) {
  TraceFixture f;
  f.Kernel(0, 100, kAllReduce);
  f.builder.trace().process_groups = {{"7", "", "nccl", {0, 1, 2}, -1}};
  const Trace one = f.Finish();
  EXPECT_EQ(Measure(one)->runs[0].group, "7");
  EXPECT_EQ(Measure(one)->runs[0].group_size, 3);

  TraceFixture g;
  g.Kernel(0, 100, kAllReduce);
  g.builder.trace().process_groups = {{"7", "", "", {}, 3}, {"8", "", "", {}, 2}};
  const Trace two = g.Finish();
  EXPECT_EQ(Measure(two)->runs[0].group, "");
  EXPECT_EQ(Measure(two)->runs[0].group_size, -1);
}

TEST(Comm, OrderIsThatOfTheLaunchesPerGroup) {
  TraceFixture f;
  const auto a = f.builder.CollectiveRow(Meta(f, "allreduce", "Float", 1, 1, 2, "a"));
  const auto b = f.builder.CollectiveRow(Meta(f, "broadcast", "Float", 1, 1, 2, "b"));
  f.Api(0, 1, 1);
  f.Api(10, 1, 2);
  f.Api(20, 1, 3);
  f.Kernel(500, 10, kAllReduce, 1, 0, a, 1);  // launched first, starts last
  f.Kernel(100, 10, kAllReduce, 2, 0, a, 2);
  f.Kernel(200, 10, "ncclDevKernel_Broadcast_RING_LL(x)", 3, 0, b, 3);
  const Trace trace = f.Finish();
  const auto facts = Measure(trace);
  ASSERT_EQ(facts->runs.size(), 3U);
  EXPECT_EQ(facts->runs[0].order, 1);
  EXPECT_EQ(facts->runs[1].order, 0);  // first of group b
  EXPECT_EQ(facts->runs[2].order, 0);  // first of group a
}

TEST(Comm, HostCollectivesCountOnceAndNcclAnnotationsNever) {
  TraceFixture f;
  f.Annotation(0, 4'000, "gloo:all_reduce",
               {.dims = f.builder.Intern("[[1000]]"), .types = f.builder.Intern("[\"float\"]")});
  f.Annotation(5'000, 100, "nccl:all_reduce");  // only a launch
  f.Annotation(6'000, 100, "gloo: reduce the pot of glue", {}, 2);
  f.builder.trace().process_groups = {{"0", "", "gloo", {}, 2}};
  const Trace trace = f.Finish();
  const auto facts = Measure(trace);
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->runs.size(), 1U);
  EXPECT_EQ(facts->runs[0].work, trace::kNoRow);
  EXPECT_EQ(*facts->rows[0].bus_gbytes_per_s, 1);  // 4,000 bytes in 4,000 ns, factor 1 of 2 ranks
  EXPECT_EQ(facts->backend, "gloo");
  EXPECT_FALSE(facts->overlap_pct);
  EXPECT_FALSE(facts->exposed_ns);
}

TEST(Comm, AbsentWithoutCollectives) {
  TraceFixture f;
  f.Kernel(0, 100, "gemm");
  EXPECT_EQ(Measure(f.Finish()).why_not(), "no collective in this trace");
  TraceFixture launched;
  launched.Kernel(0, 100, "gemm");
  launched.Annotation(0, 100, "nccl:all_reduce");
  EXPECT_NE(Measure(launched.Finish()).why_not().find("launched (nccl:all_reduce)"),
            std::string::npos);
}

TEST(Comm, BrokenShapesAndZeroTimes) {
  TraceFixture f;
  const char* shapes[] = {
      "[[9223372036854775807, 8]]", "[[-1]]", "[[1], [2]]", "[", "", "[[\"x\"]]"};
  Nanos time = 0;
  for (const char* dims : shapes) {
    f.Annotation(time += 10, 0, "gloo:all_reduce",
                 {.dims = f.builder.Intern(dims), .types = f.builder.Intern("[\"float\"]")});
  }
  const Trace trace = f.Finish();
  const auto facts = Measure(trace);
  ASSERT_EQ(facts->rows.size(), 1U);
  EXPECT_EQ(facts->rows[0].count, 6U);
  EXPECT_FALSE(facts->rows[0].message_bytes);
  EXPECT_EQ(facts->total_ns, 0);
}

// Checked against a Python script: durations of kernels with "nccl" in the name by their metadata,
// and unions by merging sorted intervals.
TEST(Comm, RealTraceAgreesWithAnIndependentSum) {
  const std::string path = SharedPath("peers/hta/nccl_data.json.gz");
  HONE_SKIP_WITHOUT(path);
  const auto trace = importer::LoadTrace(path);
  ASSERT_TRUE(trace);
  const auto facts = Measure(*trace);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->runs.size(), 21U);
  EXPECT_EQ(facts->total_ns, 46'876'493);
  EXPECT_EQ(*facts->exposed_ns, 39'529'327);
  EXPECT_NEAR(*facts->overlap_pct, 15.673454923345055, 1e-9);
  EXPECT_EQ(facts->backend, "nccl");
  ASSERT_EQ(facts->rows.size(), 7U);
  EXPECT_EQ(facts->rows[0].kind, "all_reduce");
  EXPECT_EQ(*facts->rows[0].message_bytes, 8'196'000);
  EXPECT_EQ(facts->rows[0].total_ns, 11'820'962);
  EXPECT_NEAR(*facts->rows[0].algorithm_gbytes_per_s, 2.080033756981877, 1e-9);
  EXPECT_NEAR(*facts->rows[0].bus_gbytes_per_s, 2.080033756981877, 1e-9);  // 2 ranks: factor 1
  EXPECT_EQ(facts->rows[6].kind, "broadcast");
  EXPECT_EQ(facts->rows[6].dtype, "int64");
  EXPECT_EQ(*facts->rows[6].message_bytes, 424);  // 53 elements of 8 bytes
}

TEST(Comm, RealTraceOfACpuRun) {
  const std::string path = SharedPath("peers/hta/cpu_only.json.gz");
  HONE_SKIP_WITHOUT(path);
  const auto trace = importer::LoadTrace(path);
  ASSERT_TRUE(trace);
  const auto facts = Measure(*trace);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->runs.size(), 10U);
  EXPECT_EQ(facts->rows[0].kind, "all_reduce");
  EXPECT_EQ(*facts->rows[0].message_bytes, 321'271 * 4);
}

}  // namespace
}  // namespace hone::analyze
