// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "analyze/fixture_test.h"
#include "doctor/look_test.h"

namespace hone::doctor {
namespace {

constexpr Nanos kUs = kMicrosecond;

// Steps of 20 ms with a backward pass and `messages` of 0.5 ms, one after the other.
trace::Trace Averages(int messages) {
  analyze::TraceFixture f;
  for (int step = 0; step < 5; ++step) {
    const Nanos t = step * 20 * kMillisecond;
    f.Annotation(t, 20 * kMillisecond, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
    f.Op(t, 500 * kUs, "autograd::engine::evaluate_function: AddmmBackward0", {}, 1);
    for (int m = 0; m < messages; ++m) {
      const Nanos at = t + 5 * kMillisecond + m * 600 * kUs;
      trace::OpDetail detail = f.Shape("[[[64]], [], [], [], [], []]");
      detail.stack = f.builder.Intern("train.py(16): average;train.py(26): <module>");
      f.Op(at, 10 * kUs, "c10d::allreduce_", detail);
      f.Annotation(at + 20 * kUs, 500 * kUs, "gloo:all_reduce", {}, 2);
    }
  }
  return f.Finish();
}

TEST(ExposedComm, ManySmallMessagesAreJoined) {
  const Diagnosis found = DiagnoseTrace(Averages(20));
  const Finding* finding = FindingOf(found, "exposed-comm");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "20 small messages a step are sent where one would do");
  EXPECT_EQ(finding->where.front().source, "train.py:16 (average)");
  EXPECT_TRUE(finding->remedy.starts_with("flat = _flatten_dense_tensors(tensors)"));
  EXPECT_EQ(finding->remedy.find("no_sync"), std::string::npos);
  EXPECT_GT(*finding->recoverable_ns, 10e6);
}

TEST(ExposedComm, AFewAreSentLessOften) {
  const Diagnosis found = DiagnoseTrace(Averages(8));
  const Finding* finding = FindingOf(found, "exposed-comm");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->remedy.find("_flatten_dense_tensors"), std::string::npos);
}

}  // namespace
}  // namespace hone::doctor
