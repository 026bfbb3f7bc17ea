// SPDX-License-Identifier: Apache-2.0
#include "record/machine_sampler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "record/proc_file.h"
#include "wire/file_reader.h"

namespace hone::record {
namespace {

namespace fs = std::filesystem;

struct Contents {
  std::map<std::string, std::vector<double>> counters;  // "track/series"
  std::map<std::string, std::string> info;
  bool ended = false;
};

Contents ReadBack(const std::string& path) {
  Contents contents;
  Result<wire::FileReader> reader = wire::FileReader::Open(path);
  EXPECT_TRUE(reader);
  if (!reader) return contents;
  std::map<std::int64_t, std::string> names;
  std::int64_t last = 0;
  for (wire::Chunk chunk; reader->Next(chunk);) {
    if (chunk.table() == "strings") {
      for (std::size_t i = 0; i < chunk.rows(); ++i) {
        names[chunk.Integers("id")[i]] = std::string(chunk.Texts("text")[i]);
      }
    } else if (chunk.table() == "info") {
      for (std::size_t i = 0; i < chunk.rows(); ++i) {
        contents.info[std::string(chunk.Texts("key")[i])] = std::string(chunk.Texts("value")[i]);
      }
    } else if (chunk.table() == "counters") {
      for (std::size_t i = 0; i < chunk.rows(); ++i) {
        const std::string track = names[chunk.Integers("track")[i]];
        const std::string series = names[chunk.Integers("series")[i]];
        EXPECT_FALSE(track.empty() || series.empty()) << "a name stands after its use";
        EXPECT_GE(chunk.Integers("time")[i], last);
        last = chunk.Integers("time")[i];
        contents.counters[track + "/" + series].push_back(chunk.Doubles("value")[i]);
      }
    } else if (chunk.table() == "marks") {
      contents.ended = true;
    }
  }
  EXPECT_EQ(reader->damage().chunks, 0U);
  return contents;
}

class MachineSamplerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hone_sampler_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(MachineSamplerTest, FollowsTheProgramAndItsChildren) {
  // A program with a child, both asleep.
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t program = ::fork();
  if (program == 0) {
    const pid_t child = ::fork();
    if (child != 0) {
      const pid_t told = child;
      if (::write(ready[1], &told, sizeof told) < 0) ::_exit(1);
    }
    for (;;) ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(ready[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));

  Result<MachineSampler> sampler =
      MachineSampler::Create(folder_.string(), {{"command", "sleep 1"}});
  ASSERT_TRUE(sampler);
  for (int i = 0; i < 3; ++i) sampler->Sample(static_cast<std::uint32_t>(program), {});
  ::kill(child, SIGKILL);
  ::kill(program, SIGKILL);
  ::waitpid(program, nullptr, 0);
  // The child dies in its own time, and stays a zombie where nobody adopts it.
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  for (int i = 0; i < 1000; ++i) {
    const auto now = ParseStat(ReadOnce(stat.c_str()));
    if (!now || now->state == 'Z') break;
    ::usleep(10'000);
  }
  for (int i = 0; i < 3; ++i) sampler->Sample(static_cast<std::uint32_t>(program), {});
  sampler->Finish({{"exit_code", "137"}});

  const Contents contents = ReadBack((folder_ / "machine.hone").string());
  EXPECT_TRUE(contents.ended);
  EXPECT_EQ(contents.info.at("command"), "sleep 1");
  EXPECT_EQ(contents.info.at("exit_code"), "137");
  for (const pid_t pid : {program, child}) {
    const std::string track = "process " + std::to_string(pid);
    ASSERT_EQ(contents.counters.count(track + "/rss_bytes"), 1U) << track;
    // Not after its end, and never as 0.
    EXPECT_EQ(contents.counters.at(track + "/rss_bytes").size(), 3U);
    EXPECT_GT(contents.counters.at(track + "/rss_bytes")[0], 0);
    EXPECT_EQ(contents.counters.at(track + "/threads")[0], 1);
  }
  // Those the doctor looks for.
  ASSERT_EQ(contents.counters.at("machine/cpu_cores").size(), 6U);
  EXPECT_GT(contents.counters.at("machine/cpu_cores")[0], 0);
  EXPECT_EQ(contents.counters.count("machine/runnable_threads"), 1U);
}

TEST_F(MachineSamplerTest, NeverOverAnothersFile) {
  ASSERT_TRUE(MachineSampler::Create(folder_.string(), {}));
  EXPECT_FALSE(MachineSampler::Create(folder_.string(), {}));
}

}  // namespace
}  // namespace hone::record
