// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/small_messages.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

constexpr Nanos kUs = kMicrosecond, kStep = 20 * kMillisecond;

// Steps of 20 ms: a backward pass of 2 ms, then `messages` by Gloo, one after the other, between
// them what `between` names, 10 µs long. A message takes `latency` and a nanosecond for each of
// `wide` elements; three of four have eight elements.
struct Program {
  int messages = 20;
  Nanos latency = 500 * kUs;
  Nanos wide = 4096;
  const char* between = "aten::div_";
  bool shapes = true;
};

trace::Trace Recorded(const Program& program) {
  analyze::TraceFixture f;
  for (int step = 0; step < 5; ++step) {
    const Nanos t = step * kStep;
    f.Annotation(t, kStep, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
    f.Op(t, kMillisecond, "aten::linear", {}, 1);
    f.Op(t + kMillisecond, kMillisecond, "autograd::engine::evaluate_function: AddmmBackward0", {},
         1);
    Nanos at = t + 2 * kMillisecond;
    for (int m = 0; m < program.messages; ++m) {
      const Nanos elements = m % 4 == 0 ? program.wide : 8;
      const std::string dims = "[[[" + std::to_string(elements) + "]], [], [], [], [], []]";
      f.Op(at, 10 * kUs, "c10d::allreduce_",
           program.shapes ? f.Shape(dims.c_str()) : trace::OpDetail{});
      const Nanos length = program.latency + elements;
      f.Annotation(at + 20 * kUs, length, "gloo:all_reduce", {}, 2);
      f.Op(at + 30 * kUs + length, 10 * kUs, program.between);
      at += 50 * kUs + length;
    }
    f.Op(at, 100 * kUs, "aten::add_");
  }
  return f.Finish();
}

struct Found {
  Known<SmallMessages> small = Known<SmallMessages>::Absent("");
  Prediction with;
  double bare = 0;
};

Found Find(const trace::Trace& trace) {
  const analyze::Facts facts = analyze::Analyze(trace);
  const auto model = Model::Build(trace, facts);
  const WhatIf whatif(**model);
  return {FindSmallMessages(**model), whatif.Predict({"exposed-comm"}), whatif.bare().likely_ns};
}

// 20 messages of 0.57 ms become one of 0.5 ms and a few microseconds for 20,600 elements; the ten
// microseconds of each division stay.
TEST(SmallMessages, OneTakesTheirPlace) {
  const Found found = Find(Recorded({}));
  ASSERT_TRUE(found.small) << found.small.why_not();
  EXPECT_EQ(found.small->messages, 20 * 5);
  ASSERT_TRUE(found.small->bytes);
  EXPECT_DOUBLE_EQ(*found.small->bytes, 5 * 4 * (5 * 4096 + 15 * 8));
  EXPECT_NEAR(found.small->one_ns.likely / 5, 500e3 + 20.6e3, 5e3);
  // 20 · (50 + 500) µs and what the bytes take, without the last 20 µs; left: 20 · 10 and one.
  const double span = 20 * 550e3 + 20.6e3 - 20e3;
  EXPECT_NEAR(found.bare - found.with.likely_ns, span - 190e3 - 520.6e3, 40e3);
  EXPECT_LE(found.with.low_ns, found.with.likely_ns);
  EXPECT_GE(found.with.high_ns, found.with.likely_ns);
}

TEST(SmallMessages, WithoutSizesTimesTellThemAlike) {
  Program program;
  program.shapes = false;
  const Found found = Find(Recorded(program));
  ASSERT_TRUE(found.small) << found.small.why_not();
  EXPECT_FALSE(found.small->bytes);
  EXPECT_DOUBLE_EQ(found.small->one_ns.least, found.small->taken_ns);  // nothing is sure
  EXPECT_NEAR(found.small->one_ns.likely / 5, 500e3 + 20.6e3, 5e3);
}

// Of unknown size and alike: 1.5 ms may as well be those of two MiB.
TEST(SmallMessages, LongOnesOfUnknownSizeMayBeLarge) {
  Program program;
  program.shapes = false;
  program.latency = 1500 * kUs;
  program.messages = 10;
  EXPECT_EQ(Find(Recorded(program)).small.why_not(), "what messages take is for their bytes");
}

TEST(SmallMessages, BytesThatNeedTheTimeAreNotJoined) {
  Program large;
  large.latency = 20 * kUs;
  large.wide = 1 << 20;  // a millisecond for four MiB
  EXPECT_EQ(Find(Recorded(large)).small.why_not(), "what messages take is for their bytes");
}

// A layer between two messages needs the result of the first.
TEST(SmallMessages, LayersBetweenThemNeedTheirResults) {
  Program layers;
  layers.between = "aten::addmm";
  EXPECT_EQ(Find(Recorded(layers)).small.why_not(), "no ten messages follow one another");
}

TEST(SmallMessages, FewAreNoMatter) {
  Program few;
  few.messages = 9;
  EXPECT_EQ(Find(Recorded(few)).small.why_not(), "no ten messages follow one another");
}

// On a device: 20 messages of 30 µs behind one another, launched every 40 µs by the host, which
// then waits for them.
TEST(SmallMessages, OfADeviceLoseTheirLaunchesToo) {
  analyze::TraceFixture f;
  std::int64_t correlation = 0;
  for (int step = 0; step < 5; ++step) {
    const Nanos t = step * 1200 * kUs;
    f.Annotation(t, 1200 * kUs, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
    f.Op(t, 20 * kUs, "aten::linear", {}, 1);
    f.Api(t + 5 * kUs, 5 * kUs, ++correlation);
    f.Kernel(t + 15 * kUs, 200 * kUs, "gemm", correlation);
    for (int m = 0; m < 20; ++m) {
      const Nanos at = t + 300 * kUs + m * 40 * kUs;
      f.Op(at, 30 * kUs, "c10d::allreduce_", f.Shape("[[[64]], [], [], [], [], []]"));
      f.Api(at + 10 * kUs, 5 * kUs, ++correlation);
      f.Kernel(at + 20 * kUs, 30 * kUs, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", correlation,
               0, 0, 20);
    }
    f.Api(t + 1100 * kUs, 15 * kUs, ++correlation, 1, "cudaDeviceSynchronize");
  }
  const Found found = Find(f.Finish());
  ASSERT_TRUE(found.small) << found.small.why_not();
  EXPECT_FALSE(found.small->on_host);
  EXPECT_EQ(found.small->messages, 20 * 5);
  // The host took 790 µs for 20 launches, and keeps 40; the device then has 34 µs to do.
  EXPECT_GT(found.bare - found.with.likely_ns, 500e3);
}

}  // namespace
}  // namespace hone::replay
