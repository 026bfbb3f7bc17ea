// SPDX-License-Identifier: Apache-2.0
// Who takes the cores, by counters of the program's processes and threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "doctor/rules/sampled_steps_test.h"
#include "replay/model.h"
#include "replay/whatif.h"

namespace hone::doctor {
namespace {

using analyze::TraceSketch;

// 5 threads want to run on 2 cores. The program's own get `running` cores and wait for `waiting`.
// Of `running`, `unseen` is in threads whose waits nobody read; it has `threads` (0: not counted).
Look Crowded(double running, double waiting, double unseen = 0, int runnable = 5, int threads = 0,
             const char* other = "python") {
  TraceSketch sketch = Steps({});
  trace::Builder& builder = sketch.builder();
  for (int i = 0; i < kSteps; ++i) {
    const double seconds = 0.1 * i;
    const auto put = [&](const char* track, const char* series, double value) {
      builder.AddCounter(TraceSketch::Ns(1500 + i * kStep), builder.Intern(track),
                         builder.Intern(series), value);
    };
    put("machine", "cpu_cores", 2);
    put("machine", "runnable_threads", runnable);
    if (running == 0) continue;
    put("process 7", "cpu_seconds", running * seconds);
    if (threads > 0) put("process 7", "threads", threads);
    // No thread runs on more than one core: what is too much for one is a pool's.
    const double first = std::min(1.0, running - unseen);
    put("thread 7/7 python", "cpu_seconds", first * seconds);
    put("thread 7/7 python", "wait_for_core_seconds", waiting * seconds);
    if (running - unseen <= 1) continue;
    put((std::string("thread 7/8 ") + other).c_str(), "cpu_seconds",
        (running - unseen - first) * seconds);
  }
  return Look(std::move(sketch));
}

// The remedy of the finding that has this title; empty, and the test fails, when there is none.
std::string RemedyOf(const Look& look, std::string_view title, Confidence confidence) {
  const Finding* finding = look.Find("cpu-oversubscribed");
  if (finding == nullptr) {
    ADD_FAILURE() << "cpu-oversubscribed was not found";
    return {};
  }
  EXPECT_EQ(finding->title, title);
  EXPECT_EQ(finding->confidence, confidence);
  return finding->remedy;
}

const char* const kTooManyThreads = "more threads want to run than there are cores";

TEST(CpuOversubscribed, OtherProgramsAreNotTheProgramsFault) {
  const std::string remedy = RemedyOf(
      Crowded(0.6, 0.4), "other programs on this machine take 1.4 of 2 cores", Confidence::kMedium);
  EXPECT_EQ(remedy.find("set_num_threads"), std::string::npos);
}

// What the finding blames on others is not denied where fixes are asked for.
TEST(CpuOversubscribed, FewerThreadsWouldNotHelpAgainstOthers) {
  TraceSketch sketch = Steps({});
  trace::Builder& builder = sketch.builder();
  for (int i = 0; i < kSteps; ++i) {
    const double seconds = kStep * 1e-6 * i;
    const auto put = [&](const std::string& track, const char* series, double value) {
      builder.AddCounter(TraceSketch::Ns(1500 + i * kStep), builder.Intern(track),
                         builder.Intern(series), value);
    };
    const std::string thread = "thread 1/" + std::to_string(TraceSketch::kMain) + " python";
    put("machine", "cpu_cores", 2);
    put("machine", "runnable_threads", 5);
    put("process 1", "cpu_seconds", 0.6 * seconds);
    put(thread, "cpu_seconds", 0.6 * seconds);
    put(thread, "wait_for_core_seconds", 0.4 * seconds);
  }
  const trace::Trace trace = sketch.Finish();
  const analyze::Facts facts = analyze::Analyze(trace);
  EXPECT_NE(FindingOf(Diagnose(trace, facts), "cpu-oversubscribed"), nullptr);
  const auto model = replay::Model::Build(trace, facts);
  ASSERT_TRUE(model) << model.why_not();
  EXPECT_EQ(replay::WhatIf(**model).Find("cpu-oversubscribed").why_not(),
            "the process that makes the steps wants 1.0 of 2.0 cores: fewer of its threads give "
            "nothing back, it waits for cores that others take");
}

// One thread was looked at and wants a core; the two that were not want one each at most. Nine want
// to run, so that others crowd the cores by themselves; of five, perhaps not.
TEST(CpuOversubscribed, AProgramWantsNoMoreCoresThanItHasThreads) {
  const Look look = Crowded(0.6, 0.4, 0.2, 9, 3);
  const std::string remedy =
      RemedyOf(look, "other programs on this machine take 1.4 of 2 cores", Confidence::kMedium);
  EXPECT_EQ(remedy.find("set_num_threads"), std::string::npos);
  const Finding* finding = look.Find("cpu-oversubscribed");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->evidence.front(),
            "9 threads want to run on 2 cores, and at most 3 of them are this program's");
  RemedyOf(Crowded(0.6, 0.4, 0.2, 5, 3), kTooManyThreads, Confidence::kMedium);
  RemedyOf(Crowded(0.6, 0.4, 0.2, 9), kTooManyThreads, Confidence::kMedium);
}

TEST(CpuOversubscribed, ItsOwnThreadsAre) {
  const std::string remedy = RemedyOf(Crowded(2, 3), kTooManyThreads, Confidence::kHigh);
  EXPECT_TRUE(remedy.starts_with("torch.set_num_threads(2) ")) << remedy;
  EXPECT_EQ(remedy.find("DataLoader"), std::string::npos) << remedy;
}

// What Gloo's own threads want is no pool's: operators have one thread already.
TEST(CpuOversubscribed, NobodyIsToldToDoWhatTheProgramDoes) {
  const std::string remedy =
      RemedyOf(Crowded(2, 3, 0, 5, 0, "gloo_tcp_loop"), kTooManyThreads, Confidence::kHigh);
  EXPECT_EQ(remedy.find("set_num_threads"), std::string::npos) << remedy;
  EXPECT_NE(remedy.find("one thread a process already"), std::string::npos) << remedy;
}

// Two processes that compute share two cores, so each has one of them; a launcher has none.
TEST(CpuOversubscribed, CoresAreSharedByTheProcessesThatCompute) {
  for (const bool both : {true, false}) {
    TraceSketch sketch = Steps({});
    trace::Builder& builder = sketch.builder();
    for (int i = 0; i < kSteps; ++i) {
      const double seconds = 0.1 * i;
      const auto put = [&](const std::string& track, const char* series, double value) {
        builder.AddCounter(TraceSketch::Ns(1500 + i * kStep), builder.Intern(track),
                           builder.Intern(series), value);
      };
      put("machine", "cpu_cores", 2);
      put("machine", "runnable_threads", 6);
      for (const char* process : {"7", "9"}) {
        const double share = both || process[0] == '7' ? 1 : 0.01;
        put(std::string("process ") + process, "cpu_seconds", share * seconds);
        for (const char* thread : {"7", "8", "9"}) {
          const std::string track = std::string("thread ") + process + "/" + thread + " python";
          put(track, "cpu_seconds", share * seconds / 3);
          put(track, "wait_for_core_seconds", share * seconds / (both ? 1 : 0.7));
        }
      }
    }
    const std::string remedy =
        RemedyOf(Look(std::move(sketch)), kTooManyThreads, Confidence::kHigh);
    EXPECT_TRUE(
        remedy.starts_with(both ? "torch.set_num_threads(1) " : "torch.set_num_threads(2) "))
        << remedy;
  }
}

// A line about a loader is for programs whose loader has workers: half of the cores are theirs.
TEST(CpuOversubscribed, LoadersAreNamedWhereThereIsOne) {
  TraceSketch sketch = Steps({});
  trace::Builder& builder = sketch.builder();
  for (int i = 0; i < kSteps; ++i) {
    sketch.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                      1000 + i * kStep, 1000 + i * kStep + 20'000);
    builder.AddCounter(TraceSketch::Ns(1500 + i * kStep), builder.Intern("machine"),
                       builder.Intern("cpu_cores"), 8);
    builder.AddCounter(TraceSketch::Ns(1500 + i * kStep), builder.Intern("machine"),
                       builder.Intern("runnable_threads"), 24);
  }
  const std::string remedy =
      RemedyOf(Look(std::move(sketch)), kTooManyThreads, Confidence::kMedium);
  EXPECT_NE(remedy.find("torch.set_num_threads(4) "), std::string::npos) << remedy;
  EXPECT_NE(remedy.find("DataLoader(..., num_workers=4) "), std::string::npos) << remedy;
}

// 2 cores, 4 threads of the steps' own process: half of an operator's time is likely to go, and
// operators are `kStep - kPause` of a step. Threads of another process have no model.
TEST(CpuOversubscribed, ThreadsOfTheStepsOwnProcessAreReplayed) {
  for (const bool own : {true, false}) {
    TraceSketch sketch = Steps({});
    trace::Builder& builder = sketch.builder();
    const std::string process = own ? "1" : "7";
    const std::string track =
        "thread " + process + "/" + std::to_string(TraceSketch::kMain) + " python";
    for (int i = 0; i < kSteps; ++i) {
      const double seconds = kStep * 1e-6 * i;
      const auto put = [&](const std::string& name, const char* series, double value) {
        builder.AddCounter(TraceSketch::Ns(1500 + i * kStep), builder.Intern(name),
                           builder.Intern(series), value);
      };
      put("machine", "cpu_cores", 2);
      put("machine", "runnable_threads", 4);
      put("process " + process, "cpu_seconds", 2 * seconds);
      put(track, "cpu_seconds", 0.5 * seconds);
      put(track, "wait_for_core_seconds", 0.5 * seconds);
      put("thread " + process + "/99 python", "cpu_seconds", 1.5 * seconds);
      put("thread " + process + "/99 python", "wait_for_core_seconds", 1.5 * seconds);
    }
    const Look look(std::move(sketch));
    const Finding* finding = look.Find("cpu-oversubscribed");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->predicted.has_value(), own);
    if (!own) continue;
    EXPECT_NEAR(*finding->recoverable_ns, (kStep - kPause) / 2 * 1e3, kStep * 0.02 * 1e3);
    // All cores were in use: nothing of it is sure, and half of what is likely counts.
    EXPECT_EQ(finding->severity, Severity::kMedium);
  }
}

TEST(CpuOversubscribed, WithoutCountersOfAllItsThreadsItIsLessSure) {
  for (const Look& look : {Crowded(0, 0), Crowded(1.2, 0.4, 0.6)}) {
    const std::string remedy = RemedyOf(look, kTooManyThreads, Confidence::kMedium);
    EXPECT_TRUE(remedy.starts_with("top ")) << remedy;  // they may be another program's
  }
}

}  // namespace
}  // namespace hone::doctor
