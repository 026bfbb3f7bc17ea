// SPDX-License-Identifier: Apache-2.0
#include "analyze/timeline.h"

#include <gtest/gtest.h>

#include "analyze/fixture_test.h"
#include "analyze/steps.h"
#include "import/import.h"
#include "trace/builder.h"

namespace hone::analyze {
namespace {

using trace::WorkKind;

struct Piece {
  Nanos start, end;
  const char* name;
  WorkKind kind = WorkKind::kKernel;
  std::int64_t device = 0, stream = 7;
};

trace::Trace Build(std::initializer_list<Piece> pieces) {
  trace::Builder builder;
  for (const Piece& piece : pieces) {
    builder.Add(trace::WorkInput{.start_ns = piece.start,
                                 .duration_ns = piece.end - piece.start,
                                 .name = builder.Intern(piece.name),
                                 .kind = piece.kind,
                                 .stream = builder.StreamFor(piece.device, piece.stream)});
  }
  return std::move(builder).Finish();
}

// compute  [0,10) [20,30)   comm [5,25)   copy [8,12) [24,40)
TEST(Timeline, UnionsNotSums) {
  const trace::Trace trace = Build({{0, 10, "gemm"},
                                    {20, 30, "gemm"},
                                    {22, 28, "gemm", WorkKind::kKernel, 0, 8},
                                    {5, 25, "ncclDevKernel_AllReduce", WorkKind::kKernel, 0, 9},
                                    {8, 12, "Memcpy HtoD", WorkKind::kCopy, 0, 10},
                                    {24, 40, "Memcpy HtoD", WorkKind::kCopy, 0, 10},
                                    {50, 60, "Memset", WorkKind::kSet}});
  const Known<Timeline> timeline =
      ComputeTimeline(trace, WorkClasses(trace), trace::IntervalSet::Union({{20, 45}}));
  ASSERT_TRUE(timeline.has_value());
  const TimelineSplit& whole = timeline->main_device().whole;
  EXPECT_EQ(whole.total_ns, 60);
  EXPECT_EQ(whole.compute_ns, 10 + 10 + 10);  // the set counts as compute
  EXPECT_EQ(whole.comm_ns, 20);
  EXPECT_EQ(whole.exposed_comm_ns, 10);  // [10,20)
  EXPECT_EQ(whole.copy_ns, 4 + 16);
  EXPECT_EQ(whole.exposed_copy_ns, 10);  // [30,40)
  EXPECT_EQ(whole.busy_ns, 50);
  EXPECT_EQ(whole.idle_ns, 10);
  EXPECT_EQ(whole.busy_ns, timeline->main_device().busy.length());
  const TimelineSplit& steady = timeline->main_device().steady;
  EXPECT_EQ(steady.total_ns, 25);
  EXPECT_EQ(steady.compute_ns, 10);
  EXPECT_EQ(steady.exposed_comm_ns, 0);
  EXPECT_EQ(steady.exposed_copy_ns, 10);
  EXPECT_EQ(steady.idle_ns, 5);  // [40,45): the edge of the window counts
}

TEST(Timeline, DevicesApartAndTheBusiestLeads) {
  const trace::Trace trace =
      Build({{0, 10, "a", WorkKind::kKernel, 0}, {0, 90, "b", WorkKind::kKernel, 3}});
  const Known<Timeline> timeline =
      ComputeTimeline(trace, WorkClasses(trace), trace::IntervalSet::Union({{0, 100}}));
  ASSERT_TRUE(timeline.has_value());
  ASSERT_EQ(timeline->devices.size(), 2U);
  EXPECT_EQ(trace.devices[timeline->main_device().device].id, 3);
  EXPECT_EQ(timeline->main_device().steady.idle_ns, 10);
}

TEST(Timeline, NothingAndZeroLengths) {
  const trace::Trace empty = trace::Builder().Finish();
  EXPECT_FALSE(ComputeTimeline(empty, WorkClasses(empty), {}).has_value());
  const trace::Trace points = Build({{5, 5, "a"}, {9, 9, "b"}});
  const Known<Timeline> timeline = ComputeTimeline(points, WorkClasses(points), {});
  ASSERT_TRUE(timeline.has_value());
  EXPECT_EQ(timeline->main_device().whole.total_ns, 4);
  EXPECT_EQ(timeline->main_device().whole.busy_ns, 0);
  EXPECT_EQ(timeline->main_device().steady.total_ns, 0);
}

struct KnownTrace {
  const char* file;
  double busy_pct, tolerance;
};
class RealTimeline : public testing::TestWithParam<KnownTrace> {};

// What was known about these runs when they were recorded.
TEST_P(RealTimeline, BusyShareAndFourSteps) {
  const std::string path = SharedPath(std::string("traces/") + GetParam().file);
  HONE_SKIP_WITHOUT(path);
  const Result<trace::Trace> trace = importer::LoadKineto(path);
  ASSERT_TRUE(trace.has_value());
  const Steps steps = FindSteps(*trace);
  EXPECT_EQ(steps.source, StepSource::kProfilerStep);
  EXPECT_EQ(steps.steps.size(), 4U);
  const auto timeline = ComputeTimeline(*trace, WorkClasses(*trace), steps.steady_window);
  ASSERT_TRUE(timeline.has_value());
  const TimelineSplit& whole = timeline->main_device().whole;
  EXPECT_NEAR(100.0 * static_cast<double>(whole.busy_ns) / static_cast<double>(whole.total_ns),
              GetParam().busy_pct, GetParam().tolerance);
}
INSTANTIATE_TEST_SUITE_P(Known, RealTimeline,
                         testing::Values(KnownTrace{"resnet50_bad_light.json.gz", 48.7, 0.05},
                                         KnownTrace{"resnet50_good_full.json.gz", 48.7, 0.05},
                                         KnownTrace{"gpt2_bad_light.json.gz", 97.5, 0.05},
                                         KnownTrace{"gpt2_good_light.json.gz", 64, 0.5},
                                         KnownTrace{"tiny_bad_light.json.gz", 6, 0.5}),
                         [](const auto& info) {
                           const std::string name = info.param.file;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace hone::analyze
