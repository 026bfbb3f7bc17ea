// SPDX-License-Identifier: Apache-2.0
#include "collect/window.h"

#include <gtest/gtest.h>

namespace hone::collect {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// Feeds steps of equal length until something happens; how many it took, or -1.
int StepsUntil(Window& window, Window::Action wanted, std::uint64_t& now, StepSign sign,
               int most = 1000) {
  for (int i = 1; i <= most; ++i) {
    now += 10 * kMs;
    if (window.Step(sign, now) == wanted) return i;
  }
  return -1;
}

TEST(Window, ClosesAfterWarmUpAndTheStepsAskedFor) {
  Window window({.steps = 30});
  std::uint64_t now = 1;
  window.Opened(now);
  // Four marks make three equal lengths; the fourth is the first steady one and opens step 1.
  EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer), 3 + 31);
}

TEST(Window, ShortStepsAreRecordedUntilTheyLastLongEnough) {
  Window window({.steps = 30, .least_seconds = 1});
  std::uint64_t now = 1;
  window.Opened(now);
  // Steps of 10 ms: the fourth mark opens the first, the hundredth ends after a second.
  EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer), 4 + 100);
}

TEST(Window, LongStepsAreNotRecordedForLonger) {
  Window window({.steps = 30, .least_seconds = 0.3});
  std::uint64_t now = 1;
  window.Opened(now);
  EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer), 3 + 31);
}

TEST(Window, WindowsTakeNoMoreThanHalfOfAJob) {
  Window window({.steps = 30, .least_seconds = 1, .every = 100});
  std::uint64_t now = 1;
  window.Opened(now);
  EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer), 50);
  Window crowded({.steps = 30, .least_seconds = 1, .every = 20});  // but never less than asked
  crowded.Opened(now);
  EXPECT_EQ(StepsUntil(crowded, Window::Action::kClose, now, StepSign::kOptimizer), 3 + 31);
}

TEST(Window, SaysHowLongItStaysClosed) {
  Window once({.steps = 30}), returns({.steps = 30, .every = 100});
  for (Window* window : {&once, &returns}) {
    std::uint64_t now = 1;
    window->Opened(now);
    EXPECT_EQ(window->step_ns(), 0u);
    StepsUntil(*window, Window::Action::kClose, now, StepSign::kOptimizer);
    window->Closed();
    EXPECT_EQ(window->step_ns(), 10 * kMs);
  }
  EXPECT_EQ(once.closed_for_ns(), UINT64_MAX);
  EXPECT_EQ(returns.closed_for_ns(), (100 - 34) * 10 * kMs);
}

TEST(Window, StepsCountAgainAfterAnotherToolHadTheDevice) {
  Window window({.steps = 30});
  std::uint64_t now = 1;
  window.Opened(now);
  for (std::uint32_t i = 0; i < Window::kMostRestarts; ++i) {
    EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer, 20), -1);
    window.Resumed();
    EXPECT_EQ(window.steady_steps(), 0u);
  }
  EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer, 20), -1);
  window.Resumed();  // it comes and goes: no more of that
  EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer), 3 + 31 - 20);
}

TEST(Window, SlowFirstStepsAreNotCounted) {
  Window window({.steps = 5});
  std::uint64_t now = 1;
  window.Opened(now);
  for (const int ms : {9000, 500, 30, 20}) {  // compiling, then settling
    now += static_cast<std::uint64_t>(ms) * kMs;
    EXPECT_EQ(window.Step(StepSign::kOptimizer, now), Window::Action::kNone);
    EXPECT_FALSE(window.steady());
  }
  StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer);
  EXPECT_EQ(window.steady_steps(), 6u);
}

TEST(Window, AProgramThatNeverSettlesIsMeasuredAsItIs) {
  Window window({.steps = 5});
  std::uint64_t now = 1;
  window.Opened(now);
  int steps = 0;
  for (std::uint64_t length = 10;; length = length == 10 ? 100 : 10) {
    now += length * kMs;
    ++steps;
    if (window.Step(StepSign::kOptimizer, now) == Window::Action::kClose) break;
    ASSERT_LT(steps, 100);
  }
  EXPECT_EQ(steps, static_cast<int>(Window::kLongestWarmUp) + 6);
}

TEST(Window, OptimizerWinsOverLoaderAndExplicitOverBoth) {
  Window window({.steps = 10});
  std::uint64_t now = 1;
  window.Opened(now);
  for (int i = 0; i < 8; ++i) window.Step(StepSign::kLoader, now += 10 * kMs);
  EXPECT_TRUE(window.steady());
  window.Step(StepSign::kOptimizer, now += 10 * kMs);
  EXPECT_FALSE(window.steady());  // counting began again
  EXPECT_EQ(window.Step(StepSign::kLoader, now), Window::Action::kNone);
  EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer), 2 + 11);
}

TEST(Window, BatchesAloneCloseItLate) {
  Window window({.steps = 10});
  std::uint64_t now = 1;
  window.Opened(now);
  EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kLoader),
            3 + 11 * static_cast<int>(Window::kLoaderPatience));
}

TEST(Window, WithoutStepsTimeClosesIt) {
  Window window({.steps = 10});
  window.Opened(1000 * kMs);
  EXPECT_EQ(window.Tick(500'000 * kMs, 0), Window::Action::kNone);  // nothing happened yet
  EXPECT_EQ(window.Tick(2'000 * kMs, 1'500 * kMs), Window::Action::kNone);
  EXPECT_EQ(window.Tick(31'600 * kMs, 1'500 * kMs), Window::Action::kClose);
}

TEST(Window, StepsKeepItOpenHoweverLongTheyTake) {
  Window window({.steps = 10});
  window.Opened(1);
  window.Step(StepSign::kOptimizer, 100'000 * kMs);
  EXPECT_EQ(window.Tick(200'000 * kMs, 1), Window::Action::kNone);
}

TEST(Window, SecondsAndAllIgnoreSteps) {
  Window seconds({.steps = 2, .seconds = 5});
  std::uint64_t now = 1;
  seconds.Opened(now);
  EXPECT_EQ(StepsUntil(seconds, Window::Action::kClose, now, StepSign::kOptimizer, 300), -1);
  EXPECT_EQ(seconds.Tick(now, now - 4'999 * kMs < now ? 1 : 0), Window::Action::kNone);
  EXPECT_EQ(seconds.Tick(5'002 * kMs, 1 * kMs), Window::Action::kClose);
  Window all({.steps = 2, .all = true});
  all.Opened(1);
  EXPECT_EQ(StepsUntil(all, Window::Action::kClose, now, StepSign::kOptimizer, 300), -1);
  EXPECT_EQ(all.Tick(1'000'000 * kMs, 1), Window::Action::kNone);
}

TEST(Window, ComesBackEverySoManySteps) {
  Window window({.steps = 5, .every = 100});
  std::uint64_t now = 1;
  window.Opened(now);
  const int first = StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer);
  window.Closed();
  EXPECT_EQ(StepsUntil(window, Window::Action::kOpen, now, StepSign::kOptimizer), 100 - first);
  window.Opened(now);
  EXPECT_EQ(window.number(), 2u);
  EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer), first);
}

TEST(Window, ArgumentsAreTakenInTheFirstTwoSteadySteps) {
  Window window({.steps = 5});
  std::uint64_t now = 1;
  window.Opened(now);
  int sampled = 0;
  for (int i = 0; i < 8; ++i) {
    window.Step(StepSign::kOptimizer, now += 10 * kMs);
    sampled += window.sampling() ? 1 : 0;
  }
  EXPECT_EQ(sampled, 2);
}

TEST(Window, ClosedBeforeTheFirstStepItOpensAgainWithIt) {
  Window window({.steps = 5});
  std::uint64_t now = 1;
  window.Opened(now);
  // Batches of a look at the data come before the training.
  for (int i = 0; i < 3; ++i) window.Step(StepSign::kLoader, now += 100 * kMs);
  EXPECT_EQ(window.Tick(now += 31'000 * kMs, 1), Window::Action::kClose);
  window.Closed();
  EXPECT_TRUE(window.awaits_step());
  EXPECT_TRUE(window.returns());
  EXPECT_EQ(window.Step(StepSign::kLoader, now += kMs), Window::Action::kNone);
  EXPECT_EQ(window.Step(StepSign::kOptimizer, now += kMs), Window::Action::kOpen);
  window.Opened(now);
  EXPECT_EQ(window.Tick(now += 31'000 * kMs, 1), Window::Action::kClose) << "no step came";
  window.Opened(now);
  EXPECT_EQ(StepsUntil(window, Window::Action::kClose, now, StepSign::kOptimizer), 3 + 6);
  window.Closed();
  EXPECT_FALSE(window.awaits_step()) << "what was asked for is there";
  EXPECT_EQ(StepsUntil(window, Window::Action::kOpen, now, StepSign::kOptimizer), -1);
}

TEST(Window, ATimeThatWasAskedForIsTheEnd) {
  Window window({.seconds = 2});
  std::uint64_t now = 1;
  window.Opened(now);
  EXPECT_EQ(window.Tick(now += 3'000 * kMs, 1), Window::Action::kClose);
  window.Closed();
  EXPECT_FALSE(window.awaits_step());
  EXPECT_EQ(window.Step(StepSign::kOptimizer, now += kMs), Window::Action::kNone);
}

TEST(Window, ArgumentsAreTakenForLongerWhereNothingTrains) {
  for (const bool trains : {false, true}) {
    Window window({.steps = 20});
    std::uint64_t now = 1;
    window.Opened(now);
    int sampled = 0;
    for (int i = 0; i < 16; ++i) {
      if (trains) window.Step(StepSign::kOptimizer, now += 5 * kMs);
      window.Step(StepSign::kExplicit, now += 5 * kMs);
      sampled += window.sampling() ? 1 : 0;
    }
    EXPECT_EQ(sampled, trains ? 2 : 8);
  }
}

TEST(Window, WithoutStepsArgumentsAreTakenForTwoSeconds) {
  Window window({.steps = 20});
  window.Opened(1);
  int sampled = 0;
  for (std::uint64_t now = 5'100 * kMs; now < 12'000 * kMs; now += 100 * kMs) {
    window.Tick(now, 5'000 * kMs);  // busy from the fifth second on
    sampled += window.sampling() ? 1 : 0;
  }
  EXPECT_EQ(sampled, 20);
  window.Tick(6'500 * kMs, 5'000 * kMs);
  EXPECT_TRUE(window.sampling());
  window.Step(StepSign::kExplicit, 6'600 * kMs);  // it marks its steps after all
  EXPECT_FALSE(window.sampling());
}

}  // namespace
}  // namespace hone::collect
