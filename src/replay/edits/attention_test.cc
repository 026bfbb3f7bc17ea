// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/attention.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

constexpr const char* kBf16 = "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NTT";
constexpr const char* kFp32 = "ampere_sgemm_128x64_nn";
constexpr const char* kOther = "void at::native::vectorized_elementwise_kernel<8, F>(int)";

// One step of 1 ms in which each operator launches one kernel; sequence numbers count from 1.
class Calls {
 public:
  explicit Calls(bool device = true) : device_(device) {
    fixture_.Annotation(0, kMillisecond, "ProfilerStep#1");
  }

  Calls& Forward(const std::vector<const char*>& ops, const char* product = kBf16) {
    for (const std::string_view op : ops) {
      Launch(op.data(), op.ends_with("mm") ? product : kOther, ++sequence_, 1);
    }
    return *this;
  }
  // Its gradient on the engine's thread: an operator inside the engine's.
  Calls& Backward(const char* op, std::int64_t sequence) {
    fixture_.Op(at_, 9'000, "autograd::engine::evaluate_function: XBackward0", {}, sequence,
                engine());
    at_ += 500;
    Launch(op, kBf16, -1, engine());
    return *this;
  }
  // Recorders that number the gradient's function instead of the engine's operator around it.
  Calls& Inside(const char* op, std::int64_t sequence) {
    fixture_.Op(at_, 9'000, "autograd::engine::evaluate_function: XBackward0", {}, -1, 2);
    at_ += 500;
    Launch(op, kBf16, sequence, 2);
    return *this;
  }
  // A node that first computes operators of the forward pass once more, numbered by its own thread;
  // with `nested` a backward pass of these follows inside of it, else its own gradients do.
  Calls& Again(const char* node, std::int64_t sequence, const std::vector<const char*>& ops,
               const std::vector<const char*>& gradients, const char* kernel = kBf16,
               bool nested = false, std::size_t stops_after = SIZE_MAX) {
    const auto count = static_cast<Nanos>(ops.size() + gradients.size());
    const Nanos length = count * 10'000 + 1'000;
    fixture_.Op(at_, length, (std::string("autograd::engine::evaluate_function: ") + node).c_str(),
                {}, sequence, engine());
    fixture_.Op(at_ + 100, length - 200, node, {}, sequence, engine());
    at_ += 500;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const bool product = std::string_view(ops[i]).ends_with("mm");
      Launch(ops[i], product ? kernel : kOther, ++again_, engine(), i < stops_after);
    }
    std::int64_t number = again_;
    for (const char* op : gradients) {
      if (nested) {
        fixture_.Op(at_, 9'000, "autograd::engine::evaluate_function: YBackward0", {}, number--,
                    engine());
        at_ += 200;
      }
      Launch(op, kBf16, -1, engine());
      if (nested) at_ -= 200;
    }
    at_ += 500;
    return *this;
  }
  // In one operator of the forward pass, as a matmul that makes its factors contiguous.
  Calls& Inside(const char* outer, const std::vector<const char*>& ops) {
    fixture_.Op(at_, static_cast<Nanos>(ops.size()) * 10'000 - 1'000, outer, {}, ++sequence_, 1);
    at_ += 200;
    for (const std::string_view op : ops) {
      Launch(op.data(), op.ends_with("mm") ? kBf16 : kOther, ++sequence_, 1);
    }
    at_ -= 200;
    return *this;
  }
  std::vector<Attention> Find() {
    std::vector<Attention> found;
    With([&](const Model& model) { found = FindAttention(model); });
    return found;
  }
  template <typename Check>
  void With(Check&& check) {
    const trace::Trace trace = fixture_.Finish();
    const analyze::Facts facts = analyze::Analyze(trace);
    const auto model = Model::Build(trace, facts);
    ASSERT_TRUE(model.has_value()) << model.why_not();
    check(**model);
  }

 private:
  int engine() const { return device_ ? 2 : 1; }  // on the CPU the caller runs the backward pass
  void Launch(const char* op, const char* kernel, std::int64_t sequence, int thread,
              bool launches = true) {
    fixture_.Op(at_, 8'000, op, {}, sequence, thread);
    if (device_ && launches) {
      fixture_.Api(at_ + 1'000, 5'000, ++correlation_, thread);
      fixture_.Kernel(at_ + 9'000, 1'000, kernel, correlation_);
    }
    at_ += 10'000;
  }

  const bool device_;
  analyze::TraceFixture fixture_;
  Nanos at_ = 10'000;
  std::int64_t sequence_ = 0, correlation_ = 0, again_ = 0;
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

TEST(Attention, AMaskIsWhatWritesOverScores) {
  for (const auto& [op, masked] :
       {std::pair("aten::masked_fill_", true), std::pair("aten::where", true),
        std::pair("aten::add", false), std::pair("aten::mul", false)}) {
    const std::vector<Attention> found =
        Calls().Forward({"aten::bmm", op, "aten::_softmax", "aten::bmm"}).Find();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].masked, masked) << op;
  }
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

// Where values are projected just before they are weighed: softmax(w) @ self.value(x).
TEST(Attention, ALayerBehindTheSoftmaxIsNoPartOfIt) {
  const std::vector<Attention> found =
      Calls().Forward({"aten::bmm", "aten::mul", "aten::_softmax", "aten::mm", "aten::bmm"}).Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].forward.size(), 4U);
  EXPECT_EQ(found[0].forward_host.size(), 2U);  // around the layer
  // Before it, a layer makes something else of the scores.
  EXPECT_TRUE(
      Calls().Forward({"aten::bmm", "aten::mm", "aten::_softmax", "aten::bmm"}).Find().empty());
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

TEST(Attention, TheNumberMayBeThatOfTheGradientsFunction) {
  const std::vector<Attention> found = Calls()
                                           .Forward({"aten::bmm", "aten::_softmax", "aten::bmm"})
                                           .Inside("BmmBackward0", 3)
                                           .Inside("SoftmaxBackward0", 2)
                                           .Inside("BmmBackward0", 1)
                                           .Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].backward.size(), 3U);
}

TEST(Attention, HostTimeIsThatFromProductToProductAndOfItsNodes) {
  const std::vector<Attention> found =
      Calls()
          .Forward({"aten::linear", "aten::bmm", "aten::_softmax", "aten::bmm", "aten::linear"})
          .Backward("aten::mm", 5)
          .Backward("aten::bmm", 4)
          .Backward("aten::_softmax_backward_data", 3)
          .Backward("aten::mm", 1)
          .Backward("aten::bmm", 2)
          .Find();
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].forward_host.size(), 1U);
  EXPECT_EQ(found[0].forward_host[0].span.begin_ns, 20'000);
  EXPECT_EQ(found[0].forward_host[0].span.end_ns, 48'000);
  ASSERT_EQ(found[0].backward_host.size(), 2U);  // neighbours are one
  EXPECT_EQ(found[0].backward_host[0].span.begin_ns, 70'500);
  EXPECT_EQ(found[0].backward_host[0].span.end_ns, 90'000);
  EXPECT_EQ(found[0].backward_host[1].span.length(), 9'000);
}

// Views and operators around others tell nothing; what stands in a layer of its own does.
TEST(Attention, WithoutADeviceItIsTheOperatorsThatCompute) {
  const std::vector<Attention> found =
      Calls(false)
          .Forward({"aten::linear", "aten::bmm", "aten::view", "aten::div", "aten::masked_fill",
                    "aten::_softmax", "aten::expand", "aten::reshape", "aten::bmm", "aten::linear"})
          .Backward("aten::bmm", 9)
          .Backward("aten::_softmax_backward_data", 6)
          .Backward("aten::bmm", 2)
          .Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].on_host);
  EXPECT_TRUE(found[0].masked);
  EXPECT_FALSE(found[0].dropout);
  ASSERT_EQ(found[0].forward_host.size(), 1U);
  EXPECT_EQ(found[0].forward_host[0].products_ns, 16'000);
  ASSERT_EQ(found[0].backward_host.size(), 1U);
  EXPECT_EQ(found[0].backward_host[0].products_ns, 16'000);
  EXPECT_TRUE(found[0].forward.empty());
  for (const char* other : {"aten::native_layer_norm", "aten::mm", "MyFunction"}) {
    EXPECT_TRUE(
        Calls(false).Forward({"aten::bmm", other, "aten::_softmax", "aten::bmm"}).Find().empty())
        << other;
  }
}

TEST(Attention, DropoutIsWhatDrawsAndNotTheLayer) {
  for (const auto& [op, drops] :
       {std::pair("aten::dropout", false), std::pair("aten::native_dropout", true),
        std::pair("aten::bernoulli_", true)}) {
    const std::vector<Attention> found =
        Calls(false).Forward({"aten::bmm", "aten::_softmax", op, "aten::bmm"}).Find();
    ASSERT_EQ(found.size(), 1U) << op;
    EXPECT_EQ(found[0].dropout, drops) << op;
  }
}

// Host time as planned of the tasks that begin in a span, whatever thread.
Nanos HostIn(const Model& model, const Plan& plan, Nanos begin, Nanos end) {
  Nanos time = 0;
  for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
    const Task& task = model.graph().tasks[t];
    if (model.graph().lanes[task.lane].kind != LaneKind::kThread) continue;
    if (task.start_ns >= begin && task.start_ns < end) time += plan.duration_ns[t];
  }
  return time;
}

TEST(NaiveAttention, TheHostTimeOfItsOperatorsGoesWithThem) {
  Calls calls;
  calls
      .Forward({"aten::linear", "aten::bmm", "aten::mul", "aten::_softmax", "aten::dropout",
                "aten::bmm", "aten::linear"})
      .Inside("BmmBackward0", 6)
      .Inside("MulBackward0", 5)
      .Inside("SoftmaxBackward0", 4)
      .Inside("MulBackward0", 3)
      .Inside("BmmBackward0", 2);
  calls.With([](const Model& model) {
    const FoundEdit edit = FindNaiveAttention(model);
    ASSERT_TRUE(edit.has_value()) << edit.why_not();
    const Plan recorded(model.graph());
    Plan likely(model.graph()), least(model.graph());
    (*edit)->Apply(model, Guess::kLikely, likely);
    (*edit)->Apply(model, Guess::kLeast, least);
    const auto left = [&](const Plan& plan, Nanos begin, Nanos end) {
      return static_cast<double>(HostIn(model, plan, begin, end)) /
             static_cast<double>(HostIn(model, recorded, begin, end));
    };
    EXPECT_LT(left(likely, 21'000, 68'000), 0.25);   // forward
    EXPECT_LT(left(likely, 80'500, 131'000), 0.35);  // backward
    EXPECT_GT(left(likely, 21'000, 68'000), 0);
    EXPECT_GT(left(least, 21'000, 131'000), left(likely, 21'000, 131'000));
    EXPECT_EQ(left(likely, 10'000, 16'000), 1);  // the layer before it
  });
}

// Kernels of 1 us each: what is left of attention on the device, in nanoseconds.
Nanos FusedTime(const std::vector<const char*>& ops, const char* product) {
  Nanos left = 0;
  Calls().Forward(ops, product).With([&](const Model& model) {
    const FoundEdit edit = FindNaiveAttention(model);
    ASSERT_TRUE(edit.has_value()) << edit.why_not();
    Plan plan(model.graph());
    (*edit)->Apply(model, Guess::kLikely, plan);
    for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
      if (model.graph().tasks[t].kind == TaskKind::kKernel) left += plan.duration_ns[t];
    }
  });
  return left;
}

TEST(NaiveAttention, InHalfPrecisionItTakesAShareOfItsProducts) {
  const std::vector<const char*> masked = {"aten::bmm", "aten::div", "aten::masked_fill_",
                                           "aten::_softmax", "aten::bmm"};
  EXPECT_EQ(FusedTime(masked, kBf16), 700);
  // Twice as much is computed where nothing is hidden, however much lies between the products.
  EXPECT_EQ(FusedTime({"aten::bmm", "aten::_softmax", "aten::bmm"}, kBf16), 1'100);
  EXPECT_EQ(
      FusedTime({"aten::bmm", "aten::mul", "aten::add", "aten::_softmax", "aten::bmm"}, kBf16),
      1'100);
}

// Whatever TF32 did for the products it replaces: there are no fused kernels for it.
TEST(NaiveAttention, InFp32ItTakesWhatItsProductsTakeOnPlainCores) {
  const std::vector<const char*> open = {"aten::bmm", "aten::_softmax", "aten::bmm"};
  constexpr const char* kPlain = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64x8_ffma";
  constexpr const char* kTf32 = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_cublas";
  EXPECT_EQ(FusedTime(open, kPlain), 2'120);
  EXPECT_EQ(FusedTime(open, kTf32), 3 * 2'120) << "three kernels of 1 us, and better left alone";
  EXPECT_EQ(FusedTime({"aten::bmm", "aten::masked_fill_", "aten::_softmax", "aten::bmm"}, kPlain),
            1'800);
}

// Gradients of a program's own function, say: the engine's operators have no number, and were in no
// forward pass.
TEST(Attention, OfWhatGradientsAreMadeNothingIsFound) {
  const std::vector<Attention> found = Calls()
                                           .Backward("aten::bmm", 1)
                                           .Backward("aten::_softmax", 2)
                                           .Backward("aten::bmm", 3)
                                           .Find();
  EXPECT_TRUE(found.empty());
}

TEST(Attention, WhatAProductPreparesItsFactorsByGoesToo) {
  const std::vector<Attention> found =
      Calls()
          .Forward({"aten::linear", "aten::copy_"})
          .Inside("aten::matmul", {"aten::clone", "aten::clone", "aten::bmm"})
          .Forward({"aten::softmax"})
          .Inside("aten::matmul", {"aten::clone", "aten::bmm"})
          .Forward({"aten::linear"})
          .Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].forward.size(), 6U) << "all but the linear layers and a copy before it";
}

const std::vector<const char*> kLayer = {"aten::linear",   "aten::bmm", "aten::div",
                                         "aten::_softmax", "aten::bmm", "aten::linear"};

// The work of all attentions, each once.
void ExpectNothingTwice(const std::vector<Attention>& found) {
  std::set<TaskId> seen;
  for (const Attention& one : found) {
    for (const auto* work : {&one.forward, &one.backward}) {
      for (const TaskId task : *work) EXPECT_TRUE(seen.insert(task).second) << task;
    }
  }
  std::vector<Attention::Stretch> all;
  for (const Attention& one : found) {
    all.insert(all.end(), one.forward_host.begin(), one.forward_host.end());
    all.insert(all.end(), one.backward_host.begin(), one.backward_host.end());
  }
  for (const Attention::Stretch& a : all) {
    for (const Attention::Stretch& b : all) {
      const bool apart = a.lane != b.lane || &a == &b || a.span.end_ns <= b.span.begin_ns ||
                         b.span.end_ns <= a.span.begin_ns;
      EXPECT_TRUE(apart) << a.span.begin_ns << " and " << b.span.begin_ns;
    }
  }
}

// The nodes behind are those of the forward pass, and numbers of threads mean different nodes.
TEST(Attention, ComputedAgainItIsOneMore) {
  const std::vector<Attention> found = Calls()
                                           .Forward(kLayer)
                                           .Again("AddmmBackward0", 6, kLayer, {"aten::mm"})
                                           .Backward("aten::bmm", 5)
                                           .Backward("aten::_softmax_backward_data", 4)
                                           .Backward("aten::bmm", 2)
                                           .Find();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].forward.size(), 4U);
  EXPECT_EQ(found[0].backward.size(), 3U);
  EXPECT_EQ(found[1].forward.size(), 4U);
  EXPECT_TRUE(found[1].backward.empty());
  ASSERT_EQ(found[1].forward_host.size(), 1U);
  EXPECT_EQ(found[1].forward_host[0].span.length(), 38'000);
  ExpectNothingTwice(found);
}

// With use_reentrant=True what was computed again has a backward pass of its own.
TEST(Attention, ComputedAgainItMayHaveItsOwnBackwardPass) {
  const std::vector<Attention> found =
      Calls()
          .Forward(kLayer)
          .Again("CheckpointFunctionBackward", 1, kLayer,
                 {"aten::mm", "aten::bmm", "aten::_softmax_backward_data", "aten::div", "aten::bmm",
                  "aten::mm"},
                 kBf16, true)
          .Find();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].backward.empty());
  EXPECT_EQ(found[1].forward.size(), 4U);
  EXPECT_EQ(found[1].backward.size(), 4U);
  EXPECT_EQ(found[1].backward_host.size(), 1U);
  ExpectNothingTwice(found);
}

// Only attention is checkpointed: the first of its own nodes computes it again, up to the last
// product, which nobody needs once more.
TEST(Attention, ItsOwnNodeMayComputeItAgain) {
  for (const bool device : {true, false}) {
    const std::vector<const char*> core = {"aten::silu", "aten::bmm", "aten::_softmax",
                                           "aten::bmm"};
    const std::vector<Attention> found =
        Calls(device)
            .Forward(core)
            .Again("BmmBackward0", 4, core, {"aten::bmm", "aten::bmm"}, kBf16, false, 3)
            .Backward("aten::_softmax_backward_data", 3)
            .Backward("aten::bmm", 2)
            .Find();
    ASSERT_EQ(found.size(), 2U);
    if (device) {
      EXPECT_EQ(found[0].backward.size(), 4U);
      EXPECT_EQ(found[1].forward.size(), 2U) << "the second product launched nothing";
    }
    ASSERT_EQ(found[0].backward_host.size(), 2U);
    EXPECT_EQ(found[0].backward_host[0].products_ns, 0) << "before the stretch";
    EXPECT_EQ(found[0].backward_host[1].products_ns, 24'000);
    ExpectNothingTwice(found);
  }
}

// Kernels of 1 us each. Once nothing is computed again, there is nothing of it to fuse.
TEST(NaiveAttention, WhatAnotherEditTookDoesNotComeBack) {
  for (const char* product : {kBf16, kFp32}) {
    Calls calls;
    calls.Forward(kLayer, product).Again("AddmmBackward0", 6, kLayer, {"aten::mm"}, product);
    calls.With([&](const Model& model) {
      const FoundEdit kept = FindRecomputedActivations(model);
      const FoundEdit fused = FindNaiveAttention(model);
      ASSERT_TRUE(kept.has_value()) << kept.why_not();
      ASSERT_TRUE(fused.has_value()) << fused.why_not();
      Plan plan(model.graph());
      (*kept)->Apply(model, Guess::kLikely, plan);
      (*fused)->Apply(model, Guess::kLikely, plan);
      std::vector<Nanos> left;
      for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
        if (model.graph().tasks[t].kind == TaskKind::kKernel && plan.duration_ns[t] > 0) {
          left.push_back(plan.duration_ns[t]);
        }
      }
      EXPECT_EQ(left.size(), 4U) << "two layers, one attention, one gradient";
    });
  }
}

}  // namespace
}  // namespace hone::replay
