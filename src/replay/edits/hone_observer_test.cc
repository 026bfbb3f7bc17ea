// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "replay/edits/edits.h"
#include "replay/replayed_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

constexpr double kStep = 2000;  // us

// Steps of 2 ms by hone run: 100 operators of 18 us, each with a launch of 5 us and a kernel of
// `kernel` us. Steps timed after them took `bare` of that.
TraceSketch Recorded(double kernel, double bare) {
  TraceSketch sketch;
  MarkSteps(sketch, 6, kStep);
  for (int i = 0; i < 600; ++i) {
    const double at = 1000 + 20 * i;
    sketch.Op("aten::add", at, at + 18).Launch(at + 10, i + 1);
    sketch.Kernel(at + 14, at + 14 + kernel, i + 1);
  }
  trace::TraceInfo& info = sketch.builder().trace().info;
  info.format = trace::Format::kHone;
  if (bare > 0) info.timed_steps = {1'000'000, static_cast<Nanos>(bare * 1e6), 12};
  return sketch;
}

double BareStep(double kernel, double bare) {
  const Replayed replayed(Recorded(kernel, bare));
  if (!replayed.built()) {
    ADD_FAILURE() << replayed.why_not();
    return 0;
  }
  return WhatIf(replayed.model()).bare().likely_ns / TraceSketch::Ns(kStep);
}

TEST(HoneObserver, AHostBoundStepIsWhatWasTimed) {
  const double usual = BareStep(2, 0);
  EXPECT_LT(usual, 0.97);
  EXPECT_GT(usual, 0.8);
  EXPECT_NEAR(BareStep(2, 0.8), 0.8, 0.01);
  EXPECT_NEAR(BareStep(2, 0.97), 0.97, 0.01);
  EXPECT_NEAR(BareStep(2, usual), usual, 0.001);
}

// Steps of 1 ms without a device, full of operators of `length` us, one after the other.
Prediction BareHostStep(double length) {
  TraceSketch sketch;
  MarkSteps(sketch, 6, 1000);
  for (double at = 1000; at + length <= 7000; at += length) sketch.Op("aten::add", at, at + length);
  sketch.builder().trace().info.format = trace::Format::kHone;
  const Replayed replayed(std::move(sketch));
  if (!replayed.built()) {
    ADD_FAILURE() << replayed.why_not();
    return {};
  }
  return WhatIf(replayed.model()).bare();
}

TEST(HoneObserver, OnAHostItCostsTimeAnOperatorAndOfTightLoopsAShare) {
  EXPECT_NEAR(BareHostStep(20).likely_ns, 985'000, 5'000);
  const Prediction tight = BareHostStep(0.5);
  EXPECT_NEAR(tight.likely_ns, 730'000, 10'000);
  EXPECT_GT(tight.low_ns, 500'000);  // something is left of every operator
}

TEST(HoneObserver, ItCostsNoMoreThanSoMuch) {
  EXPECT_GT(BareStep(2, 0.1), 0.7);        // another phase of the program, not the recorder
  EXPECT_NEAR(BareStep(2, 1.3), 1, 0.02);  // and it does not speed anything up
}

TEST(HoneObserver, TheRangeNarrows) {
  const Replayed computed(Recorded(2, 0)), timed(Recorded(2, 0.8));
  const Prediction before = WhatIf(computed.model()).bare(), after = WhatIf(timed.model()).bare();
  EXPECT_LT(after.high_ns / after.low_ns, before.high_ns / before.low_ns);
}

// What an epoch's end does to a loader's pace is not the recorder's.
TEST(HoneObserver, AStepThatWaitsForItsLoaderTeachesNothing) {
  const auto bare = [](double input, double timed) {
    TraceSketch sketch = Recorded(2, timed);
    for (int step = 0; step < 6; ++step) {
      const double end = 1000 + kStep * (step + 1);
      sketch.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                        end - 2 - input, end - 2);
    }
    const Replayed replayed(std::move(sketch));
    return WhatIf(replayed.model()).bare().likely_ns;
  };
  EXPECT_NE(bare(20, 0), bare(20, 0.8));
  EXPECT_EQ(bare(400, 0), bare(400, 0.8));
}

TEST(HoneObserver, WhatDisagreesIsNotSaidToBeTimed) {
  const auto said = [](double timed) {
    const Replayed replayed(Recorded(2, timed));
    return WhatIf(replayed.model()).bare_timed();
  };
  EXPECT_EQ(said(0), 0);
  EXPECT_EQ(said(0.8), 12);
  EXPECT_EQ(said(0.3), 0);
}

// Both steps are the device's: what recording costs its host is not told by them.
TEST(HoneObserver, ADeviceBoundStepTeachesNothing) {
  const Replayed computed(Recorded(20, 0)), timed(Recorded(20, 1));
  const WhatIf before(computed.model()), after(timed.model());
  EXPECT_EQ(before.bare().likely_ns, after.bare().likely_ns);
  const auto host = [](const Replayed& of) {
    Plan plan(of.graph());
    (*FindObserver(of.model()))->Apply(of.model(), Guess::kLikely, plan);
    Nanos sum = 0;
    for (const Nanos duration : plan.duration_ns) sum += duration;
    return sum;
  };
  EXPECT_EQ(host(computed), host(timed));
}

}  // namespace
}  // namespace hone::replay
