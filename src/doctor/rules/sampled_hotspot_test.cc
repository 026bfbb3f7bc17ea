// SPDX-License-Identifier: Apache-2.0
// Where Python spends the time of the steps, by sampled stacks; and code that is no longer
// compiled.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doctor/rules/sampled_steps_test.h"

namespace hone::doctor {
namespace {

using analyze::TraceSketch;

TEST(SampledHotspot, IsTheInnermostFunctionOfTheUser) {
  const Look look(Steps({{kMainLine, "train.py(30): pack"}, {kMainLine}}));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the Python function pack takes the time of the step");
  EXPECT_EQ(finding->where.front().source, "train.py:30 (pack)");
}

TEST(SampledHotspot, ALibraryCountsForTheLineThatCallsIt) {
  const Look look(Steps({{kMainLine, std::string(kPackages) + "json/encoder.py(4): encode"}, {}}));
  ASSERT_NE(look.Find("python-hotspot"), nullptr);
  EXPECT_EQ(look.Find("python-hotspot")->where.front().source, "train.py:9 (main)");
}

// `stacks` take turns in the pauses; the model runs in main.
TraceSketch Turns(const std::vector<std::vector<std::string>>& stacks, trace::ThreadState state) {
  TraceSketch sketch =
      Steps({{}, {kMainLine, std::string(kPackages) + "torch/nn/modules/linear.py(130): forward"}});
  std::size_t turn = 0;
  for (int i = 0; i < kSteps; ++i) {
    for (double at = 5000; at < kPause; at += 10'000) {
      Sample(sketch, 1000 + i * kStep + at, stacks[turn++ % stacks.size()], state);
    }
  }
  return sketch;
}

// Neither parse nor clean has all of it, and main has the model too.
TEST(SampledHotspot, IsWhatHoldsTheFunctionsThatShareTheTime) {
  const Look look(Turns({{kMainLine, "data.py(3): read", "data.py(20): parse"},
                         {kMainLine, "data.py(5): read", "data.py(40): clean"},
                         {kMainLine, "data.py(5): read", "data.py(40): clean"}},
                        trace::ThreadState::kRunning));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the Python function read takes the time of the step");
  EXPECT_EQ(finding->where.front().source, "data.py:40 (clean)");
  EXPECT_EQ(finding->evidence.back(),
            "50 of 50 samples between operators are in it, most of them at data.py:40 (clean)");
}

// Many pauses, each too short to tell from the way to the next operator: 30 us, then an operator of
// 20 us, a thousand of both a step. A sample every 10 ms, three of five in pauses.
TraceSketch ShortPauses(const std::vector<std::string>& in_pause,
                        const std::vector<std::string>& in_operator,
                        const char* op = "aten::tanh") {
  TraceSketch sketch;
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * 50'000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), begin, begin + 50'000);
    for (int k = 0; k < 1000; ++k) sketch.Op(op, begin + k * 50 + 30, begin + k * 50 + 50);
    for (int k = 0; k < 5; ++k) {
      const bool pause = k % 2 == 0;
      const double at = begin + k * 10'000 + (pause ? 10 : 40);
      Sample(sketch, at, pause ? in_pause : in_operator);
    }
  }
  return sketch;
}

TEST(SampledHotspot, ShortPausesAddUpAndAComprehensionIsItsFunctions) {
  const Look look(ShortPauses({kMainLine, "env.py(8): step", "env.py(9): step.<locals>.<listcomp>"},
                              {kMainLine}));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the Python function step takes the time of the step");
  EXPECT_EQ(finding->where.front().source, "env.py:9 (step)");
  EXPECT_EQ(finding->evidence.front(), "30.0 ms of a 50.0 ms step (60 %)");
  EXPECT_EQ(finding->evidence.back(), "30 of 30 samples between operators are at env.py:9 (step)");
}

// The same pauses, but the line is in operators as often, or a framework is on its way to them.
TEST(SampledHotspot, TheWayToTheNextOperatorIsNone) {
  const std::string forward = std::string(kPackages) + "torch/nn/modules/linear.py(130): forward";
  EXPECT_EQ(Look(ShortPauses({kMainLine, forward}, {kMainLine, forward}, "aten::linear"))
                .Find("python-hotspot"),
            nullptr);
  TraceSketch mixed = ShortPauses({kMainLine}, {kMainLine}, "aten::linear");
  for (int i = 0; i < kSteps; ++i) {
    for (int k = 0; k < 2; ++k) Sample(mixed, 1000 + i * 50'000 + 5000 + k * 50 + 40, {kMainLine});
  }
  EXPECT_EQ(Look(std::move(mixed)).Find("python-hotspot"), nullptr);
}

// Where a model returns, what it returned last is let go: that is its time, not the line's.
TEST(SampledHotspot, ALineThatCallsAFrameworkNeedsNearlyAllOfItsTime) {
  const std::string forward = std::string(kPackages) + "torch/nn/modules/linear.py(130): forward";
  const auto find = [&](int in_model) {
    TraceSketch sketch = Steps({{kMainLine}, {}});
    for (int i = 0; i < kSteps; ++i) {
      for (int k = 0; k < in_model; ++k) {
        Sample(sketch, 1000 + i * kStep + kPause + 5000 + 10'000 * k, {kMainLine, forward});
      }
    }
    return Look(std::move(sketch)).Find("python-hotspot") != nullptr;
  };
  EXPECT_FALSE(find(2));  // five samples of its own, two in the model
  EXPECT_TRUE(find(1));
}

// A thousand operators of 30 us a step, 20 us apart; all of them from one line, or from many.
TraceSketch SmallOperators(int lines, int samples = 5, const char* name = "aten::select") {
  TraceSketch sketch;
  trace::Builder& builder = sketch.builder();
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * 50'000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), begin, begin + 50'000);
    for (int k = 0; k < 1000; ++k) {
      trace::SliceInput op;
      op.start_ns = TraceSketch::Ns(begin + k * 50 + 20);
      op.duration_ns = TraceSketch::Ns(30);
      op.name = builder.Intern(name);
      op.kind = trace::SliceKind::kOp;
      op.thread = builder.ThreadFor(1, TraceSketch::kMain);
      const std::string line = "sim.py(" + std::to_string(20 + k % lines) + "): forces";
      op.detail = builder.Detail({.stack = builder.Intern(line)});
      builder.Add(op);
    }
    for (int k = 0; k < samples; ++k) {
      const std::string line = "sim.py(" + std::to_string(20 + k % lines) + "): forces";
      Sample(sketch, begin + k * 10'000 + 40, {kMainLine, line});
    }
  }
  return sketch;
}

TEST(SampledHotspot, OperatorsThatALineCallsInALoopAreItsTime) {
  const Look look(SmallOperators(1, 5, "aten::cos"));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the Python function forces takes the time of the step");
  EXPECT_EQ(finding->evidence.back(), "1,000 operators a step are called in loops, 30.0 us each");
  // All of the step but what is still computed: a quarter of three fifths.
  EXPECT_EQ(finding->evidence.front(), "42.5 ms of a 50.0 ms step (85 %)");
  // A model with its layers: who multiplies may have other weights each time.
  EXPECT_EQ(Look(SmallOperators(10, 5, "aten::linear")).Find("python-hotspot"), nullptr);
  EXPECT_EQ(Look(SmallOperators(1, 0, "aten::linear")).Find("python-hotspot"), nullptr);
}

// A part out of a tensor each time: the loop is the cause, whichever estimate of it is larger, and
// what operators of 30 us compute stays.
TEST(SampledHotspot, ALoopIsNamedBeforeTheFunctionAroundIt) {
  const Look look(SmallOperators(1));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "a Python loop calls the same small operators 1,000 times a step, in forces");
  EXPECT_EQ(finding->evidence.front(), "21.0 ms of a 50.0 ms step (42 %)");
}

// No line has two hundred of them, or nobody sampled; that they come again tells enough.
TEST(SampledHotspot, OperatorsWithoutWeightsThatComeAgainAreALoop) {
  const Look look(SmallOperators(10));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "a Python loop calls the same small operators 100 times a step, in forces");
  EXPECT_EQ(finding->where.front().source, "sim.py:20 (forces)");
  const Look bare(SmallOperators(1, 0));
  ASSERT_NE(bare.Find("python-hotspot"), nullptr);
  EXPECT_EQ(bare.Find("python-hotspot")->title,
            "a Python loop calls the same small operators 1,000 times a step, in forces");
}

// Calls part ways in predict: that goes round, not the model that one of its lines calls.
TEST(SampledHotspot, ALoopStandsWhereItsCallsPartWays) {
  TraceSketch sketch;
  trace::Builder& builder = sketch.builder();
  const char* const calls[][2] = {{"aten::flip", "p.py(7): scale;p.py(3): predict;p.py(9): main"},
                                  {"aten::mul", "p.py(8): scale;p.py(3): predict;p.py(9): main"},
                                  {"aten::item", "p.py(4): predict;p.py(9): main"}};
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * 1000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), begin, begin + 1000);
    for (int k = 0; k < 30; ++k) {
      trace::SliceInput op;
      op.start_ns = TraceSketch::Ns(begin + k * 30 + 10);
      op.duration_ns = TraceSketch::Ns(5);
      op.name = builder.Intern(calls[k % 3][0]);
      op.kind = trace::SliceKind::kOp;
      op.thread = builder.ThreadFor(1, TraceSketch::kMain);
      op.detail = builder.Detail({.stack = builder.Intern(calls[k % 3][1])});
      builder.Add(op);
    }
  }
  const Look look(std::move(sketch));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where.front().source, "p.py:3 (predict)");
  EXPECT_EQ(finding->where.back().source, "p.py:9 (main)");
}

TEST(SampledHotspot, WaitingIsNotComputing) {
  const std::vector<std::vector<std::string>> stacks = {
      {"train.py(12): main", "/usr/lib/python3.11/multiprocessing/pool.py(367): map"}};
  const Look waits(Turns(stacks, trace::ThreadState::kWaiting));
  ASSERT_NE(waits.Find("python-hotspot"), nullptr);
  EXPECT_EQ(waits.Find("python-hotspot")->title,
            "the Python function main waits, and takes the time of the step");
  EXPECT_NE(waits.Find("python-hotspot")->remedy.find("a step ahead"), std::string::npos);
  const Look runs(Turns(stacks, trace::ThreadState::kRunning));
  ASSERT_NE(runs.Find("python-hotspot"), nullptr);
  EXPECT_EQ(runs.Find("python-hotspot")->title,
            "the Python function main takes the time of the step");
}

// Where the stack says in what it waits, and nothing trains: for requests, as far as anybody knows.
TEST(SampledHotspot, WaitingForRequestsIsNoFault) {
  const std::vector<std::vector<std::string>> stacks = {
      {"server.py(12): main", "/usr/lib/python3.11/queue.py(171): get",
       "/usr/lib/python3.11/threading.py(327): wait"}};
  const Look waits(Turns(stacks, trace::ThreadState::kWaiting));
  const Finding* finding = waits.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "between steps the program waits for requests or another thread: queue.get");
  EXPECT_EQ(finding->severity, Severity::kInfo);
  EXPECT_FALSE(finding->speedup);
  const Look runs(Turns(stacks, trace::ThreadState::kRunning));
  ASSERT_NE(runs.Find("python-hotspot"), nullptr);
  EXPECT_TRUE(runs.Find("python-hotspot")->speedup);
}

TEST(SampledHotspot, ALineThatRunsAModelIsNotIt) {
  for (const char* file : {"torch/nn/modules/transformer.py(795): forward",
                           "transformers/trainer.py(2000): Trainer.train",
                           "accelerate/accelerator.py(90): Accelerator.backward"}) {
    const Look look(Steps({{kMainLine, kPackages + std::string(file)}, {kMainLine}}));
    EXPECT_EQ(look.Find("python-hotspot"), nullptr) << file;
  }
}

// What a tensor does when the user copies it is the user's time; a framework's own copies are not.
TEST(SampledHotspot, ADeepCopyCountsForTheLineThatAsksForIt) {
  const std::string copies = "/usr/lib/python3.11/copy.py(128): deepcopy";
  const std::string tensor = kPackages + std::string("torch/_tensor.py(134): Tensor.__deepcopy__");
  const std::string train = kPackages + std::string("transformers/trainer.py(2000): Trainer.train");
  const Look look(Steps({{kMainLine, copies, tensor}, {kMainLine}}));
  ASSERT_NE(look.Find("python-hotspot"), nullptr);
  EXPECT_EQ(look.Find("python-hotspot")->where.front().source, "train.py:9 (main)");
  EXPECT_EQ(Look(Steps({{kMainLine, tensor}, {kMainLine}})).Find("python-hotspot"), nullptr);
  EXPECT_EQ(Look(Steps({{kMainLine, train, copies, tensor}, {kMainLine}})).Find("python-hotspot"),
            nullptr);
}

// Five samples a step in the pause, five in the operator; half of the pause's are elsewhere.
TEST(SampledHotspot, ALineThatIsInOperatorsForTheMostPartIsNotIt) {
  TraceSketch sketch = Steps({{}, {kMainLine}});
  for (int i = 0; i < kSteps; ++i) Sample(sketch, 1000 + i * kStep + 5000, {kMainLine});
  EXPECT_EQ(Look(std::move(sketch)).Find("python-hotspot"), nullptr);
}

// Steps of one operator behind a look for compiled code; `versions` of it ran before them.
TraceSketch GivenUp(int versions, bool still_runs) {
  TraceSketch sketch = Steps({});
  for (int v = 0; v < versions; ++v) {
    sketch.Op("Torch-Compiled Region: 0/" + std::to_string(v), 10 + 20 * v, 20 + 20 * v);
  }
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * kStep + kPause;
    sketch.Op("TorchDynamo Cache Lookup", begin - 20, begin - 10);
    if (still_runs) sketch.Op("Torch-Compiled Region: 0/1", begin - 9, begin - 5);
  }
  return sketch;
}

TEST(Recompile, HasGivenUpWhereStepsLookForCompiledCodeInVain) {
  const Look look(GivenUp(8, false));
  ASSERT_NE(look.Find("recompile"), nullptr);
  EXPECT_EQ(look.Find("recompile")->title, "torch.compile has given up: the steps run uncompiled");
  EXPECT_EQ(Look(GivenUp(7, false)).Find("recompile"), nullptr);  // a part that is left out
  EXPECT_EQ(Look(GivenUp(8, true)).Find("recompile"), nullptr);
}

}  // namespace
}  // namespace hone::doctor
