// SPDX-License-Identifier: Apache-2.0
#include "replay/path_parts.h"

#include <gtest/gtest.h>

#include <numeric>

#include "analyze/fixture_test.h"

namespace hone::replay {
namespace {

// Two steps of 100 us, all host: 10 us of code, an operator of 60 us that launches a kernel nobody
// waits for, and 30 us of code.
trace::Trace HostBound() {
  analyze::TraceFixture fixture;
  for (int i = 0; i < 2; ++i) {
    const Nanos at = 1'000 + i * 100'000;
    fixture.Annotation(at, 100'000, i == 0 ? "ProfilerStep#0" : "ProfilerStep#1");
    fixture.Op(at + 10'000, 60'000, "aten::outer");
    fixture.Op(at + 20'000, 20'000, "aten::inner");
    fixture.Api(at + 25'000, 5'000, i + 1);
    fixture.Kernel(at + 35'000, 10'000, "gemm", i + 1);
  }
  return std::move(fixture).Finish();
}

TEST(PathParts, HostCodeIsToldByItsOutermostOperator) {
  const trace::Trace trace = HostBound();
  const analyze::Facts facts = analyze::Analyze(trace);
  const auto model = Model::Build(trace, facts);
  ASSERT_TRUE(model.has_value()) << model.why_not();
  const CriticalPath path = FindCriticalPath((*model)->graph(), Plan((*model)->graph()));
  const std::vector<PathPart> parts = GroupPath(**model, path);
  const Nanos sum =
      std::accumulate(parts.begin(), parts.end(), Nanos{0},
                      [](Nanos s, const PathPart& part) { return s + part.total_ns; });
  EXPECT_EQ(sum, path.length_ns);
  EXPECT_EQ(sum, 200'000);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].name, "aten::outer");
  EXPECT_EQ(parts[0].total_ns, 110'000);
  EXPECT_EQ(parts[1].name, "code outside operators");
  EXPECT_EQ(parts[1].total_ns, 80'000);
  EXPECT_EQ(parts[2].name, "cudaLaunchKernel");
  EXPECT_EQ(parts[2].kind, PathKind::kLaunch);
  EXPECT_EQ(parts[2].total_ns, 10'000);
}

// One task from the first to the last operator of a host that waits for nobody, and yet as many
// stretches of other code as there are pauses between operators.
TEST(PathParts, EachPauseBetweenOperatorsCounts) {
  analyze::TraceFixture fixture;
  for (int i = 0; i < 4; ++i) {
    const Nanos at = 1'000 + i * 100'000;
    fixture.Annotation(at, 100'000, i % 2 == 0 ? "ProfilerStep#0" : "ProfilerStep#1");
    for (int k = 0; k < 3; ++k) fixture.Op(at + 10'000 + k * 30'000, 20'000, "aten::mm");
  }
  const trace::Trace trace = std::move(fixture).Finish();
  const analyze::Facts facts = analyze::Analyze(trace);
  const auto model = Model::Build(trace, facts);
  ASSERT_TRUE(model.has_value()) << model.why_not();
  const std::vector<PathPart> parts =
      GroupPath(**model, FindCriticalPath((*model)->graph(), Plan((*model)->graph())));
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].count, 12U);
  EXPECT_EQ(parts[1].name, "code outside operators");
  EXPECT_GE(parts[1].count, 12U);
}

}  // namespace
}  // namespace hone::replay
