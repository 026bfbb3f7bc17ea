// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "doctor/rules/device_steps_test.h"

namespace hone::doctor {
namespace {

// Four steps of ten operators. `nodes` of them make an autograd node, `on` run with grad mode on.
Diagnosis Forward(int nodes, int on, const char* extra = nullptr) {
  analyze::TraceFixture f;
  std::int64_t sequence = 100;
  for (int step = 0; step < 4; ++step) {
    const Nanos start = step * kMillisecond;
    f.Annotation(start, kMillisecond, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
    for (int i = 0; i < 10; ++i) {
      f.Op(start + 90'000 * i + 1'000, 80'000, "aten::linear", {}, i < on ? sequence : -1);
      if (i < nodes) ++sequence;
    }
    if (extra != nullptr) f.Op(start + 950'000, 1'000, extra);
  }
  return DiagnoseTrace(f.Finish());
}

TEST(GradInInference, NumbersThatGrow) {
  const Diagnosis diagnosis = Forward(10, 10);
  const Finding* finding = FindingOf(diagnosis, "grad-in-inference");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->evidence[0].find("about 10 autograd nodes"), std::string::npos);
  EXPECT_FALSE(finding->recoverable_ns);
}

TEST(GradInInference, FrozenParametersMakeNoNodes) {
  EXPECT_EQ(FindingOf(Forward(0, 10), "grad-in-inference"), nullptr);
}

TEST(GradInInference, NoNumbersUnderNoGrad) {
  EXPECT_EQ(FindingOf(Forward(0, 0), "grad-in-inference"), nullptr);
}

// The forward pass is guarded, a little code around it is not.
TEST(GradInInference, AFewOperatorsOutsideTheGuardAreFine) {
  EXPECT_EQ(FindingOf(Forward(4, 4), "grad-in-inference"), nullptr);
}

TEST(GradInInference, ABackwardPassNeedsThem) {
  EXPECT_EQ(FindingOf(Forward(10, 10, "autograd::engine::evaluate_function: MmBackward0"),
                      "grad-in-inference"),
            nullptr);
}

}  // namespace
}  // namespace hone::doctor
