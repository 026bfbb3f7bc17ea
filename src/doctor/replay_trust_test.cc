// SPDX-License-Identifier: Apache-2.0
#include "doctor/replay_trust.h"

#include <gtest/gtest.h>

#include <limits>

namespace hone::doctor {
namespace {

using analyze::TrustFacts;
using analyze::Verdict;

TEST(ReplayTrust, AReplayThatIsOffLowersIt) {
  TrustFacts near, off, wrong;
  DoubtReplay(1e6, 1.02e6, near);
  EXPECT_TRUE(near.reasons.empty());
  DoubtReplay(1e6, 0.9e6, off);
  EXPECT_EQ(off.verdict, Verdict::kPartial);
  EXPECT_EQ(off.reasons.at(0).text.find("the replay takes 900 us for the measured step of 1.00 ms"
                                        " (10.0 % less)"),
            0U)
      << off.reasons[0].text;
  wrong.verdict = Verdict::kPartial;
  wrong.reasons = {{Verdict::kPartial, "another"}, {Verdict::kGood, "a note"}};
  DoubtReplay(1e6, 1.5e6, wrong);
  EXPECT_EQ(wrong.verdict, Verdict::kPoor);
  EXPECT_EQ(wrong.reasons.at(0).lowers_to, Verdict::kPoor);  // worst first
  EXPECT_EQ(wrong.reasons.size(), 3U);
}

TEST(ReplayTrust, AStepWithoutALengthSaysNothing) {
  TrustFacts trust;
  DoubtReplay(0, 1e6, trust);
  DoubtReplay(1e6, std::numeric_limits<double>::infinity(), trust);
  EXPECT_EQ(trust.verdict, Verdict::kGood);
}

}  // namespace
}  // namespace hone::doctor
