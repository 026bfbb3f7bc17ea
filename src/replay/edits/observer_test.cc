// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/edits.h"
#include "replay/replayed_test.h"

namespace hone::replay {
namespace {

constexpr int kSteps = 4, kPairs = 40;
constexpr double kPeriod = 30, kStep = kPairs * kPeriod;  // us

// The last stretch of the window has no event in it and keeps its time.
constexpr double kNear = 0.1;    // us a period
constexpr double kFetched = 20;  // us a pair
constexpr const char* kInProcess = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
constexpr const char* kWorkers = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

struct Setting {
  double gap_us = 1;   // from an operator to the one inside it
  int pairs = kPairs;  // a step; the rest of its operators have none inside
  int queries = 0;     // calls beside the launch, in each operator
  bool stacks = false, shapes = false, frames = false;
  double pause_us = 0;   // an operator of that length ends each step
  bool on_host = false;  // no device: operators compute where they are called
  int fetched = 0;       // pairs of 20 us at the end of each step, inside of a loader's fetch
  double waits_us = 0;   // a fetch of that length from workers begins each step
};

// Steps of operators every 30 us, each with a launch of 5 us.
Replayed Sample(const Setting& setting) {
  TraceSketch sketch;
  const double fetch = setting.fetched * kFetched;
  MarkSteps(sketch, kSteps, kStep + setting.pause_us + fetch);
  std::int64_t id = 0;
  double at = 1000;
  for (int step = 0; step < kSteps; ++step) {
    if (setting.waits_us > 0) sketch.Annotation(kWorkers, at - 0.5, at - 0.5 + setting.waits_us);
    for (int i = 0; i < kPairs; ++i, at += kPeriod) {
      if (setting.frames) sketch.Python("train.py(3): step", at, at + 29);
      sketch.Op("aten::linear", at, at + 28);
      if (i < setting.pairs) sketch.Op("aten::addmm", at + setting.gap_us, at + 26);
      for (int k = 0; k < setting.queries; ++k) {
        sketch.Call("cudaGetDevice", at + 5 + k, at + 5.5 + k, ++id);
      }
      if (setting.on_host) continue;
      ++id;
      sketch.Launch(at + 12, id).Kernel(at + 20, at + 21, id);
    }
    if (setting.fetched > 0) sketch.Annotation(kInProcess, at, at + fetch);
    for (int i = 0; i < setting.fetched; ++i, at += kFetched) {
      sketch.Op("aten::to", at + 1, at + 19);
      sketch.Op("aten::_to_copy", at + 2, at + 18);
    }
    if (setting.pause_us > 0) sketch.Op("aten::sort", at, at + setting.pause_us);
    at += setting.pause_us;
  }
  trace::TraceInfo& info = sketch.builder().trace().info;
  info.format = trace::Format::kKineto;
  info.with_stack = setting.stacks ? 1 : 0;
  info.record_shapes = setting.shapes ? 1 : 0;
  return Replayed(std::move(sketch));
}

struct Taken {
  double code_us = 0, launch_us = 0;
};

// What the recorder is thought to cost, for each period of the sample.
Taken TakenOut(const Setting& setting, Guess guess = Guess::kLikely) {
  const Replayed r = Sample(setting);
  EXPECT_TRUE(r.built()) << r.why_not();
  const FoundEdit edit = FindObserver(r.model());
  EXPECT_TRUE(edit.has_value());
  Plan plan(r.graph());
  (*edit)->Apply(r.model(), guess, plan);
  Taken taken;
  for (TaskId t = 0; t < r.graph().tasks.size(); ++t) {
    const Task& task = r.At(t);
    (task.kind == TaskKind::kLaunch ? taken.launch_us : taken.code_us) +=
        static_cast<double>(task.duration_ns - plan.duration_ns[t]) / 1e3;
  }
  const auto periods = static_cast<double>(r.graph().steps * kPairs);
  return {taken.code_us / periods, taken.launch_us / periods};
}

// Two operators of 4.6 gaps each, and a launch of 1.7.
TEST(Observer, TheGapBeforeAnInnerOperatorTellsWhatARecordCosts) {
  const Taken taken = TakenOut({});
  EXPECT_NEAR(taken.code_us, 2 * 4.6, kNear);
  EXPECT_NEAR(taken.launch_us, 1.7, 0.01);
}

// Shapes are written down inside the gap: fewer gaps an operator (3.8) and a call (1.4).
TEST(Observer, LongerGapsAreARecorderThatCostsMore) {
  const Taken taken = TakenOut({.gap_us = 1.4, .shapes = true});
  EXPECT_NEAR(taken.code_us, 1.4 * 2 * 3.8, kNear);
  EXPECT_NEAR(taken.launch_us, 1.4 * 1.4, 0.01);
}

TEST(Observer, CallsThatLaunchNothingCostTheCodeAroundThem) {
  const Taken taken = TakenOut({.queries = 2});
  EXPECT_NEAR(taken.code_us, 2 * 4.6 + 2 * 1.7, kNear);
  EXPECT_NEAR(taken.launch_us, 1.7, 0.01);
}

TEST(Observer, SomethingIsLeftOfCodeAndOfLaunches) {
  const Taken taken = TakenOut({.gap_us = 4}, Guess::kMost);
  EXPECT_NEAR(taken.code_us, 0.85 * 25, kNear);
  EXPECT_NEAR(taken.launch_us, 0.5 * 5, 0.01);
}

// An operator of 400 us computes: it pays for the records in its stretch and no share of its
// length.
TEST(Observer, LongCodePaysForItsEventsOnly) {
  const double pause = TakenOut({.pause_us = 400}).code_us - TakenOut({}).code_us;
  EXPECT_NEAR(pause * kPairs, 4.6 + 1.7, 1);
}

// Stacks come with shapes and memory, as people record them: two operators of 3.4 gaps, a frame of
// 1.2, a launch of 1.2.
TEST(Observer, FramesCostLessThanOperators) {
  for (const double gap : {1.0, 1.5}) {
    const Taken taken = TakenOut({.gap_us = gap, .stacks = true, .frames = true});
    EXPECT_NEAR(taken.code_us, gap * (2 * 3.4 + 1.2), kNear);
    EXPECT_NEAR(taken.launch_us, gap * 1.2, 0.01);
  }
  EXPECT_NEAR(TakenOut({.stacks = true}).code_us, 2 * 3.4, kNear);
  EXPECT_NEAR(TakenOut({.frames = true}).code_us, 2 * 3.4 + 1.2, kNear);
}

// No call of CUDA is watched there: 1.9 gaps an operator, whatever else is recorded, and 1.5 a
// frame.
TEST(Observer, OperatorsOfTheHostPayForTheirRecordAlone) {
  EXPECT_NEAR(TakenOut({.on_host = true}).code_us, 2 * 2.2, kNear);
  EXPECT_NEAR(TakenOut({.shapes = true, .on_host = true}).code_us, 2 * 2.2, kNear);
  EXPECT_NEAR(TakenOut({.stacks = true, .frames = true, .on_host = true}).code_us, 2 * 2.2 + 1.4,
              kNear);
}

TEST(Observer, ABatchMadeInTheProcessIsWorkOfTheHost) {
  const double fetched = TakenOut({.fetched = 80}).code_us - TakenOut({}).code_us;
  EXPECT_NEAR(fetched * kPairs / 80, 2 * 2.2, kNear);
}

// How fast workers can be is known up to the recorded pace: of what goes, 0.6 shows.
TEST(Observer, WorkersThatKeepUpMaySetThePace) {
  EXPECT_NEAR(TakenOut({.waits_us = 0.4}).code_us, 0.6 * 2 * 4.6, kNear);
  EXPECT_NEAR(TakenOut({.waits_us = 0.4}, Guess::kLeast).code_us, 0.1 * 2 * 3.3, kNear);
  EXPECT_NEAR(TakenOut({.waits_us = 0.4}, Guess::kMost).code_us, 2 * 6.4, kNear);
}

TEST(Observer, FewGapsTellNothing) {
  EXPECT_NEAR(TakenOut({.pairs = 3}).code_us, 0.43 * 25, kNear);
  EXPECT_NEAR(TakenOut({.pairs = 3, .shapes = true}).code_us, 0.32 * 25, kNear);
  EXPECT_NEAR(TakenOut({.pairs = 3, .stacks = true}).code_us, 0.32 * 25, kNear);
}

}  // namespace
}  // namespace hone::replay
