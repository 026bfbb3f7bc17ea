// SPDX-License-Identifier: Apache-2.0
// Real processes, small ones: a shell that writes what the child in a Python program would.
#include "tune/process_runner.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bench/json.h"

namespace hone::tune {
namespace {

class ProcessRunnerTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // `steps` steps of 10 ms, 4 samples each.
  static std::string Probe(int pid, int steps, const std::string& growth = "") {
    std::string times, samples, waits;
    for (int i = 1; i <= steps; ++i) {
      const std::string comma = i > 1 ? "," : "";
      times += comma + std::to_string(i * 10'000'000);
      samples += comma + std::to_string(4 * i);
      waits += comma + std::to_string(i * 1'000'000);
    }
    return "printf '%s' '{\"pid\":" + std::to_string(pid) + ",\"steps_ns\":[" + times +
           "],\"samples\":[" + samples + "],\"waits_ns\":[" + waits + "],\"growth\":[" + growth +
           "]}' > $HONE_BENCH_DIR/probe-" + std::to_string(pid) + ".json; ";
  }

  static std::string Report(int pid, const std::string& members) {
    return "printf '%s' '{\"version\":1,\"pid\":" + std::to_string(pid) + "," + members +
           "}' > $HONE_BENCH_DIR/tune-" + std::to_string(pid) + ".json; ";
  }

  std::unique_ptr<ProcessRunner> Runner(const std::string& script) {
    ProcessOptions options;
    options.command = {"/bin/sh", "-c", script};
    options.folder = folder_;
    options.inject = "/no/inject";
    options.lost_s = 3;
    options.treatments = "/my \"treatments\"";
    options.variables = {"PATH=/bin:/usr/bin", "PYTHONPATH=/own"};
    auto runner = ProcessRunner::Make(options);
    EXPECT_TRUE(runner);
    return std::move(*runner);
  }

  Trial Run(const std::string& script, const TrialOrder& order = {}) {
    const Result<Trial> trial = Runner(script)->Run(order, "forward");
    EXPECT_TRUE(trial) << trial.error().message();
    return trial ? *trial : Trial();
  }

  std::string folder_ = testing::TempDir() + "hone-trial-XXXXXX";
};

TEST_F(ProcessRunnerTest, ATrialIsReadFromWhatTheProgramLeft) {
  const Trial trial =
      Run("test \"$PYTHONPATH\" = /no/inject:/own || exit 9; cp $HONE_TUNE "
          "$HONE_BENCH_DIR/seen.json; " +
              Probe(7, 40) +
              Report(7,
                     "\"rank\":0,\"world\":1,\"device\":\"cuda\",\"ended\":\"steps\",\"losses\":[2,"
                     "\"nan\"],\"gradient_norms\":[[1,3.5]],\"peak_device_bytes\":95,"
                     "\"device_bytes\":100,\"effects\":[{\"treatment\":\"tf32\",\"state\":"
                     "\"applied\",\"hits\":1,\"why\":\"\"}],\"patch\":\"diff\""),
          {{{"tf32", "{\"a\":1}"}}, 3, 40, 0, false, 20});
  EXPECT_EQ(trial.ending, Ending::kFine) << trial.error;
  EXPECT_TRUE(trial.left);
  EXPECT_TRUE(trial.fine());
  EXPECT_TRUE(trial.counts_samples);
  EXPECT_NEAR(*trial.rate, 400, 1e-6);
  EXPECT_NEAR(*trial.samples_per_step, 4, 1e-9);
  EXPECT_NEAR(*trial.device_share, 0.95, 1e-9);
  ASSERT_EQ(trial.losses.size(), 2U);
  EXPECT_EQ(trial.effects[0].state, "applied");
  EXPECT_EQ(trial.folder, folder_ + "/trial-001");
  simdjson::dom::parser parser;
  bench::JsonValue order;
  ASSERT_EQ(parser.load(trial.folder + "/seen.json").get(order), simdjson::SUCCESS);
  EXPECT_EQ(bench::IntOr(order, "seed_offset", 0), 3);
  EXPECT_EQ(bench::IntOr(order, "steps", 0), 40);
  EXPECT_EQ(bench::TextOr(order, "treatments", ""), "/my \"treatments\"");
  const bench::JsonValue recipe = bench::Elements(order, "recipe")[0];
  EXPECT_EQ(bench::IntOr(*bench::Find(recipe, "options"), "a", 0), 1) << "an object, no text";
}

TEST_F(ProcessRunnerTest, EndingsAreToldApart) {
  const std::string steps = Probe(7, 40);
  const auto failed = [](const std::string& type, const std::string& kind) {
    return Report(7, "\"ended\":\"exception\",\"exception\":{\"type\":\"" + type +
                         "\",\"class\":\"" + kind +
                         "\",\"message\":\"no more\",\"where\":\"train.py:31\"}");
  };
  Trial trial = Run(steps + failed("torch.OutOfMemoryError", "oom") + "exit 1");
  EXPECT_EQ(trial.ending, Ending::kOutOfMemory);
  EXPECT_EQ(trial.error_type, "torch.OutOfMemoryError");
  EXPECT_EQ(trial.error, "no more (train.py:31)");
  EXPECT_EQ(Run(steps + failed("ValueError", "error") + "exit 1").ending, Ending::kError);
  trial = Run("echo Traceback; echo ImportError: no torch; exit 3");
  EXPECT_EQ(trial.ending, Ending::kError);
  EXPECT_EQ(trial.error,
            "ended with exit code 3; its last lines: Traceback | ImportError: no torch");
  EXPECT_EQ(Run("kill -9 $$").ending, Ending::kKilled);
  TrialOrder hasty;
  hasty.timeout_s = 0.3;
  EXPECT_EQ(Run("sleep 20", hasty).ending, Ending::kHang);
  trial = Run(Report(7, "\"ended\":\"exit\""));
  EXPECT_EQ(trial.ending, Ending::kNoSteps);
  EXPECT_EQ(trial.error,
            "no optimizer stepped and no DataLoader handed out a batch; call hone.step() once an "
            "iteration");
  trial = Run(Probe(7, 5) + Report(7, "\"ended\":\"exit\""));
  EXPECT_EQ(trial.ending, Ending::kNoSteps);
  EXPECT_EQ(trial.error, "5 steps were seen, too few to measure after warm-up; let it run for 30");
  // Left as wanted; what a launcher makes of that is no failure.
  EXPECT_EQ(Run(steps + Report(7, "\"ended\":\"steps\"") + "exit 1").ending, Ending::kFine);
}

TEST_F(ProcessRunnerTest, AProgramThatWaitsForOneWhoLeftIsEnded) {
  TrialOrder order;
  order.timeout_s = 60;
  const std::string left =
      Probe(7, 40) + Report(7, "\"ended\":\"steps\"") + "touch $HONE_BENCH_DIR/done-7; ";
  Trial trial = Run(left + "sleep 100", order);
  EXPECT_EQ(trial.ending, Ending::kFine) << trial.error;
  EXPECT_LT(trial.wall_s, 30);
  // Not while another one steps.
  order.timeout_s = 6;
  trial = Run(left + "touch $HONE_BENCH_DIR/stepping-8; sleep 100", order);
  EXPECT_EQ(trial.ending, Ending::kHang);
}

// A process that says that it steps, as python/hone/_trial.py does, and goes on; $! is it.
const char* const kSteps =
    "sleep 100 & "
    "echo $(cut -d' ' -f22 /proc/$!/stat) $(readlink /proc/self/ns/pid) 1 "
    ">$HONE_BENCH_DIR/stepping-$!; ";

TEST_F(ProcessRunnerTest, AProgramThatWaitsForOneWhoWasKilledIsEnded) {
  TrialOrder order;
  order.timeout_s = 120;
  // exec: the one that waits is none that asks for its children. A shell may ask for one up to the
  // moment it becomes another program, so the kill comes after that.
  Trial trial = Run(std::string(kSteps) +
                        "(until grep -qx sleep /proc/$$/comm; do sleep 0.02; done; kill -9 $!) & "
                        "exec sleep 100",
                    order);
  EXPECT_EQ(trial.ending, Ending::kKilled);
  EXPECT_TRUE(
      trial.error.find(", which trained, was ended by signal 9 (Killed), as the kernel ends "
                       "one when memory is full, and the program went on waiting for it; "
                       "it printed nothing") != std::string::npos)
      << trial.error;
  EXPECT_LT(trial.wall_s, 60);
  // By somebody who asked for it, and ends.
  trial = Run(std::string(kSteps) + "kill -9 $!; wait $! 2>&-; exit 3", order);
  EXPECT_EQ(trial.ending, Ending::kKilled);
  EXPECT_TRUE(trial.error.find("is gone without a word") != std::string::npos) << trial.error;
}

TEST_F(ProcessRunnerTest, AProgramThatWaitsForOneWhoLivesOrStartedAnotherIsNot) {
  TrialOrder order;
  order.timeout_s = 7;  // beyond what one who was killed is given
  Trial trial =
      Run(std::string(kSteps) + "kill -9 $!; sleep 1; " + kSteps + "exec sleep 100", order);
  EXPECT_EQ(trial.ending, Ending::kHang) << trial.error;
}

TEST_F(ProcessRunnerTest, TheConfirmationDoesNotAskHowAProgramEndedThatHadLeft) {
  auto runner = Runner(Probe(7, 40) + Report(7, "\"ended\":\"steps\"") +
                       "touch $HONE_BENCH_DIR/done-7; exit 1");
  ConfirmOrder order;
  order.recipe = {{"tf32", "{}"}};
  order.pairs = 1;
  order.steps = 40;
  const Result<bench::Benchmark> found = runner->Confirm(order);
  EXPECT_TRUE(found) << found.error().message();
}

TEST_F(ProcessRunnerTest, AProgramThatOursNeverRanInIsAnError) {
  const Result<Trial> trial = Runner("echo hello")->Run({}, "baseline");
  ASSERT_FALSE(trial);
  EXPECT_NE(trial.error().message().find("no Python that loads start-up files"), std::string::npos);
  EXPECT_NE(trial.error().message().find("its last lines: hello"), std::string::npos);
}

TEST_F(ProcessRunnerTest, StepsThatCompileToTheEndAreAStorm) {
  TrialOrder treated;
  treated.recipe = {{"compile-default", "{}"}};
  const std::string report = Report(7, "\"ended\":\"steps\"");
  EXPECT_EQ(Run(Probe(7, 40, "1,2,35") + report, treated).ending, Ending::kFine);
  EXPECT_EQ(Run(Probe(7, 40, "1,2,30,38") + report, treated).ending, Ending::kRecompiling);
  EXPECT_EQ(Run(Probe(7, 40, "1,2,30,38") + report).ending, Ending::kFine) << "it does so itself";
}

TEST_F(ProcessRunnerTest, RanksAreAddedUpAndTheAgentIsNone) {
  const std::string memory = "\"peak_device_bytes\":60,\"device_bytes\":100,";
  const Trial trial =
      Run(Probe(20, 40) + Probe(21, 40) + Report(10, "\"rank\":0,\"world\":1,\"ended\":\"exit\"") +
          Report(20, memory + "\"rank\":1,\"world\":2,\"ended\":\"steps\",\"losses\":[9]") +
          Report(21, memory + "\"rank\":0,\"world\":2,\"ended\":\"steps\",\"losses\":[5]"));
  EXPECT_EQ(trial.world, 2);
  EXPECT_NEAR(*trial.rate, 800, 1e-6);
  EXPECT_EQ(*trial.peak_device_bytes, 120);
  EXPECT_NEAR(*trial.device_share, 0.6, 1e-9);
  EXPECT_EQ(trial.losses, std::vector<double>{5}) << "of the first rank";
}

TEST_F(ProcessRunnerTest, SamplesOfAModulesInputCountWhereNoLoaderDoes) {
  const std::string probe = "printf '%s' '{\"pid\":7,\"steps_ns\":[" + [] {
    std::string times;
    for (int i = 1; i <= 40; ++i) times += (i > 1 ? "," : "") + std::to_string(i * 10'000'000);
    return times;
  }() + "]}' > $HONE_BENCH_DIR/probe-7.json; ";
  Trial trial = Run(probe + Report(7, "\"ended\":\"steps\",\"samples_per_step\":16"));
  EXPECT_TRUE(trial.counts_samples);
  EXPECT_NEAR(*trial.rate, 1600, 1e-6);
  trial = Run(probe + Report(7, "\"ended\":\"steps\",\"samples_per_step\":null"));
  EXPECT_FALSE(trial.counts_samples);
  EXPECT_NEAR(*trial.rate, 100, 1e-6);
}

TEST_F(ProcessRunnerTest, TheDescriptionComesFromTheChild) {
  auto runner =
      Runner(Probe(7, 40) +
             Report(7,
                    "\"ended\":\"steps\",\"candidates\":[{\"treatment\":\"tf32\","
                    "\"options\":{\"b\":1,\"c\":[2]},\"title\":\"t\",\"risk\":\"numeric\","
                    "\"cures\":[\"no-tensor-cores\"],\"prior\":1.5,\"extra_s\":2}],"
                    "\"inapplicable\":[{\"treatment\":\"x\",\"title\":\"y\",\"why\":\"z\"}]"));
  TrialOrder order;
  order.describe = true;
  ASSERT_TRUE(runner->Run(order, "baseline"));
  const Description& found = runner->description();
  ASSERT_EQ(found.candidates.size(), 1U);
  EXPECT_EQ(found.candidates[0].choice.options, "{\"b\":1,\"c\":[2]}");
  EXPECT_EQ(found.candidates[0].risk, Risk::kNumeric);
  EXPECT_EQ(found.candidates[0].cures, std::vector<std::string>{"no-tensor-cores"});
  EXPECT_EQ(found.inapplicable[0].why, "z");
  // A later session does not write over an earlier one's folders.
  EXPECT_EQ(Run(Probe(7, 40) + Report(7, "\"ended\":\"steps\"")).folder, folder_ + "/trial-002");
}

TEST_F(ProcessRunnerTest, TheConfirmationRunsBothInTurnsWithTheirOwnOrders) {
  // The treated arm steps twice as fast.
  std::string fast = Probe(7, 40);
  for (std::size_t at = 0; (at = fast.find("0000000", at)) != std::string::npos; ++at) {
    fast.replace(at, 7, "000000");
  }
  const std::string log = "grep -c tf32 $HONE_TUNE >> " + folder_ + "/log; ";
  auto runner = Runner(log + "if grep -q tf32 $HONE_TUNE; then " + fast + " else " + Probe(7, 40) +
                       " fi; " + Report(7, "\"ended\":\"steps\""));
  ConfirmOrder order;
  order.recipe = {{"tf32", "{}"}};
  order.pairs = 5;
  order.steps = 40;
  order.by_samples = true;
  const Result<bench::Benchmark> found = runner->Confirm(order);
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->comparisons.size(), 1U);
  EXPECT_EQ(found->metric.name, "samples");
  EXPECT_NEAR(found->comparisons[0].judgement.ratio, 10, 0.5);
  EXPECT_EQ(bench::ReadWhole(folder_ + "/log"), "0\n1\n1\n0\n0\n1\n1\n0\n0\n1\n");
}

}  // namespace
}  // namespace hone::tune
