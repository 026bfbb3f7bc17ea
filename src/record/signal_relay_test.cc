// SPDX-License-Identifier: Apache-2.0
#include "record/signal_relay.h"

#include <gtest/gtest.h>

namespace hone::record {
namespace {

using namespace std::chrono_literals;
using Numbers = std::vector<int>;

class SignalRelayTest : public ::testing::Test {
 protected:
  // As the session does it: the sentinel is asked as soon as it may be, and has nothing to say.
  Numbers After(std::chrono::milliseconds pause) {
    now_ += pause;
    if (relay_.Asks(now_)) relay_.Answered();
    return relay_.PassOn(now_);
  }
  SignalRelay relay_;
  SignalRelay::Time now_ = SignalRelay::Time() + 1h;
};

TEST_F(SignalRelayTest, WhatTheLauncherAloneGotIsPassedOnOnce) {
  relay_.Took(SIGINT, now_);
  EXPECT_EQ(After(99ms), Numbers{});
  EXPECT_EQ(relay_.next(), now_ + 1ms);
  EXPECT_EQ(After(1ms), Numbers{SIGINT});
  EXPECT_EQ(After(10s), Numbers{});
  EXPECT_FALSE(relay_.next());
}

TEST_F(SignalRelayTest, WhatAllGotIsNotPassedOnWhicheverComesFirst) {
  relay_.Took(SIGINT, now_);
  relay_.Reported(SIGINT, now_ + 50ms);
  EXPECT_FALSE(relay_.next());
  EXPECT_EQ(After(1s), Numbers{});
  relay_.Reported(SIGTERM, now_);
  relay_.Took(SIGTERM, now_ + 500ms);
  EXPECT_EQ(After(2s), Numbers{});
}

TEST_F(SignalRelayTest, AReportIsAboutItsOwnSignalOnly) {
  relay_.Took(SIGINT, now_);
  relay_.Took(SIGTERM, now_);
  relay_.Took(SIGUSR1, now_);
  relay_.Reported(SIGTERM, now_);
  EXPECT_EQ(After(100ms), (Numbers{SIGINT, SIGUSR1}));
}

TEST_F(SignalRelayTest, TwoToTheLauncherAreTwo) {
  relay_.Took(SIGUSR1, now_);
  relay_.Took(SIGUSR1, now_ + 10ms);
  EXPECT_EQ(After(100ms), Numbers{SIGUSR1});
  EXPECT_EQ(After(10ms), Numbers{SIGUSR1});
}

// timeout(1): the child, then the child's group.
TEST_F(SignalRelayTest, OneReportStandsForWhatCameWithIt) {
  relay_.Took(SIGTERM, now_);
  relay_.Took(SIGTERM, now_ + 1ms);
  relay_.Reported(SIGTERM, now_ + 2ms);
  relay_.Took(SIGTERM, now_ + 3ms);
  EXPECT_EQ(After(5s), Numbers{});
}

TEST_F(SignalRelayTest, AReportDoesNotStandForWhatComesLater) {
  relay_.Reported(SIGTERM, now_);
  relay_.Took(SIGTERM, now_);
  relay_.Took(SIGTERM, now_ + 101ms);
  EXPECT_EQ(After(201ms), Numbers{SIGTERM});
  relay_.Reported(SIGTERM, now_);  // somebody told the sentinel alone
  relay_.Took(SIGTERM, now_ + 2s);
  EXPECT_EQ(After(3s), Numbers{SIGTERM});
}

// A busy machine: the sentinel comes to its signal long after it was sent.
TEST_F(SignalRelayTest, NothingIsDecidedBeforeTheSentinelHasAnswered) {
  relay_.Took(SIGINT, now_);
  now_ += 100ms;
  EXPECT_TRUE(relay_.Asks(now_));
  EXPECT_FALSE(relay_.Asks(now_));
  EXPECT_EQ(relay_.PassOn(now_ + 900ms), Numbers{});
  relay_.Reported(SIGINT, now_ + 900ms);
  relay_.Answered();
  EXPECT_EQ(relay_.PassOn(now_ + 900ms), Numbers{});
}

TEST_F(SignalRelayTest, AStoppedSentinelIsNotWaitedForForever) {
  relay_.Took(SIGINT, now_);
  now_ += 100ms;
  EXPECT_TRUE(relay_.Asks(now_));
  EXPECT_EQ(relay_.next(), now_ + 1s);
  EXPECT_EQ(relay_.PassOn(now_ + 1s), Numbers{SIGINT});
  relay_.Answered();  // after all
  EXPECT_EQ(relay_.PassOn(now_ + 2s), Numbers{});
}

}  // namespace
}  // namespace hone::record
