// SPDX-License-Identifier: Apache-2.0
#include "analyze/memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/fixture_test.h"
#include "analyze/memory_timeline.h"
#include "import/import.h"

namespace hone::analyze {
namespace {

using trace::MemoryDevice;
using trace::Trace;

Known<MemoryFacts> Measure(const Trace& trace, const Steps& steps = {}) {
  return MeasureMemory(trace, Lineage(trace), steps);
}

Steps StepsOf(std::vector<trace::Interval> spans, std::size_t warm_up = 0) {
  Steps steps;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    Step& step = steps.steps.emplace_back();
    step.span = step.host_span = spans[i];
    step.warm_up = i < warm_up;
  }
  steps.warm_up_count = warm_up;
  return steps;
}

const MemoryOpRow* Find(const DeviceMemory& device, const Trace& trace, std::string_view op) {
  for (const MemoryOpRow& row : device.ops) {
    if (trace.Name(row.op) == op) return &row;
  }
  return nullptr;
}

// 1,000 bytes live before; conv takes 400 and relu 200 (peak 1,600 at 40); conv's goes first.
TEST(Memory, PeakOpsAndWhatWasThereBefore) {
  TraceFixture f;
  f.Op(0, 25, "aten::conv2d");
  f.Op(5, 10, "aten::convolution");
  f.Op(30, 20, "aten::relu");
  f.Memory(10, 0xA, 400, 1400, 2000);
  f.Memory(25, 0x9, -100, 1300, 2000);  // from before; and the moment conv2d ends is outside it
  f.Memory(40, 0xB, 300, 1600, 4000);
  f.Memory(60, 0xA, -400, 1200, 4000);
  f.Memory(70, 0xC, 200, 1400, 4000);
  const Trace trace = f.Finish();
  const auto facts = Measure(trace);
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->devices.size(), 1U);
  const DeviceMemory& gpu = facts->devices[0];
  EXPECT_FALSE(gpu.relative);
  EXPECT_EQ(gpu.allocated_before, 1000);
  EXPECT_EQ(gpu.peak_allocated, 1600);
  EXPECT_EQ(gpu.peak_time_ns, 40);
  EXPECT_EQ(gpu.peak_reserved, 4000);
  EXPECT_DOUBLE_EQ(*gpu.fragmentation, 0.6);  // at 4,000 reserved it never held more than 1,600
  EXPECT_EQ(gpu.allocations, 3U);
  EXPECT_EQ(gpu.frees, 2U);
  EXPECT_EQ(gpu.timeline.size(), 5U);
  ASSERT_EQ(gpu.ops.size(), 3U);
  EXPECT_EQ(trace.Name(gpu.ops[0].op), "aten::convolution");
  EXPECT_EQ(gpu.ops[0].live_at_peak, 400);
  EXPECT_EQ(Find(gpu, trace, "aten::relu")->live_at_peak, 300);
  EXPECT_EQ(Find(gpu, trace, "")->live_at_peak, 0);  // 0xC came after the peak
  EXPECT_EQ(Find(gpu, trace, "")->allocated, 200);
}

TEST(Memory, AHighStartIsThePeak) {
  TraceFixture f;
  f.Memory(10, 0xA, -500, 300, 1000);
  f.Memory(20, 0xB, 100, 400, 1000);
  const Trace trace = f.Finish();
  const DeviceMemory gpu = Measure(trace)->devices[0];
  EXPECT_EQ(gpu.peak_allocated, 800);
  EXPECT_EQ(gpu.peak_time_ns, 10);
  EXPECT_EQ(gpu.ops[0].live_at_peak, 0);
}

TEST(Memory, WithoutTotalsItCountsFromTheStart) {
  TraceFixture f;
  f.Memory(10, 0xA, 500);
  f.Memory(20, 0x1, -64);  // allocated before the trace
  f.Memory(30, 0xB, 100);
  const Trace trace = f.Finish();
  const DeviceMemory gpu = Measure(trace)->devices[0];
  EXPECT_TRUE(gpu.relative);
  EXPECT_EQ(gpu.peak_allocated, 536);
  EXPECT_EQ(gpu.allocated_before, 64);
  EXPECT_EQ(gpu.peak_reserved, -1);
  EXPECT_FALSE(gpu.fragmentation);
}

TEST(Memory, HostAndDevicesApartGpusFirst) {
  TraceFixture f;
  f.Memory(5, 0xA, 8, 8, 0, MemoryDevice::kHost);
  f.Memory(10, 0xA, 500, 500, 1000);
  f.builder.Add(trace::MemoryInput{.time_ns = 11,
                                   .thread = f.builder.ThreadFor(100, 1),
                                   .device_id = 1,
                                   .address = 0xA,
                                   .bytes = 50,
                                   .total_allocated = 50});
  // Another process in the same file has its own device 0.
  f.builder.Add(trace::MemoryInput{.time_ns = 12,
                                   .thread = f.builder.ThreadFor(200, 1),
                                   .address = 0xA,
                                   .bytes = 70,
                                   .total_allocated = 70});
  f.builder.trace().devices[f.builder.DeviceFor(1)].memory_bytes = 1 << 20;
  const Trace trace = f.Finish();
  const auto facts = Measure(trace);
  ASSERT_EQ(facts->devices.size(), 4U);
  EXPECT_EQ(facts->devices[0].peak_allocated, 500);
  EXPECT_EQ(facts->devices[1].peak_allocated, 70);
  EXPECT_NE(facts->devices[0].process, facts->devices[1].process);
  EXPECT_EQ(facts->devices[2].device_id, 1);
  EXPECT_EQ(facts->devices[2].capacity, 1 << 20);
  EXPECT_EQ(facts->devices[3].type, MemoryDevice::kHost);
  EXPECT_EQ(facts->devices[3].capacity, -1);
  EXPECT_FALSE(facts->devices[3].fragmentation);  // 0 reserved is not "no fragmentation"
}

TEST(Memory, GrowthIsTheSlopeOverSteadySteps) {
  TraceFixture f;
  f.Memory(10, 0x1, 1'000'000, 1'000'000, 0);  // warm-up
  f.Memory(110, 0x2, 100, 1'000'100, 0);
  f.Memory(150, 0x3, 50, 1'000'150, 0);
  f.Memory(180, 0x3, -50, 1'000'100, 0);
  f.Memory(210, 0x4, 200, 1'000'300, 0);
  f.Memory(310, 0x5, 150, 1'000'450, 0);
  const Trace trace = f.Finish();
  const auto with = Measure(trace, StepsOf({{0, 100}, {100, 200}, {200, 300}, {300, 400}}, 1));
  const DeviceMemory& gpu = with->devices[0];
  EXPECT_EQ(gpu.at_step_end, (std::vector<Bytes>{1'000'100, 1'000'300, 1'000'450}));
  ASSERT_TRUE(gpu.growth_per_step);
  EXPECT_DOUBLE_EQ(*gpu.growth_per_step, 175);  // (450 − 100) / 2
  const auto few = Measure(trace, StepsOf({{0, 100}, {100, 200}, {200, 300}}, 1));
  EXPECT_EQ(few->devices[0].growth_per_step.why_not(),
            "growth needs 3 steady steps, the trace has 2");
}

TEST(Memory, AbsentSaysWhy) {
  TraceFixture f;
  f.builder.trace().info.profile_memory = 0;
  EXPECT_EQ(Measure(f.Finish()).why_not(), "profile_memory was off");
  EXPECT_NE(Measure(TraceFixture().Finish()).why_not().find("profile_memory=True"),
            std::string::npos);
}

TEST(Memory, AbsurdValuesDoNotCrash) {
  TraceFixture f;
  for (const Bytes bytes : {INT64_MIN, INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN, Bytes{0}}) {
    f.Memory(bytes / 4, static_cast<std::uint64_t>(bytes), bytes);
    f.Memory(bytes / 4, UINT64_MAX, bytes, INT64_MAX, INT64_MAX, MemoryDevice::kOther);
    f.Memory(0, 0, bytes, INT64_MIN, INT64_MIN, MemoryDevice::kHost);
  }
  const Trace trace = f.Finish();
  const auto facts = Measure(trace, StepsOf({{0, 1}, {2, 3}, {4, INT64_MAX}}));
  EXPECT_EQ(facts->devices.size(), 3U);
}

TEST(Memory, ThinningKeepsEveryExtreme) {
  std::vector<MemoryPoint> points;
  for (int i = 0; i < 100'000; ++i) points.push_back({i, 1000 + i % 7, 5000});
  points[77'777].allocated = 9'999;
  points[33'333].allocated = 1;
  points[55'555].reserved = 8'888;
  const auto thin = Thin(points);
  EXPECT_LE(thin.size(), kMostTimelinePoints);
  EXPECT_GT(thin.size(), 1'000U);
  EXPECT_EQ(thin.front().time_ns, 0);
  EXPECT_EQ(thin.back().time_ns, 99'999);
  const auto has = [&](Nanos time) {
    return std::any_of(thin.begin(), thin.end(), [&](auto& p) { return p.time_ns == time; });
  };
  EXPECT_TRUE(has(77'777) && has(33'333) && has(55'555));
  EXPECT_TRUE(std::is_sorted(thin.begin(), thin.end(),
                             [](auto& a, auto& b) { return a.time_ns < b.time_ns; }));
  const std::vector<MemoryPoint> burst(5'000, MemoryPoint{7, 1, 1});  // all at one moment
  EXPECT_LE(Thin(burst).size(), kMostTimelinePoints);
}

// Checked against a Python script: max of "Total Allocated" and "Total Reserved", and the sum of
// the sizes in a dict by address at the moment of the maximum.
TEST(Memory, RealTracesAgreeWithAnIndependentCount) {
  struct Expected {
    const char* file;
    Bytes before, peak, reserved, live;
    std::uint64_t allocations, frees;
  };
  const Expected expected[] = {
      {"traces/resnet50_good_full.json.gz", 525'384'704, 3'320'837'120, 3'802'136'576,
       2'939'759'616, 4348, 4348},
      {"peers/tracelens/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 984'742'400, 2'088'508'416,
       2'629'828'608, 1'103'766'016, 1125, 1125},
      {"peers/tracelens/gaunernst_bert-small-uncased__1016001.json.gz", 91'360'768, 101'305'344,
       121'634'816, 9'944'576, 109, 109},
  };
  for (const Expected& e : expected) {
    const std::string path = SharedPath(e.file);
    HONE_SKIP_WITHOUT(path);
    const auto trace = importer::LoadTrace(path);
    ASSERT_TRUE(trace);
    const auto facts = Measure(*trace, FindSteps(*trace));
    ASSERT_TRUE(facts) << facts.why_not();
    ASSERT_EQ(facts->devices.size(), 2U) << e.file;
    const DeviceMemory& gpu = facts->devices[0];
    EXPECT_EQ(gpu.allocated_before, e.before) << e.file;
    EXPECT_EQ(gpu.peak_allocated, e.peak) << e.file;
    EXPECT_EQ(gpu.peak_reserved, e.reserved) << e.file;
    EXPECT_EQ(gpu.allocations, e.allocations) << e.file;
    EXPECT_EQ(gpu.frees, e.frees) << e.file;
    Bytes live = 0;
    for (const MemoryOpRow& row : gpu.ops) live += row.live_at_peak;
    EXPECT_EQ(live, e.live) << e.file;
    EXPECT_EQ(facts->devices[1].type, MemoryDevice::kHost);
  }
}

}  // namespace
}  // namespace hone::analyze
