// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/edits.h"
#include "replay/replayed_test.h"

namespace hone::replay {
namespace {

constexpr int kSteps = 4, kPairs = 40;
constexpr double kPeriod = 30, kStep = kPairs * kPeriod;  // us

// The last stretch of the window has no event in it and keeps its time.
constexpr double kNear = 0.1;  // us a period

struct Setting {
  double gap_us = 1;   // from an operator to the one inside it
  int pairs = kPairs;  // a step; the rest of its operators have none inside
  int queries = 0;     // calls beside the launch, in each operator
  bool stacks = false, shapes = false, frames = false;
  double pause_us = 0;  // an operator of that length ends each step
};

// Steps of operators every 30 us, each with a launch of 5 us.
Replayed Sample(const Setting& setting) {
  TraceSketch sketch;
  MarkSteps(sketch, kSteps, kStep + setting.pause_us);
  std::int64_t id = 0;
  double at = 1000;
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kPairs; ++i, at += kPeriod) {
      if (setting.frames) sketch.Python("train.py(3): step", at, at + 29);
      sketch.Op("aten::linear", at, at + 28);
      if (i < setting.pairs) sketch.Op("aten::addmm", at + setting.gap_us, at + 26);
      for (int k = 0; k < setting.queries; ++k) {
        sketch.Call("cudaGetDevice", at + 5 + k, at + 5.5 + k, ++id);
      }
      ++id;
      sketch.Launch(at + 12, id).Kernel(at + 20, at + 21, id);
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

TEST(Observer, WithStacksItIsAShare) {
  for (const double gap : {1.0, 2.0}) {
    const Taken taken = TakenOut({.gap_us = gap, .stacks = true});
    EXPECT_NEAR(taken.code_us, 0.32 * 25, kNear);
    EXPECT_NEAR(taken.launch_us, 0.32 * 5, 0.01);
  }
  EXPECT_NEAR(TakenOut({.frames = true}).code_us, 0.32 * 25, kNear);
}

TEST(Observer, FewGapsTellNothing) {
  EXPECT_NEAR(TakenOut({.pairs = 3}).code_us, 0.43 * 25, kNear);
  EXPECT_NEAR(TakenOut({.pairs = 3, .shapes = true}).code_us, 0.32 * 25, kNear);
}

}  // namespace
}  // namespace hone::replay
