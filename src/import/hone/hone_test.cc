// SPDX-License-Identifier: Apache-2.0
// Recordings written by the program's own encoder, read into traces.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "import/hone/clock_map.h"
#include "import/hone/process_file.h"
#include "import/hone/run_folder.h"
#include "import/import.h"
#include "trace/builder.h"
#include "wire/file_writer.h"

namespace hone::importer {
namespace {

using wire::ChunkBuilder;
using wire::Table;

// One process's file, with ticks that are nanoseconds of the monotonic clock unless told otherwise.
class Recording {
 public:
  Recording(const std::string& folder, std::int64_t pid, std::int64_t ppid, std::int64_t began = 0)
      : writer_(wire::FileWriter::Create(folder + "/process-" + std::to_string(pid) + ".hone")
                    .value()) {
    Info("pid", std::to_string(pid));
    Info("ppid", std::to_string(ppid));
    Clock(began, began, 1'000'000'000'000 + began);
    Clock(began + 1'000'000, began + 1'000'000, 1'000'001'000'000 + began);
  }
  Recording& Info(const std::string& key, const std::string& value) {
    return Row(Table::kInfo, key, value);
  }
  Recording& Clock(std::int64_t ticks, std::int64_t monotonic, std::int64_t realtime) {
    return Row(Table::kClock, ticks, monotonic, realtime);
  }
  std::int64_t Name(const std::string& text) {
    Row(Table::kStrings, ++names_, text);
    return names_;
  }
  Recording& Op(std::int64_t tid, std::int64_t start, std::int64_t duration, std::int64_t name,
                std::int64_t arguments = 0, wire::HostKind kind = wire::HostKind::kOp) {
    return Row(Table::kHost, tid, start, duration, name, kind, 0, -1, 0, arguments, 0);
  }
  Recording& Kernel(std::int64_t start, std::int64_t duration, std::int64_t correlation,
                    std::int64_t name) {
    return Row(Table::kKernels, start, duration, 0, 1, 7, correlation, name, 1, 1, 1, 32, 1, 1, 16,
               0, 0, 0, 0);
  }
  Recording& Mark(std::int64_t time, wire::MarkKind kind, const std::string& text = "",
                  std::int64_t value = 1) {
    return Row(Table::kMarks, time, kind, value, text);
  }
  template <typename... Values>
  Recording& Row(Table table, const Values&... values) {
    ChunkBuilder rows(table);
    rows.Row(values...);
    EXPECT_EQ(writer_.Append(rows), wire::WriteStatus::kOk);
    return *this;
  }
  const std::string& path() const { return writer_.path(); }

 private:
  wire::FileWriter writer_;
  std::int64_t names_ = 0;
};

class HoneTest : public testing::Test {
 protected:
  HoneTest() {
    char folder[] = "/tmp/hone_import_XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~HoneTest() override { std::filesystem::remove_all(folder_); }
  std::vector<std::string> Found() const {
    const auto found = FindTraces(folder_);
    std::vector<std::string> names;
    if (!found) return names;
    for (const std::string& path : *found) {
      names.push_back(std::filesystem::path(path).filename().string());
    }
    return names;
  }
  std::string folder_;
};

TEST(ClockMapTest, LinearBetweenAnchorsAndBeyond) {
  hone_file::ClockMap clock;
  clock.Add(1000, 50, 5000);
  clock.Add(900, 60, 0);   // goes back: left out
  clock.Add(3000, 50, 0);  // stands still: left out
  clock.Add(4000, 1050, 6000);
  clock.Add(5000, 3050, 8000);
  EXPECT_EQ(clock.ToNanos(1000), 50);
  EXPECT_EQ(clock.ToNanos(2500), 550);
  EXPECT_EQ(clock.ToNanos(4500), 2050);
  EXPECT_EQ(clock.ToNanos(6000), 5050);  // on at the last rate
  EXPECT_EQ(clock.ToNanos(400), -150);   // back at the first
  EXPECT_EQ(clock.epoch_offset_ns(), 4950);
  EXPECT_GE(clock.ToNanos(INT64_MAX), trace::Builder::kLatest);
  EXPECT_LE(clock.ToNanos(INT64_MIN), -trace::Builder::kLatest);
}

TEST_F(HoneTest, FilesMeetOnTheMonotonicClock) {
  Recording main(folder_, 10, 1);
  const std::int64_t add = main.Name("aten::add");
  main.Op(10, 500, 100, add).Mark(2'000'000, wire::MarkKind::kEnd);
  // The worker's clock counts three ticks a nanosecond and began elsewhere.
  wire::FileWriter worker = wire::FileWriter::Create(folder_ + "/process-11.hone").value();
  const auto row = [&](Table table, const auto&... values) {
    ChunkBuilder rows(table);
    rows.Row(values...);
    worker.Append(rows);
  };
  row(Table::kInfo, "pid", "11");
  row(Table::kInfo, "ppid", "10");
  row(Table::kInfo, "role", "loader worker 0");
  row(Table::kClock, 9'000'000, 0, 0);
  row(Table::kClock, 9'003'000, 1000, 0);
  row(Table::kStrings, 1, "fetch");
  row(Table::kHost, 11, 9'000'900, 600, 1, wire::HostKind::kLoader, 0, -1, 0, 0, 0);
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace) << trace.error().message();
  ASSERT_EQ(trace->host.size(), 2u);
  EXPECT_EQ(trace->HostName(1), "fetch");
  EXPECT_EQ(trace->host.start_ns[1], 300);
  EXPECT_EQ(trace->host.duration_ns[1], 200);
  EXPECT_EQ(trace->host.kind[1], trace::SliceKind::kAnnotation);
  EXPECT_EQ(trace->processes.size(), 2u);
  EXPECT_EQ(trace->processes[1].name, "loader worker 0");
  EXPECT_EQ(trace->info.base_time_ns, 1'000'000'000'000);
  EXPECT_EQ(Found(), std::vector<std::string>{"process-10.hone"});
}

TEST_F(HoneTest, KernelsAreDemangledAndLinkedWithinTheirProcess) {
  Recording main(folder_, 10, 1);
  const std::int64_t mm = main.Name("aten::mm"), launch = main.Name("cudaLaunchKernel");
  const std::int64_t gemm = main.Name("_Z4gemmPKf");
  main.Op(10, 1000, 500, mm);
  main.Row(Table::kApi, 10, 1100, 50, 2, 211, launch, 77, 0, 0);
  main.Kernel(5000, 800, 77, gemm);
  main.Kernel(0, 0, 78, gemm);   // its time was not collected
  main.Kernel(-1, 0, 79, gemm);  // nor that of this one
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->device.size(), 1u);
  EXPECT_EQ(trace->DeviceName(0), "gemm(float const*)");
  ASSERT_NE(trace->device.op[0], trace::kNoRow);
  EXPECT_EQ(trace->HostName(trace->device.op[0]), "aten::mm");
  EXPECT_EQ(trace->losses[LossKind::kBadTime].count, 2u);
}

// Two steps are sampled; the third runs the same operators, the fourth others. Where the sampled
// steps disagree (data of varying length) nobody knows.
TEST_F(HoneTest, ArgumentsOfTheSampledSteps) {
  Recording main(folder_, 10, 1);
  const std::int64_t mm = main.Name("aten::mm"), add = main.Name("aten::add");
  const std::int64_t step = main.Name("Optimizer.step#SGD.step");
  const std::int64_t whole = main.Name("[[8, 4]]\x1f[\"float\"]\x1f[\"\"]");
  const std::int64_t small = main.Name("[[8]]\x1f[\"float\"]\x1f[\"\"]");
  const std::int64_t large = main.Name("[[9]]\x1f[\"float\"]\x1f[\"\"]");
  const std::int64_t arguments[4][2] = {{whole, small}, {whole, large}, {0, 0}, {0, 0}};
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::int64_t at = 1000 + i * 100;
    main.Op(10, at, 10, mm, arguments[i][0]);
    main.Op(10, at + 20, 10, i == 3 ? mm : add, arguments[i][1]);
    main.Op(10, at + 40, 10, step, 0, wire::HostKind::kUser);
  }
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  const auto dims = [&](trace::RowId row) {
    return trace->Name(trace->op_details[trace->host.detail[row]].dims);
  };
  EXPECT_EQ(dims(0), "[[8, 4]]");
  EXPECT_EQ(dims(6), "[[8, 4]]");  // the third step's
  EXPECT_EQ(dims(7), "");          // 8 or 9
  EXPECT_EQ(dims(9), "");          // the fourth step's
  EXPECT_EQ(trace->losses[LossKind::kArgumentsInferred].count, 1u);
}

// The first operators of a step load data, a different number of them in each; the rest is
// training.
TEST_F(HoneTest, ArgumentsOfStepsThatAreAlikeInPart) {
  Recording main(folder_, 10, 1);
  const std::int64_t mm = main.Name("aten::mm"), flip = main.Name("aten::flip");
  const std::int64_t add = main.Name("aten::add"), step = main.Name("Optimizer.step#SGD.step");
  const std::int64_t matrix = main.Name("[[8, 4]]\x1f[\"float\"]\x1f[\"\"]");
  const std::int64_t small = main.Name("[[8]]\x1f[\"float\"]\x1f[\"\"]");
  const std::int64_t large = main.Name("[[9]]\x1f[\"float\"]\x1f[\"\"]");
  constexpr int kFlips[] = {1, 2, 4};
  std::vector<std::int64_t> begins;
  std::int64_t at = 1000, row = 0;
  for (std::int64_t i = 0; i < 3; ++i) {
    const bool sampled = i < 2;
    begins.push_back(row);
    const auto op = [&](std::int64_t name, std::int64_t arguments) {
      main.Op(10, at += 10, 5, name, sampled ? arguments : 0);
      ++row;
    };
    for (int k = 0; k < kFlips[i]; ++k) op(flip, small);
    for (int k = 0; k < 20; ++k) op(k % 2 == 0 ? mm : add, matrix);
    op(add, i == 0 ? small : large);  // what the sampled steps disagree about
    main.Op(10, at += 10, 5, step, 0, wire::HostKind::kUser);
    ++row;
  }
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  const auto dims = [&](std::int64_t of) {
    return trace->Name(trace->op_details[trace->host.detail[static_cast<trace::RowId>(of)]].dims);
  };
  const std::int64_t third = begins[2];
  EXPECT_EQ(dims(third), "");              // four flips are in no sampled step
  EXPECT_EQ(dims(third + 4), "[[8, 4]]");  // the training
  EXPECT_EQ(dims(third + 23), "[[8, 4]]");
  EXPECT_EQ(dims(third + 24), "");  // 8 or 9
  EXPECT_EQ(trace->losses[LossKind::kArgumentsInferred].count, 22u);
}

TEST_F(HoneTest, HostMemoryIsFreedByAddressWhicheverThreadFrees) {
  Recording main(folder_, 10, 1);
  main.Row(Table::kMemory, 12, 300, 0, -1, 0x500, 0, 1, -1, -1, 0, 0);  // a free, written first
  main.Row(Table::kMemory, 10, 100, 0, -1, 0x500, 64, 0, -1, -1, 0, 0);
  main.Row(Table::kMemory, 10, 400, 0, -1, 0x900, 0, 1, -1, -1, 0, 0);  // from before
  main.Row(Table::kMemory, 10, 500, 1, 0, 0, 1 << 30, 0, 10, 20, 0, 1);
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->memory.size(), 2u);
  EXPECT_EQ(trace->memory.bytes[0], 64);
  EXPECT_EQ(trace->memory.bytes[1], -64);
  ASSERT_EQ(trace->instants.size(), 1u);
  EXPECT_EQ(trace->Name(trace->instants.name[0]), "[OutOfMemory]");
}

// Of the latest window that was closed in order, the longest stretch between pauses.
TEST_F(HoneTest, TheLatestWholeWindowIsAnalyzed) {
  Recording main(folder_, 10, 1);
  const std::int64_t add = main.Name("aten::add");
  // Longer than the others: a first window holds the start of the program.
  main.Mark(-9000, wire::MarkKind::kWindowOpen).Mark(-10, wire::MarkKind::kWindowClose);
  main.Mark(0, wire::MarkKind::kWindowOpen).Op(10, 50, 10, add);
  main.Mark(100, wire::MarkKind::kGapOpen, "cuda: torch.profiler").Op(10, 150, 10, add);
  main.Mark(200, wire::MarkKind::kGapClose).Op(10, 250, 10, add);
  main.Mark(900, wire::MarkKind::kWindowClose).Op(10, 905, 10, add);  // of its last launches
  main.Mark(2000, wire::MarkKind::kWindowOpen).Op(10, 2050, 10, add);
  main.Mark(2100, wire::MarkKind::kWindowClose, "the process ends");
  main.Mark(2100, wire::MarkKind::kEnd);
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->host.size(), 2u);
  EXPECT_EQ(trace->host.start_ns[0], 250);
  EXPECT_EQ(trace->host.start_ns[1], 905);
  EXPECT_EQ(trace->losses[LossKind::kRecordingGap].count, 1u);
  EXPECT_EQ(trace->losses[LossKind::kRecordingGap].first_detail, "cuda: torch.profiler (100 ns)");
  EXPECT_EQ(trace->losses[LossKind::kOtherWindow].count, 3u);
  EXPECT_EQ(trace->losses[LossKind::kProcessKilled].count, 0u);
}

// The program's own profiler had the device for some steps: they are no part of the answer, and
// neither is the start of the program, however long it took.
TEST_F(HoneTest, APauseIsLeftOutAndMostStepsAreKept) {
  Recording main(folder_, 10, 1);
  const std::int64_t add = main.Name("aten::add");
  main.Mark(0, wire::MarkKind::kWindowOpen).Op(10, 8000, 10, add);
  main.Mark(9000, wire::MarkKind::kGapOpen, "cuda: torch.profiler");
  for (int i = 0; i < 3; ++i) main.Op(10, 9010 + 10 * i, 5, add);
  main.Mark(9100, wire::MarkKind::kGapClose);
  for (int i = 0; i < 2; ++i) main.Op(10, 9110 + 10 * i, 5, add);
  main.Mark(9200, wire::MarkKind::kGapOpen, "cuda: torch.profiler").Op(10, 9210, 5, add);
  main.Mark(9300, wire::MarkKind::kWindowClose).Mark(9300, wire::MarkKind::kEnd);
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->host.size(), 2u);
  EXPECT_EQ(trace->host.start_ns[0], 9110);
  EXPECT_EQ(trace->losses[LossKind::kRecordingGap].count, 2u);
  EXPECT_EQ(trace->losses[LossKind::kOtherWindow].count, 1u);
}

// Steps that were timed after a window belong to it, not to the next.
TEST_F(HoneTest, TimedStepsAreThoseOfTheWindow) {
  const auto timed = [&](const Recording& recording) {
    const auto trace = LoadHone(recording.path());
    EXPECT_TRUE(trace);
    return trace ? trace->info.timed_steps : trace::TimedSteps{};
  };
  Recording main(folder_, 10, 1);
  const std::int64_t add = main.Name("aten::add");
  main.Mark(0, wire::MarkKind::kWindowOpen).Op(10, 50, 10, add);
  main.Mark(900, wire::MarkKind::kWindowClose);
  EXPECT_EQ(timed(main).bare_steps, 0);
  main.Mark(1100, wire::MarkKind::kRecordedSteps, "30", 150);
  EXPECT_EQ(timed(main).bare_steps, 0);
  main.Mark(1100, wire::MarkKind::kBareSteps, "12", 100);
  EXPECT_EQ(timed(main).bare_steps, 12);
  EXPECT_EQ(timed(main).recorded_ns, 150);
  EXPECT_EQ(timed(main).bare_ns, 100);
  main.Mark(2000, wire::MarkKind::kWindowOpen).Op(10, 2050, 10, add);
  main.Mark(2900, wire::MarkKind::kWindowClose);
  EXPECT_EQ(timed(main).bare_steps, 0);
  main.Mark(3000, wire::MarkKind::kRecordedSteps, "30", 160);
  main.Mark(3000, wire::MarkKind::kBareSteps, "7", 140);
  EXPECT_EQ(timed(main).bare_steps, 7);
  EXPECT_EQ(timed(main).recorded_ns, 160);
}

// All of the training lies inside the program's own profiler: its operators are better than
// nothing.
TEST_F(HoneTest, APauseThatHoldsNearlyEverythingIsAnalyzed) {
  Recording main(folder_, 10, 1);
  const std::int64_t add = main.Name("aten::add");
  main.Mark(0, wire::MarkKind::kWindowOpen).Op(10, 50, 10, add);
  main.Mark(100, wire::MarkKind::kGapOpen, "cuda: torch.profiler");
  for (int i = 0; i < 9; ++i) main.Op(10, 110 + 10 * i, 5, add);
  main.Mark(300, wire::MarkKind::kWindowClose).Mark(300, wire::MarkKind::kEnd);
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->host.size(), 9u);
  EXPECT_EQ(trace->host.start_ns[0], 110);
  EXPECT_EQ(trace->losses[LossKind::kRecordingGap].count, 1u);
}

// The start of a program that loads for long is not what its steps are judged by, however few.
TEST_F(HoneTest, AWindowWithoutAStepGivesWay) {
  Recording main(folder_, 10, 1);
  const std::int64_t add = main.Name("aten::add");
  main.Mark(0, wire::MarkKind::kWindowOpen).Op(10, 50, 10, add);
  main.Mark(9000, wire::MarkKind::kWindowClose, "no step yet");
  const auto start = LoadHone(main.path());
  ASSERT_TRUE(start);
  ASSERT_EQ(start->host.size(), 1u);
  EXPECT_EQ(start->host.start_ns[0], 50);
  main.Mark(9100, wire::MarkKind::kWindowOpen).Op(10, 9150, 10, add);
  main.Mark(9200, wire::MarkKind::kWindowClose, "the process ends");
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->host.size(), 1u);
  EXPECT_EQ(trace->host.start_ns[0], 9150);
}

// A window that opened while the one before it was being analyzed was part of that, rows and all.
TEST_F(HoneTest, WhatIsWrittenAfterTheMarksWereReadIsLeftOut) {
  Recording main(folder_, 10, 1);
  const std::int64_t add = main.Name("aten::add");
  main.Mark(0, wire::MarkKind::kWindowOpen).Op(10, 50, 10, add);
  main.Mark(100, wire::MarkKind::kWindowClose);
  const auto file = hone_file::Survey({main.path()});
  ASSERT_TRUE(file);
  main.Mark(1000, wire::MarkKind::kWindowOpen, "", 2).Op(10, 1050, 10, add).Op(10, 1070, 10, add);
  auto reader = file->bytes.Open();
  ASSERT_TRUE(reader);
  wire::Chunk chunk;
  while (reader->Next(chunk)) {
  }
  EXPECT_EQ(reader->rows()[static_cast<std::size_t>(Table::kHost)], 1u);
  EXPECT_FALSE(reader->damage().torn_end);
}

TEST_F(HoneTest, AKilledProcessIsSaidToBe) {
  Recording main(folder_, 10, 1);
  main.Mark(0, wire::MarkKind::kWindowOpen).Op(10, 50, 10, main.Name("aten::add"));
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->losses[LossKind::kProcessKilled].count, 1u);
}

// torchrun (1 op at most) starts two ranks; each has a worker that inherits the rank; rank 1's
// worker was started by a fork server that was not recorded.
TEST_F(HoneTest, AFolderStandsForItsRanks) {
  Recording launcher(folder_, 5, 1);
  launcher.Op(5, 10, 10, launcher.Name("aten::empty"));
  for (const std::int64_t rank : {1, 0}) {
    Recording main(folder_, 20 + rank, 5);
    main.Info("rank", std::to_string(rank)).Info("world_size", "2");
    const std::int64_t add = main.Name("aten::add"), gemm = main.Name("gemm");
    main.Op(20 + rank, 100, 10, add).Kernel(200, 20, 1, gemm);
    Recording worker(folder_, 30 + rank, rank == 0 ? 20 : 99);
    worker.Info("rank", std::to_string(rank)).Info("role", "loader worker 0");
    const std::int64_t select = worker.Name("aten::select");
    for (int i = 0; i < 50; ++i) worker.Op(30 + rank, 100 + i * 10, 5, select);
  }
  std::ofstream(folder_ + "/report.json") << "{}";
  EXPECT_EQ(Found(), (std::vector<std::string>{"process-20.hone", "process-21.hone"}));
  for (const char* leader : {"/process-20.hone", "/process-21.hone"}) {
    const auto trace = LoadHone(folder_ + leader);
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->host.size(), 51u) << leader;
    EXPECT_EQ(trace->info.world_size, 2);
  }
  // A worker asked for by name stands for itself.
  const auto alone = LoadHone(folder_ + "/process-30.hone");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->host.size(), 50u);
}

// Ranks that an elastic launcher starts again: the later ones are the job, as soon as a window of
// theirs was closed in order, however much the ones before them did.
TEST_F(HoneTest, ARankThatWasStartedAgainStandsForItself) {
  const auto record = [&](std::int64_t pid, std::int64_t began, int operators, const char* cut) {
    Recording rank(folder_, pid, 5, began);
    rank.Info("rank", "0").Info("world_size", "1");
    const std::int64_t add = rank.Name("aten::add");
    rank.Mark(began, wire::MarkKind::kWindowOpen);
    for (int i = 0; i < operators; ++i) rank.Op(pid, began + 100 + i * 10, 5, add);
    rank.Mark(began + 900'000, wire::MarkKind::kWindowClose, cut);
  };
  record(20, 0, 50, "");
  record(21, 5'000'000, 20, "the process ends");
  EXPECT_EQ(Found(), (std::vector<std::string>{"process-20.hone"}));
  record(22, 9'000'000, 20, "");
  EXPECT_EQ(Found(), (std::vector<std::string>{"process-22.hone"}));
  record(23, 9'500'000, 30, "");  // beside it: the busier one
  EXPECT_EQ(Found(), (std::vector<std::string>{"process-23.hone"}));
}

// What a program starts by multiprocessing goes by the program's name.
TEST_F(HoneTest, ASpawnedRankHasTheNameOfItsProgram) {
  Recording main(folder_, 10, 1);
  main.Info("cmdline", "python train.py --epochs 3");
  for (const std::int64_t pid : {20, 21}) {
    Recording rank(folder_, pid, 10);
    rank.Info("cmdline",
              "python -c from multiprocessing.spawn import spawn_main; … --multiprocessing-fork");
    const std::int64_t add = rank.Name("aten::add");
    for (int i = 0; i < 20; ++i) rank.Op(pid, 100 + i * 10, 5, add);
  }
  const auto trace = LoadHone(folder_ + "/process-21.hone");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->info.trace_name, "python train.py --epochs 3");
}

// Without ranks and devices: the parent of busy workers leads, a shell does not.
TEST_F(HoneTest, WithoutRanksTheTrainingProcessLeads) {
  Recording shell(folder_, 5, 1);
  Recording main(folder_, 20, 5);
  const std::int64_t add = main.Name("aten::add");
  for (int i = 0; i < 20; ++i) main.Op(20, 100 + i * 10, 5, add);
  Recording worker(folder_, 30, 20);
  const std::int64_t select = worker.Name("aten::select");
  for (int i = 0; i < 90; ++i) worker.Op(30, 100 + i * 10, 5, select);
  EXPECT_EQ(Found(), std::vector<std::string>{"process-20.hone"});
  EXPECT_EQ(LoadHone(main.path())->host.size(), 110u);
}

// mp.spawn: no ranks are told, each child keeps a device busy.
TEST_F(HoneTest, WithoutRanksEveryBusyDeviceIsAJob) {
  Recording main(folder_, 20, 1);
  main.Op(20, 10, 5, main.Name("aten::empty"));
  for (const std::int64_t pid : {31, 32, 33}) {
    Recording child(folder_, pid, 20);
    const std::int64_t gemm = child.Name("gemm");
    for (int i = 0; i < (pid == 33 ? 1 : 10); ++i) child.Kernel(100 + i * 10, 5, i + 1, gemm);
  }
  EXPECT_EQ(Found(), (std::vector<std::string>{"process-31.hone", "process-32.hone"}));
}

TEST_F(HoneTest, NothingRecordedIsAnError) {
  const std::string path = Recording(folder_, 10, 1).path();
  const auto trace = LoadHone(path);
  ASSERT_FALSE(trace);
  EXPECT_NE(trace.error().message().find("nothing was recorded"), std::string::npos);
}

TEST_F(HoneTest, WhatTheRecorderMissedIsSaidByKind) {
  Recording main(folder_, 10, 1);
  main.Op(10, 50, 10, main.Name("aten::add"));
  main.Row(Table::kLosses, "operators", 3, "no room");
  main.Row(Table::kLosses, "operators", 4, "no room");
  main.Row(Table::kLosses, "python", 1, "Python 3.99 is not known");
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->losses[LossKind::kNotRecorded].count, 8u);
  EXPECT_EQ(trace->losses[LossKind::kNotRecorded].first_detail,
            "operators 7: no room; python: Python 3.99 is not known");
}

TEST_F(HoneTest, OperatorsThatCameInAnotherWay) {
  Recording main(folder_, 10, 1);
  main.Op(10, 50, 10, main.Name("aten::add"));
  main.Row(Table::kInfo, "operators_by", "emit_itt, because the self-test failed");
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  EXPECT_EQ(
      trace->losses[LossKind::kMissingTable].first_detail,
      "operators of threads that Python started, and shapes: operators were told by emit_itt, "
      "because the self-test failed");
}

TEST_F(HoneTest, WhatIsMissingAltogetherIsMoreThanACount) {
  Recording main(folder_, 10, 1);
  main.Op(10, 50, 10, main.Name("step"), 0, wire::HostKind::kUser);
  main.Row(Table::kLosses, "operators", 1, "the self-test failed");
  const auto trace = LoadHone(main.path());
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->losses[LossKind::kNotRecorded].count, 0u);
  EXPECT_EQ(trace->losses[LossKind::kMissingTable].first_detail, "operators: the self-test failed");
}

}  // namespace
}  // namespace hone::importer
