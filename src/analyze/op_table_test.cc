// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyze/fixture_test.h"
#include "analyze/tables.h"
#include "import/import.h"

namespace hone::analyze {
namespace {

using trace::SliceKind;
using trace::Trace;

Known<OpTable> Build(const Trace& trace, GroupBy by = GroupBy::kName) {
  return BuildOpTable(trace, Lineage(trace), by);
}

OpRow Find(const Known<OpTable>& table, const Trace& trace, std::string_view name,
           std::string_view group = "") {
  for (const OpRow& row : table->rows) {
    if (trace.Name(row.name) == name && trace.Name(row.group) == group) return row;
  }
  ADD_FAILURE() << "no row " << name << " / " << group;
  return {};
}

//  0        10   20    30   40    50       100
//  linear----------------------------------|
//           addmm-----------------|
//                launch|                              → gemm, 70 on the device
//                                      launch|(60–65) → copy, 8
TEST(OpTable, SelfIsWithoutOperatorsAndCalls) {
  TraceFixture f;
  f.Op(0, 100, "aten::linear");
  f.Op(10, 30, "aten::addmm");
  f.Api(20, 10, 1);
  f.Api(60, 5, 2);
  f.Kernel(30, 70, "gemm", 1);
  f.Kernel(110, 8, "copy", 2);
  f.Kernel(200, 22, "graph", 77);
  const Trace trace = f.Finish();
  const auto table = Build(trace);
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(trace.Name(table->rows[0].name), "aten::addmm");  // most device time
  const OpRow linear = Find(table, trace, "aten::linear");
  EXPECT_EQ(linear.host_total_ns, 100);
  EXPECT_EQ(linear.host_self_ns, 65);  // 100 − 30 − 5; the call inside addmm is not its own
  EXPECT_EQ(linear.device_self_ns, 8);
  EXPECT_EQ(linear.device_total_ns, 78);
  EXPECT_EQ(linear.kernels, 1U);
  const OpRow addmm = Find(table, trace, "aten::addmm");
  EXPECT_EQ(addmm.host_self_ns, 20);
  EXPECT_EQ(addmm.device_total_ns, 70);
  EXPECT_DOUBLE_EQ(addmm.device_self_share, 0.7);
  EXPECT_DOUBLE_EQ(addmm.host_self_share, 20.0 / 85);
  EXPECT_EQ(table->unattributed_count, 1U);
  EXPECT_EQ(table->unattributed_device_ns, 22);
}

TEST(OpTable, PythonBetweenOperatorsChangesNothing) {
  TraceFixture f;
  f.Op(0, 100, "outer");
  f.Python(5, 90, "x.py(3): forward");
  f.Op(10, 30, "inner");
  const Trace trace = f.Finish();
  EXPECT_EQ(Find(Build(trace), trace, "outer").host_self_ns, 70);
}

TEST(OpTable, RecursionCountsOnce) {
  TraceFixture f;
  f.Op(0, 100, "aten::to");
  f.Op(10, 50, "aten::_to_copy");
  f.Op(20, 30, "aten::to");
  f.Api(25, 5, 1);
  f.Op(200, 40, "aten::to");
  f.Api(210, 5, 2);
  f.Kernel(30, 7, "k", 1);
  f.Kernel(230, 9, "k", 2);
  const Trace trace = f.Finish();
  const OpRow to = Find(Build(trace), trace, "aten::to");
  EXPECT_EQ(to.calls, 3U);
  EXPECT_EQ(to.host_total_ns, 140);
  EXPECT_EQ(to.host_mean_ns, (100 + 30 + 40) / 3);  // of the calls as they are
  EXPECT_EQ(to.host_p50_ns, 40);
  EXPECT_EQ(to.host_self_ns, 50 + 25 + 35);
  EXPECT_EQ(to.device_total_ns, 16);
  EXPECT_EQ(to.device_self_ns, 16);
}

TEST(OpTable, TheSameNameOnTwoThreadsIsNotRecursion) {
  TraceFixture f;
  f.Op(0, 100, "aten::mm", {}, -1, 1);
  f.Op(0, 100, "aten::mm", {}, -1, 2);
  const Trace trace = f.Finish();
  EXPECT_EQ(Find(Build(trace), trace, "aten::mm").host_total_ns, 200);
}

TEST(OpTable, CopiesOfOneEventCountOnceInTotal) {
  TraceFixture f;
  for (int i = 0; i < 25; ++i) f.Op(0, 100, "aten::mm");
  const Trace trace = f.Finish();
  const OpRow mm = Find(Build(trace), trace, "aten::mm");
  EXPECT_EQ(mm.calls, 25U);
  EXPECT_EQ(mm.host_total_ns, 100);
  EXPECT_EQ(mm.host_self_ns, 100);
}

TEST(OpTable, WhatSticksOutOfAnOperatorIsNotSubtractedFromIt) {
  TraceFixture f;
  f.Op(0, 100, "outer");
  f.Op(80, 60, "late");  // ends at 140
  const Trace trace = f.Finish();
  EXPECT_EQ(Find(Build(trace), trace, "outer").host_self_ns, 80);
  EXPECT_EQ(Find(Build(trace), trace, "late").host_self_ns, 60);
}

TEST(OpTable, AnnotationsAreRowsOfTheirOwnAndTransparentToOperators) {
  TraceFixture f;
  f.Annotation(0, 1000, "ProfilerStep#1");
  f.Op(100, 200, "record_param_comms");
  f.Annotation(110, 100, "nccl:all_reduce");
  f.Api(120, 10, 1);
  f.Api(500, 10, 2);  // launched by no operator
  f.Kernel(200, 50, "nccl", 1);
  f.Kernel(600, 30, "triton", 2);
  const Trace trace = f.Finish();
  const auto table = Build(trace);
  const OpRow comms = Find(table, trace, "record_param_comms");
  EXPECT_EQ(comms.host_self_ns, 190);  // 200 − the call; the annotation is only a frame
  EXPECT_EQ(comms.device_self_ns, 50);
  const OpRow reduce = Find(table, trace, "nccl:all_reduce");
  EXPECT_EQ(reduce.kind, SliceKind::kAnnotation);
  EXPECT_EQ(reduce.host_self_ns, 90);
  EXPECT_EQ(reduce.device_self_ns, 0);
  EXPECT_EQ(reduce.device_total_ns, 50);
  const OpRow step = Find(table, trace, "ProfilerStep#1");
  EXPECT_EQ(step.host_self_ns, 1000 - 200 - 10);
  EXPECT_EQ(step.device_total_ns, 80);
  EXPECT_EQ(step.device_self_ns, 30);
  EXPECT_EQ(table->unattributed_count, 1U);      // it has no operator all the same
  EXPECT_DOUBLE_EQ(comms.host_self_share, 1.0);  // among operators
}

TEST(OpTable, GroupsByShapeAndByStack) {
  TraceFixture f;
  f.Python(0, 1000, "train.py(7): main");
  f.Op(0, 100, "aten::mm", f.Shape("[[2, 2]]"));
  f.Op(100, 50, "aten::mm", f.Shape("[[4, 4]]"));
  f.Op(2000, 10, "aten::add", f.Shape("[[4, 4]]"));
  const Trace trace = f.Finish();
  const auto shapes = Build(trace, GroupBy::kNameShape);
  EXPECT_EQ(shapes->rows.size(), 3U);
  EXPECT_EQ(Find(shapes, trace, "aten::mm", "[[4, 4]]").host_total_ns, 50);
  const auto stacks = Build(trace, GroupBy::kStack);
  ASSERT_EQ(stacks->rows.size(), 2U);
  EXPECT_EQ(Find(stacks, trace, "aten::mm", "train.py(7): main").host_total_ns, 150);
  EXPECT_EQ(Find(stacks, trace, "aten::add", "").host_total_ns, 10);
}

TEST(OpTable, MissingData) {
  EXPECT_EQ(Build(TraceFixture().Finish()).why_not(), "the trace has no operators");
  TraceFixture f;
  f.Api(0, 10, 1);
  f.Kernel(5, 10, "k", 1);
  EXPECT_FALSE(Build(f.Finish()));
  TraceFixture g;
  g.Op(0, 0, "empty");
  const Trace trace = g.Finish();
  EXPECT_EQ(Build(trace)->rows[0].calls, 1U);
  EXPECT_EQ(Build(trace)->rows[0].host_self_share, 0);
  EXPECT_FALSE(Build(trace, GroupBy::kModule));
}

// Checked against a Python script that nests the slices of each thread by itself, walks up from
// every slice to the nearest cpu_op or runtime call, and from every kernel through its correlation.
TEST(OpTable, RealTraceAgreesWithAnIndependentWalk) {
  const std::string path = SharedPath("traces/resnet50_good_full.json.gz");
  HONE_SKIP_WITHOUT(path);
  const auto loaded = importer::LoadTrace(path);
  ASSERT_TRUE(loaded);
  const auto table = Build(*loaded);
  EXPECT_EQ(table->unattributed_count, 1U);
  EXPECT_EQ(table->unattributed_device_ns, 74'912);
  struct Expected {
    const char* name;
    std::uint64_t calls;
    Nanos host_self, host_total, device_self, device_total;
    std::uint64_t kernels;
  };
  const Expected expected[] = {
      {"aten::native_batch_norm", 212, 4'417'437, 15'253'718, 13'748'971, 13'908'875, 636},
      {"aten::convolution_backward", 212, 9'066'162, 16'214'100, 13'300'395, 13'300'395, 604},
      {"aten::cudnn_convolution", 212, 5'749'840, 8'534'745, 6'859'870, 6'859'870, 220},
      {"aten::copy_", 472, 2'402'526, 5'463'536, 4'262'795, 4'262'795, 456},
      {"aten::conv2d", 424, 1'459'544, 16'461'556, 0, 7'346'879, 0},  // recursive under autocast
      {"aten::to", 676, 671'728, 9'901'928, 0, 4'258'156, 0},
  };
  EXPECT_EQ(loaded->Name(table->rows[0].name), "aten::native_batch_norm");
  for (const Expected& e : expected) {
    const OpRow row = Find(table, *loaded, e.name);
    EXPECT_EQ(row.calls, e.calls) << e.name;
    EXPECT_EQ(row.host_self_ns, e.host_self) << e.name;
    EXPECT_EQ(row.host_total_ns, e.host_total) << e.name;
    EXPECT_EQ(row.device_self_ns, e.device_self) << e.name;
    EXPECT_EQ(row.device_total_ns, e.device_total) << e.name;
    EXPECT_EQ(row.kernels, e.kernels) << e.name;
  }
}

}  // namespace
}  // namespace hone::analyze
