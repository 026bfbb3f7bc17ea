// SPDX-License-Identifier: Apache-2.0
#include "import/hone/run_folder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hone::importer::hone_file {
namespace {

struct Said {
  int pid, ppid, rank;
  std::uint64_t rows = 1000;
  std::int64_t from_s = 0, to_s = 10;
  bool worker = false;
};

ProcessFile FileOf(const Said& said) {
  ProcessFile file;
  file.info["pid"] = std::to_string(said.pid);
  file.info["ppid"] = std::to_string(said.ppid);
  if (said.rank >= 0) file.info["rank"] = std::to_string(said.rank);
  if (said.worker) file.info["role"] = "loader-worker";
  file.host_rows = said.rows;
  for (const std::int64_t s : {said.from_s, said.to_s}) {
    file.clock.Add(s * 1'000'000'000, s * 1'000'000'000, s * 1'000'000'000);
  }
  Mark closed;
  closed.kind = wire::MarkKind::kWindowClose;
  file.marks.push_back(closed);
  return file;
}

struct Found {
  std::vector<std::int64_t> leaders, members, others;  // pids
};

Found Find(const std::vector<Said>& processes) {
  std::vector<ProcessFile> files;
  for (const Said& said : processes) files.push_back(FileOf(said));
  std::vector<std::size_t> others;
  Found found;
  for (const Job& job : FindJobs(files, &others)) {
    found.leaders.push_back(files[job.leader].Number("pid"));
    for (const std::size_t member : job.members) {
      found.members.push_back(files[member].Number("pid"));
    }
  }
  for (const std::size_t i : others) found.others.push_back(files[i].Number("pid"));
  return found;
}

using Pids = std::vector<std::int64_t>;

TEST(RunFolder, RanksOfOneJobLead) {
  const Found found = Find({{10, 9, 0}, {11, 9, 1}, {12, 10, 0, 400, 0, 10, true}});
  EXPECT_EQ(found.leaders, (Pids{10, 11}));
  EXPECT_EQ(found.members, (Pids{12}));
  EXPECT_EQ(found.others, Pids{});
}

// Never a rank of one with a rank of the other, nor the other's loaders.
TEST(RunFolder, OfTwoJobsSideBySideTheBusierIsTheOne) {
  const Found found = Find({{10, 8, 0, 900},
                            {11, 8, 1, 1200},
                            {20, 9, 0, 1000},
                            {21, 9, 1, 1250},
                            {22, 10, 0, 300, 0, 10, true},
                            {23, 20, 0, 300, 0, 10, true}});
  EXPECT_EQ(found.leaders, (Pids{20, 21}));
  EXPECT_EQ(found.members, (Pids{23}));
  EXPECT_EQ(found.others, (Pids{10, 11}));
}

// The launcher starts its ranks again.
TEST(RunFolder, RanksThatWereStartedAgainAreOfTheSameJob) {
  const Found found = Find({{10, 9, 0, 1000, 0, 4}, {11, 9, 0, 1000, 5, 10}});
  EXPECT_EQ(found.leaders, (Pids{11}));
  EXPECT_EQ(found.others, Pids{});
}

// One after the other, by launchers of their own: the later one, as far as it was recorded.
TEST(RunFolder, JobsOneAfterTheOtherAreNotSideBySide) {
  const Found found = Find({{10, 8, 0, 1000, 0, 4}, {20, 9, 0, 1000, 5, 10}});
  EXPECT_EQ(found.leaders, (Pids{20}));
  EXPECT_EQ(found.others, Pids{});
}

// What a rank starts has its rank in the environment.
TEST(RunFolder, WhatARankStartsIsNoOtherJob) {
  const Found found = Find({{10, 9, 0}, {11, 10, 0, 800}});
  EXPECT_EQ(found.leaders, (Pids{10}));
  EXPECT_EQ(found.members, (Pids{11}));
  EXPECT_EQ(found.others, Pids{});
}

}  // namespace
}  // namespace hone::importer::hone_file
