// SPDX-License-Identifier: Apache-2.0
// Rules about the host, where golden cases cannot show the detail: sub-cases, places, near misses.
#include <gtest/gtest.h>

#include <functional>

#include "analyze/sketch_test.h"
#include "doctor/look_test.h"

namespace hone::doctor {
namespace {

using analyze::TraceSketch;
using trace::CopyDirection;
using trace::MemoryKind;

constexpr int kSteps = 4;
constexpr double kStep = 3000;  // us

// Steps that begin with `part(sketch, begin, number)`, which returns where it ends; the rest of
// the step launches work without a pause.
TraceSketch Steps(const std::function<double(TraceSketch&, double, int)>& part) {
  TraceSketch sketch;
  std::int64_t correlation = 10'000;
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * kStep, end = begin + kStep;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), begin, end);
    const double rest = part(sketch, begin + 10, i);
    sketch.Op("aten::mm", rest, end - 10);
    for (double at = rest; at + 300 < end; at += 300) {
      ++correlation;
      sketch.Launch(at + 5, correlation).Kernel(at + 15, at + 300, correlation);
    }
  }
  return sketch;
}

// An operator that copies 4 bytes back and waits for 1 ms of work before it.
double Reads(TraceSketch& sketch, std::string_view op, double at, int i, const char* frame = "") {
  const std::int64_t id = 100 + 10 * i;
  sketch.Op("aten::mul", at, at + 30).Launch(at + 5, id).Kernel(at + 20, at + 1020, id);
  if (*frame != 0) sketch.Python(frame, at + 35, at + 1060);
  sketch.Op(op, at + 40, at + 1050).Call("cudaMemcpyAsync", at + 42, at + 48, id + 1);
  sketch.Copy(at + 1030, at + 1032, id + 1, CopyDirection::kDeviceToHost, MemoryKind::kDevice,
              MemoryKind::kPinned, 4);
  sketch.Call("cudaStreamSynchronize", at + 50, at + 1040, id + 2);
  return at + 1060;
}

std::string TitleOfRead(std::string_view op, const char* frame = "") {
  const Look look(Steps(
      [&](TraceSketch& sketch, double at, int i) { return Reads(sketch, op, at, i, frame); }));
  const Finding* finding = look.Find("host-sync");
  return finding == nullptr ? "" : finding->title;
}

TEST(HostSyncRule, SaysWhatTheUserWrote) {
  EXPECT_NE(TitleOfRead("aten::item").find("reads a value"), std::string::npos);
  EXPECT_NE(TitleOfRead("aten::is_nonzero").find("reads a value"), std::string::npos);
  EXPECT_NE(TitleOfRead("aten::to").find("copied to the host"), std::string::npos);
  EXPECT_NE(TitleOfRead("aten::nonzero").find("sizes of tensors"), std::string::npos);
  EXPECT_NE(TitleOfRead("aten::index").find("sizes of tensors"), std::string::npos);
  EXPECT_NE(TitleOfRead("aten::item", "torch/_tensor_str.py(700): _str").find("printed"),
            std::string::npos);
  EXPECT_NE(TitleOfRead("aten::item", "torch/amp/grad_scaler.py(380): step").find("scaler"),
            std::string::npos);
}

// Where there is no bfloat16 the scaler stays.
TEST(HostSyncRule, ADeviceWithoutBfloat16KeepsItsScaler) {
  const auto remedy = [](const char* device) {
    TraceSketch sketch = Steps([](TraceSketch& steps, double at, int i) {
      return Reads(steps, "aten::item", at, i, "torch/amp/grad_scaler.py(380): step");
    });
    sketch.builder().trace().devices[sketch.builder().DeviceFor(0)].name = device;
    const Look look(std::move(sketch));
    const Finding* finding = look.Find("host-sync");
    return finding == nullptr ? "" : finding->remedy;
  };
  EXPECT_NE(remedy("NVIDIA H200").find("bfloat16"), std::string::npos);
  EXPECT_NE(remedy("Tesla V100-SXM2-32GB").find("fused=True"), std::string::npos);
}

TEST(HostSyncRule, NamesTheLine) {
  const Look look(Steps([](TraceSketch& sketch, double at, int i) {
    return Reads(sketch, "aten::item", at, i, "train.py(46): main");
  }));
  ASSERT_NE(look.Find("host-sync"), nullptr);
  EXPECT_EQ(look.Find("host-sync")->where.front().source, "train.py:46 (main)");
}

TEST(HostSyncRule, ACopyToTheDeviceIsAnotherRulesBusiness) {
  const Look look(Steps([](TraceSketch& sketch, double at, int i) {
    const std::int64_t id = 100 + 10 * i;
    sketch.Op("aten::copy_", at, at + 1000).Call("cudaMemcpyAsync", at + 5, at + 15, id);
    sketch.Copy(at + 20, at + 980, id, CopyDirection::kHostToDevice, MemoryKind::kPinned,
                MemoryKind::kDevice, 48'000'000);
    sketch.Call("cudaStreamSynchronize", at + 20, at + 985, id + 1);
    return at + 1010;
  }));
  EXPECT_EQ(look.Find("host-sync"), nullptr);
  EXPECT_NE(look.Find("blocking-copy"), nullptr);
}

TEST(PythonHotspotRule, FramesOfPyTorchAndWaitingForBackwardAreNotIt) {
  const Look look(Steps([](TraceSketch& sketch, double at, int i) {
    const std::int64_t id = 100 + 10 * i;
    sketch.Python("train.py(5): main", at, at + 1500);
    sketch.Python("torch/_tensor.py(570): backward", at + 5, at + 1495);
    sketch.Op("autograd::engine", at + 10, at + 1480, TraceSketch::kAutograd);
    sketch.Launch(at + 20, id, TraceSketch::kAutograd).Kernel(at + 30, at + 1400, id);
    return at + 1500;
  }));
  EXPECT_EQ(look.Find("python-hotspot"), nullptr);
}

TEST(PythonHotspotRule, WithoutFramesAPauseIsNamedByItsNeighbours) {
  const Look look(Steps([](TraceSketch&, double at, int) { return at + 1500; }));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->confidence, Confidence::kLow);
  EXPECT_NE(finding->title.find("aten::mm"), std::string::npos);
}

// 1,500 us of which a collective covers most: the thread waits for it. Of which it covers a third:
// something else runs.
TEST(PythonHotspotRule, WaitingForACollectiveOfTheHostIsNotIt) {
  const auto beside = [](double length) {
    return Look(Steps([length](TraceSketch& sketch, double at, int) {
      sketch.Annotation("gloo:all_reduce", at + 10, at + 10 + length, TraceSketch::kAutograd);
      return at + 1500;
    }));
  };
  EXPECT_EQ(beside(1400).Find("python-hotspot"), nullptr);
  EXPECT_NE(beside(500).Find("python-hotspot"), nullptr);
}

TEST(PythonHotspotRule, AnOperatorOnTheHostCountsForTheFunctionThatCallsIt) {
  const Look look(Steps([](TraceSketch& sketch, double at, int) {
    sketch.Python("train.py(9): noise", at, at + 1500).Op("aten::randn", at + 10, at + 1490);
    return at + 1500;
  }));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where.front().source, "train.py:9 (noise)");
  EXPECT_NE(finding->evidence.back().find("aten::randn"), std::string::npos);
}

// 1,500 of 3,000 us a step in queue.get, or asleep.
TraceSketch Waiting(const char* frame, const char* inside, bool trains) {
  return Steps([=](TraceSketch& sketch, double at, int) {
    if (trains) sketch.Annotation("Optimizer.step#SGD.step", at + 1510, at + 1520);
    sketch.Python("server.py(40): loop", at, at + 1500).Python(frame, at + 1, at + 1499);
    if (inside != nullptr) sketch.Python(inside, at + 2, at + 1498);
    return at + 1500;
  });
}

TEST(PythonHotspotRule, AServerThatWaitsIsSoldNothing) {
  const Look look(Waiting("queue.py(154): get",
                          "<built-in method acquire of _thread.lock object at 0x7f1c>", false));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "between steps the program waits for requests or another thread: queue.get");
  EXPECT_EQ(finding->severity, Severity::kInfo);
  EXPECT_FALSE(finding->recoverable_ns);
  EXPECT_FALSE(finding->speedup);
  EXPECT_TRUE(finding->fix.empty());
  EXPECT_EQ(finding->where.front().source, "server.py:40 (loop)");
  EXPECT_EQ(finding->evidence.front(), "1.50 ms of a 3.00 ms step (50 %), in 1 call a step");
  const Look sleeps(Waiting("<built-in function sleep>", nullptr, false));
  ASSERT_NE(sleeps.Find("python-hotspot"), nullptr);
  EXPECT_EQ(sleeps.Find("python-hotspot")->title, "between steps the program sleeps");
}

// Nobody sends batches to a training: who waits in it waits for a part of the program.
TEST(PythonHotspotRule, ATrainingThatWaitsIsNotToldToTakeCodeOut) {
  const Look look(Waiting("queue.py(154): get", nullptr, true));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "the Python function loop waits in queue.get, and takes the time of the step");
  EXPECT_EQ(finding->confidence, Confidence::kMedium);
  EXPECT_EQ(finding->remedy.find("take it out"), std::string::npos);
  const Look sleeps(Waiting("<built-in function sleep>", nullptr, true));
  ASSERT_NE(sleeps.Find("python-hotspot"), nullptr);
  EXPECT_EQ(sleeps.Find("python-hotspot")->title,
            "the Python function loop sleeps, and takes the time of the step");
}

TEST(PythonHotspotRule, WhatMakesDataReadyIsCalledByTheUser) {
  const Look look(Steps([](TraceSketch& sketch, double at, int) {
    sketch.Python("server.py(88): handle", at, at + 1500);
    sketch.Python("transformers/tokenization_utils_fast.py(550): _batch_encode_plus", at + 1,
                  at + 1499);
    return at + 1500;
  }));
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the Python function handle takes the time of the step");
  EXPECT_NE(finding->evidence.back().find("_batch_encode_plus"), std::string::npos);
}

// A copy of the model: PyTorch copies each tensor, the user asked for it.
TEST(PythonHotspotRule, ADeepCopyIsTheTimeOfWhoAsksForIt) {
  const auto copies = [](const char* asks) {
    return Look(Steps([asks](TraceSketch& sketch, double at, int) {
      sketch.Python("train.py(5): keep_best", at, at + 1500);
      sketch.Python(asks, at + 1, at + 1499);
      sketch.Python("torch/_tensor.py(134): __deepcopy__", at + 2, at + 1498);
      for (double op = at + 100; op < at + 1490; op += 100) sketch.Op("aten::clone", op, op + 5);
      return at + 1500;
    }));
  };
  const Look look = copies("copy.py(128): deepcopy");
  const Finding* finding = look.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the Python function keep_best takes the time of the step");
  EXPECT_EQ(finding->evidence.back(), "of what it calls, copy.py:128 (deepcopy) takes most");
  EXPECT_EQ(copies("torch/optim/optimizer.py(90): load").Find("python-hotspot"), nullptr);
}

// 1,500 us of a framework in one piece, or between operators that each come after 100.
TEST(PythonHotspotRule, AFrameworksCodeBeyondDispatchIsNamedWithItsCaller) {
  const auto generates = [](double piece) {
    return Look(Steps([piece](TraceSketch& sketch, double at, int) {
      sketch.Python("server.py(88): handle", at, at + 1500);
      sketch.Python("transformers/generation/logits_process.py(90): __call__", at + 1, at + 1499);
      for (double op = at + piece; op < at + 1490; op += piece) {
        sketch.Op("aten::add", op, op + 5);
      }
      return at + 1500;
    }));
  };
  const Look whole = generates(1500);
  const Finding* finding = whole.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the Python function __call__ takes the time of the step");
  EXPECT_EQ(finding->confidence, Confidence::kMedium);
  EXPECT_EQ(finding->where.front().source, "server.py:88 (handle)");
  EXPECT_NE(finding->evidence.back().find("logits_process.py:90"), std::string::npos);
  EXPECT_EQ(generates(100).Find("python-hotspot"), nullptr);
}

// Without frames: pauses between iterations, which come as long as they like.
TEST(PythonHotspotRule, WhereNothingTellsCodeFromWaitingNothingIsSold) {
  const auto pauses = [](bool trains) {
    return Look(Steps([trains](TraceSketch& sketch, double at, int i) {
      const double pause = 500 + 700 * (i % 3);
      if (trains) sketch.Annotation("Optimizer.step#SGD.step", at + pause + 10, at + pause + 20);
      return at + pause;
    }));
  };
  const Look serves = pauses(false), trains = pauses(true);
  const Finding* finding = serves.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->title.find("or waits for requests"), std::string::npos);
  EXPECT_EQ(finding->severity, Severity::kLow);
  EXPECT_FALSE(finding->speedup);
  finding = trains.Find("python-hotspot");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title.find("or waits"), std::string::npos);
  EXPECT_TRUE(finding->speedup);
}

TEST(PythonHotspotRule, OperatorsThatComputeOnTheHostAreNoPython) {
  const auto computes = [](double length) {
    return Look(Steps([length](TraceSketch& sketch, double at, int) {
      sketch.Op("aten::topk", at + 10, at + 10 + length);
      return at + 1500;
    }));
  };
  const Look most = computes(1400), little = computes(600);
  ASSERT_NE(most.Find("python-hotspot"), nullptr);
  EXPECT_EQ(most.Find("python-hotspot")->title,
            "operators compute on the host between aten::mm and aten::mm, aten::topk most of all");
  ASSERT_NE(little.Find("python-hotspot"), nullptr);
  EXPECT_NE(little.Find("python-hotspot")->title.find("code outside operators"), std::string::npos);
}

TEST(InputBoundRule, NamesTheFunctionThatTakesMostOfTheLoading) {
  const Look look(Steps([](TraceSketch& sketch, double at, int) {
    sketch.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, at + 1500);
    sketch.Python("torch/utils/data/_utils/fetch.py(50): fetch", at + 5, at + 1490);
    sketch.Python("data.py(12): __getitem__", at + 10, at + 1400);
    sketch.Python("data.py(30): augment", at + 20, at + 1390);
    sketch.Python("<built-in method resize of Image object at 0x7f>", at + 30, at + 1300);
    return at + 1510;
  }));
  const Finding* finding = look.Find("input-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->title.find("most of it in augment"), std::string::npos);
  EXPECT_EQ(finding->where.front().source, "data.py:30 (augment)");
}

Look LookAtLoading(bool device, const char* iterator) {
  const auto fetch = [&](TraceSketch& sketch, double at, int) {
    const std::string name = std::string("enumerate(DataLoader)#") + iterator + ".__next__";
    sketch.Annotation(name, at, at + 1900);
    return at + 1910;
  };
  if (device) return Look(Steps(fetch));
  TraceSketch sketch;
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * kStep;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), begin, begin + kStep);
    sketch.Op("aten::mm", fetch(sketch, begin + 10, i), begin + kStep - 10);
  }
  return Look(std::move(sketch));
}

TEST(InputBoundRule, SpeaksOfADeviceOnlyWhereThereIsOne) {
  const Look with = LookAtLoading(true, "_SingleProcessDataLoaderIter");
  ASSERT_NE(with.Find("input-bound"), nullptr);
  EXPECT_NE(with.Find("input-bound")->title.find("the device waits"), std::string::npos);
  EXPECT_NE(with.Find("input-bound")->remedy.find("pin_memory=True"), std::string::npos);
  const Look without = LookAtLoading(false, "_SingleProcessDataLoaderIter");
  ASSERT_NE(without.Find("input-bound"), nullptr);
  EXPECT_NE(without.Find("input-bound")->title.find("the program waits"), std::string::npos);
  EXPECT_EQ(without.Find("input-bound")->remedy.find("pin_memory"), std::string::npos);
  EXPECT_EQ(without.Find("input-bound")->remedy.find("GPU"), std::string::npos);
}

TEST(InputBoundRule, TheRemedyCanBeTypedAndWarnsOfIterableDatasets) {
  for (const char* iterator : {"_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"}) {
    const Look look = LookAtLoading(true, iterator);
    ASSERT_NE(look.Find("input-bound"), nullptr);
    const std::string& remedy = look.Find("input-bound")->remedy;
    EXPECT_NE(remedy.find("get_worker_info()"), std::string::npos);
    const std::string count = remedy.substr(remedy.find("num_workers="));
    EXPECT_EQ(count.substr(0, count.find(',')).find('.'), std::string::npos) << count;
  }
}

TEST(NaiveAttentionRule, NamesTheLineOfTheUser) {
  const Look look(Steps([](TraceSketch& sketch, double at, int i) {
    const std::int64_t id = 100 + 10 * i;
    const std::string product = "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NTT";
    sketch.Python("model.py(12): attend", at, at + 80);
    sketch.Op("aten::bmm", at + 5, at + 20).Launch(at + 10, id);
    sketch.Kernel(at + 20, at + 600, id, 7, product);
    sketch.Python("torch/nn/functional.py(2100): softmax", at + 25, at + 45);
    sketch.Op("aten::_softmax", at + 30, at + 40).Launch(at + 33, id + 1);
    sketch.Kernel(at + 601, at + 1200, id + 1, 7, "softmax_warp_forward");
    sketch.Op("aten::bmm", at + 50, at + 65).Launch(at + 55, id + 2);
    sketch.Kernel(at + 1201, at + 1800, id + 2, 7, product);
    sketch.Call("cudaDeviceSynchronize", at + 90, at + 1805, id + 3);
    return at + 1810;
  }));
  const Finding* finding = look.Find("naive-attention");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where.front().source, "model.py:12 (attend)");
}

// Steps of 3 ms; those that save copy 128 MB back and take 40 ms more.
Look LookAtSaving(int steps_that_save) {
  TraceSketch sketch;
  double at = 1000;
  for (int i = 0; i < kSteps; ++i) {
    const bool saves = i >= 1 && i <= steps_that_save;
    const double end = at + kStep + (saves ? 40'000 : 0);
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), at, end);
    sketch.Op("aten::mm", at + 10, at + 2900).Launch(at + 15, 10 + i);
    sketch.Kernel(at + 30, at + 2800, 10 + i);
    for (int k = 0; saves && k < 4; ++k) {
      const std::int64_t id = 100 + 10 * i + k;
      const double t = at + 3000 + 100 * k;
      sketch.Op("aten::copy_", t, t + 50).Call("cudaMemcpyAsync", t + 5, t + 45, id);
      sketch.Copy(t + 8, t + 40, id, CopyDirection::kDeviceToHost, MemoryKind::kDevice,
                  MemoryKind::kPageable, 32'000'000);
    }
    at = end;
  }
  return Look(std::move(sketch));
}

TEST(CheckpointRule, WithoutFramesManyLargeCopiesAndAPauseInSomeStepsTell) {
  const Look look = LookAtSaving(1);
  const Finding* finding = look.Find("checkpoint-stall");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->confidence, Confidence::kMedium);
  EXPECT_NEAR(*finding->recoverable_ns, 10e6, 0.5e6);  // 40 ms in one of four steps
  EXPECT_EQ(LookAtSaving(0).Find("checkpoint-stall"), nullptr);
}

TEST(WorkerRestartRule, ALeadingStepWithNewWorkersIsFoundThoughItCountsAsWarmUp) {
  TraceSketch sketch;
  double at = 1000;
  for (int i = 0; i < kSteps; ++i) {
    const double extra = i == 0 ? 90'000 : 0, end = at + kStep + extra;
    const char* fetch = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 4), at, end);
    if (i == 0) {
      sketch.Annotation(fetch, at + 10, at + 15'000).Annotation(fetch, at + 80'000, at + 90'000);
    } else {
      sketch.Annotation(fetch, at + 10, at + 40);
    }
    const double rest = at + extra + 50;
    sketch.Op("aten::mm", rest, end - 10).Launch(rest + 5, 10 + i);
    sketch.Kernel(rest + 15, end - 20, 10 + i);
    at = end;
  }
  const Look look(std::move(sketch));
  const Finding* finding = look.Find("worker-restart");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kHigh);
  EXPECT_FALSE(finding->recoverable_ns.has_value());
}

}  // namespace
}  // namespace hone::doctor
