// SPDX-License-Identifier: Apache-2.0
// Loaders and checkpoints, by sampled stacks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doctor/rules/sampled_steps_test.h"

namespace hone::doctor {
namespace {

using analyze::TraceSketch;

// A fetch fills the pause of every step; of five samples `packing` are where rows are packed, at
// two lines of one function. `around`: who calls the loader. Cores 0: not recorded.
TraceSketch LoadedInProcess(int packing, int cores = 0, const std::string& around = kMainLine) {
  const std::string fetch = std::string(kPackages) + "torch/utils/data/_utils/fetch.py(55): fetch";
  TraceSketch sketch = Steps({});
  trace::Builder& builder = sketch.builder();
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * kStep;
    sketch.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin + 10,
                      begin + kPause - 10);
    for (int s = 0; s < 5; ++s) {
      const char* line = s < 2 ? "data.py(7): pack" : "data.py(8): pack";
      Sample(sketch, begin + 5000 + 10'000 * s,
             s < packing
                 ? std::vector<std::string>{around, fetch, line,
                                            std::string(kPackages) + "numpy/roll.py(4): roll"}
                 : std::vector<std::string>{around, fetch});
    }
    if (cores == 0) continue;
    builder.AddCounter(TraceSketch::Ns(begin + 500), builder.Intern("machine"),
                       builder.Intern("cpu_cores"), cores);
  }
  return sketch;
}

TEST(SampledLoading, IsNamedWithTheLineThatLoads) {
  const Look look(LoadedInProcess(3));
  const Finding* finding = look.Find("input-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_TRUE(finding->title.ends_with(", most of it in pack")) << finding->title;
  EXPECT_EQ(finding->where.front().source, "data.py:7 (pack)");
  ASSERT_GE(finding->evidence.size(), 2U);
  EXPECT_EQ(finding->evidence[finding->evidence.size() - 2],
            "20 of 50 samples of it are at data.py:7 (pack) and in what it calls");
  // 60 % of 50 ms in a step of 100.
  EXPECT_EQ(finding->evidence.back(), "without the time of pack (30 of the samples): up to 1.4x");
  EXPECT_NE(finding->remedy.find("# or make data.py:7 (pack) cheaper"), std::string::npos);
}

// Three workers would hide it: two cores have none to spare for the third, and 64 have.
TEST(SampledLoading, WithoutCoresForWorkersTheLineComesFirst) {
  const Look few(LoadedInProcess(3, 2)), many(LoadedInProcess(3, 64)),
      spread(LoadedInProcess(2, 2));
  const Finding* finding = few.Find("input-bound");
  ASSERT_NE(finding, nullptr);
  const std::string lead =
      "# first, up to 1.4x: do beforehand, by whole batches, or cache what\n"
      "# data.py:7 (pack) does; then, for 2 cores:\n"
      "DataLoader(..., num_workers=2, persistent_workers=True)\n";
  EXPECT_TRUE(finding->remedy.starts_with(lead)) << finding->remedy;
  EXPECT_TRUE(finding->needed.starts_with(lead)) << finding->needed;
  EXPECT_EQ(finding->effort, Effort::kFewLines);
  for (const Look* look : {&many, &spread}) {
    finding = look->Find("input-bound");
    ASSERT_NE(finding, nullptr);
    EXPECT_TRUE(finding->remedy.starts_with("DataLoader(..., num_workers=")) << finding->remedy;
    EXPECT_EQ(finding->needed.find("first"), std::string::npos) << finding->needed;
  }
}

TEST(SampledLoading, ATrainerIsToldInItsOwnWords) {
  const std::string package = kPackages;
  const Look hf(LoadedInProcess(3, 64, package + "transformers/trainer.py(2500): Trainer.train"));
  ASSERT_NE(hf.Find("input-bound"), nullptr);
  EXPECT_TRUE(hf.Find("input-bound")
                  ->needed.starts_with("TrainingArguments(..., dataloader_num_workers=3)"))
      << hf.Find("input-bound")->needed;
  const Look lightning(
      LoadedInProcess(3, 64, package + "lightning/pytorch/trainer/trainer.py(500): Trainer.fit"));
  ASSERT_NE(lightning.Find("input-bound"), nullptr);
  EXPECT_TRUE(lightning.Find("input-bound")->needed.starts_with("DataLoader(..., num_workers=3"))
      << lightning.Find("input-bound")->needed;
}

// The step waits for two workers, which are at one line for the most part. `epochs`: each has new
// ones.
TraceSketch LoadedByWorkers(int epochs) {
  const std::string fetch = std::string(kPackages) + "torch/utils/data/_utils/fetch.py(55): fetch";
  TraceSketch sketch = Steps({});
  trace::Builder& builder = sketch.builder();
  builder.trace().info.format = trace::Format::kHone;
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * kStep;
    sketch.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin + 10,
                      begin + kPause - 10);
    for (int worker = 0; worker < 2; ++worker) {
      const std::int64_t pid = 2 + worker + 2 * (i * epochs / kSteps);
      trace::SliceInput slice;
      slice.start_ns = TraceSketch::Ns(begin + worker);
      slice.duration_ns = TraceSketch::Ns(kPause - 100);
      slice.name = builder.Intern("DataLoader.fetch");
      slice.kind = trace::SliceKind::kAnnotation;
      slice.thread = builder.ThreadFor(pid, pid);
      builder.Add(slice);
      Sample(sketch, begin + 5000, {"worker.py(1): run", fetch, "data.py(7): unpack"},
             trace::ThreadState::kRunning, slice.thread);
    }
  }
  return sketch;
}

// 30 steps of 10 ms in each of which fetching takes `usual`; `odd` of them fetch for 400 ms.
TraceSketch LoadedNowAndThen(double usual, int odd) {
  TraceSketch sketch;
  double at = 1000;
  for (int i = 0; i < 3 * kSteps; ++i) {
    const double fetch = i >= 15 && i < 15 + odd ? 400'000 : usual;
    const double ready = at + 10 + fetch, end = ready + 10'000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), at, end);
    sketch.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 10,
                      ready);
    sketch.Op("aten::mm", ready, end - 10);
    at = end;
  }
  return sketch;
}

// One collection of the interpreter's garbage in a fetch is no slow loader.
TEST(SampledLoading, WhatHappensOnceTellsNoRate) {
  EXPECT_EQ(Look(LoadedNowAndThen(100, 1)).Find("input-bound"), nullptr);
  EXPECT_NE(Look(LoadedNowAndThen(100, 2)).Find("input-bound"), nullptr);
  const Look both(LoadedNowAndThen(5'000, 1));
  const Finding* finding = both.Find("input-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->evidence[1],
            "one fetch of 400 ms is left out: what happens once tells no rate");
  // The others take 145 ms of 30 steps, and no more than that can go.
  EXPECT_TRUE(finding->evidence[0].starts_with("fetching a batch takes 4.8 ms"))
      << finding->evidence[0];
  EXPECT_LT(*finding->recoverable_ns, 4.9e6);
}

// Each fetch takes 2 ms of a step of 10. The one worker begins its batch `begins` after it and has
// it for `making`: a batch that is made by then was ready.
TraceSketch TakenFromAWorker(double begins, double making) {
  TraceSketch sketch;
  trace::Builder& builder = sketch.builder();
  builder.trace().info.format = trace::Format::kHone;
  for (int i = 0; i < 3 * kSteps; ++i) {
    const double begin = 1000 + i * 10'000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), begin, begin + 10'000);
    sketch.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin + 10,
                      begin + 2010);
    sketch.Op("aten::mm", begin + 2050, begin + 9990);
    trace::SliceInput slice;
    slice.start_ns = TraceSketch::Ns(begin + 10 + begins);
    slice.duration_ns = TraceSketch::Ns(making);
    slice.name = builder.Intern("DataLoader.fetch");
    slice.kind = trace::SliceKind::kAnnotation;
    slice.thread = builder.ThreadFor(2, 2);
    builder.Add(slice);
  }
  return sketch;
}

// A worker that has nothing to make has made all that was asked for.
TEST(SampledLoading, ABatchThatAnIdleWorkerHasMadeIsOnlyTaken) {
  EXPECT_EQ(Look(TakenFromAWorker(700, 900)).Find("input-bound"), nullptr);
  // Begun in the fetch before, and made only when this one has waited for it.
  const Look late(TakenFromAWorker(1900, 9'900));
  ASSERT_NE(late.Find("input-bound"), nullptr);
  EXPECT_EQ(late.Find("input-bound")->title, "the loader's workers do not keep up");
}

TEST(SampledLoading, OfWorkersIsNamedByTheirLineAndTheirNumber) {
  for (const int epochs : {1, 2}) {
    const Look look(LoadedByWorkers(epochs));
    const Finding* finding = look.Find("input-bound");
    ASSERT_NE(finding, nullptr);
    EXPECT_TRUE(finding->title.ends_with("keep up, most of their time in unpack"))
        << finding->title;
    EXPECT_EQ(finding->where.front().source, "data.py:7 (unpack)");
    EXPECT_NE(finding->remedy.find("num_workers=4, prefetch_factor=4)   # it has 2 now"),
              std::string::npos)
        << finding->remedy;
    EXPECT_NE(finding->remedy.find("make data.py:7 (unpack) cheaper"), std::string::npos);
  }
}

TEST(SampledCheckpoint, IsNamedWithItsLineAndNotAsAHotspot) {
  const Look look(Steps({{kMainLine, std::string(kPackages) + "torch/serialization.py(930): save",
                          std::string(kPackages) + "torch/serialization.py(1183): _save"},
                         {kMainLine}}));
  const Finding* finding = look.Find("checkpoint-stall");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where.front().source, "train.py:9 (main)");
  EXPECT_NEAR(static_cast<double>(finding->where.front().duration_ns), kPause * 1e3, 6e6);
  EXPECT_NE(finding->remedy.find("half as often"), std::string::npos);
  EXPECT_NEAR(*finding->recoverable_ns, kPause * 1e3 / 2, 5e6);
  EXPECT_EQ(look.Find("python-hotspot"), nullptr);
}

// A pause of 50 ms: two samples in torch.save, then three behind it in the function that called it,
// which waits there (os.fsync). `also`: what else that function calls, while an operator runs.
Look SavesAndWaits(trace::ThreadState state, const std::string& also) {
  const std::string saver = "train.py(14): Trainer.save";
  TraceSketch sketch = Steps({});
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * kStep;
    for (double at = 5000; at < 20'000; at += 10'000) {
      Sample(sketch, begin + at,
             {kMainLine, saver, std::string(kPackages) + "torch/serialization.py(930): save"});
    }
    for (double at = 25'000; at < kPause; at += 10'000) {
      Sample(sketch, begin + at, {kMainLine, "train.py(16): Trainer.save"}, state);
    }
    const std::string linear = std::string(kPackages) + "torch/nn/modules/linear.py(134): forward";
    for (double at = kPause + 5000; at < kStep; at += 10'000) {
      std::vector<std::string> stack = {kMainLine};
      if (!also.empty()) stack.push_back(also);
      stack.push_back(linear);
      Sample(sketch, begin + at, stack);
    }
  }
  return Look(std::move(sketch));
}

TEST(SampledCheckpoint, WaitingForTheDiskIsPartOfIt) {
  const Look look = SavesAndWaits(trace::ThreadState::kWaiting, "");
  const Finding* finding = look.Find("checkpoint-stall");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where.front().source, "train.py:14 (Trainer.save)");
  EXPECT_NEAR(static_cast<double>(finding->where.front().duration_ns), kPause * 1e3, 6e6);
  EXPECT_NEAR(*finding->recoverable_ns, kPause * 1e3 / 2, 5e6);
  EXPECT_EQ(look.Find("python-hotspot"), nullptr);
}

// What computes behind torch.save, and what waits in a function that also runs the model, is not
// known to be of the checkpoint.
TEST(SampledCheckpoint, OtherTimeOfTheFunctionIsAHotspots) {
  for (const Look& look :
       {SavesAndWaits(trace::ThreadState::kRunning, ""),
        SavesAndWaits(trace::ThreadState::kWaiting, "train.py(20): Trainer.save")}) {
    const Finding* finding = look.Find("checkpoint-stall");
    ASSERT_NE(finding, nullptr);
    EXPECT_NEAR(static_cast<double>(finding->where.front().duration_ns), 20e6, 6e6);
    EXPECT_NE(look.Find("python-hotspot"), nullptr);
  }
}

// Every second step of 2 ms is followed by 98 ms of saving: no sample falls into a step.
TEST(SampledCheckpoint, CopiesTellThemApartWhereStepsAreShorterThanSamples) {
  TraceSketch sketch;
  std::int64_t correlation = 0;
  for (int i = 0; i < 10; ++i) {
    const double length = i % 2 == 0 ? 2000 : 100'000;
    const double from = 1000 + (i / 2) * 102'000.0 + (i % 2) * 2000;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), from, from + length);
    ++correlation;
    sketch.Launch(from + 100, correlation).Kernel(from + 120, from + 1000, correlation);
    for (int k = 0; i % 2 == 1 && k < 4; ++k) {
      const double at = from + 20'000 + 20'000 * k;
      sketch.Call("cudaMemcpyAsync", at, at + 10, ++correlation);
      sketch.Copy(at + 10, at + 5000, correlation, trace::CopyDirection::kDeviceToHost,
                  trace::MemoryKind::kDevice, trace::MemoryKind::kPageable, 32 << 20);
    }
    for (double at = from + 5000; at < from + length; at += 10'000) {
      Sample(sketch, at, {kMainLine, std::string(kPackages) + "torch/serialization.py(930): save"});
    }
  }
  const Look look(std::move(sketch));
  const Finding* finding = look.Find("checkpoint-stall");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->evidence.front().find("5 checkpoints in 9 steps"), std::string::npos)
      << finding->evidence.front();
}

TEST(SampledCheckpoint, OfATrainerIsSavedLessOften) {
  const Look look(
      Steps({{kMainLine,
              std::string(kPackages) + "transformers/trainer.py(3200): Trainer._save_checkpoint",
              std::string(kPackages) + "torch/serialization.py(930): save"},
             {}}));
  ASSERT_NE(look.Find("checkpoint-stall"), nullptr);
  EXPECT_NE(look.Find("checkpoint-stall")->remedy.find("save_steps"), std::string::npos);
}

}  // namespace
}  // namespace hone::doctor
