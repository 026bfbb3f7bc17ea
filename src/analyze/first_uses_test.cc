// SPDX-License-Identifier: Apache-2.0
#include "analyze/first_uses.h"

#include <gtest/gtest.h>

#include "analyze/sketch_test.h"

namespace hone::analyze {
namespace {

// Ten launches of 5 us and kernels of 10 us, one every 20 us; then one of `name` that takes `call`
// us, and whose kernel begins `behind` its end.
struct Late {
  double call = 3000;
  double behind = 2;
  const char* name = "new";
  double busy = 0;  // the last kernel before it goes on for so long
};

std::vector<FirstUse> Find(const Late& late) {
  TraceSketch sketch;
  for (int i = 0; i < 10; ++i) {
    const double at = 1000 + 20 * i;
    sketch.Launch(at, i + 1).Kernel(at + 6, at + 16 + (i == 9 ? late.busy : 0), i + 1);
  }
  const double begin = 1300, end = begin + late.call;
  sketch.Call("cudaLaunchKernel", begin, end, 99);
  sketch.Kernel(end + late.behind, end + late.behind + 10, 99, 7, late.name);
  const trace::Trace trace = sketch.Finish();
  return FindFirstUses(trace, ApiCalls(trace));
}

TEST(FirstUses, AreLongLaunchesOfKernelsThatWereNotThereBefore) {
  const std::vector<FirstUse> found = Find({});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].loading_ns, 2'995'000);
}

TEST(FirstUses, AreNoOtherLongLaunches) {
  EXPECT_TRUE(Find({.call = 900}).empty());       // a core that was lost for a while
  EXPECT_TRUE(Find({.behind = -500}).empty());    // the kernel was there before the call ended
  EXPECT_TRUE(Find({.name = "kernel"}).empty());  // used before
  EXPECT_TRUE(Find({.busy = 1000}).empty());      // a queue that may be full
}

}  // namespace
}  // namespace hone::analyze
