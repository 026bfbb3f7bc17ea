// SPDX-License-Identifier: Apache-2.0
// Which lines of the program launch what, and when that is a loop.
#include <gtest/gtest.h>

#include "analyze/fixture_test.h"
#include "doctor/look_test.h"

namespace hone::doctor {
namespace {

constexpr Nanos kPitch = 10'000;

// Three steps that their host binds: `loop` operators from one line of a function, then `layers`
// products from another, and a backward pass that belongs to the loop's.
class LaunchingSteps : public analyze::TraceFixture {
 public:
  LaunchingSteps(int loop, int layers, const char* operation = "aten::mul", bool copies = false) {
    builder.trace().devices[builder.DeviceFor(0)].name = "NVIDIA H200";
    Nanos at = 0;
    for (int step = 1; step <= 3; ++step) {
      const Nanos begin = at;
      at += kPitch;
      for (int i = 0; i < loop; ++i) {
        Launch(at, operation, "train.py(8): smooth;train.py(20): main", copies);
      }
      for (int i = 0; i < layers; ++i) Launch(at, "aten::mm", "train.py(14): forward");
      Annotation(begin, at - begin, ("ProfilerStep#" + std::to_string(step)).c_str());
    }
  }

 private:
  void Launch(Nanos& at, const char* operation, const char* stack, bool copies = false) {
    trace::OpDetail detail;
    detail.stack = builder.Intern(stack);
    Op(at, 8'000, operation, detail);
    Api(at + 2'000, 4'000, ++correlation_);
    if (copies) {
      builder.Add(trace::WorkInput{.start_ns = at + 7'000,
                                   .duration_ns = 1'000,
                                   .name = builder.Intern("Memcpy HtoD (Pinned -> Device)"),
                                   .kind = trace::WorkKind::kCopy,
                                   .stream = builder.StreamFor(0, 7),
                                   .correlation = correlation_,
                                   .bytes = 64,
                                   .direction = trace::CopyDirection::kHostToDevice,
                                   .source = trace::MemoryKind::kPinned,
                                   .target = trace::MemoryKind::kDevice});
    } else {
      Kernel(at + 7'000, 1'000, "void at::native::vectorized_elementwise_kernel<4, Mul>",
             correlation_);
    }
    at += kPitch;
  }

  std::int64_t correlation_ = 0;
};

TEST(LaunchBound, ALoopOverElementsIsNamedByItsFunction) {
  const Diagnosis diagnosis = DiagnoseTrace(LaunchingSteps(150, 20).Finish());
  const Finding* finding = FindingOf(diagnosis, "launch-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "a loop in or around smooth makes 150 of the 170 launches of a step");
  ASSERT_FALSE(finding->where.empty());
  EXPECT_EQ(finding->where[0].source, "train.py:8 (smooth)");
  EXPECT_EQ(finding->evidence.back(), "aten::mul is called there 150 times a step");
}

// As many launches, but those of a model: the line is said, and no loop is claimed.
TEST(LaunchBound, LayersAreNoLoop) {
  const Diagnosis diagnosis = DiagnoseTrace(LaunchingSteps(20, 150).Finish());
  const Finding* finding = FindingOf(diagnosis, "launch-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the host launches kernels more slowly than the device runs them");
  ASSERT_FALSE(finding->where.empty());
  EXPECT_EQ(finding->where[0].source, "train.py:14 (forward)");
  EXPECT_EQ(finding->evidence.back(), "150 of 170 launches a step come from train.py:14 (forward)");
}

TEST(LaunchBound, FewTimesRoundAreNoLoop) {
  const Diagnosis diagnosis = DiagnoseTrace(LaunchingSteps(60, 20).Finish());
  const Finding* finding = FindingOf(diagnosis, "launch-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the host launches kernels more slowly than the device runs them");
}

TEST(LaunchBound, TensorsThatAreMadeOneByOneAreCopies) {
  const Diagnosis diagnosis = DiagnoseTrace(LaunchingSteps(150, 20, "aten::to", true).Finish());
  const Finding* finding = FindingOf(diagnosis, "launch-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "a loop in or around smooth copies 150 small tensors to the device");
  EXPECT_NE(finding->remedy.find("one copy in place of them"), std::string::npos);
}

}  // namespace
}  // namespace hone::doctor
