// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/recompile.h"

#include <gtest/gtest.h>

#include "replay/replayed_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

// Steps of 50 ms: 40 of compiling, then 8 in the first call of what was compiled, which comes after
// `pause` us and, where it is given, an operator.
Replayed Compiling(bool launches, double pause = 100, const char* between = nullptr) {
  TraceSketch sketch;
  MarkSteps(sketch, 4, 50'000);
  for (int i = 0; i < 4; ++i) {
    const double at = 1000 + i * 50'000.0;
    const double compiled = at + 41'100 - pause;
    sketch.Op("dynamo", at + 1000, compiled);
    if (between != nullptr) sketch.Op(between, compiled + 10, compiled + 20);
    sketch.Op("Torch-Compiled Region: 0/" + std::to_string(i), at + 41'100, at + 49'100);
    for (int k = 0; launches && k < 2; ++k) {
      const double start = at + 48'000 + 100 * k;
      const int correlation = 10 * i + k + 1;
      sketch.Launch(start, correlation).Kernel(start + 20, start + 60, correlation, 7, "k");
    }
  }
  return Replayed(std::move(sketch));
}

double Fixed(const Replayed& r) { return WhatIf(r.model()).Predict({"recompile"}).likely_ns; }

// 2 ms are the program's own, 0.22 a later call; the recorder's part of them goes as well.
TEST(Recompile, TheFirstCallOfNewCodeIsPartOfCompilingIt) {
  const Replayed r = Compiling(true);
  ASSERT_TRUE(r.built()) << r.why_not();
  EXPECT_LT(Fixed(r), 2.3e6);
  EXPECT_GT(Fixed(r), 1.9e6);
}

// Guards are put in after the compiler, before what it made is called.
TEST(Recompile, ThePauseBeforeTheFirstCallIsPartOfItToo) {
  const Replayed r = Compiling(true, 5000);
  ASSERT_TRUE(r.built()) << r.why_not();
  EXPECT_LT(Fixed(r), 2.3e6);
}

TEST(Recompile, ACallAfterAnotherOperatorIsNotTheFirst) {
  const Replayed r = Compiling(true, 5000, "aten::mm");
  ASSERT_TRUE(r.built()) << r.why_not();
  EXPECT_GT(Fixed(r), 7e6);
}

// Nothing is launched: the code computes on the host, for as long as it took.
TEST(Recompile, CodeThatComputesOnTheHostKeepsItsTime) {
  const Replayed r = Compiling(false);
  ASSERT_TRUE(r.built()) << r.why_not();
  EXPECT_GT(Fixed(r), 7e6);
}

}  // namespace
}  // namespace hone::replay
