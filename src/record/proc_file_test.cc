// SPDX-License-Identifier: Apache-2.0
#include "record/proc_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hone::record {
namespace {

TEST(ProcFile, ReadsAnewEachTime) {
  const ProcFile file("/proc/self/stat");
  ASSERT_TRUE(file.is_open());
  const auto before = ParseStat(file.Read());
  ASSERT_TRUE(before);
  EXPECT_EQ(before->parent, static_cast<std::uint32_t>(::getppid()));
  EXPECT_GT(before->rss_pages, 0U);
  // A page that is touched for the first time is a fault.
  std::vector<char> pages(64U << 20, 1);
  const auto after = ParseStat(file.Read());
  ASSERT_TRUE(after);
  EXPECT_GT(after->minor_faults + after->rss_pages, before->minor_faults + before->rss_pages);
  EXPECT_EQ(pages[pages.size() / 2], 1);
  EXPECT_EQ(ProcFile("/proc/self/no_such_file").Read(), "");
}

TEST(ProcFile, StatOfANameThatLooksLikeStat) {
  const auto stat = ParseStat(
      "42 (a) R 1 (b) S 7 42 42 0 -1 4194560 100 0 3 0 250 50 0 0 -20 0 12 0 9000 1000000 512 1 1 "
      "1");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 7U);
  EXPECT_EQ(stat->minor_faults, 100U);
  EXPECT_EQ(stat->major_faults, 3U);
  EXPECT_EQ(stat->cpu_ticks, 300U);
  EXPECT_EQ(stat->threads, 12U);
  EXPECT_EQ(stat->start_ticks, 9000U);
  EXPECT_EQ(stat->rss_pages, 512U);
  EXPECT_FALSE(ParseStat(""));
  EXPECT_FALSE(ParseStat("42 (a)"));
  EXPECT_FALSE(ParseStat("42 (a) R 1 42 42"));
}

TEST(ProcFile, NumbersByName) {
  const char* const io = "rchar: 10\nwchar: 20\nread_bytes: 30\ncancelled_write_bytes: 5\n";
  EXPECT_EQ(FindNumber(io, "read_bytes"), 30U);
  EXPECT_EQ(FindNumber(io, "write_bytes"), std::nullopt);  // only at the start of a line
  EXPECT_EQ(FindNumber("MemAvailable:   123 kB\n", "MemAvailable"), 123U);
  EXPECT_EQ(FindNumber("nr_throttled 2\nthrottled_usec 77", "throttled_usec"), 77U);
  EXPECT_EQ(FirstNumber("max 100000"), std::nullopt);
  EXPECT_EQ(FirstNumber("200000 100000\n"), 200000U);
}

TEST(ProcFile, PressureScheduleAndLoad) {
  EXPECT_EQ(ParsePressure("some avg10=0.00 avg60=0.07 avg300=0.29 total=10216\nfull avg10=0.00 "
                          "avg60=0.00 avg300=0.00 total=3\n"),
            10216U);
  EXPECT_EQ(ParsePressure(""), std::nullopt);
  const auto schedule = ParseSchedule("110935 95922 2\n");
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->ran_ns, 110935U);
  EXPECT_EQ(schedule->waited_ns, 95922U);
  EXPECT_EQ(ParseRunnable("0.04 0.05 0.47 3/86 8776\n"), 3U);
  EXPECT_EQ(ParseRunnable("0.04"), std::nullopt);
}

TEST(ProcFile, CoresThatCount) {
  const char* const text =
      "cpu  30 0 0 300 0 0 0 0 0 0\ncpu0 10 1 2 100 4 5 6 7 0 0\ncpu1 20 0 0 200 0 0 0 0 0 0\n"
      "intr 1 2 3\nprocs_running 5\n";
  std::array<bool, 1024> cores{};
  cores[0] = true;
  const auto first = ParseSystemStat(text, cores);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->busy, 10U + 1 + 2 + 5 + 6);
  EXPECT_EQ(first->idle, 100U);
  EXPECT_EQ(first->waiting_for_disk, 4U);
  EXPECT_EQ(first->stolen, 7U);
  cores[1] = true;
  EXPECT_EQ(ParseSystemStat(text, cores)->busy, 44U);
  EXPECT_FALSE(ParseSystemStat("intr 1\n", cores));
}

}  // namespace
}  // namespace hone::record
