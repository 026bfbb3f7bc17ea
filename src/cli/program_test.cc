// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json_value_test.h"
#include "base/utf8.h"
#include "cli/help_pages.h"
#include "cli/markdown_text.h"
#include "doctor/rule.h"
#include "replay/edit.h"
#include "report/tables.h"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

// Two steps of one kernel each, on one stream.
constexpr const char* kTrace = R"({"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#0","pid":1,"tid":1,"ts":0,"dur":100},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":100,"dur":100},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":20,"args":{"External id":1}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":110,"dur":20,"args":{"External id":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":12,"dur":5,"args":{"correlation":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":112,"dur":5,"args":{"correlation":8}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":20,"dur":50,"args":{"device":0,"stream":7,"correlation":7}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":120,"dur":50,"args":{"device":0,"stream":7,"correlation":8}}
]})";

struct Answer {
  int code = 0;
  std::string out, err;
};

Answer RunHone(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  Console console{out, err};
  const int code = Program().Run(arguments, console);
  return {code, out.str(), err.str()};
}

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("hone_program_test_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    trace_ = Put("trace.json", kTrace);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Put(const std::string& name, std::string_view text) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  fs::path folder_;
  std::string trace_;
};

TEST_F(ProgramTest, AnswersInThreeForms) {
  const Answer text = RunHone({"analyze", trace_});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("where a step goes, mean of 2"), std::string::npos) << text.out;
  const Answer json = RunHone({"analyze", trace_, "--json"});
  EXPECT_EQ(json.code, 0);
  const JsonDocument document(json.out);
  EXPECT_DOUBLE_EQ(document["timeline"]["busy_ms"].number(), 0.1);
  EXPECT_DOUBLE_EQ(document["timeline"]["total_ms"].number(), 0.15);
  const Answer csv = RunHone({"analyze", trace_, "--csv"});
  EXPECT_EQ(csv.out.substr(0, csv.out.find('\n')),
            "name,op,class,kind,count,total_ms,mean_us,min_us,p50_us,p95_us,max_us,share,"
            "occupancy_pct");
  EXPECT_NE(csv.out.find("gemm,aten::mm,compute,kernel,2,0.100000,50.000"), std::string::npos);
}

TEST_F(ProgramTest, UsageErrorsSuggestAndExitTwo) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"analyse", "x"}, "hone: unknown verb analyse; did you mean analyze?\n"},
      {{"analyze", trace_, "--jsno"}, "hone: unknown option --jsno; did you mean --json?\n"},
      {{"analyze", trace_, "--jsno=1"}, "hone: unknown option --jsno; did you mean --json?\n"},
      {{"analyze", "--frobnicate"}, "hone: unknown option --frobnicate; see hone analyze --help\n"},
      {{"--versoin"}, "hone: unknown option --versoin; did you mean --version?\n"},
      {{"analyze"}, "hone: TRACE is required; see hone analyze --help\n"},
      {{"analyze", trace_, "--table", "kernals"},
       "hone: --table: no value kernals; did you mean kernels?\n"},
      {{"analyze", trace_, "--limit", "-1"},
       "hone: --limit: -1 is not a whole number of 0 or more; see hone analyze --help\n"},
      {{"analyze", trace_, "--sort", "calls"},
       "hone: --sort needs --table, to know what to sort; try --table ops\n"},
      {{"analyze", trace_, "--rank", "3"},
       "hone: --rank 3: the traces do not say which rank they are\n"},
      {{"run", "--stpes", "3", "--", "ls"},
       "hone: unknown option --stpes; did you mean --steps?\n"},
      {{"run"}, "hone run: nothing to run; write hone run -- python train.py\n"},
      {{"run", "--steps", "3", "--"},
       "hone run: nothing to run; write hone run -- python train.py\n"},
      {{"run", "--memory", "12", "ls"},
       "hone: --memory: 12 is not a size from 4M to 64G; write 64M or 1G; see hone run --help\n"},
      {{"run", "--memory", "65G", "ls"},
       "hone: --memory: 65G is not a size from 4M to 64G; write 64M or 1G; see hone run --help\n"},
      {{"run", "--collect", "opps", "ls"}, "hone: --collect: no value opps; did you mean ops?\n"},
      {{"help", "idel"}, "hone: no help on idel; did you mean hone help idle?\n"},
      {{trace_}, "hone: unknown verb " + trace_ + "; to analyze it: hone analyze " + trace_ + "\n"},
  };
  for (const auto& [arguments, message] : cases) {
    const Answer answer = RunHone(arguments);
    EXPECT_EQ(answer.code, 2) << message;
    EXPECT_EQ(answer.err, message);
    EXPECT_EQ(answer.out, "");
  }
  const Answer column = RunHone({"analyze", trace_, "--table", "ops", "--sort", "cals"});
  EXPECT_EQ(column.code, 2);
  EXPECT_NE(column.err.find("did you mean calls?; its columns: name,"), std::string::npos);
  EXPECT_EQ(RunHone({}).code, 2);
}

// Every option of every verb that takes one value, so that no verb is left to CLI11's words.
TEST_F(ProgramTest, OptionsThatAreGivenTwiceOrWithoutAValue) {
  EXPECT_EQ(RunHone({"run", "--steps", "3", "--steps=5", "--", "ls"}).err,
            "hone: --steps is given 2 times, as 3 and as 5; give it once; see hone run --help\n");
  EXPECT_EQ(RunHone({"run", "--steps"}).err,
            "hone: --steps stands without a value; write --steps N; see hone run --help\n");
  EXPECT_EQ(RunHone({"run", "--out", "--", "ls"}).err,
            "hone: --out stands without a value; write --out DIR; see hone run --help\n");
  EXPECT_EQ(RunHone({"analyze", trace_, "--table=ops", "--color"}).err,
            "hone: --color stands without a value; one of auto, always, never; see hone analyze "
            "--help\n");
  Program program;
  for (const auto& verb : program.verbs()) {
    for (const CLI::Option* option : program.AppOf(*verb).get_options()) {
      const bool takes_one = option->get_items_expected_max() == 1 && !option->get_positional() &&
                             option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
      if (!takes_one) continue;
      const std::string name = option->get_name();
      // Values are looked at first, so they must be good ones.
      const std::vector<std::string> choices = ChoicesOf(*option);
      std::string good = choices.empty() ? "4" : choices[0];
      if (name == "--memory") good = "64M";
      if (option->get_option_text() == "FILE") good = trace_;
      const Answer answer = RunHone({verb->info().name, name + "=" + good, name + "=" + good});
      EXPECT_EQ(answer.code, 2) << name;
      EXPECT_EQ(answer.err, fmt::format("hone: {} is given 2 times, as {} and as {}; give it once; "
                                        "see hone {} --help\n",
                                        name, good, good, verb->info().name));
    }
  }
}

TEST_F(ProgramTest, SortsByTheWordsOfTheIssueAndBackwards) {
  EXPECT_EQ(RunHone({"analyze", trace_, "--table", "ops", "--sort", "self_device"}).code, 0);
  const Answer down = RunHone({"analyze", trace_, "--table", "steps", "--csv", "--sort", "number"});
  const Answer up = RunHone({"analyze", trace_, "--table", "steps", "--csv", "--sort", "-number"});
  EXPECT_LT(down.out.find("ProfilerStep#1"), down.out.find("ProfilerStep#0"));
  EXPECT_LT(up.out.find("ProfilerStep#0"), up.out.find("ProfilerStep#1"));
}

TEST_F(ProgramTest, UnreadableInputIsOneSentenceAndExitThree) {
  for (const std::string& path :
       {Put("notes.txt", "hello"), Put("empty.json", ""), (folder_ / "none").string()}) {
    const Answer answer = RunHone({"analyze", path, "--json"});
    EXPECT_EQ(answer.code, 3) << path;
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(answer.err.rfind("hone: " + path + ":", 0), 0U) << answer.err;
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  }
}

TEST_F(ProgramTest, OneBadFileAmongSeveralDoesNotStopTheRest) {
  const Answer answer = RunHone({"analyze", trace_, Put("bad.json", "nothing"), "--json"});
  EXPECT_EQ(answer.code, 3);
  EXPECT_NE(answer.err.find("bad.json"), std::string::npos);
  EXPECT_TRUE(JsonDocument(answer.out)["kernels"].found());
}

// Steps of 1,000 us (rank 0: 1,005) that end with a collective of the host; rank 1 comes to it
// `late` us after rank 0.
std::string RankThatMeets(int rank, int late) {
  std::string events;
  const int step = rank == 0 ? 1'005 : 1'000;
  for (int i = 0; i < 8; ++i) {
    const int at = 10'000 + i * 1'005, meets = at + 400 + (rank == 1 ? late : 0);
    events += fmt::format(
        R"({}{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":{}}},
        {{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{},"dur":{}}},
        {{"ph":"X","cat":"user_annotation","name":"gloo:all_reduce","pid":1,"tid":2,"ts":{},"dur":{}}})",
        i == 0 ? "" : ",", i + 1, at, step, at + 5, meets - at - 10, meets, at + 990 - meets);
  }
  return fmt::format(
      R"({{"schemaVersion":1,"distributedInfo":{{"rank":{},"world_size":2}},"traceEvents":[{}]}})",
      rank, events);
}

TEST_F(ProgramTest, TheRankThatTheOthersWaitForLeads) {
  fs::create_directories(folder_ / "job");
  const std::string job = (folder_ / "job").string();
  for (const int late : {0, 300}) {
    for (const int rank : {0, 1}) {
      Put(fmt::format("job/{}.json", rank), RankThatMeets(rank, late));
    }
    const JsonDocument answer(RunHone({"analyze", job, "--json"}).out);
    EXPECT_EQ(answer["ranks"]["lead"].integer(), late == 0 ? 0 : 1);
    // The doctor has its rows, though they were let go when it was read.
    EXPECT_NEAR(answer["replay"]["measured_step_ms"].number(), answer["steps"]["mean_ms"].number(),
                0.01);
    const JsonDocument asked(RunHone({"analyze", job, "--json", "--rank", "0"}).out);
    EXPECT_EQ(asked["ranks"]["lead"].integer(), 0);
  }
}

TEST_F(ProgramTest, ADirectoryIsAJobAndTheSlowestRankLeads) {
  fs::create_directories(folder_ / "job");
  std::string text = kTrace;
  const std::string info = R"("distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents")";
  text.replace(text.find("\"traceEvents\""), 13, info);
  Put("job/a.json", text);
  text.replace(text.find("\"rank\": 0"), 9, "\"rank\": 1");
  for (std::size_t at = 0; (at = text.find("\"dur\":100", at)) != std::string::npos;) {
    text.replace(at, 9, "\"dur\":150");
  }
  text.replace(text.find("\"ts\":100"), 8, "\"ts\":150");
  Put("job/b.json", text);
  const std::string job = (folder_ / "job").string();
  const JsonDocument slow(RunHone({"analyze", job, "--json", "--stable"}).out);
  EXPECT_EQ(slow["ranks"]["lead"].integer(), 1);
  EXPECT_EQ(slow["trace"]["path"].text(), "b.json");
  EXPECT_EQ(slow["ranks"]["list"].size(), 2U);
  const JsonDocument chosen(RunHone({"analyze", job, "--json", "--rank", "0"}).out);
  EXPECT_EQ(chosen["ranks"]["lead"].integer(), 0);
  // The doctor has the rows of whoever leads, loaded first or last.
  EXPECT_DOUBLE_EQ(slow["replay"]["measured_step_ms"].number(), slow["steps"]["mean_ms"].number());
  EXPECT_DOUBLE_EQ(chosen["replay"]["measured_step_ms"].number(),
                   chosen["steps"]["mean_ms"].number());
  EXPECT_EQ(RunHone({"analyze", (folder_ / "job").string(), "--rank", "7"}).code, 2);
}

TEST_F(ProgramTest, ADamagedStreamGivesThePartialAnswerAndExitThree) {
  const fs::path bundled = fs::path(HONE_SOURCE_DIR) / "tests/traces/tiny_bad_light.json.gz";
  if (!fs::exists(bundled)) GTEST_SKIP() << bundled << " is not here";
  std::ifstream file(bundled, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::string cut = Put("cut.json.gz", bytes.substr(0, bytes.size() / 2));
  const Answer answer = RunHone({"analyze", cut});
  EXPECT_EQ(answer.code, 3);
  EXPECT_NE(answer.err.find("cut.json.gz: gzip stream ends early at byte"), std::string::npos);
  EXPECT_NE(answer.err.find("trust is poor"), std::string::npos);
  EXPECT_NE(answer.out.find("trust poor"), std::string::npos) << answer.out;
}

TEST_F(ProgramTest, WhatIfAsksOrSaysWhatCanBeAsked) {
  EXPECT_EQ(RunHone({"whatif", trace_}).code, 2);
  EXPECT_NE(RunHone({"whatif", trace_}).err.find("--list"), std::string::npos);
  EXPECT_EQ(RunHone({"whatif", trace_, "--list", "--fix", "all"}).code, 2);
  const Answer unknown = RunHone({"whatif", trace_, "--fix", "hots-sync"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean host-sync?"), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find("input-bound, "), std::string::npos) << unknown.err;
  for (const char* flag : {"--list", "--fix=all", "--fix=host-sync,input-bound"}) {
    const Answer answer = RunHone({"whatif", trace_, flag});
    EXPECT_EQ(answer.code, 0) << flag << answer.err;
    EXPECT_FALSE(answer.out.empty()) << flag;
    EXPECT_EQ(RunHone({"whatif", trace_, flag, "--json"}).out.rfind("{", 0), 0U) << flag;
  }
}

TEST_F(ProgramTest, WritesToAFile) {
  const std::string path = (folder_ / "out.json").string();
  EXPECT_EQ(RunHone({"analyze", trace_, "--json", "-o", path}).out, "");
  EXPECT_GT(fs::file_size(path), 100U);
  const Answer failed = RunHone({"analyze", trace_, "-o", (folder_ / "no/such/out").string()});
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("cannot be written"), std::string::npos);
}

TEST(Help, FitsEightyColumnsAndShowsDefaultsAndExamples) {
  Program program;
  for (const auto& verb : program.verbs()) {
    const std::string help = FormatHelp(verb->info(), program.AppOf(*verb));
    EXPECT_GE(verb->info().examples.size(), 2U);
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 80U) << line;
    EXPECT_EQ(RunHone({verb->info().name, "--help"}).out, help);
    EXPECT_GT(RunHone({"help", verb->info().name}).out.size(), 200U);
  }
  EXPECT_NE(RunHone({"analyze", "--help"}).out.find("(default 20)"), std::string::npos);
  EXPECT_EQ(RunHone({"--version"}).out.rfind("hone ", 0), 0U);
}

std::string PageText(std::string_view name) {
  for (const HelpPage& page : HelpPages()) {
    if (name == page.name) return page.text;
  }
  return "";
}

// The manual and the program say the same.
TEST(Help, TheManualNamesEveryOptionAndTable) {
  Program program;
  for (const char* verb : {"run", "analyze", "whatif", "diff", "view", "bench", "tune"}) {
    const std::string manual = PageText(verb);
    ASSERT_FALSE(manual.empty()) << verb;
    for (const CLI::Option* option : program.AppOf(*program.FindVerb(verb)).get_options()) {
      for (const std::string& name : option->get_lnames()) {
        EXPECT_NE(manual.find("`--" + name), std::string::npos) << verb << " " << name;
      }
    }
  }
  for (const report::TableInfo& table : report::AllTables()) {
    EXPECT_NE(PageText("analyze").find("`" + table.name + "`"), std::string::npos) << table.name;
  }
}

TEST(Help, TheManualNamesEveryFix) {
  for (const replay::EditInfo& edit : replay::AllEdits()) {
    EXPECT_NE(PageText("whatif").find(std::string("| `") + edit.id + "` |"), std::string::npos)
        << edit.id;
  }
}

TEST(Help, EveryRuleHasAPage) {
  std::vector<std::string> ids = {"healthy"};  // heard after the others, in no list
  for (const doctor::RuleInfo& rule : doctor::AllRules()) ids.emplace_back(rule.id);
  for (const std::string& id : ids) {
    const auto page = std::find_if(HelpPages().begin(), HelpPages().end(),
                                   [&](const HelpPage& p) { return p.rule && id == p.name; });
    EXPECT_NE(page, HelpPages().end()) << "no docs/user/rules/" << id << ".md";
  }
  for (const HelpPage& page : HelpPages()) {
    if (!page.rule) continue;
    EXPECT_NE(std::find(ids.begin(), ids.end(), page.name), ids.end())
        << "docs/user/rules/" << page.name << ".md is about no rule";
  }
}

TEST(Help, TopicsOfTheManual) {
  for (const char* topic : {"inputs", "exit-codes", "schema", "json"}) {
    const Answer answer = RunHone({"help", topic});
    EXPECT_EQ(answer.code, 0) << topic;
    EXPECT_GT(answer.out.size(), 200U) << topic;
  }
  const Answer list = RunHone({"help"});
  for (const HelpPage& page : HelpPages()) {
    EXPECT_NE(list.out.find(page.name), std::string::npos) << page.name;
  }
}

TEST(Markdown, BecomesPlainText) {
  EXPECT_EQ(
      MarkdownToText("# A `b`\n\nSome **bold** [link](x.md) text\nthat wraps.\n\n- one\n  two\n"
                     "\n| k | v |\n|---|---|\n| `a` | first |\n| bb | second |\n\n    code  x\n",
                     20, true),
      "A b\n===\n\nSome bold link text\nthat wraps.\n\n- one two\n\n  a   first\n  bb  second\n\n"
      "    code  x\n");
}

TEST(Completion, KnowsEveryOptionAndIsValidShell) {
  Program program;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Answer answer = RunHone({"completion", shell});
    EXPECT_EQ(answer.code, 0);
    for (const CLI::Option* option : program.AppOf(*program.FindVerb("analyze")).get_options()) {
      for (const std::string& name : option->get_lnames()) {
        const std::string word = std::string(shell) == "fish" ? "-l " + name : "--" + name;
        EXPECT_NE(answer.out.find(word), std::string::npos) << shell << " " << name;
      }
    }
    EXPECT_NE(answer.out.find("roofline"), std::string::npos) << shell;
  }
  const fs::path script =
      fs::temp_directory_path() / ("hone_completion_" + std::to_string(::getpid()));
  std::ofstream(script) << RunHone({"completion", "bash"}).out;
  const std::string test = "bash -c 'source " + script.string() +
                           "; COMP_WORDS=(hone analyze --table ker); COMP_CWORD=3; _hone; test "
                           "\"$COMPREPLY\" = kernels'";
  EXPECT_EQ(std::system(test.c_str()), 0);
  fs::remove(script);
}

}  // namespace
}  // namespace hone::cli
