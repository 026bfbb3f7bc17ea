// SPDX-License-Identifier: Apache-2.0
#include "collect/run_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "collect/process_facts.h"

namespace hone::collect {
namespace {

// Until no allocation of any size can be met, as in a program that has run out of memory.
bool SpendAllMemory() {
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_AS, &none) != 0) return false;
  static void* volatile last = nullptr;
  // Every size that the heap keeps a list of its own for.
  for (std::size_t size = 1u << 20; size >= 8; size -= size > 4096 ? size / 2 : 8) {
    while (void* const piece = std::malloc(size)) last = piece;
  }
  return last != nullptr;
}

class RunFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hone_run_file_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The exit status of a child that runs `steps`; 77: memory cannot be taken from it here.
  template <typename Steps>
  int InChild(const Steps& steps) {
    const pid_t pid = fork();
    if (pid == 0) _exit(steps());
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string folder_;
};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

TEST_F(RunFileTest, AProgramWithoutMemoryIsNotRecordedAndRunsOn) {
  EXPECT_EQ(InChild([&] {
              static RunFile file;
              if (!SpendAllMemory()) return 1;
              return file.Create(folder_.c_str()) ? 2 : 0;
            }),
            0);
}

TEST_F(RunFileTest, AProgramThatRunsOutOfMemoryLosesRowsAndRunsOn) {
  EXPECT_EQ(InChild([&] {
              static RunFile file;
              if (!file.Create(folder_.c_str())) return 1;
              if (!SpendAllMemory()) return 2;
              WriteProcessFacts(file);
              for (int i = 0; i < 2'000; ++i) file.Loss("operators", 1, "a text of some length");
              file.WriteAnchor();
              file.Flush(true);
              return file.failed() ? 3 : 0;
            }),
            0);
}

#endif

TEST_F(RunFileTest, OnePidThatExecsHasAFileEachTime) {
  RunFile first, second;
  ASSERT_TRUE(first.Create(folder_.c_str()));
  ASSERT_TRUE(second.Create(folder_.c_str()));
  const std::string stem = folder_ + "/process-" + std::to_string(getpid());
  EXPECT_TRUE(std::filesystem::exists(stem + ".hone"));
  EXPECT_TRUE(std::filesystem::exists(stem + "-2.hone"));
}

TEST_F(RunFileTest, AFolderThatIsGone) {
  RunFile file;
  EXPECT_FALSE(file.Create((folder_ + "/gone").c_str()));
}

}  // namespace
}  // namespace hone::collect
