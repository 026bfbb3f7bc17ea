// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/worker_restart.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

constexpr Nanos kMs = kMillisecond;
constexpr const char* kFetch = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

// Steps of a fetch of 0.1 ms and operators of 5 ms. Every fourth begins with 10 ms in which
// workers are started and a fetch of 30 ms; its operators take `behind`, and `more` of a
// millisecond follow them.
double WithoutRestarts(Nanos behind, int more) {
  analyze::TraceFixture f;
  Nanos t = 0;
  for (int step = 0; step < 16; ++step) {
    const Nanos begin = t;
    const bool starts = step % 4 == 2;
    if (starts) {
      f.Annotation(t, kMs, kFetch);
      t += 11 * kMs;
    }
    const Nanos fetch = starts ? 30 * kMs : kMs / 10, work = starts ? behind : 5 * kMs;
    f.Annotation(t, fetch, kFetch);
    t += fetch;
    for (int i = 0; i < 20; ++i, t += work / 20) f.Op(t, work / 20, "aten::mm");
    for (int i = 0; starts && i < more; ++i, t += kMs) f.Op(t, kMs, "aten::relu");
    f.Annotation(begin, t - begin, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
  }
  const trace::Trace trace = f.Finish();
  const analyze::Facts facts = analyze::Analyze(trace);
  const auto model = Model::Build(trace, facts);
  return WhatIf(**model).Predict({"worker-restart"}).likely_ns;
}

TEST(WorkerRestart, OperatorsBehindItAreSlowForIt) {
  EXPECT_NEAR(WithoutRestarts(12 * kMs, 0), WithoutRestarts(5 * kMs, 0), 0.1e6);
}

// What only that step does may take its time for itself.
TEST(WorkerRestart, OtherOperatorsTakeWhatTheyTake) {
  EXPECT_GT(WithoutRestarts(12 * kMs, 2), WithoutRestarts(5 * kMs, 2) + 1e6);
}

}  // namespace
}  // namespace hone::replay
