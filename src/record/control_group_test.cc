// SPDX-License-Identifier: Apache-2.0
#include "record/control_group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hone::record {
namespace {

namespace fs = std::filesystem;

class ControlGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    top_ = fs::temp_directory_path() / ("hone_groups_" + std::to_string(::getpid()));
    fs::create_directories(top_ / "outer/inner");
  }
  void TearDown() override { fs::remove_all(top_); }
  void Put(const std::string& name, const std::string& text) const {
    std::ofstream(top_ / name) << text;
  }
  fs::path top_;
};

TEST(FindGroups, VersionTwo) {
  const GroupFolders found = FindGroups(
      "0::/system.slice/job\n",
      "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  EXPECT_TRUE(found.cpu_v2);
  EXPECT_EQ(found.cpu, "/sys/fs/cgroup/system.slice/job");
  EXPECT_EQ(found.memory, found.cpu);
  EXPECT_EQ(found.cpu_mount, "/sys/fs/cgroup");
}

TEST(FindGroups, VersionOneAndMixed) {
  const GroupFolders found =
      FindGroups("4:memory:/a/b\n2:cpu,cpuacct:/a\n0::/\n",
                 "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                 "35 31 0:32 /a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                 "36 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  EXPECT_FALSE(found.cpu_v2);
  EXPECT_EQ(found.cpu, "/sys/fs/cgroup/cpu,cpuacct/a");
  // The mount shows the tree from /a on.
  EXPECT_EQ(found.memory, "/sys/fs/cgroup/memory/b");
  EXPECT_TRUE(FindGroups("", "").cpu.empty());
  EXPECT_TRUE(FindGroups("garbage\n::\n", "x - y\n").cpu.empty());
}

TEST_F(ControlGroupTest, TheTightestLimitAroundCounts) {
  Put("outer/cpu.max", "150000 100000\n");
  Put("outer/cpu.stat", "usage_usec 9\nthrottled_usec 5000\n");
  Put("outer/inner/cpu.max", "max 100000\n");
  Put("outer/inner/cpu.stat", "usage_usec 9\nthrottled_usec 1\n");
  Put("outer/memory.max", "max\n");
  Put("outer/inner/memory.max", "1048576\n");
  Put("outer/inner/memory.current", "4096\n");
  GroupFolders folders;
  folders.cpu = folders.memory = (top_ / "outer/inner").string();
  folders.cpu_mount = folders.memory_mount = top_.string();
  folders.cpu_v2 = folders.memory_v2 = true;
  const ControlGroup group(folders);
  ASSERT_TRUE(group.core_limit());
  EXPECT_DOUBLE_EQ(*group.core_limit(), 1.5);
  EXPECT_EQ(group.ThrottledUsec(), 5000U);  // of the group that has the quota
  EXPECT_DOUBLE_EQ(group.memory_limit().value_or(0), 1048576);
  EXPECT_EQ(group.MemoryBytes(), 4096U);
  Put("outer/cpu.stat", "usage_usec 9\nthrottled_usec 7000\n");
  EXPECT_EQ(group.ThrottledUsec(), 7000U);
}

TEST_F(ControlGroupTest, VersionOneSpeaksNanosecondsAndHugeNumbers) {
  Put("cpu.cfs_quota_us", "-1\n");
  Put("cpu.cfs_period_us", "100000\n");
  Put("cpu.stat", "nr_periods 0\nthrottled_time 3000000\n");
  Put("memory.limit_in_bytes", "9223372036854771712\n");
  Put("memory.usage_in_bytes", "77\n");
  GroupFolders folders;
  folders.cpu = folders.memory = folders.cpu_mount = folders.memory_mount = top_.string();
  const ControlGroup none(folders);
  EXPECT_FALSE(none.core_limit());
  EXPECT_FALSE(none.memory_limit());
  EXPECT_EQ(none.ThrottledUsec(), 3000U);
  EXPECT_EQ(none.MemoryBytes(), 77U);
  Put("cpu.cfs_quota_us", "50000\n");
  EXPECT_DOUBLE_EQ(ControlGroup(folders).core_limit().value_or(0), 0.5);
}

TEST(ControlGroup, NothingMountedIsNothingKnown) {
  const ControlGroup group{GroupFolders()};
  EXPECT_FALSE(group.core_limit());
  EXPECT_FALSE(group.ThrottledUsec());
  EXPECT_FALSE(group.MemoryBytes());
}

}  // namespace
}  // namespace hone::record
