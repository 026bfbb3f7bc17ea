// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/anomaly_mode.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

constexpr Nanos kUs = kMicrosecond;

// Steps of 2 ms: t and addmm make a node each, and the nodes end in a look for NaN. `leaves`
// parameters take their gradient.
Prediction WithoutAnomalyMode(int leaves) {
  analyze::TraceFixture f;
  for (int step = 0; step < 5; ++step) {
    const Nanos t = step * 2 * kMillisecond;
    f.Annotation(t, 2 * kMillisecond, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
    f.Op(t, 101'500, "aten::t", {}, 2 * step + 1);
    f.Op(t + 110 * kUs, 600 * kUs, "aten::addmm", {}, 2 * step + 2);
    Nanos at = t + 800 * kUs;
    for (const char* name : {"AddmmBackward0", "TBackward0"}) {
      f.Op(at, 200 * kUs, (std::string("autograd::engine::evaluate_function: ") + name).c_str());
      f.Op(at + 10 * kUs, 50 * kUs, name);
      f.Op(at + 70 * kUs, 30 * kUs, "aten::isnan");
      f.Op(at + 110 * kUs, 30 * kUs, "aten::any");
      f.Op(at + 150 * kUs, 30 * kUs, "aten::item");
      at += 210 * kUs;
    }
    for (int i = 0; i < leaves; ++i) {
      f.Op(at, 10 * kUs, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad");
      at += 15 * kUs;
    }
  }
  const trace::Trace trace = f.Finish();
  const analyze::Facts facts = analyze::Analyze(trace);
  const auto model = Model::Build(trace, facts);
  return WhatIf(**model).Predict({"anomaly-mode"});
}

// A stack takes 100 us here. Two more of them may have been made in the addmm, for its parameters;
// the recorder's own cost is taken out of it first.
TEST(AnomalyMode, ParametersKeepStacksToo) {
  const Prediction none = WithoutAnomalyMode(0), two = WithoutAnomalyMode(2);
  EXPECT_NEAR(none.likely_ns, two.likely_ns, 5e3);
  EXPECT_NEAR(none.low_ns - two.low_ns, 200e3, 40e3);
}

}  // namespace
}  // namespace hone::replay
