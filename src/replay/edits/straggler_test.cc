// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

// Steps of 1 ms, bound by the device: a kernel of 800 µs, an all-reduce of 100 µs behind it, and a
// kernel that needs both.
trace::Trace Steps() {
  analyze::TraceFixture f;
  std::int64_t correlation = 0;
  for (int step = 0; step < 5; ++step) {
    const Nanos t = step * kMillisecond, us = kMicrosecond;
    f.Annotation(t, kMillisecond, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
    f.Api(t + us, us, ++correlation);
    f.Kernel(t + 5 * us, 800 * us, "gemm", correlation);
    f.Api(t + 10 * us, us, ++correlation);
    f.Kernel(t + 806 * us, 100 * us, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", correlation, 0,
             0, 20);
    f.Api(t + 15 * us, us, ++correlation);
    f.Kernel(t + 911 * us, 70 * us, "update", correlation);
    f.Api(t + 20 * us, 966 * us, ++correlation, 1, "cudaDeviceSynchronize");
  }
  return f.Finish();
}

analyze::SkewFacts Skew(double compute_us) {
  analyze::SkewFacts skew;
  skew.straggler = 1;
  skew.ranks.resize(2);
  skew.ranks[0].rank = 1;
  skew.ranks[0].compute_step_ns = compute_us * 1e3;
  skew.ranks[1].rank = 0;
  skew.ranks[1].compute_step_ns = 600e3;
  skew.lost = {100e3, 300e3, 320e3};
  return skew;
}

TEST(Straggler, TheStepIsHeldToThePaceOfTheOthers) {
  const trace::Trace trace = Steps();
  const analyze::Facts facts = analyze::Analyze(trace);
  const analyze::SkewFacts skew = Skew(900);
  const auto model = Model::Build(trace, facts, &skew);
  const WhatIf whatif(**model);
  const double bare = whatif.bare().likely_ns;
  const Prediction step = whatif.Predict({"straggler"});
  EXPECT_NEAR(step.likely_ns / bare, 0.7, 0.01);
  EXPECT_LE(step.low_ns, 0.69 * bare);
  EXPECT_GE(step.high_ns, 0.9 * bare);
}

TEST(Straggler, AbsentWithoutOtherRanksOrWaits) {
  const trace::Trace trace = Steps();
  const analyze::Facts facts = analyze::Analyze(trace);
  const auto alone = Model::Build(trace, facts);
  EXPECT_FALSE(WhatIf(**alone).Find("straggler"));
  analyze::SkewFacts skew = Skew(900);
  skew.lost = {};
  const auto even = Model::Build(trace, facts, &skew);
  EXPECT_FALSE(WhatIf(**even).Find("straggler"));
}

}  // namespace
}  // namespace hone::replay
