// SPDX-License-Identifier: Apache-2.0
#include "tune/journal.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include "bench/child.h"
#include "tune/simulated_test.h"
#include "tune/trial_json.h"

namespace hone::tune {
namespace {

const JournalHead kHead = {{"python", "train.py", "--lr", "0.1"}, "0.1.0", "--budget 10m"};

class Folder {
 public:
  Folder() { HONE_CHECK(::mkdtemp(name_.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(name_); }
  std::string File() const { return name_ + "/tune.jsonl"; }

 private:
  std::string name_ = testing::TempDir() + "hone-journal-XXXXXX";
};

TEST(JournalLock, OneSearchAtATimeInAFolder) {
  const Folder folder;
  const std::string path = folder.File();
  {
    const Result<JournalLock> first = JournalLock::Take(path);
    ASSERT_TRUE(first) << first.error().message();
    const Result<JournalLock> second = JournalLock::Take(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message(), std::filesystem::path(path).parent_path().string() +
                                            " is in use by process " + std::to_string(::getpid()) +
                                            " (a search is running there)");
    EXPECT_TRUE(Journal::Open(path, kHead)) << "the file is there and empty";
  }
  EXPECT_TRUE(JournalLock::Take(path));
}

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

Trial Rich() {
  Trial trial;
  trial.order.recipe = {{"loader-workers", "{\"num_workers\":8}"}, {"tf32", "{}"}};
  trial.order.steps = 66;
  trial.order.seed_offset = 2;
  trial.purpose = "forward";
  trial.ending = Ending::kRecompiling;
  trial.error = "two\nlines \"quoted\"";
  bench::Steps steps;
  steps.count = 66;
  steps.mean_s = 0.1;
  steps.data_wait_share = 0.25;
  trial.steps = steps;
  trial.rate = 1.0 / 3;
  trial.losses = {1.5, std::numeric_limits<double>::quiet_NaN(),
                  std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                  1e-30};
  trial.gradient_norms = {{1, 3.25}, {2, std::numeric_limits<double>::infinity()}};
  trial.peak_device_bytes = 123456789012;
  trial.device_share = 0.5;
  trial.batches = Batches{64, "a", "b", "c", true, true, 0.1, 0.9};
  trial.effects = {{"tf32", "applied", 3, ""}};
  trial.patch = "--- a\n+++ b\n";
  trial.left = true;
  return trial;
}

TEST(Journal, ATrialComesBackAsItWas) {
  const Trial trial = Rich();
  Description description;
  description.candidates.push_back({{"x", "{\"a\":1}"},
                                    "t",
                                    Risk::kNumeric,
                                    "g",
                                    {"r"},
                                    true,
                                    {"p"},
                                    1.5,
                                    2.5,
                                    3,
                                    true,
                                    "c",
                                    "w"});
  description.inapplicable.push_back({"y", "t", "why"});
  description.advice.push_back({"t", "w", "c", "x.py:3"});
  const std::string line = TrialLine(trial, &description);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  simdjson::dom::parser parser;
  bench::JsonValue value;
  ASSERT_EQ(parser.parse(line).get(value), simdjson::SUCCESS);
  const Trial read = ReadTrialLine(value);
  EXPECT_TRUE(read.from_journal);
  // Every member: written again it is the same line.
  EXPECT_EQ(TrialLine(read, &description), line);
  EXPECT_TRUE(std::isnan(read.losses[1]));
  EXPECT_EQ(read.losses[2], std::numeric_limits<double>::infinity());
  EXPECT_EQ(KeyOf(read.order), KeyOf(trial.order));
  EXPECT_EQ(read.ending, Ending::kRecompiling);
  EXPECT_EQ(*read.rate, 1.0 / 3);
}

TEST(Journal, CutAnywhereInItsLastLineItGoesOnAndTellsIt) {
  const Folder folder;
  {
    auto journal = Journal::Open(folder.File(), kHead);
    ASSERT_TRUE(journal) << journal.error().message();
    Trial other = Rich();
    other.order.seed_offset = 0;
    ASSERT_TRUE((*journal)->Add(other, nullptr));
    ASSERT_TRUE((*journal)->Add(Rich(), nullptr));
  }
  const std::string whole = bench::ReadWhole(folder.File());
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t cut = last; cut <= whole.size(); ++cut) {
    Write(folder.File(), whole.substr(0, cut));
    auto journal = Journal::Open(folder.File(), kHead);
    ASSERT_TRUE(journal) << cut << ": " << journal.error().message();
    const bool complete = cut == whole.size();
    EXPECT_EQ((*journal)->kept(), complete ? 2U : 1U) << cut;
    EXPECT_EQ((*journal)->note().empty(), complete || cut == last) << cut;
    EXPECT_EQ((*journal)->Take(Rich().order).has_value(), complete) << cut;
    ASSERT_TRUE((*journal)->Add(Rich(), nullptr));
    journal = Journal::Open(folder.File(), kHead);
    ASSERT_TRUE(journal);
    EXPECT_EQ((*journal)->kept(), complete ? 3U : 2U) << cut;
    EXPECT_TRUE((*journal)->note().empty()) << "the torn line was cut off the file";
  }
}

// As on a full disk: the file takes the first half of a line. A decision that comes after it must
// not end up behind that half, for such a line could not be read again.
TEST(Journal, ALineThatDoesNotFitLeavesNothing) {
  const Folder folder;
  const auto journal = Journal::Open(folder.File(), kHead);
  ASSERT_TRUE(journal);
  ASSERT_TRUE((*journal)->Add(Rich(), nullptr));
  const std::uintmax_t size = std::filesystem::file_size(folder.File());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{size + 40, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status added = (*journal)->Add(Rich(), nullptr);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_FALSE(added);
  EXPECT_EQ(std::filesystem::file_size(folder.File()), size);
  EXPECT_TRUE((*journal)->AddDecision("trial-2", "none"));
  const auto again = Journal::Open(folder.File(), kHead);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->kept(), 1U);
  EXPECT_EQ((*again)->note(), "");
}

TEST(Journal, OfAnotherCommandOrVersionItIsRefused) {
  const Folder folder;
  ASSERT_TRUE(Journal::Open(folder.File(), kHead));
  JournalHead other = kHead;
  other.command.back() = "0.2";
  auto journal = Journal::Open(folder.File(), other);
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().message(),
            folder.File() +
                ": is of another command (python train.py --lr 0.1), not of python train.py --lr "
                "0.2; name another folder, or remove it");
  other = kHead;
  other.version = "0.2.0";
  EXPECT_FALSE(Journal::Open(folder.File(), other));
  Write(folder.File(), "something else\n");
  EXPECT_FALSE(Journal::Open(folder.File(), kHead));
  Write(folder.File(), bench::ReadWhole(folder.File()) + "{\"line\": \"search\"}\n");
  EXPECT_FALSE(Journal::Open(folder.File(), kHead));
  EXPECT_FALSE(Journal::Open("/no/such/folder/tune.jsonl", kHead));
}

TEST(Journal, BrokenInTheMiddleItIsRefused) {
  const Folder folder;
  { ASSERT_TRUE((*Journal::Open(folder.File(), kHead))->Add(Rich(), nullptr)); }
  const std::string whole = bench::ReadWhole(folder.File());
  Write(folder.File(), whole + "{\"line\": tri\n" + whole.substr(whole.find('\n') + 1));
  const auto journal = Journal::Open(folder.File(), kHead);
  ASSERT_FALSE(journal);
  EXPECT_NE(journal.error().message().find("line 3 cannot be read"), std::string::npos);
}

void AddTreatments(Simulated& program) {
  program.Add("a", 1.5);
  program.Add("b", 1.3, Risk::kNumeric);
  program.Add("c", 1.0);
}

TEST(Journal, AStoppedSearchIsResumedAndRunsNothingTwice) {
  std::size_t in_one_go = 0;
  {
    Simulated program(1);
    AddTreatments(program);
    Silent silent;
    ASSERT_TRUE(Search({}, program, silent));
    in_one_go = program.ran.size();
  }
  for (std::size_t stop = 1; stop < in_one_go; ++stop) {
    const Folder folder;
    {
      Simulated program(1);
      AddTreatments(program);
      program.stop_after = stop;
      auto journal = Journal::Open(folder.File(), kHead);
      JournalRunner runner(program, **journal);
      Silent silent;
      JournalListener listener(silent, **journal);
      const Result<TuneResult> result = Search({}, runner, listener);
      EXPECT_EQ(result ? result->ended : result.error().message(), "stopped by Ctrl-C");
    }
    Simulated program(2);
    AddTreatments(program);
    auto journal = Journal::Open(folder.File(), kHead);
    ASSERT_TRUE(journal) << journal.error().message();
    EXPECT_EQ((*journal)->kept(), stop);
    JournalRunner runner(program, **journal);
    Silent silent;
    JournalListener listener(silent, **journal);
    const Result<TuneResult> result = Search({}, runner, listener);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->winner.size(), 2U) << stop;
    EXPECT_TRUE(result->proven);
    EXPECT_EQ(result->trials.size(), stop + program.ran.size()) << "all kept ones were used";
    EXPECT_GE(runner.Elapsed(), 10.0 * static_cast<double>(result->trials.size()))
        << "the budget counts what earlier sessions took";
  }
}

}  // namespace
}  // namespace hone::tune
