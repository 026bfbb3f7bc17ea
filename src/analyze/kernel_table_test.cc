// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "analyze/fixture_test.h"
#include "analyze/tables.h"
#include "import/import.h"

namespace hone::analyze {
namespace {

using trace::Trace;

Known<KernelTable> Build(const Trace& trace, GroupBy by = GroupBy::kName) {
  return BuildKernelTable(trace, WorkClasses(trace), Lineage(trace), by);
}

const KernelRow* Find(const KernelTable& table, const Trace& trace, std::string_view name,
                      std::string_view group = "") {
  for (const KernelRow& row : table.rows) {
    if (trace.Name(row.name) == name && trace.Name(row.group) == group) return &row;
  }
  return nullptr;
}

TEST(KernelTable, GroupsByNameWithTheDominatingOperator) {
  TraceFixture f;
  f.Op(0, 100, "aten::add");
  f.Api(10, 5, 1);
  f.Op(100, 100, "aten::mul");
  f.Api(110, 5, 2);
  f.Op(200, 100, "aten::add");
  f.Api(210, 5, 3);
  f.Kernel(50, 10, "vec", 1);
  f.Kernel(150, 50, "vec", 2);  // mul has 50 of 80: dominates, though add launched more
  f.Kernel(250, 20, "vec", 3);
  f.Kernel(300, 20, "lost", 99);  // no launching call
  const Trace trace = f.Finish();
  const auto table = Build(trace);
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->total_ns, 100);
  const KernelRow& vec = table->rows[0];
  EXPECT_EQ(trace.Name(vec.op), "aten::mul");
  EXPECT_EQ(vec.time.count, 3U);
  EXPECT_EQ(vec.time.total_ns, 80);
  EXPECT_EQ(vec.time.p50_ns, 20);
  EXPECT_EQ(vec.time.p95_ns, 47);  // 20 + 0.9 · 30
  EXPECT_DOUBLE_EQ(vec.share, 0.8);
  EXPECT_EQ(vec.occupancy_pct, -1);
  EXPECT_EQ(table->rows[1].op, StringId::kEmpty);
}

TEST(KernelTable, CopyAndKernelOfOneNameStayApart) {
  TraceFixture f;
  f.Kernel(0, 10, "Memcpy HtoD");
  f.builder.Add(trace::WorkInput{.start_ns = 20,
                                 .duration_ns = 5,
                                 .name = f.builder.Intern("Memcpy HtoD"),
                                 .kind = trace::WorkKind::kCopy,
                                 .stream = f.builder.StreamFor(0, 7)});
  const Trace trace = f.Finish();
  const auto table = Build(trace);
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->rows[1].kind, trace::WorkKind::kCopy);
  EXPECT_EQ(table->rows[1].work_class, WorkClass::kCopy);
}

TEST(KernelTable, OccupancyIsWeightedByTimeAndSkipsUnknown) {
  TraceFixture f;
  const auto low = f.builder.Launch({.occupancy_pct = 10});
  const auto high = f.builder.Launch({.occupancy_pct = 70});
  const auto broken = f.builder.Launch({.occupancy_pct = INFINITY});
  f.Kernel(0, 30, "k", 0, low);
  f.Kernel(50, 10, "k", 0, high);
  f.Kernel(70, 500, "k", 0, 0);
  f.Kernel(700, 500, "k", 0, broken);
  const Trace trace = f.Finish();
  EXPECT_FLOAT_EQ(Build(trace)->rows[0].occupancy_pct, 25);  // (30·10 + 10·70) / 40
}

TEST(KernelTable, ShapesSplitANameAndMissingShapesAreSaid) {
  TraceFixture f;
  f.Op(0, 100, "aten::mm", f.Shape("[[2, 2]]"));
  f.Api(10, 5, 1);
  f.Op(100, 100, "aten::mm", f.Shape("[[9, 9]]"));
  f.Api(110, 5, 2);
  f.Kernel(50, 10, "gemm", 1);
  f.Kernel(150, 30, "gemm", 2);
  f.Kernel(190, 1, "gemm", 0);
  const Trace trace = f.Finish();
  const auto table = Build(trace, GroupBy::kNameShape);
  ASSERT_EQ(table->rows.size(), 3U);
  EXPECT_EQ(Find(*table, trace, "gemm", "[[9, 9]]")->time.total_ns, 30);
  EXPECT_EQ(Find(*table, trace, "gemm", "[[2, 2]]")->time.total_ns, 10);
  EXPECT_EQ(Find(*table, trace, "gemm", "")->time.total_ns, 1);
  EXPECT_NE(Build(trace, GroupBy::kStack).why_not().find("with_stack"), std::string::npos);
  EXPECT_NE(Build(trace, GroupBy::kModule).why_not().find("modules"), std::string::npos);

  TraceFixture plain;
  plain.Kernel(0, 10, "k");
  const Trace bare = plain.Finish();
  EXPECT_NE(Build(bare, GroupBy::kNameShape).why_not().find("record_shapes"), std::string::npos);
  EXPECT_TRUE(Build(bare));
  EXPECT_EQ(Build(TraceFixture().Finish()).why_not(), "the trace has no device work");
}

// Forward on thread 1 inside a module; backward on thread 2, which holds no Python at all.
TEST(KernelTable, BackwardWorkBelongsToTheForwardModule) {
  TraceFixture f;
  const trace::OpDetail backward{.fwd_thread = 1};
  f.Python(0, 100, "nn.Module: Linear_0");
  f.Python(1, 90, "model.py(12): forward");
  f.Op(5, 5, "aten::detach", {}, 41);  // carries the number that the next node will take
  f.Op(10, 50, "aten::linear", {}, 41);
  f.Api(20, 5, 1);
  f.Python(200, 100, "nn.Module: ReLU_0");
  f.Op(210, 20, "aten::relu", {}, 42);
  // Autograd thread. The kernel's own operator has no number; the one around it does.
  f.Op(1000, 100, "LinearBackward0", backward, 41, 2);
  f.Op(1010, 50, "aten::mm", {}, -1, 2);
  f.Api(1020, 5, 2, 2);
  f.Op(1200, 100, "NearMissBackward0", backward, 43, 2);  // no forward operator has 43
  f.Api(1210, 5, 3, 2);
  f.Kernel(50, 10, "forward", 1);
  f.Kernel(1050, 30, "backward", 2);
  f.Kernel(1250, 7, "alone", 3);
  const Trace trace = f.Finish();
  const auto modules = Build(trace, GroupBy::kModule);
  ASSERT_TRUE(modules) << modules.why_not();
  ASSERT_EQ(modules->rows.size(), 2U);
  // One row a module; it is named after the kernel that takes most of it.
  EXPECT_EQ(trace.Name(modules->rows[0].group), "nn.Module: Linear_0");
  EXPECT_EQ(trace.Name(modules->rows[0].name), "backward");
  EXPECT_EQ(modules->rows[0].time.total_ns, 40);
  EXPECT_EQ(modules->rows[1].group, StringId::kEmpty);
  EXPECT_EQ(modules->rows[1].time.total_ns, 7);
  const auto stacks = Build(trace, GroupBy::kStack);
  EXPECT_EQ(trace.Name(stacks->rows[0].group), "model.py(12): forward");
  EXPECT_EQ(stacks->rows[0].time.total_ns, 40);
}

TEST(KernelTable, ForwardOperatorMustComeBeforeItsBackward) {
  TraceFixture f;
  f.Python(0, 100, "nn.Module: First_0");
  f.Op(10, 50, "aten::a", {}, 5);
  f.Python(2000, 100, "nn.Module: Later_0");
  f.Op(2010, 50, "aten::b", {}, 5);  // the number again, after the backward
  f.Op(1000, 100, "ABackward0", {.fwd_thread = 1}, 5, 2);
  f.Api(1010, 5, 1, 2);
  f.Kernel(1050, 30, "k", 1);
  const Trace trace = f.Finish();
  EXPECT_EQ(trace.Name(Build(trace, GroupBy::kModule)->rows[0].group), "nn.Module: First_0");
}

TEST(KernelTable, StacksAreTheUsersLines) {
  TraceFixture f;
  f.Python(0, 400, "train.py(7): main");
  f.Python(10, 100, "/opt/lib/site-packages/torch/optim/adam.py(210): step");
  f.Python(20, 80, "torch/optim/adam.py(500): _single_tensor_adam");
  f.Op(30, 50, "aten::add_");
  f.Api(40, 5, 1);
  f.Python(200, 100, "my/torch/code.py(3): f");  // no package folder of that name: the user's
  f.Api(210, 5, 2);
  f.Python(500, 100, "torch/utils/x.py(9): only_torch");
  f.Api(510, 5, 3);
  f.Kernel(60, 30, "a", 1);
  f.Kernel(220, 20, "b", 2);
  f.Kernel(520, 10, "c", 3);
  const Trace trace = f.Finish();
  const auto table = Build(trace, GroupBy::kStack);
  ASSERT_EQ(table->rows.size(), 3U);
  EXPECT_EQ(trace.Name(table->rows[0].group), "train.py(7): main");
  EXPECT_EQ(trace.Name(table->rows[1].group), "my/torch/code.py(3): f");
  EXPECT_EQ(trace.Name(table->rows[2].group), "torch/utils/x.py(9): only_torch");
}

TEST(KernelTable, RecordedStackAndModuleWin) {
  TraceFixture f;
  f.Python(0, 100, "model.py(12): forward");
  f.Op(10, 50, "aten::a",
       {.module = f.builder.Intern("top(Net).fc(Linear)"),
        .stack = f.builder.Intern("a.py(1): f;b.py(2): g")});
  f.Op(20, 20, "aten::inner");
  f.Api(25, 5, 1);
  f.Kernel(50, 10, "k", 1);
  const Trace trace = f.Finish();
  EXPECT_EQ(trace.Name(Build(trace, GroupBy::kStack)->rows[0].group), "a.py(1): f;b.py(2): g");
  EXPECT_EQ(trace.Name(Build(trace, GroupBy::kModule)->rows[0].group), "top(Net).fc(Linear)");
}

TEST(KernelTable, ZeroAndAbsurdDurations) {
  TraceFixture f;
  f.Kernel(0, 0, "zero");
  const Trace zero = f.Finish();
  EXPECT_EQ(Build(zero)->rows[0].share, 0);
  TraceFixture g;
  for (int i = 0; i < 4; ++i) g.Kernel(0, 1, "long", 0, 0, 0, i);
  g.Kernel(0, 1, "longer");
  Trace absurd = g.Finish();
  for (Nanos& duration : absurd.device.duration_ns) duration = INT64_MAX / 2;
  EXPECT_EQ(Build(absurd)->rows.size(), 2U);
}

// Checked against a Python script that reads the JSON with decimal.Decimal, sums "dur" of events of
// cat kernel, gpu_memcpy and gpu_memset by name, and takes statistics.median.
TEST(KernelTable, RealTraceAgreesWithAnIndependentSum) {
  const std::string path = SharedPath("peers/hta/nccl_data.json.gz");
  HONE_SKIP_WITHOUT(path);
  const auto loaded = importer::LoadTrace(path);
  ASSERT_TRUE(loaded);
  const auto table = Build(*loaded);
  EXPECT_EQ(table->total_ns, 165'185'838);
  EXPECT_EQ(table->rows.size(), 72U);
  EXPECT_EQ(table->rows[0].time.count, 15U);
  EXPECT_EQ(table->rows[0].time.total_ns, 46'762'159);
  EXPECT_EQ(table->rows[0].time.p50_ns, 2'520'607);
  EXPECT_EQ(loaded->Name(table->rows[0].op), "record_param_comms");
  EXPECT_EQ(table->rows[0].work_class, WorkClass::kCommunication);
  EXPECT_EQ(table->rows[1].time.count, 474U);
  EXPECT_EQ(table->rows[1].time.total_ns, 12'616'974);
}

// The same way, walking up from each kernel's launching call to the nearest nn.Module slice, and
// from a backward operator to the latest forward one of its sequence number.
TEST(KernelTable, RealTraceByModule) {
  const std::string path = SharedPath("traces/resnet50_good_full.json.gz");
  HONE_SKIP_WITHOUT(path);
  const auto loaded = importer::LoadTrace(path);
  ASSERT_TRUE(loaded);
  const auto table = Build(*loaded, GroupBy::kModule);
  ASSERT_TRUE(table) << table.why_not();
  EXPECT_EQ(table->total_ns, 64'534'557);
  EXPECT_EQ(table->rows.size(), 143U);
  EXPECT_EQ(loaded->Name(table->rows[0].group), "");  // optimizer, loss, copies
  EXPECT_EQ(table->rows[0].time.total_ns, 4'100'624);
  EXPECT_EQ(loaded->Name(table->rows[1].group), "nn.Module: Conv2d_0");
  EXPECT_EQ(table->rows[1].time.total_ns, 3'006'308);
  EXPECT_EQ(loaded->Name(table->rows[2].group), "nn.Module: MaxPool2d_0");
  EXPECT_EQ(table->rows[2].time.total_ns, 2'812'134);
}

}  // namespace
}  // namespace hone::analyze
