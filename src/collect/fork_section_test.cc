// SPDX-License-Identifier: Apache-2.0
#include "collect/fork_section.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace hone::collect {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::nanoseconds kPatience(kForkPatienceNs);

// What the child says by its exit code.
template <typename Child>
int Forked(const Child& child) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(10);
    _exit(child());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

// Whether a section can be had at once: the lock behind it is nobody's.
int Free() {
  const Clock::time_point before = Clock::now();
  const ForkSection section;
  return Clock::now() - before < kPatience / 2 ? 0 : 1;
}

class ForkSectionTest : public testing::Test {
 protected:
  void SetUp() override { HoldForks(); }
};

TEST_F(ForkSectionTest, AForkWaitsUntilAnotherThreadIsOut) {
  std::atomic<bool> in{false}, out{false};
  std::thread other([&] {
    const ForkSection section;
    in = true;
    std::this_thread::sleep_for(kPatience / 10);
    out = true;
  });
  while (!in) std::this_thread::yield();
  EXPECT_EQ(Forked([&] { return out ? Free() : 2; }), 0);
  other.join();
  EXPECT_EQ(Free(), 0);
}

TEST_F(ForkSectionTest, AForkDoesNotWaitForEver) {
  std::atomic<bool> in{false}, enough{false};
  std::thread other([&] {
    const ForkSection section;
    in = true;
    while (!enough) std::this_thread::yield();
  });
  while (!in) std::this_thread::yield();
  const Clock::time_point before = Clock::now();
  EXPECT_EQ(Forked([] { return Free(); }), 0);
  EXPECT_GE(Clock::now() - before, kPatience);
  enough = true;
  other.join();
  EXPECT_EQ(Free(), 0);
}

TEST_F(ForkSectionTest, AForkInsideOfOneDoesNotWait) {
  const Clock::time_point before = Clock::now();
  {
    std::optional<ForkSection> outer;
    outer.emplace();
    const ForkSection inner;
    EXPECT_EQ(Forked([&] { return Free(); }), 0);
  }
  EXPECT_LT(Clock::now() - before, kPatience);
  EXPECT_EQ(Free(), 0);
}

// The child of a fork in a handler returns into the section, which is still its own.
TEST_F(ForkSectionTest, AForkInASignalHandlerInsideOfOne) {
  static pid_t child = -1;
  signal(SIGUSR1, [](int) { child = fork(); });
  {
    const ForkSection section;
    raise(SIGUSR1);
  }
  if (child == 0) _exit(Free());
  signal(SIGUSR1, SIG_DFL);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Free(), 0);
}

TEST_F(ForkSectionTest, ThreadsThatForkAtOnce) {
  std::atomic<int> bad{0};
  const auto forks = [&] {
    for (int i = 0; i < 20; ++i) bad += Forked([] { return Free(); }) == 0 ? 0 : 1;
  };
  std::thread one(forks), two(forks);
  one.join();
  two.join();
  EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace hone::collect
