// SPDX-License-Identifier: Apache-2.0
#include "bench/probe.h"

namespace hone::bench {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Steps of these lengths in milliseconds, 4 samples each, begun 50 ms after the program.
Probe WithSteps(const std::vector<std::int64_t>& lengths) {
  Probe probe;
  probe.begin_ns = 50 * kMs;
  std::int64_t time = 0;
  for (const std::int64_t length : lengths) {
    time += length * kMs;
    probe.steps_ns.push_back(time);
    probe.samples.push_back(4 * static_cast<std::int64_t>(probe.steps_ns.size()));
    probe.waits_ns.push_back(kMs * static_cast<std::int64_t>(probe.steps_ns.size()));
  }
  probe.end_ns = probe.begin_ns + time;
  return probe;
}

std::vector<std::int64_t> Lengths(std::size_t count, std::int64_t length) {
  return std::vector<std::int64_t>(count, length);
}

TEST(SteadySteps, TenStepsAreGivenAwayAndTheRestIsMeasured) {
  std::vector<std::int64_t> lengths = Lengths(40, 10);
  lengths[0] = 900;
  const Known<Steps> steps = SteadySteps({WithSteps(lengths)}, -1, 0);
  ASSERT_TRUE(steps) << steps.why_not();
  EXPECT_EQ(steps->count, 40U);
  EXPECT_EQ(steps->warmup, 10U);
  EXPECT_EQ(steps->steady, 30U);
  EXPECT_NEAR(steps->mean_s, 0.010, 1e-9);
  EXPECT_NEAR(*steps->samples_per_s, 400, 1e-6);
  EXPECT_NEAR(*steps->data_wait_share, 0.1, 1e-9);
  EXPECT_NEAR(steps->first_s, 0.95, 1e-9);
}

TEST(SteadySteps, LookedAtStepsCountNeitherAsTimeNorAsSamples) {
  std::vector<std::int64_t> lengths = Lengths(40, 10);
  lengths[24] = 500;  // the step after the 24th
  Probe probe = WithSteps(lengths);
  probe.looked = {3, 24};
  const Known<Steps> steps = SteadySteps({probe}, -1, 0);
  EXPECT_EQ(steps->steady, 29U);
  EXPECT_NEAR(steps->mean_s, 0.010, 1e-9);
  EXPECT_NEAR(*steps->samples_per_s, 400, 1e-6);
  EXPECT_NEAR(steps->p99_s, 0.010, 1e-9);
}

// Two workers with four batches each, and a program that waits for them: after every step that took
// long, eight batches lie ready.
TEST(SteadySteps, BatchesThatLayReadyAreNotTheProgramsPace) {
  std::vector<std::int64_t> lengths = Lengths(60, 12);
  lengths[0] = 900;
  lengths[24] = 500;
  for (const std::size_t after : {1, 25}) {
    for (std::size_t i = 0; i < 8; ++i) lengths[after + i] = 1;
  }
  Probe probe = WithSteps(lengths);
  probe.looked = {24};
  EXPECT_LT(SteadySteps({probe}, -1, 0)->mean_s, 0.0115) << "as if it were faster";
  probe.stock = 8;
  const Known<Steps> steps = SteadySteps({probe}, -1, 0);
  EXPECT_NEAR(steps->mean_s, 0.012, 1e-9);
  EXPECT_EQ(steps->steady, 41U);
  // Where that would leave less than half, looked at steps alone are left out.
  probe.stock = 40;
  EXPECT_LT(SteadySteps({probe}, -1, 0)->mean_s, 0.012);
}

TEST(SteadySteps, WarmUpLastsUntilNothingGrowsAndTimesHaveSettled) {
  Probe compiled = WithSteps(Lengths(60, 10));
  compiled.growth = {1, 17, 55};  // the last one is in the second half: not warm-up
  EXPECT_EQ(SteadySteps({compiled}, -1, 0)->warmup, 17U);
  std::vector<std::int64_t> settling = Lengths(25, 30);
  const std::vector<std::int64_t> settled = Lengths(75, 10);
  settling.insert(settling.end(), settled.begin(), settled.end());
  EXPECT_EQ(SteadySteps({WithSteps(settling)}, -1, 0)->warmup, 25U);
  EXPECT_EQ(SteadySteps({WithSteps(settling)}, 40, 0)->warmup, 40U) << "as given";
}

TEST(SteadySteps, WithAGpuFromEdgeToEdge) {
  Probe probe = WithSteps(Lengths(50, 10));
  for (const std::int64_t step : {1, 12, 28, 44}) {
    // The device is done 3 ms after the step's end.
    probe.edges.push_back({step, step * 10 * kMs + 3 * kMs, 0, step == 1 ? 100 : 200});
  }
  const Known<Steps> steps = SteadySteps({probe}, -1, 0);
  EXPECT_EQ(steps->warmup, 12U) << "memory grew before";
  EXPECT_EQ(steps->steady, 32U);
  EXPECT_NEAR(steps->window_s, 0.32, 1e-9);
}

TEST(SteadySteps, SaysWhyThereAreNone) {
  EXPECT_NE(SteadySteps({}, -1, 0).why_not().find("no Python"), std::string::npos);
  EXPECT_NE(SteadySteps({Probe()}, -1, 0).why_not().find("hone.step()"), std::string::npos);
  const Known<Steps> few = SteadySteps({WithSteps(Lengths(5, 10))}, -1, 0);
  EXPECT_NE(few.why_not().find("5 steps seen"), std::string::npos) << few.why_not();
  const Known<Steps> one = SteadySteps({WithSteps(Lengths(1, 10))}, -1, 0);
  EXPECT_NE(one.why_not().find("1 step seen"), std::string::npos) << one.why_not();
}

TEST(SteadySteps, SamplesOfAllRanksCount) {
  const Probe probe = WithSteps(Lengths(40, 10));
  EXPECT_NEAR(*SteadySteps({probe, probe}, -1, 0)->samples_per_s, 800, 1e-6);
}

TEST(Work, AClockThatRunsOtherwiseIsNamed) {
  Probe probe = WithSteps(Lengths(20, 100));
  probe.uptime_s = 2.01;
  const std::int64_t end = probe.end_ns + kMs;
  EXPECT_EQ(WorkOf({probe}, 0, end).facts.at("clock"), "the system's");
  probe.uptime_s = 4.0;
  EXPECT_NE(WorkOf({probe}, 0, end).facts.at("clock").find("2.00 s where 4.00 s"),
            std::string::npos);
  probe.uptime_s.reset();
  EXPECT_NE(WorkOf({probe}, 0, probe.end_ns - 1).facts.at("clock"), "the system's");
  probe.clocks = {"perf_counter"};
  EXPECT_EQ(WorkOf({probe}, 0, end).facts.at("clock"), "the program replaced time.perf_counter");
}

TEST(Work, OperatorsThatStopLaterAreNamed) {
  Probe probe = WithSteps(Lengths(30, 10));
  probe.looked = {3, 24};
  probe.operators = {{{"aten::mm", 5}}, {{"aten::mm", 5}}};
  EXPECT_EQ(WorkOf({probe}, 0, INT64_MAX).facts.at("operators over time"), "steady");
  probe.operators[1].clear();
  EXPECT_EQ(WorkOf({probe}, 0, INT64_MAX).facts.at("operators over time"),
            "aten::mm 5 times in step 4, never in step 25");
}

}  // namespace
}  // namespace hone::bench
