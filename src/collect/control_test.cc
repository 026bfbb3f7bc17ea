// SPDX-License-Identifier: Apache-2.0
#include "collect/control.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "record/control.h"
#include "record/proc_file.h"

namespace hone::collect {
namespace {

using wire::ProcessState;

// A page as the launcher makes it, in the middle of a run.
class ControlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hone_control_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    Result<record::Control> made = record::Control::Create(folder_, 30);
    ASSERT_TRUE(made);
    launcher_.emplace(std::move(*made));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A process that takes a slot, is then in `state`, and lives until Kill.
  pid_t Start(ProcessState state, std::uint32_t steps = 0, std::uint32_t window = 0) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Control control;
      control.Attach(folder_.c_str());
      control.Steps(steps, window);
      control.Set(state);
      const char answer = control.crowded_out() ? 'n' : 'y';
      if (write(ready[1], &answer, 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ready[1]);
    EXPECT_EQ(read(ready[0], &answer_, 1), 1);
    close(ready[0]);
    return pid;
  }
  static void Kill(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  std::string folder_;
  std::optional<record::Control> launcher_;
  char answer_ = 0;
};

TEST_F(ControlTest, NobodyWaitsForTheStepsOfOneThatWasKilled) {
  Control worker;
  worker.Attach(folder_.c_str());
  const pid_t trainer = Start(ProcessState::kStepping, 12, 1);
  launcher_->Read();
  EXPECT_TRUE(worker.SomebodySteps());
  Kill(trainer);
  // Told once as it was, so that its steps are known; for the recorders it has ended.
  const std::vector<record::SlotView> slots = launcher_->Read();
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[1].state, ProcessState::kStepping);
  EXPECT_FALSE(slots[1].alive);
  EXPECT_FALSE(worker.SomebodySteps());
  EXPECT_EQ(launcher_->Read()[1].state, ProcessState::kEnded);
  EXPECT_EQ(launcher_->Read()[1].steps, 12u);
}

TEST_F(ControlTest, OneThatWasNeverSeenToLiveIsNotTakenForDead) {
  const pid_t trainer = Start(ProcessState::kStepping, 12, 1);
  Kill(trainer);  // stands for one in a container with pids of its own
  launcher_->Read();
  EXPECT_EQ(launcher_->Read()[0].state, ProcessState::kStepping);
}

TEST_F(ControlTest, OneWhoseFirstThreadHasEndedLives) {
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Control control;
    control.Attach(folder_.c_str());
    control.Set(ProcessState::kStepping);
    std::thread([] {
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);
  }
  const auto state = [pid] {
    const auto stat =
        record::ParseStat(record::ReadOnce(("/proc/" + std::to_string(pid) + "/stat").c_str()));
    return stat ? stat->state : '?';
  };
  while (state() != 'Z' && state() != '?') usleep(1000);
  const std::vector<record::SlotView> slots = launcher_->Read();
  ASSERT_EQ(slots.size(), 1u);
  EXPECT_TRUE(slots[0].alive);
  Kill(pid);
  EXPECT_FALSE(launcher_->Read()[0].alive);
}

TEST_F(ControlTest, TheSlotsOfEndedProcessesAreTakenAgain) {
  std::vector<pid_t> pids;
  for (std::uint32_t i = 0; i < wire::ControlPage::kSlots; ++i) {
    pids.push_back(Start(ProcessState::kStepping, 3, 2));
    ASSERT_EQ(answer_, 'y');
  }
  launcher_->Read();
  const pid_t without = Start(ProcessState::kFollowing);
  EXPECT_EQ(answer_, 'n');
  Kill(pids[7]);
  launcher_->Read();  // sees that it is gone
  const pid_t late = Start(ProcessState::kFollowing);
  EXPECT_EQ(answer_, 'y');
  const std::vector<record::SlotView> slots = launcher_->Read();
  EXPECT_EQ(slots[7].pid, static_cast<std::uint32_t>(late));
  EXPECT_EQ(slots[7].steps, 0u);
  EXPECT_EQ(slots[7].window, 0u);
  EXPECT_TRUE(slots[7].alive);
  std::set<std::uint32_t> owners;
  for (const record::SlotView& slot : slots) owners.insert(slot.pid);
  EXPECT_EQ(owners.size(), wire::ControlPage::kSlots);
  pids[7] = late;
  pids.push_back(without);
  for (const pid_t pid : pids) Kill(pid);
}

}  // namespace
}  // namespace hone::collect
