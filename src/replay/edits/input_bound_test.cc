// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/input_bound.h"

#include <algorithm>

#include "replay/edits/edits.h"
#include "replay/free_cores.h"
#include "replay/replayed_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

constexpr const char* kInProcess = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
constexpr const char* kWithWorkers =
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

// Steps of 30 ms on the host alone that begin with `fetch` ms of fetching.
Replayed Loading(const char* name, double fetch, double cores) {
  TraceSketch sketch;
  MarkSteps(sketch, 6, 30'000);
  for (int i = 0; i < 6; ++i) {
    const double at = 1000 + i * 30'000.0, ready = at + 1000 * fetch;
    sketch.Annotation(name, at, ready).Op("aten::mm", ready, at + 29'990);
    if (cores > 0) {
      trace::Builder& builder = sketch.builder();
      builder.AddCounter(TraceSketch::Ns(at + 5000), builder.Intern("machine"),
                         builder.Intern("cpu_cores"), cores);
    }
  }
  return Replayed(std::move(sketch));
}

Prediction Fixed(const Replayed& r) { return WhatIf(r.model()).Predict({"input-bound"}); }

TEST(InputBound, TwoWorkersMakeBatchesTwiceAsFastNotAtOnce) {
  const Replayed r = Loading(kInProcess, 28, 2);
  const WorkerChoice choice = ChooseWorkers(r.model());
  EXPECT_EQ(choice.count, 2);
  EXPECT_FALSE(choice.times);
  EXPECT_FALSE(choice.enough);
  const Prediction step = Fixed(r);
  EXPECT_NEAR(step.likely_ns, 15e6, 0.2e6);  // 30 ms of work on two cores
  EXPECT_GT(step.low_ns, 12e6);
  EXPECT_GT(step.high_ns, 28e6 * 1.25 / 2);
}

// Two are next to sure; sixteen are what the workers may gain at most.
TEST(InputBound, WithoutCoresInTheTraceTwoAreCountedOn) {
  const Replayed r = Loading(kInProcess, 29, 0);
  EXPECT_EQ(ChooseWorkers(r.model()).count, 16);
  const Prediction step = Fixed(r);
  EXPECT_NEAR(step.likely_ns, 30e6 / 2, 0.1e6);
  EXPECT_LT(step.low_ns, 29e6 / 16);
  EXPECT_GT(step.high_ns, 29e6 * 1.25 / 2 + 1e6 - 1);
}

// What the recorder takes of a fetch is no work that the cores are to do.
TEST(InputBound, TheRecordersCostIsNotTheRestOfTheStep) {
  TraceSketch sketch;
  MarkSteps(sketch, 6, 30'000);
  for (int i = 0; i < 6; ++i) {
    const double at = 1000 + i * 30'000.0;
    sketch.Annotation(kInProcess, at, at + 28'000).Op("aten::mm", at + 28'000, at + 29'990);
    for (double row = at + 10; row < at + 27'900; row += 27) {
      sketch.Op("aten::to", row, row + 25).Op("aten::_to_copy", row + 1, row + 24);
    }
  }
  sketch.builder().trace().info.format = trace::Format::kKineto;
  const Replayed r(std::move(sketch));
  const double bare = WhatIf(r.model()).bare().likely_ns;
  EXPECT_LT(bare, 27e6);
  EXPECT_NEAR(Fixed(r).likely_ns, bare / 2, 0.5e6);
}

TEST(InputBound, EnoughWorkersLeaveTheRestOfTheStep) {
  const Replayed r = Loading(kInProcess, 10, 16);
  EXPECT_EQ(ChooseWorkers(r.model()).count, 2);
  EXPECT_NEAR(Fixed(r).likely_ns, 20.4e6, 0.1e6);
}

// One step of six is 20 ms longer: batches are made ahead meanwhile, so that the mean counts.
TEST(InputBound, ALongStepIsUsedToMakeBatchesAhead) {
  TraceSketch sketch;
  double at = 1000;
  for (int i = 0; i < 6; ++i) {
    const double length = i == 2 ? 50'000 : 30'000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 1), at, at + length);
    sketch.Annotation(kInProcess, at, at + 28'000).Op("aten::mm", at + 28'000, at + length - 10);
    trace::Builder& builder = sketch.builder();
    builder.AddCounter(TraceSketch::Ns(at + 5000), builder.Intern("machine"),
                       builder.Intern("cpu_cores"), 2);
    at += length;
  }
  const Replayed r(std::move(sketch));
  EXPECT_NEAR(Fixed(r).likely_ns, 200e6 / 6 / 2, 0.5e6);
}

TEST(InputBound, OneCoreGivesNothingThatIsSure) {
  const Replayed r = Loading(kInProcess, 28, 1);
  EXPECT_NEAR(Fixed(r).likely_ns, 30e6, 0.2e6);
}

// Steps of 30 ms on two cores that load for 20 of them; what the step's thread had and wanted of a
// core and what another thread of the process had, as shares of the time.
Replayed Watched(double running, double waiting, double other) {
  TraceSketch sketch;
  MarkSteps(sketch, 12, 30'000);
  trace::Builder& builder = sketch.builder();
  for (int i = 0; i < 12; ++i) {
    const double at = 1000 + i * 30'000.0, seconds = 0.03 * i;
    sketch.Annotation(kInProcess, at, at + 20'000).Op("aten::mm", at + 20'000, at + 29'990);
    const auto put = [&](const std::string& track, const char* series, double value) {
      builder.AddCounter(TraceSketch::Ns(at + 5000), builder.Intern(track), builder.Intern(series),
                         value);
    };
    const std::string thread = "thread 1/" + std::to_string(TraceSketch::kMain) + " python";
    put("machine", "cpu_cores", 2);
    put(thread, "cpu_seconds", running * seconds);
    put(thread, "wait_for_core_seconds", waiting * seconds);
    put("thread 1/77 python", "cpu_seconds", other * seconds);
  }
  return Replayed(std::move(sketch));
}

// The thread wants a core 6 ms of each step: the rest of loading is waiting, which more workers
// than the two cores can do. Nothing is left but the other 10 ms.
TEST(InputBound, WorkersThatWaitNeedNoCore) {
  const Replayed r = Watched(0.15, 0.05, 0);
  EXPECT_NEAR(ChooseWorkers(r.model()).on_core, 0.3, 0.01);
  EXPECT_EQ(ChooseWorkers(r.model()).count, 5);
  EXPECT_NEAR(Fixed(r).likely_ns, 10.4e6, 0.3e6);
}

// Loading takes a core, and in the other 10 ms a second thread helps: 40 ms of work on two cores,
// whoever does it.
TEST(InputBound, WorkersShareTheCoresWithTheProgramsOwnThreads) {
  const Replayed r = Watched(1, 0, 1.0 / 3);
  EXPECT_NEAR(ChooseWorkers(r.model()).rest_cores, 2, 0.01);
  EXPECT_TRUE(ChooseWorkers(r.model()).crowded());
  EXPECT_NEAR(Fixed(r).likely_ns, 20e6, 0.3e6);
}

// The same 40 ms of work, less what another fix takes out of the 10 ms on two cores.
TEST(InputBound, CoresThatAnotherFixSetsFreeMakeBatches) {
  const Replayed r = Watched(1, 0, 1.0 / 3);
  const Graph& graph = r.model().graph();
  const FoundEdit edit = FindInputBound(r.model());
  ASSERT_TRUE(edit);
  const auto apart = [&](double rest) {
    const Plan before(graph);
    Plan after = before;
    (*edit)->Apply(r.model(), Guess::kLikely, after);
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      if (graph.tasks[t].kind == TaskKind::kInput) continue;
      after.duration_ns[t] = static_cast<Nanos>(rest * static_cast<double>(before.duration_ns[t]));
    }
    FreeCores(graph, before, after);
    return static_cast<double>(*std::max_element(after.apart_ns.begin(), after.apart_ns.end()));
  };
  EXPECT_NEAR(apart(1), 20e6, 0.2e6);
  EXPECT_NEAR(apart(0.5), 15e6, 0.2e6);
  EXPECT_NEAR(apart(0), 10e6, 0.2e6);    // a core for each of two workers
  EXPECT_NEAR(apart(1.5), 20e6, 0.2e6);  // what takes longer is the replay's to say
}

// 28 of 30 ms: 15 times as many are needed; on four cores four times is all that is proposed.
TEST(InputBound, WorkersThatExistAreMultiplied) {
  const Replayed many = Loading(kWithWorkers, 28, 0);
  EXPECT_TRUE(ChooseWorkers(many.model()).times);
  EXPECT_EQ(ChooseWorkers(many.model()).count, 15);
  const Replayed four = Loading(kWithWorkers, 28, 4);
  EXPECT_EQ(ChooseWorkers(four.model()).count, 4);
  EXPECT_NEAR(Fixed(four).likely_ns, 30e6 / 4, 0.2e6);
}

}  // namespace
}  // namespace hone::replay
