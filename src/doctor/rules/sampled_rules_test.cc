// SPDX-License-Identifier: Apache-2.0
// Rules that read what hone run samples: Python stacks and counters of the program's processes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/sketch_test.h"
#include "doctor/look_test.h"
#include "replay/model.h"
#include "replay/whatif.h"

namespace hone::doctor {
namespace {

using analyze::TraceSketch;

constexpr int kSteps = 10;
constexpr double kStep = 100'000;  // us
constexpr double kPause = 50'000;  // of them, with no operator

// Steps on the CPU: a pause, then one operator. Samples lie in both, 10 ms apart.
struct Stacks {
  std::vector<std::string> in_pause, in_operator;  // outermost first
};

// As recorded: a function has the line where it begins, whichever of its lines runs.
std::string FunctionOf(const std::string& place) {
  return place.substr(0, place.find('(')) + "(1" + place.substr(place.find(')'));
}

void Sample(TraceSketch& sketch, double at, const std::vector<std::string>& stack,
            trace::ThreadState state = trace::ThreadState::kRunning, int thread = -1) {
  trace::Builder& builder = sketch.builder();
  trace::SampleInput sample;
  sample.time_ns = TraceSketch::Ns(at);
  sample.thread =
      thread < 0 ? builder.ThreadFor(1, TraceSketch::kMain) : static_cast<std::uint16_t>(thread);
  sample.period_ns = 10 * kMillisecond;
  sample.state = state;
  std::uint32_t frame = 0;
  for (const std::string& place : stack) {
    frame = builder.AddFrame(frame, builder.Intern(FunctionOf(place)), builder.Intern(place));
  }
  sample.frame = frame;
  builder.Add(sample);
}

TraceSketch Steps(const Stacks& stacks) {
  TraceSketch sketch;
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * kStep;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), begin, begin + kStep);
    sketch.Op("aten::mm", begin + kPause, begin + kStep - 10);
    for (double at = 5000; at < kStep; at += 10'000) {
      const std::vector<std::string>& stack = at < kPause ? stacks.in_pause : stacks.in_operator;
      if (!stack.empty()) Sample(sketch, begin + at, stack);
    }
  }
  return sketch;
}

const char* const kMainLine = "train.py(9): main";
const char* const kPackages = "/usr/lib/python3/site-packages/";

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

// A fetch fills the pause of every step. In three of five samples the line packs rows.
TEST(SampledLoading, IsNamedWithTheLineThatLoads) {
  const std::string fetch = std::string(kPackages) + "torch/utils/data/_utils/fetch.py(55): fetch";
  TraceSketch sketch = Steps({});
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * kStep;
    sketch.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin + 10,
                      begin + kPause - 10);
    for (int s = 0; s < 5; ++s) {
      Sample(sketch, begin + 5000 + 10'000 * s,
             s < 3 ? std::vector<std::string>{kMainLine, fetch, "data.py(7): pack",
                                              std::string(kPackages) + "numpy/roll.py(4): roll"}
                   : std::vector<std::string>{kMainLine, fetch});
    }
  }
  const Look look(std::move(sketch));
  const Finding* finding = look.Find("input-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_TRUE(finding->title.ends_with(", most of it in pack")) << finding->title;
  EXPECT_EQ(finding->where.front().source, "data.py:7 (pack)");
  EXPECT_EQ(finding->evidence.back(),
            "30 of 50 samples of it are at data.py:7 (pack) and in what it calls");
  EXPECT_NE(finding->remedy.find("make data.py:7 (pack) cheaper"), std::string::npos);
}

// The step waits for two workers, which are at one line for the most part. `epochs`: each has new
// ones.
TraceSketch LoadedByWorkers(int epochs) {
  const std::string fetch = std::string(kPackages) + "torch/utils/data/_utils/fetch.py(55): fetch";
  TraceSketch sketch = Steps({});
  trace::Builder& builder = sketch.builder();
  builder.trace().info.format = trace::Format::kHone;
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * kStep;
    sketch.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin + 10,
                      begin + kPause - 10);
    for (int worker = 0; worker < 2; ++worker) {
      const std::int64_t pid = 2 + worker + 2 * (i * epochs / kSteps);
      trace::SliceInput slice;
      slice.start_ns = TraceSketch::Ns(begin + worker);
      slice.duration_ns = TraceSketch::Ns(kPause - 100);
      slice.name = builder.Intern("DataLoader.fetch");
      slice.kind = trace::SliceKind::kAnnotation;
      slice.thread = builder.ThreadFor(pid, pid);
      builder.Add(slice);
      Sample(sketch, begin + 5000, {"worker.py(1): run", fetch, "data.py(7): unpack"},
             trace::ThreadState::kRunning, slice.thread);
    }
  }
  return sketch;
}

// 30 steps of 10 ms in each of which fetching takes `usual`; `odd` of them fetch for 400 ms.
TraceSketch LoadedNowAndThen(double usual, int odd) {
  TraceSketch sketch;
  double at = 1000;
  for (int i = 0; i < 3 * kSteps; ++i) {
    const double fetch = i >= 15 && i < 15 + odd ? 400'000 : usual;
    const double ready = at + 10 + fetch, end = ready + 10'000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), at, end);
    sketch.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 10,
                      ready);
    sketch.Op("aten::mm", ready, end - 10);
    at = end;
  }
  return sketch;
}

// One collection of the interpreter's garbage in a fetch is no slow loader.
TEST(SampledLoading, WhatHappensOnceTellsNoRate) {
  EXPECT_EQ(Look(LoadedNowAndThen(100, 1)).Find("input-bound"), nullptr);
  EXPECT_NE(Look(LoadedNowAndThen(100, 2)).Find("input-bound"), nullptr);
  const Look both(LoadedNowAndThen(5'000, 1));
  const Finding* finding = both.Find("input-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->evidence[1],
            "one fetch of 400 ms is left out: what happens once tells no rate");
  // The others take 145 ms of 30 steps, and no more than that can go.
  EXPECT_TRUE(finding->evidence[0].starts_with("fetching a batch takes 4.8 ms"))
      << finding->evidence[0];
  EXPECT_LT(*finding->recoverable_ns, 4.9e6);
}

// Each fetch takes 2 ms of a step of 10. The one worker begins its batch `begins` after it and has
// it for `making`: a batch that is made by then was ready.
TraceSketch TakenFromAWorker(double begins, double making) {
  TraceSketch sketch;
  trace::Builder& builder = sketch.builder();
  builder.trace().info.format = trace::Format::kHone;
  for (int i = 0; i < 3 * kSteps; ++i) {
    const double begin = 1000 + i * 10'000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), begin, begin + 10'000);
    sketch.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin + 10,
                      begin + 2010);
    sketch.Op("aten::mm", begin + 2050, begin + 9990);
    trace::SliceInput slice;
    slice.start_ns = TraceSketch::Ns(begin + 10 + begins);
    slice.duration_ns = TraceSketch::Ns(making);
    slice.name = builder.Intern("DataLoader.fetch");
    slice.kind = trace::SliceKind::kAnnotation;
    slice.thread = builder.ThreadFor(2, 2);
    builder.Add(slice);
  }
  return sketch;
}

// A worker that has nothing to make has made all that was asked for.
TEST(SampledLoading, ABatchThatAnIdleWorkerHasMadeIsOnlyTaken) {
  EXPECT_EQ(Look(TakenFromAWorker(700, 900)).Find("input-bound"), nullptr);
  // Begun in the fetch before, and made only when this one has waited for it.
  const Look late(TakenFromAWorker(1900, 9'900));
  ASSERT_NE(late.Find("input-bound"), nullptr);
  EXPECT_EQ(late.Find("input-bound")->title, "the loader's workers do not keep up");
}

TEST(SampledLoading, OfWorkersIsNamedByTheirLineAndTheirNumber) {
  for (const int epochs : {1, 2}) {
    const Look look(LoadedByWorkers(epochs));
    const Finding* finding = look.Find("input-bound");
    ASSERT_NE(finding, nullptr);
    EXPECT_TRUE(finding->title.ends_with("keep up, most of their time in unpack"))
        << finding->title;
    EXPECT_EQ(finding->where.front().source, "data.py:7 (unpack)");
    EXPECT_NE(finding->remedy.find("num_workers=4, prefetch_factor=4)   # it has 2 now"),
              std::string::npos)
        << finding->remedy;
    EXPECT_NE(finding->remedy.find("make data.py:7 (unpack) cheaper"), std::string::npos);
  }
}

TEST(SampledCheckpoint, IsNamedWithItsLineAndNotAsAHotspot) {
  const Look look(Steps({{kMainLine, std::string(kPackages) + "torch/serialization.py(930): save",
                          std::string(kPackages) + "torch/serialization.py(1183): _save"},
                         {kMainLine}}));
  const Finding* finding = look.Find("checkpoint-stall");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where.front().source, "train.py:9 (main)");
  EXPECT_NEAR(static_cast<double>(finding->where.front().duration_ns), kPause * 1e3, 6e6);
  EXPECT_NE(finding->remedy.find("half as often"), std::string::npos);
  EXPECT_NEAR(*finding->recoverable_ns, kPause * 1e3 / 2, 5e6);
  EXPECT_EQ(look.Find("python-hotspot"), nullptr);
}

// Every second step of 2 ms is followed by 98 ms of saving: no sample falls into a step.
TEST(SampledCheckpoint, CopiesTellThemApartWhereStepsAreShorterThanSamples) {
  TraceSketch sketch;
  std::int64_t correlation = 0;
  for (int i = 0; i < 10; ++i) {
    const double length = i % 2 == 0 ? 2000 : 100'000;
    const double from = 1000 + (i / 2) * 102'000.0 + (i % 2) * 2000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), from, from + length);
    ++correlation;
    sketch.Launch(from + 100, correlation).Kernel(from + 120, from + 1000, correlation);
    for (int k = 0; i % 2 == 1 && k < 4; ++k) {
      const double at = from + 20'000 + 20'000 * k;
      sketch.Call("cudaMemcpyAsync", at, at + 10, ++correlation);
      sketch.Copy(at + 10, at + 5000, correlation, trace::CopyDirection::kDeviceToHost,
                  trace::MemoryKind::kDevice, trace::MemoryKind::kPageable, 32 << 20);
    }
    for (double at = from + 5000; at < from + length; at += 10'000) {
      Sample(sketch, at, {kMainLine, std::string(kPackages) + "torch/serialization.py(930): save"});
    }
  }
  const Look look(std::move(sketch));
  const Finding* finding = look.Find("checkpoint-stall");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->evidence.front().find("5 checkpoints in 9 steps"), std::string::npos)
      << finding->evidence.front();
}

TEST(SampledCheckpoint, OfATrainerIsSavedLessOften) {
  const Look look(
      Steps({{kMainLine,
              std::string(kPackages) + "transformers/trainer.py(3200): Trainer._save_checkpoint",
              std::string(kPackages) + "torch/serialization.py(930): save"},
             {}}));
  ASSERT_NE(look.Find("checkpoint-stall"), nullptr);
  EXPECT_NE(look.Find("checkpoint-stall")->remedy.find("save_steps"), std::string::npos);
}

// 5 threads want to run on 2 cores. The program's own get `running` cores and wait for `waiting`.
// Of `running`, `unseen` is in threads whose waits nobody read; it has `threads` (0: not counted).
Look Crowded(double running, double waiting, double unseen = 0, int runnable = 5, int threads = 0) {
  TraceSketch sketch = Steps({});
  trace::Builder& builder = sketch.builder();
  for (int i = 0; i < kSteps; ++i) {
    const double seconds = 0.1 * i;
    const auto put = [&](const char* track, const char* series, double value) {
      builder.AddCounter(TraceSketch::Ns(1500 + i * kStep), builder.Intern(track),
                         builder.Intern(series), value);
    };
    put("machine", "cpu_cores", 2);
    put("machine", "runnable_threads", runnable);
    if (running == 0) continue;
    put("process 7", "cpu_seconds", running * seconds);
    if (threads > 0) put("process 7", "threads", threads);
    put("thread 7/7 python", "cpu_seconds", (running - unseen) * seconds);
    put("thread 7/7 python", "wait_for_core_seconds", waiting * seconds);
  }
  return Look(std::move(sketch));
}

// The remedy of the finding that has this title; empty, and the test fails, when there is none.
std::string RemedyOf(const Look& look, std::string_view title, Confidence confidence) {
  const Finding* finding = look.Find("cpu-oversubscribed");
  if (finding == nullptr) {
    ADD_FAILURE() << "cpu-oversubscribed was not found";
    return {};
  }
  EXPECT_EQ(finding->title, title);
  EXPECT_EQ(finding->confidence, confidence);
  return finding->remedy;
}

const char* const kTooManyThreads = "more threads want to run than there are cores";

TEST(CpuOversubscribed, OtherProgramsAreNotTheProgramsFault) {
  const std::string remedy = RemedyOf(
      Crowded(0.6, 0.4), "other programs on this machine take 1.4 of 2 cores", Confidence::kMedium);
  EXPECT_EQ(remedy.find("set_num_threads"), std::string::npos);
}

// What the finding blames on others is not denied where fixes are asked for.
TEST(CpuOversubscribed, FewerThreadsWouldNotHelpAgainstOthers) {
  TraceSketch sketch = Steps({});
  trace::Builder& builder = sketch.builder();
  for (int i = 0; i < kSteps; ++i) {
    const double seconds = kStep * 1e-6 * i;
    const auto put = [&](const std::string& track, const char* series, double value) {
      builder.AddCounter(TraceSketch::Ns(1500 + i * kStep), builder.Intern(track),
                         builder.Intern(series), value);
    };
    const std::string thread = "thread 1/" + std::to_string(TraceSketch::kMain) + " python";
    put("machine", "cpu_cores", 2);
    put("machine", "runnable_threads", 5);
    put("process 1", "cpu_seconds", 0.6 * seconds);
    put(thread, "cpu_seconds", 0.6 * seconds);
    put(thread, "wait_for_core_seconds", 0.4 * seconds);
  }
  const trace::Trace trace = sketch.Finish();
  const analyze::Facts facts = analyze::Analyze(trace);
  EXPECT_NE(FindingOf(Diagnose(trace, facts), "cpu-oversubscribed"), nullptr);
  const auto model = replay::Model::Build(trace, facts);
  ASSERT_TRUE(model) << model.why_not();
  EXPECT_EQ(replay::WhatIf(**model).Find("cpu-oversubscribed").why_not(),
            "the process that makes the steps wants 1.0 of 2.0 cores: fewer of its threads give "
            "nothing back, it waits for cores that others take");
}

// One thread was looked at and wants a core; the two that were not want one each at most. Nine want
// to run, so that others crowd the cores by themselves; of five, perhaps not.
TEST(CpuOversubscribed, AProgramWantsNoMoreCoresThanItHasThreads) {
  const Look look = Crowded(0.6, 0.4, 0.2, 9, 3);
  const std::string remedy =
      RemedyOf(look, "other programs on this machine take 1.4 of 2 cores", Confidence::kMedium);
  EXPECT_EQ(remedy.find("set_num_threads"), std::string::npos);
  const Finding* finding = look.Find("cpu-oversubscribed");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->evidence.front(),
            "9 threads want to run on 2 cores, and at most 3 of them are this program's");
  RemedyOf(Crowded(0.6, 0.4, 0.2, 5, 3), kTooManyThreads, Confidence::kMedium);
  RemedyOf(Crowded(0.6, 0.4, 0.2, 9), kTooManyThreads, Confidence::kMedium);
}

TEST(CpuOversubscribed, ItsOwnThreadsAre) {
  const std::string remedy = RemedyOf(Crowded(2, 3), kTooManyThreads, Confidence::kHigh);
  EXPECT_TRUE(remedy.starts_with("torch.set_num_threads")) << remedy;
}

// 2 cores, 4 threads of the steps' own process: half of an operator's time is likely to go, and
// operators are `kStep - kPause` of a step. Threads of another process have no model.
TEST(CpuOversubscribed, ThreadsOfTheStepsOwnProcessAreReplayed) {
  for (const bool own : {true, false}) {
    TraceSketch sketch = Steps({});
    trace::Builder& builder = sketch.builder();
    const std::string process = own ? "1" : "7";
    const std::string track =
        "thread " + process + "/" + std::to_string(TraceSketch::kMain) + " python";
    for (int i = 0; i < kSteps; ++i) {
      const double seconds = kStep * 1e-6 * i;
      const auto put = [&](const std::string& name, const char* series, double value) {
        builder.AddCounter(TraceSketch::Ns(1500 + i * kStep), builder.Intern(name),
                           builder.Intern(series), value);
      };
      put("machine", "cpu_cores", 2);
      put("machine", "runnable_threads", 4);
      put("process " + process, "cpu_seconds", 2 * seconds);
      put(track, "cpu_seconds", 0.5 * seconds);
      put(track, "wait_for_core_seconds", 0.5 * seconds);
      put("thread " + process + "/99 python", "cpu_seconds", 1.5 * seconds);
      put("thread " + process + "/99 python", "wait_for_core_seconds", 1.5 * seconds);
    }
    const Look look(std::move(sketch));
    const Finding* finding = look.Find("cpu-oversubscribed");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->predicted.has_value(), own);
    if (!own) continue;
    EXPECT_NEAR(*finding->recoverable_ns, (kStep - kPause) / 2 * 1e3, kStep * 0.02 * 1e3);
    // All cores were in use: nothing of it is sure, and half of what is likely counts.
    EXPECT_EQ(finding->severity, Severity::kMedium);
  }
}

TEST(CpuOversubscribed, WithoutCountersOfAllItsThreadsItIsLessSure) {
  for (const Look& look : {Crowded(0, 0), Crowded(1.2, 0.4, 0.6)}) {
    const std::string remedy = RemedyOf(look, kTooManyThreads, Confidence::kMedium);
    EXPECT_TRUE(remedy.starts_with("top ")) << remedy;  // they may be another program's
  }
}

}  // namespace
}  // namespace hone::doctor
