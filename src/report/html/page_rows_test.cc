// SPDX-License-Identifier: Apache-2.0
#include "report/html/page_rows.h"

#include <gtest/gtest.h>

#include "analyze/fixture_test.h"

namespace hone::report {
namespace {

Input InputOf(analyze::TraceFixture& fixture) {
  Input input;
  input.trace = fixture.Finish();
  input.facts = analyze::Analyze(input.trace);
  return input;
}

TEST(PageRows, LanesHoldTheirRowsInOrderAndNested) {
  analyze::TraceFixture f;
  f.Op(100, 10, "other thread", {}, -1, 2);
  f.Op(0, 100, "outer");
  f.Op(10, 50, "inner");
  f.Api(20, 5, 1);
  f.Kernel(200, 50, "late", 1);
  f.Kernel(40, 10, "early", 0);
  f.Kernel(45, 10, "beside", 0, 0, 0, 9);
  const Input input = InputOf(f);
  const PageRows rows = ArrangeRows(input);
  ASSERT_EQ(rows.lanes.size(), 4U);
  EXPECT_FALSE(rows.lanes[0].stream);
  EXPECT_EQ(rows.lanes[0].tid, 1);  // it launches, so it stands first
  EXPECT_EQ(rows.lanes[0].levels, 3U);
  EXPECT_EQ(rows.lanes[1].tid, 2);
  EXPECT_TRUE(rows.lanes[2].stream);
  EXPECT_EQ(rows.lanes[2].name, "stream 7");
  EXPECT_EQ(rows.lanes[3].name, "stream 9");
  EXPECT_EQ(rows.size(), 7U);
  EXPECT_EQ(rows.host_count, 4U);
  for (const PageLane& lane : rows.lanes) {
    for (std::uint32_t row = lane.first + 1; row < lane.last; ++row) {
      EXPECT_LE(rows.SpanOf(input.trace, row - 1).begin_ns, rows.SpanOf(input.trace, row).begin_ns);
    }
  }
  EXPECT_EQ(rows.depth[0], 0);
  EXPECT_EQ(rows.depth[1], 1);
  EXPECT_EQ(rows.depth[2], 2);
  EXPECT_EQ(rows.shown.begin_ns, 0);
  EXPECT_EQ(rows.shown.end_ns, 250);
  for (trace::RowId i = 0; i < input.trace.host.size(); ++i) {
    EXPECT_EQ(rows.source[rows.of_host[i]], i);
  }
  for (trace::RowId i = 0; i < input.trace.device.size(); ++i) {
    EXPECT_EQ(rows.source[rows.of_device[i]], i);
  }
}

TEST(PageRows, RowsThatOverlapDoNotHideEachOther) {
  analyze::TraceFixture f;
  f.Annotation(0, 100, "a");
  f.Annotation(50, 100, "crosses a");
  f.Op(120, 10, "in what crossed");
  f.Kernel(0, 100, "first");
  f.Kernel(10, 100, "at the same time");
  f.Kernel(100, 10, "back on the first level");
  const Input input = InputOf(f);
  const PageRows rows = ArrangeRows(input);
  for (std::uint32_t a = 0; a < rows.size(); ++a) {
    for (std::uint32_t b = a + 1; b < rows.size(); ++b) {
      if (rows.is_host(a) != rows.is_host(b) || rows.depth[a] != rows.depth[b]) continue;
      const trace::Interval one = rows.SpanOf(input.trace, a), other = rows.SpanOf(input.trace, b);
      EXPECT_TRUE(one.end_ns <= other.begin_ns || other.end_ns <= one.begin_ns) << a << " " << b;
    }
  }
  EXPECT_EQ(rows.depth[rows.host_count + 2], 0);
}

void AddSteps(analyze::TraceFixture& f, int steps, int ops) {
  for (int step = 0; step < steps; ++step) {
    const Nanos begin = step * 1'000'000LL;
    f.Annotation(begin, 1'000'000, ("ProfilerStep#" + std::to_string(step)).c_str());
    for (int op = 0; op < ops; ++op) f.Op(begin + op * 1000, 900, "aten::add");
  }
}

TEST(PageRows, OverTheLimitTheFirstSteadyStepsThatFit) {
  analyze::TraceFixture f;
  AddSteps(f, 10, 99);  // a thousand rows
  const Input input = InputOf(f);
  const std::size_t steady = input.facts.steps.steady_count();
  ASSERT_GT(steady, 5U);
  const PageRows all = ArrangeRows(input, 1000);
  EXPECT_EQ(all.size(), 1000U);
  EXPECT_EQ(all.left_out, 0U);
  const PageRows some = ArrangeRows(input, 450);
  EXPECT_EQ(some.size(), 400U);
  EXPECT_EQ(some.left_out, 600U);
  EXPECT_NE(some.why_left_out.find("the first 4 of"), std::string::npos) << some.why_left_out;
  EXPECT_EQ(some.shown.begin_ns, static_cast<Nanos>(10 - steady) * 1'000'000);
  // At least one, whatever the limit.
  EXPECT_EQ(ArrangeRows(input, 10).size(), 100U);
}

TEST(PageRows, OverTheLimitWithoutStepsTheBeginning) {
  analyze::TraceFixture f;
  for (int i = 0; i < 1000; ++i) f.Op(i * 1000 + (i * i) % 7, 100, "aten::add");
  Input input = InputOf(f);
  input.facts.steps = {};
  const PageRows rows = ArrangeRows(input, 500);
  EXPECT_LE(rows.size(), 500U);
  EXPECT_GE(rows.size(), 480U);
  EXPECT_EQ(rows.left_out, 1000 - rows.size());
  EXPECT_EQ(rows.shown.begin_ns, 0);
}

TEST(PageRows, AnEmptyTraceHasNone) {
  Input input;
  const PageRows rows = ArrangeRows(input);
  EXPECT_EQ(rows.size(), 0U);
  EXPECT_TRUE(rows.lanes.empty());
  EXPECT_EQ(rows.shown.length(), 0);
}

}  // namespace
}  // namespace hone::report
