// SPDX-License-Identifier: Apache-2.0
#include "replay/whatif.h"

#include "replay/replayed_test.h"

namespace hone::replay {
namespace {

// Steps of 1 ms: 24 operators of 20 us with kernels of 3 us, then .item() behind a kernel of 300
// us, then code until the end.
Replayed Sample() {
  TraceSketch sketch;
  MarkSteps(sketch, 4, 1000);
  std::int64_t id = 0;
  for (int i = 0; i < 4; ++i) {
    double at = 1005 + 1000 * i;
    for (int k = 0; k < 24; ++k, at += 25) {
      ++id;
      sketch.Op("aten::linear", at, at + 20).Launch(at + 3, id).Kernel(at + 13, at + 16, id);
    }
    ++id;
    sketch.Op("aten::mm", at, at + 20).Launch(at + 3, id).Kernel(at + 13, at + 313, id);
    sketch.Op("aten::item", at + 30, at + 330);
    sketch.Call("cudaStreamSynchronize", at + 35, at + 320, ++id);
  }
  sketch.builder().trace().info.format = trace::Format::kKineto;
  return Replayed(std::move(sketch));
}

TEST(WhatIf, StartsFromTheStepWithoutTheRecorder) {
  const Replayed r = Sample();
  const WhatIf whatif(r.model());
  EXPECT_NEAR(whatif.error(), 0, 0.001);
  EXPECT_LT(whatif.bare().likely_ns, whatif.measured_ns());
  EXPECT_DOUBLE_EQ(whatif.Predict({}).likely_ns, whatif.bare().likely_ns);
}

TEST(WhatIf, WordsWithoutATargetChangeNothing) {
  const Replayed r = Sample();
  const WhatIf whatif(r.model());
  ASSERT_FALSE(whatif.Find("kv-cache-unused"));
  EXPECT_DOUBLE_EQ(whatif.Predict({"kv-cache-unused"}).likely_ns, whatif.bare().likely_ns);
  EXPECT_DOUBLE_EQ(whatif.SureGain({"kv-cache-unused"}), 0);
}

TEST(WhatIf, NeitherOrderNorRepetitionOfWordsCounts) {
  const Replayed r = Sample();
  const WhatIf whatif(r.model());
  const double once = whatif.Predict({"host-sync", "launch-bound"}).likely_ns;
  EXPECT_LT(once, whatif.Predict({"host-sync"}).likely_ns);
  EXPECT_DOUBLE_EQ(whatif.Predict({"launch-bound", "host-sync"}).likely_ns, once);
  EXPECT_DOUBLE_EQ(whatif.Predict({"host-sync", "launch-bound", "host-sync"}).likely_ns, once);
}

TEST(WhatIf, ARangeHoldsWhatIsLikelyAndIsNeverNarrowerThanRunsDiffer) {
  const Replayed r = Sample();
  const WhatIf whatif(r.model());
  for (const EditInfo& info : AllEdits()) {
    const Prediction step = whatif.Predict({info.id});
    EXPECT_LE(step.low_ns, 0.985 * step.likely_ns) << info.id;
    EXPECT_GE(step.high_ns, 1.015 * step.likely_ns) << info.id;
  }
}

// What a graph gives at least is half of the launches, and part of it is the recorder's own.
TEST(WhatIf, TheSureGainIsLessThanTheLikelyOne) {
  const Replayed r = Sample();
  const WhatIf whatif(r.model());
  const double likely = whatif.bare().likely_ns - whatif.Predict({"launch-bound"}).likely_ns;
  EXPECT_GT(likely, 0);
  EXPECT_LT(whatif.SureGain({"launch-bound"}), likely);
  EXPECT_GT(whatif.SureGain({"launch-bound"}), 0);
}

// One step of four takes 20 % longer: no range is narrower than that.
TEST(WhatIf, StepsThatDifferWidenTheRange) {
  TraceSketch sketch;
  double at = 1000;
  for (int i = 0; i < 4; ++i) {
    const double length = i == 2 ? 1200 : 1000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 1), at, at + length);
    sketch.Op("aten::mm", at + 5, at + length - 5).Launch(at + 10, i + 1);
    sketch.Kernel(at + 20, at + length - 10, i + 1);
    at += length;
  }
  const Replayed r(std::move(sketch));
  const WhatIf whatif(r.model());
  EXPECT_GE(whatif.bare().high_ns / whatif.bare().likely_ns, 1200.0 / 1050);
  EXPECT_LE(whatif.bare().low_ns / whatif.bare().likely_ns, 1000.0 / 1050);
}

// The host marks its first step early and is held up after that; the device takes 1 ms for each.
TEST(WhatIf, AHostThatRunsAheadSaysNothingOfHowStepsDiffer) {
  TraceSketch sketch;
  const double marks[] = {1000, 1200, 2000, 3000, 4000};
  for (int i = 0; i < 4; ++i) {
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 1), marks[i], marks[i + 1]);
    const double end = i < 2 ? marks[i] + 100 : marks[i + 1] - 10;
    sketch.Call("cudaLaunchKernel", marks[i] + 10, end, i + 1);
    sketch.Kernel(1050 + 1000 * i, 2040 + 1000 * i, i + 1);
  }
  const Replayed r(std::move(sketch));
  const WhatIf whatif(r.model());
  EXPECT_NEAR(whatif.bare().likely_ns, 1e6, 2e4);
  EXPECT_GE(whatif.bare().low_ns / whatif.bare().likely_ns, 0.95);
}

}  // namespace
}  // namespace hone::replay
