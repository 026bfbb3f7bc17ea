// SPDX-License-Identifier: Apache-2.0
#include "stats/paired.h"

#include <cmath>

#include "stats/student.h"

namespace hone::stats {
namespace {

// Tables of Student's distribution, as printed in textbooks.
TEST(Student, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(StudentQuantile(0.975, 1), 12.7062, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 4), 2.7764, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.995, 9), 3.2498, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.05, 19), -1.7291, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 1e6), 1.95997, 1e-4);
  EXPECT_NEAR(NormalCdf(1.959964), 0.975, 1e-6);
}

TEST(HodgesLehmann, IsTheMedianOfAllMeans) {
  // Means of 1, 2, 10: 1, 1.5, 2, 5.5, 6, 10.
  EXPECT_DOUBLE_EQ(HodgesLehmann(std::vector<double>{10, 1, 2}), 3.75);
  // One wild value of nine moves it little.
  EXPECT_NEAR(HodgesLehmann(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 1e6}), 5, 0.6);
}

TEST(Intervals, StudentsIsTheTextbooks) {
  // Mean 3, standard deviation sqrt(2.5), 5 values: 3 ± 2.7764 * 0.70711.
  const Interval interval = StudentInterval({{1, 2, 3, 4, 5}, 0}, 0.05);
  EXPECT_NEAR(interval.low, 3 - 1.96324, 1e-4);
  EXPECT_NEAR(interval.high, 3 + 1.96324, 1e-4);
  // An effect that was fitted costs a degree of freedom.
  EXPECT_GT(StudentInterval({{1, 2, 3, 4, 5}, 1}, 0.05).high, interval.high);
}

TEST(Intervals, BootstrapIsTheSameEveryTimeAndStaysInside) {
  const Sample sample{{0.01, -0.02, 0.03, 0.00, 0.015, 0.02, -0.01, 0.005}, 0};
  const Interval first = BootstrapInterval(sample, 0.05);
  EXPECT_EQ(first.low, BootstrapInterval(sample, 0.05).low);
  EXPECT_GE(first.low, -0.02);
  EXPECT_LE(first.high, 0.03);
  // Wider for a smaller alpha.
  EXPECT_LT(BootstrapInterval(sample, 0.005).low, first.low);
}

TEST(SlotEffect, IsTakenOutExactlyAndNotOutOfFewPairs) {
  const bool turns[] = {true, false, true, false};
  // Truth 0.1; whoever comes second loses 0.03.
  const std::vector<double> values = {0.13, 0.07, 0.13, 0.07};
  const Sample sample = WithoutSlotEffect(values, turns);
  for (const double value : sample.values) EXPECT_NEAR(value, 0.1, 1e-12);
  EXPECT_EQ(sample.fitted, 1);
  const Sample few = WithoutSlotEffect(std::span(values).first(3), std::span(turns).first(3));
  EXPECT_EQ(few.fitted, 0);
  EXPECT_EQ(few.values[0], 0.13);
  const bool never[] = {true, true, true, true};
  EXPECT_EQ(WithoutSlotEffect(values, never).fitted, 0);
}

}  // namespace
}  // namespace hone::stats
