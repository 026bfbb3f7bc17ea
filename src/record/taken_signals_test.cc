// SPDX-License-Identifier: Apache-2.0
#include "record/taken_signals.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace hone::record {
namespace {

constexpr int kNumbers[] = {SIGUSR1, SIGUSR2};

bool Blocked(int number) {
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  return ::sigismember(&mask, number) == 1;
}

bool Ignored(int number) {
  struct sigaction action {};
  ::sigaction(number, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

TEST(TakenSignals, AreReadAndGivenBack) {
  {
    Result<TakenSignals> taken = TakenSignals::Take(kNumbers);
    ASSERT_TRUE(taken);
    EXPECT_TRUE(Blocked(SIGUSR1) && Blocked(SIGUSR2) && Blocked(SIGCHLD));
    EXPECT_TRUE(Ignored(SIGXFSZ));
    ::raise(SIGUSR1);
    signalfd_siginfo info{};
    EXPECT_EQ(::read(taken->fd(), &info, sizeof info), static_cast<ssize_t>(sizeof info));
    EXPECT_EQ(info.ssi_signo, static_cast<std::uint32_t>(SIGUSR1));
    EXPECT_FALSE(::sigismember(&taken->inherited().mask, SIGUSR1));
  }
  EXPECT_FALSE(Blocked(SIGUSR1) || Blocked(SIGCHLD));
  EXPECT_FALSE(Ignored(SIGXFSZ));
}

TEST(TakenSignals, WhatIsIgnoredStaysSo) {
  std::signal(SIGUSR2, SIG_IGN);
  {
    Result<TakenSignals> taken = TakenSignals::Take(kNumbers);
    ASSERT_TRUE(taken);
    EXPECT_TRUE(Blocked(SIGUSR1));
    EXPECT_FALSE(Blocked(SIGUSR2));
    EXPECT_TRUE(Ignored(SIGUSR2));
  }
  std::signal(SIGUSR2, SIG_DFL);
}

TEST(TakenSignals, NothingIsTakenWhereNoDescriptorIsLeft) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result<TakenSignals> taken = TakenSignals::Take(kNumbers);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(taken);
  EXPECT_FALSE(Blocked(SIGUSR1));
  EXPECT_FALSE(Ignored(SIGXFSZ));
}

}  // namespace
}  // namespace hone::record
