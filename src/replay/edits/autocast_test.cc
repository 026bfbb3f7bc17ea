// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/autocast.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/edits/edits.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

constexpr const char* kSgemm = "ampere_sgemm_128x64_nn";
constexpr const char* kTwoTensors =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >";
constexpr const char* kByNumber =
    "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, "
    "float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >";

struct Launched {
  const char* op;
  const char* kernel = kTwoTensors;
  Nanos device_ns = 100'000;
  std::int64_t backward_of = 0;  // sequence number, from 1 in the order of the forward operators
  const char* dims = nullptr;
  bool optimizer = false;  // inside its mark; the last ones of a step
};

// Steps in which each operator takes `host_ns` and launches one kernel; the device has one stream
// and works through them. The step ends with a wait for the device.
class Program {
 public:
  Program(const std::vector<Launched>& calls, Nanos host_ns, const char* device = "NVIDIA H200") {
    fixture_.builder.trace().devices[fixture_.builder.DeviceFor(0)].name = device;
    for (int step = 0; step < 4; ++step) Step(calls, host_ns, step);
    trace_ = fixture_.Finish();
    facts_ = analyze::Analyze(trace_);
    model_ = Model::Build(trace_, facts_);
    EXPECT_TRUE(model_.has_value()) << model_.why_not();
  }
  const Model& model() const { return **model_; }

  // Of the first step.
  std::vector<AutocastCall> Follow(std::size_t count) const {
    std::vector<AutocastCall> calls = FollowAutocast(model());
    EXPECT_GE(calls.size(), count);
    calls.resize(count);
    return calls;
  }

 private:
  void Step(const std::vector<Launched>& calls, Nanos host_ns, int step) {
    const Nanos begin = at_;
    Nanos optimizer = 0;
    const std::int64_t before = sequence_;
    for (const Launched& call : calls) {
      if (call.optimizer && optimizer == 0) optimizer = at_;
      trace::OpDetail detail;
      if (call.dims != nullptr) {
        detail = fixture_.Shape(call.dims);
        detail.types = fixture_.builder.Intern(R"(["float", "float"])");
      }
      if (call.backward_of > 0) {
        fixture_.Op(at_, host_ns, "autograd::engine::evaluate_function: XBackward0", {},
                    before + call.backward_of);
        fixture_.Op(at_ + 100, host_ns - 200, call.op, detail);
      } else {
        fixture_.Op(at_, host_ns, call.op, detail, ++sequence_);
      }
      fixture_.Api(at_ + host_ns / 2, host_ns / 4, ++correlation_);
      device_ = std::max(device_, at_ + host_ns);
      fixture_.Kernel(device_, call.device_ns, call.kernel, correlation_);
      device_ += call.device_ns + 1'000;
      at_ += host_ns + 1'000;
    }
    if (optimizer > 0) {
      fixture_.Annotation(optimizer - 200, at_ - optimizer + 100, "Optimizer.step#SGD.step");
    }
    const Nanos end = std::max(at_, device_) + 2'000;
    fixture_.Api(at_, end - at_ - 1'000, ++correlation_, 1, "cudaDeviceSynchronize");
    fixture_.Annotation(begin - 500, end - begin, ("ProfilerStep#" + std::to_string(step)).c_str());
    at_ = end + 500;
  }

  analyze::TraceFixture fixture_;
  Nanos at_ = 10'000, device_ = 0;
  std::int64_t sequence_ = 0, correlation_ = 0;
  trace::Trace trace_;
  analyze::Facts facts_;
  Known<std::unique_ptr<Model>> model_;
};

TEST(Autocast, RolesAreThoseOfItsLists) {
  EXPECT_EQ(AutocastRoleOf("aten::addmm"), AutocastRole::kHalf);
  EXPECT_EQ(AutocastRoleOf("aten::cudnn_convolution"), AutocastRole::kHalf);
  EXPECT_EQ(AutocastRoleOf("aten::_efficient_attention_forward"), AutocastRole::kHalf);
  EXPECT_EQ(AutocastRoleOf("aten::_softmax"), AutocastRole::kFloat);
  EXPECT_EQ(AutocastRoleOf("aten::native_layer_norm"), AutocastRole::kFloat);
  EXPECT_EQ(AutocastRoleOf("aten::nll_loss_forward"), AutocastRole::kFloat);
  EXPECT_EQ(AutocastRoleOf("aten::pow"), AutocastRole::kFloat);
  EXPECT_EQ(AutocastRoleOf("aten::add"), AutocastRole::kPromotes);
  EXPECT_EQ(AutocastRoleOf("aten::add_"), AutocastRole::kFollows);
  EXPECT_EQ(AutocastRoleOf("aten::cudnn_batch_norm"), AutocastRole::kFollows);
  EXPECT_EQ(AutocastRoleOf("aten::embedding"), AutocastRole::kFresh);
  EXPECT_EQ(AutocastRoleOf("aten::_foreach_norm"), AutocastRole::kNone);
}

TEST(Autocast, PointwiseOperatorsRunInTheTypeThatReachesThem) {
  const Program program(
      {{"aten::relu"}, {"aten::addmm", kSgemm}, {"aten::relu"}, {"aten::_softmax"}, {"aten::relu"}},
      10'000);
  const std::vector<AutocastCall> calls = program.Follow(5);
  EXPECT_DOUBLE_EQ(calls[0].left, 1) << "before any product all is fp32";
  EXPECT_EQ(calls[1].casts, 3) << "its input, its weight and its bias";
  EXPECT_EQ(calls[1].parameters, 2);
  EXPECT_DOUBLE_EQ(calls[2].left, 0.5);
  EXPECT_EQ(calls[3].casts, 1) << "up again";
  EXPECT_DOUBLE_EQ(calls[3].left, 1);
  EXPECT_DOUBLE_EQ(calls[4].left, 1);
}

TEST(Autocast, ResidualsOfTransformersStayFloatAndThoseOfConvolutionsDoNot) {
  const Program transformer({{"aten::embedding"},
                             {"aten::native_layer_norm"},
                             {"aten::addmm", kSgemm},
                             {"aten::mul", kByNumber},
                             {"aten::add"},
                             {"aten::relu"}},
                            10'000);
  const std::vector<AutocastCall> calls = transformer.Follow(6);
  EXPECT_DOUBLE_EQ(calls[3].left, 0.5) << "a number has no type of its own";
  EXPECT_NEAR(calls[4].left, 10.0 / 12, 1e-9) << "two bytes and four in, four out";
  EXPECT_TRUE(calls[4].two_types);
  EXPECT_FALSE(calls[3].two_types);
  EXPECT_DOUBLE_EQ(calls[5].left, 1);
  const Program convolutions(
      {{"aten::cudnn_convolution", kSgemm}, {"aten::cudnn_batch_norm"}, {"aten::add"}}, 10'000);
  EXPECT_DOUBLE_EQ(convolutions.Follow(3)[2].left, 0.5);
}

TEST(Autocast, QueriesKeysAndValuesCastTheirInputEach) {
  const Program program({{"aten::native_layer_norm"},
                         {"aten::addmm", kSgemm},
                         {"aten::addmm", kSgemm},
                         {"aten::addmm", kSgemm},
                         {"aten::bmm", kSgemm}},
                        10'000);
  const std::vector<AutocastCall> calls = program.Follow(5);
  EXPECT_EQ(calls[2].casts, 3);
  EXPECT_EQ(calls[3].casts, 3);
  EXPECT_EQ(calls[4].casts, 0) << "of products, and no parameter is in it";
}

TEST(Autocast, TheBackwardPassRunsInTheForwardsTypes) {
  const Program program({{"aten::addmm", kSgemm},
                         {"aten::gelu"},
                         {"aten::_softmax"},
                         {"aten::_softmax_backward_data", kTwoTensors, 100'000, 3},
                         {"aten::gelu_backward", kTwoTensors, 100'000, 2},
                         {"aten::mm", kSgemm, 100'000, 1},
                         {"aten::mm", kSgemm, 100'000, 1},
                         {"aten::sum", kTwoTensors, 100'000, 1}},
                        10'000);
  const std::vector<AutocastCall> calls = program.Follow(8);
  EXPECT_DOUBLE_EQ(calls[3].left, 1);
  EXPECT_EQ(calls[3].casts, 1) << "its gradient goes down again";
  EXPECT_DOUBLE_EQ(calls[4].left, 0.5);
  EXPECT_TRUE(calls[5].half);
  EXPECT_EQ(calls[5].casts, 3);
  EXPECT_EQ(calls[6].casts, 0) << "once";
  EXPECT_DOUBLE_EQ(calls[7].left, 0.5) << "the gradient of the bias";
}

double Gain(const WhatIf& whatif, const std::vector<std::string_view>& ids) {
  return whatif.bare().likely_ns / whatif.Predict(ids).likely_ns;
}

TEST(Bf16Autocast, FasterThanTf32WhereTheDeviceIsBusyWithProducts) {
  const Program program({{"aten::mm", kSgemm, 5'000'000}, {"aten::relu", kTwoTensors, 500'000}},
                        10'000);
  const WhatIf whatif(program.model());
  ASSERT_TRUE(whatif.Find("bf16-autocast")) << whatif.Find("bf16-autocast").why_not();
  const double tf32 = Gain(whatif, {"no-tensor-cores"}), half = Gain(whatif, {"bf16-autocast"});
  EXPECT_GT(half, 1.5 * tf32);
  EXPECT_DOUBLE_EQ(Gain(whatif, {"no-tensor-cores", "bf16-autocast"}), half)
      << "a product runs in one type";
}

// 24 small products: the device waits for the host, which casts 48 times more.
TEST(Bf16Autocast, SlowerWhereTheHostIsTheBottleneck) {
  std::vector<Launched> calls;
  for (int i = 0; i < 24; ++i) {
    calls.push_back({"aten::mm", kSgemm, 3'000});
    calls.push_back({"aten::relu", kTwoTensors, 2'000});
  }
  const Program program(calls, 20'000);
  const WhatIf whatif(program.model());
  EXPECT_LT(Gain(whatif, {"bf16-autocast"}), 0.9);
  const Prediction step = whatif.Predict({"bf16-autocast"});
  EXPECT_GT(step.high_ns, step.likely_ns);
}

TEST(Bf16Autocast, InertWhereProductsAreHalfAlready) {
  const Program program({{"aten::mm", "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NTT", 5'000'000}},
                        10'000);
  const WhatIf whatif(program.model());
  ASSERT_FALSE(whatif.Find("bf16-autocast"));
  EXPECT_EQ(whatif.Find("bf16-autocast").why_not(),
            "5.00 of 5.00 ms of matrix work a step are in half precision already");
}

TEST(Bf16Autocast, SaysWhatTheDeviceLacks) {
  const Program volta({{"aten::mm", kSgemm, 5'000'000}}, 10'000, "Tesla V100-SXM2-32GB");
  EXPECT_EQ(WhatIf(volta.model()).Find("bf16-autocast").why_not(),
            "this device has no units for bfloat16; ask for fp16-autocast");
  const Program unknown({{"aten::mm", kSgemm, 5'000'000}}, 10'000, "some device");
  EXPECT_FALSE(WhatIf(unknown.model()).Find("bf16-autocast"));
  const Program none({{"aten::relu"}}, 10'000);
  EXPECT_EQ(WhatIf(none.model()).Find("bf16-autocast").why_not(),
            "no matrix product or convolution runs on the device in the steps");
}

// A width of 4,095 loads one element at a time; without shapes nobody knows, and the range is wide.
TEST(Bf16Autocast, ShapesTellSizeAndAlignment) {
  const auto with = [](const char* dims) {
    return Program({{"aten::mm", kSgemm, 5'000'000, 0, dims}}, 10'000);
  };
  const Program even = with("[[8192, 4096], [4096, 4096]]"),
                odd = with("[[8192, 4095], [4095, 4095]]"), none = with(nullptr);
  const WhatIf by_even(even.model()), by_odd(odd.model()), by_none(none.model());
  EXPECT_GT(Gain(by_even, {"bf16-autocast"}), 2 * Gain(by_odd, {"bf16-autocast"}));
  const Prediction known = by_even.Predict({"bf16-autocast"});
  const Prediction guessed = by_none.Predict({"bf16-autocast"});
  EXPECT_GT(guessed.high_ns / guessed.likely_ns, known.high_ns / known.likely_ns);
  EXPECT_NE((*by_none.Find("bf16-autocast"))->Scope(none.model()).find("without shapes"),
            std::string::npos);
}

constexpr const char* kVolta = "Tesla V100-SXM2-32GB";
constexpr const char* kVoltaGemm = "volta_sgemm_128x64_nn";

TEST(Fp16Autocast, TakesProductsToUnitsThatTakeNothingElse) {
  const Program program({{"aten::mm", kVoltaGemm, 5'000'000}, {"aten::relu", kTwoTensors, 500'000}},
                        10'000, kVolta);
  const WhatIf whatif(program.model());
  ASSERT_TRUE(whatif.Find("fp16-autocast")) << whatif.Find("fp16-autocast").why_not();
  EXPECT_GT(Gain(whatif, {"fp16-autocast"}), 3) << "125 TFLOP/s in place of 15.7";
  EXPECT_LT(Gain(whatif, {"fp16-autocast"}), 8);
  EXPECT_EQ(whatif.Find("no-tensor-cores").why_not(),
            "this device has no TF32; ask for fp16-autocast");
  EXPECT_NE((*whatif.Find("fp16-autocast"))->Scope(program.model()).find("in float16"),
            std::string::npos);
}

TEST(Fp16Autocast, OneFormatForADevice) {
  const std::vector<Launched> calls = {{"aten::mm", kVoltaGemm, 5'000'000}};
  const auto why_not = [&](const char* device) {
    const Program program(calls, 10'000, device);
    return WhatIf(program.model()).Find("fp16-autocast").why_not();
  };
  constexpr const char* kBfloat16Too =
      "this device multiplies bfloat16 too, which needs no scaling of the loss; ask for "
      "bf16-autocast";
  for (const char* device : {"NVIDIA H200", "NVIDIA GeForce RTX 3080", "AMD Instinct MI250X"}) {
    EXPECT_EQ(why_not(device), kBfloat16Too) << device;
  }
  EXPECT_EQ(why_not("Tesla P100-PCIE-16GB"), "this device has no units for float16");
  for (const char* device : {"Tesla T4", "NVIDIA GeForce RTX 2080 Ti", "Quadro RTX 6000"}) {
    const Program program(calls, 10'000, device);
    EXPECT_GT(Gain(WhatIf(program.model()), {"fp16-autocast"}), 1.5) << device;
  }
}

TEST(Fp16Autocast, InertWhereProductsAreHalfAlready) {
  const Program program({{"aten::mm", "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", 5'000'000}},
                        10'000, kVolta);
  EXPECT_EQ(WhatIf(program.model()).Find("fp16-autocast").why_not(),
            "5.00 of 5.00 ms of matrix work a step are in half precision already");
}

// Shares of peaks were measured two and three generations later.
TEST(Fp16Autocast, ItsRangeIsWider) {
  const auto width = [](const char* device, const char* fix) {
    const Program program({{"aten::mm", kSgemm, 5'000'000}}, 10'000, device);
    const Prediction step = WhatIf(program.model()).Predict({fix});
    return step.high_ns / step.low_ns;
  };
  EXPECT_GT(width(kVolta, "fp16-autocast"), 1.2 * width("NVIDIA A100-SXM4-80GB", "bf16-autocast"));
}

// Nanoseconds of the optimizer's kernel under float16 autocast, of 1 ms.
Nanos OptimizerKernel(const char* kernel) {
  const Program program({{"aten::mm", kVoltaGemm, 5'000'000},
                         {"aten::_foreach_add_", kernel, 1'000'000, 0, nullptr, true}},
                        10'000, kVolta);
  const FoundEdit edit = FindFp16Autocast(program.model());
  EXPECT_TRUE(edit) << edit.why_not();
  Plan plan(program.model().graph());
  if (edit) (*edit)->Apply(program.model(), Guess::kLikely, plan);
  for (TaskId t = 0; t < plan.duration_ns.size(); ++t) {
    const Task& task = program.model().graph().tasks[t];
    if (task.kind == TaskKind::kKernel && program.model().InOptimizer(task.row)) {
      return plan.duration_ns[t];
    }
  }
  return 0;
}

// The scaler goes over all gradients, and the host waits once for its answer: a launch's way.
TEST(Fp16Autocast, GradientsAreUnscaledBeforeTheOptimizer) {
  const Nanos waits = OptimizerKernel("void at::native::multi_tensor_apply_kernel<SgdFunctor>");
  EXPECT_GT(waits, 1'200'000);
  EXPECT_LT(waits, 1'230'000);
  const Nanos fused = OptimizerKernel("void at::native::multi_tensor_apply_kernel<FusedSgdMath>");
  EXPECT_LT(fused, waits) << "asks on the device";
  EXPECT_GE(fused, 1'200'000);
}

}  // namespace
}  // namespace hone::replay
