// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/attention.h"

#include <gtest/gtest.h>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"

namespace hone::replay {
namespace {

constexpr const char* kBf16 = "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NTT";
constexpr const char* kFp32 = "ampere_sgemm_128x64_nn";

// One step of 1 ms in which each operator launches one kernel; sequence numbers count from 1.
class Calls {
 public:
  Calls() { fixture_.Annotation(0, kMillisecond, "ProfilerStep#1"); }

  Calls& Forward(const std::vector<const char*>& ops, const char* product = kBf16) {
    for (const char* op : ops) Launch(op, product, ++sequence_, 1);
    return *this;
  }
  // Its gradient on the engine's thread: an operator inside the engine's.
  Calls& Backward(const char* op, std::int64_t sequence) {
    fixture_.Op(at_, 9'000, "autograd::engine::evaluate_function: XBackward0", {}, sequence, 2);
    at_ += 500;
    Launch(op, kBf16, -1, 2);
    return *this;
  }
  std::vector<Attention> Find() {
    const trace::Trace trace = fixture_.Finish();
    const analyze::Facts facts = analyze::Analyze(trace);
    const auto model = Model::Build(trace, facts);
    EXPECT_TRUE(model.has_value()) << model.why_not();
    return FindAttention(**model);
  }

 private:
  void Launch(const char* op, const char* kernel, std::int64_t sequence, int thread) {
    fixture_.Op(at_, 8'000, op, {}, sequence, thread);
    fixture_.Api(at_ + 1'000, 5'000, ++correlation_, thread);
    fixture_.Kernel(at_ + 9'000, 1'000, kernel, correlation_);
    at_ += 10'000;
  }

  analyze::TraceFixture fixture_;
  Nanos at_ = 10'000;
  std::int64_t sequence_ = 0, correlation_ = 0;
};

TEST(Attention, ASoftmaxBetweenTwoBatchedProducts) {
  const std::vector<Attention> found =
      Calls()
          .Forward({"aten::linear", "aten::bmm", "aten::div", "aten::masked_fill_",
                    "aten::_softmax", "aten::native_dropout", "aten::bmm", "aten::linear"})
          .Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].forward.size(), 6U);  // from product to product
  EXPECT_TRUE(found[0].backward.empty());
  EXPECT_TRUE(found[0].half);
}

TEST(Attention, ThePrecisionIsThatOfTheProducts) {
  const std::vector<Attention> found =
      Calls().Forward({"aten::bmm", "aten::_softmax", "aten::bmm"}, kFp32).Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].half);
}

TEST(Attention, OtherOperatorsBetweenAreNoAttention) {
  EXPECT_TRUE(Calls()
                  .Forward({"aten::bmm", "aten::native_layer_norm", "aten::_softmax", "aten::bmm"})
                  .Find()
                  .empty());
  EXPECT_TRUE(Calls().Forward({"aten::bmm", "aten::_softmax", "aten::mm"}).Find().empty());
  EXPECT_TRUE(Calls().Forward({"aten::_softmax", "aten::bmm"}).Find().empty());
}

TEST(Attention, TooMuchBetweenIsOtherCode) {
  std::vector<const char*> ops(12, "aten::mul");
  ops.insert(ops.begin(), "aten::bmm");
  ops.insert(ops.end(), {"aten::_softmax", "aten::bmm"});
  EXPECT_TRUE(Calls().Forward(ops).Find().empty());
}

TEST(Attention, AProductBelongsToOneOnly) {
  const std::vector<Attention> found =
      Calls()
          .Forward({"aten::bmm", "aten::_softmax", "aten::bmm", "aten::_softmax", "aten::bmm"})
          .Find();
  EXPECT_EQ(found.size(), 1U);
  EXPECT_EQ(Calls()
                .Forward({"aten::bmm", "aten::_softmax", "aten::bmm", "aten::linear", "aten::bmm",
                          "aten::_softmax", "aten::bmm"})
                .Find()
                .size(),
            2U);
}

// Forward operators have the numbers 1 to 5; the attention's are 2 to 4.
TEST(Attention, BackwardWorkBelongsToItBySequenceNumber) {
  const std::vector<Attention> found =
      Calls()
          .Forward({"aten::linear", "aten::bmm", "aten::_softmax", "aten::bmm", "aten::linear"})
          .Backward("aten::mm", 5)
          .Backward("aten::bmm", 4)
          .Backward("aten::_softmax_backward_data", 3)
          .Backward("aten::bmm", 2)
          .Backward("aten::mm", 1)
          .Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].forward.size(), 3U);
  EXPECT_EQ(found[0].backward.size(), 3U);
}

// Recomputed in the backward pass (checkpointing): the engine's own operators are no attention of
// their own.
TEST(Attention, InTheBackwardPassNothingNewIsFound) {
  const std::vector<Attention> found = Calls()
                                           .Backward("aten::bmm", 1)
                                           .Backward("aten::_softmax", 2)
                                           .Backward("aten::bmm", 3)
                                           .Find();
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace hone::replay
