// SPDX-License-Identifier: Apache-2.0
// Edits that take launches away: printing, convolutions on matrix units, chains that become one, a
// step as one graph.
#include <gtest/gtest.h>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

constexpr const char* kModel = "train.py(20): step";
constexpr const char* kPrint = "train.py(21): step";
constexpr const char* kUpdate = "train.py(22): step";

// One step of 2 ms, made of operators that launch one kernel or more each.
class Step {
 public:
  Step() {
    fixture_.Annotation(0, 2 * kMillisecond, "ProfilerStep#1");
    trace::Builder& builder = fixture_.builder;
    builder.trace().devices[builder.DeviceFor(0)].name = "NVIDIA H200";
  }

  Step& Op(const char* name, const char* line, int launches = 1,
           const char* kernel = "some_kernel") {
    const Nanos length = 10'000 + launches * kLaunch;
    fixture_.Op(at_, length, name, {.stack = fixture_.builder.Intern(line)});
    for (int i = 0; i < launches; ++i) {
      fixture_.Api(at_ + 1'000 + i * kLaunch, 5'000, ++correlation_);
      fixture_.Kernel(at_ + 9'000 + i * kLaunch, 1'000, kernel, correlation_);
    }
    at_ += length;
    return *this;
  }
  // aten::item: its call waits for the kernel before.
  Step& Read(const char* line) {
    fixture_.Op(at_, 10'000, "aten::item", {.stack = fixture_.builder.Intern(line)});
    fixture_.Api(at_ + 2'000, 5'000, ++correlation_, 1, "cudaStreamSynchronize");
    at_ += 10'000;
    return *this;
  }
  // The backward pass on its own thread, then an optimizer that thinks before its first kernel.
  Step& Optimizer(const char* name, int kernels) {
    fixture_.Op(at_ + 10'000, 50'000, "autograd::engine::evaluate_function: X", {}, -1, 2);
    fixture_.Api(at_ + 20'000, 5'000, ++correlation_, 2);
    fixture_.Kernel(at_ + 30'000, 1'000, "some_kernel", correlation_);
    at_ += 100'000;
    const Nanos begin = at_;
    at_ += 400'000;
    for (int i = 0; i < kernels; ++i) Op("aten::add_", kUpdate);
    fixture_.Annotation(begin, at_ - begin, name);
    return *this;
  }

  // Runs `check(model, plan)` with the edit applied as is likely.
  template <typename Check>
  void With(FoundEdit (*find)(const Model&), Check&& check) {
    const trace::Trace trace = fixture_.Finish();
    const analyze::Facts facts = analyze::Analyze(trace);
    const auto model = Model::Build(trace, facts);
    ASSERT_TRUE(model.has_value()) << model.why_not();
    const FoundEdit edit = find(**model);
    ASSERT_TRUE(edit.has_value()) << edit.why_not();
    Plan plan((*model)->graph());
    (*edit)->Apply(**model, Guess::kLikely, plan);
    check(**model, plan);
  }

 private:
  static constexpr Nanos kLaunch = 8'000;
  analyze::TraceFixture fixture_;
  Nanos at_ = 10'000;
  std::int64_t correlation_ = 0;
};

std::size_t KernelsLeft(const Model& model, const Plan& plan) {
  std::size_t left = 0;
  for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
    left += model.graph().tasks[t].kind == TaskKind::kKernel && plan.duration_ns[t] > 0;
  }
  return left;
}

Nanos TimeLeft(const Model& model, const Plan& plan, TaskKind kind) {
  Nanos left = 0;
  for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
    if (model.graph().tasks[t].kind == kind) left += plan.duration_ns[t];
  }
  return left;
}

TEST(HostSyncEdit, AllThatPrintingLaunchesGoes) {
  Step()
      .Op("aten::linear", kModel)
      .Op("aten::isfinite", kPrint)
      .Op("aten::masked_select", kPrint)
      .Read(kPrint)
      .Op("aten::linear", kModel)
      .With(FindHostSync,
            [](const Model& model, const Plan& plan) { EXPECT_EQ(KernelsLeft(model, plan), 2U); });
}

TEST(HostSyncEdit, OperatorsOfOtherLinesAreNoPrinting) {
  Step()
      .Op("aten::isfinite", "train.py(30): step")
      .Op("aten::masked_select", "train.py(31): step")
      .Read("train.py(32): step")
      .Op("aten::linear", kModel)
      .With(FindHostSync,
            [](const Model& model, const Plan& plan) { EXPECT_EQ(KernelsLeft(model, plan), 3U); });
}

TEST(HostSyncEdit, AReadOfAMaximumKeepsTheMaximum) {
  Step()
      .Op("aten::amax", kPrint)
      .Read(kPrint)
      .Op("aten::linear", kModel)
      .With(FindHostSync,
            [](const Model& model, const Plan& plan) { EXPECT_EQ(KernelsLeft(model, plan), 2U); });
}

TEST(NoTensorCoresEdit, AChainOfTransformsBecomesFewLaunches) {
  Step()
      .Op("aten::cudnn_convolution", kModel, 8, "implicit_convolve_sgemm")
      .With(FindNoTensorCores, [](const Model& model, const Plan& plan) {
        EXPECT_EQ(TimeLeft(model, plan, TaskKind::kLaunch), 2 * 5'000);
        EXPECT_EQ(KernelsLeft(model, plan), 8U);  // their time is shared out, not gone
      });
}

TEST(NoTensorCoresEdit, OneProductKeepsItsLaunch) {
  Step()
      .Op("aten::cudnn_convolution", kModel, 1, "implicit_convolve_sgemm")
      .With(FindNoTensorCores, [](const Model& model, const Plan& plan) {
        EXPECT_EQ(TimeLeft(model, plan, TaskKind::kLaunch), 5'000);
      });
}

constexpr const char* kVectorized = "void at::native::vectorized_elementwise_kernel<8, F>(int)";
constexpr const char* kStrided = "void at::native::elementwise_kernel<128, 4, F>(int, F)";

// The largest of 1 us and 0.15 of the others; a strided kernel counts half, also as the largest.
TEST(UnfusedElementwiseEdit, AChainTakesWhatItMoves) {
  const auto left = [](const std::vector<const char*>& kernels) {
    Step step;
    for (const char* kernel : kernels) step.Op("aten::mul", kModel, 1, kernel);
    Nanos device = 0;
    step.With(FindUnfusedElementwise, [&](const Model& model, const Plan& plan) {
      EXPECT_EQ(KernelsLeft(model, plan), 1U);
      device = TimeLeft(model, plan, TaskKind::kKernel);
    });
    return device;
  };
  EXPECT_EQ(left({kVectorized, kVectorized, kVectorized}), 1'300);
  EXPECT_EQ(left({kVectorized, kStrided, kStrided}), 1'150);
  EXPECT_EQ(left({kStrided, kStrided}), 575);
}

// Of three operators two go with their launches, and half of the code before each.
TEST(UnfusedElementwiseEdit, CompiledCodeCallsNoOperatorForWhatItFused) {
  Step()
      .Op("aten::mul", kModel, 1, kVectorized)
      .Op("aten::add", kModel, 1, kVectorized)
      .Op("aten::tanh", kModel, 1, kVectorized)
      .With(FindUnfusedElementwise, [](const Model& model, const Plan& plan) {
        const Plan recorded(model.graph());
        EXPECT_EQ(TimeLeft(model, plan, TaskKind::kLaunch), 5'000);
        EXPECT_EQ(
            TimeLeft(model, recorded, TaskKind::kHost) - TimeLeft(model, plan, TaskKind::kHost),
            2 * 13'000 / 2);  // 18 us from operator to operator, 5 of them in the call
      });
}

TEST(LaunchBoundEdit, TheCodeOfAnOptimizerIsCaptured) {
  const auto host_left = [](const char* name) {
    Nanos left = 0;
    Step()
        .Op("aten::linear", kModel, 10)
        .Optimizer(name, 4)
        .With(FindLaunchBound, [&](const Model& model, const Plan& plan) {
          left = TimeLeft(model, plan, TaskKind::kHost);
        });
    return left;
  };
  EXPECT_GT(host_left("my own loop"), host_left("Optimizer.step#SGD.step") + 300'000);
}

TEST(LaunchBoundEdit, InAGraphAdamCountsItsStepsOnTheDevice) {
  const auto lag_of = [](const char* optimizer) {
    Nanos lag = 0;
    Step()
        .Op("aten::linear", kModel, 10)
        .Optimizer(optimizer, 4)
        .With(FindLaunchBound, [&](const Model& model, const Plan& plan) {
          for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
            if (model.graph().tasks[t].kind == TaskKind::kKernel) lag += plan.lag_ns[t];
          }
        });
    return lag;
  };
  EXPECT_GT(lag_of("Optimizer.step#AdamW.step"), lag_of("Optimizer.step#SGD.step") + 4'000);
}

}  // namespace
}  // namespace hone::replay
