// SPDX-License-Identifier: Apache-2.0
#include "analyze/loader.h"

#include <gtest/gtest.h>

#include "analyze/sketch_test.h"

namespace hone::analyze {
namespace {

using trace::Trace;

bool IsLoader(std::string_view name, trace::SliceKind kind = trace::SliceKind::kAnnotation) {
  return FindLoaderSlices(TraceSketch().Slice(kind, name, 0, 10).Finish()).size() == 1;
}

TEST(Loader, NamesThatFetchBatches) {
  for (const char* name :
       {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "[pl][profile][_TrainingEpochLoop].train_dataloader_next", "[_EvaluationLoop].val_next",
        "DataLoader", "data_loader", "Data Loading", "data_loading", "get_batch", "next_batch",
        "train/get-batch", "batch-generator", "## load_batch ##", "data", "wait_for_data"}) {
    EXPECT_TRUE(IsLoader(name)) << name;
  }
}

TEST(Loader, NamesThatDoNot) {
  for (const char* name : {"", "ProfilerStep#3", "target_batch", "update", "metadata", "forward",
                           "## all2all_tw_data:wait ##", "data_parallel", "batch_norm", "prefetch",
                           "DistributedDataParallel.forward", "for loop: next"}) {
    EXPECT_FALSE(IsLoader(name)) << name;
  }
  EXPECT_FALSE(IsLoader("get_batch", trace::SliceKind::kOp));
  EXPECT_FALSE(IsLoader("DataLoader", trace::SliceKind::kPython));
}

TEST(Loader, AWorkersFetchIsNotTheStepsWait) {
  trace::Trace trace =
      TraceSketch().Slice(trace::SliceKind::kAnnotation, "DataLoader.fetch", 0, 90).Finish();
  EXPECT_EQ(FindLoaderSlices(trace).size(), 1u);  // a user's own name
  trace.info.format = trace::Format::kHone;
  EXPECT_TRUE(FindLoaderSlices(trace).empty());  // the recorder's mark
}

TEST(Loader, PythonFrames) {
  EXPECT_TRUE(IsLoader("torch/utils/data/dataloader.py(736): __next__", trace::SliceKind::kPython));
  EXPECT_TRUE(IsLoader("/opt/lib/torch/utils/data/dataloader.py(736): __next__",
                       trace::SliceKind::kPython));
  EXPECT_FALSE(
      IsLoader("torch/utils/data/dataloader.py(1487): _next_data", trace::SliceKind::kPython));
}

TEST(Loader, OutermostOnlyAndTheBestEvidenceWins) {
  TraceSketch sketch;
  sketch.Annotation("get_batch", 0, 200);
  sketch.Annotation("DataLoader", 10, 100).Annotation("dataloader.fetch", 20, 50);
  sketch.Python("torch/utils/data/dataloader.py(736): __next__", 12, 90);
  const Trace trace = sketch.Finish();
  const auto rows = FindLoaderSlices(trace);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(trace.HostName(rows[0]), "DataLoader");
}

TEST(Loader, AbsentWithoutALoader) {
  const auto facts = MeasureLoader(TraceSketch().Op("aten::mm", 0, 1).Finish(), {},
                                   Known<IdleFacts>::Absent("none"));
  EXPECT_FALSE(facts.has_value());
  EXPECT_EQ(facts.why_not(), "nothing in this trace is named like a data loader");
}

Steps TwoSteadySteps() {
  Steps steps;
  steps.steps = {{"a", 0, {0, 100'000}, {0, 100'000}, true},
                 {"b", 1, {100'000, 200'000}, {100'000, 200'000}, false},
                 {"c", 2, {200'000, 300'000}, {200'000, 300'000}, false}};
  steps.warm_up_count = 1;
  StepStats stats;
  stats.mean_ns = 100'000;
  stats.median_ns = 50'000;  // of no use: what is a step's share is a mean
  steps.stats = stats;
  return steps;
}

TEST(Loader, FiguresAStepAreTakenInsideSteadySteps) {
  constexpr std::string_view kName = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  TraceSketch sketch;
  sketch.Annotation(kName, 0, 90).Annotation(kName, 100, 140);
  sketch.Annotation(kName, 190, 210).Annotation(kName, 200, 230, 300);  // two threads, 190…230
  sketch.Annotation(kName, 290, 350);
  IdleFacts idle;
  idle.steady_ns[static_cast<std::size_t>(IdleCause::kLoader)] = 77;
  const auto facts = MeasureLoader(sketch.Finish(), TwoSteadySteps(), idle);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->mode, LoaderMode::kInProcess);
  EXPECT_EQ(facts->fetches, 5u);
  EXPECT_EQ(facts->total_ns, 240'000);
  EXPECT_EQ(facts->mean_ns, 48'000);
  EXPECT_EQ(facts->max_ns, 90'000);
  EXPECT_EQ(facts->p95_ns, 84'000);               // 60 + 0.8 · 30
  EXPECT_DOUBLE_EQ(*facts->per_step_ns, 45'000);  // (40 + 40 + 10) / 2
  EXPECT_DOUBLE_EQ(*facts->step_share, 0.45);
  EXPECT_EQ(*facts->device_idle_ns, 77);
}

TEST(Loader, WithoutStepsOrDeviceTheFiguresAreAbsent) {
  const auto facts = MeasureLoader(TraceSketch().Annotation("DataLoader", 0, 10).Finish(), {},
                                   Known<IdleFacts>::Absent("no device work in this trace"));
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->mode, LoaderMode::kUnknown);
  EXPECT_FALSE(facts->per_step_ns.has_value());
  EXPECT_FALSE(facts->step_share.has_value());
  EXPECT_EQ(facts->device_idle_ns.why_not(), "no device work in this trace");
}

TEST(Loader, PythonFramesTellWorkersFromInProcess) {
  const auto mode_with = [](std::string_view inner) {
    TraceSketch sketch;
    sketch.Python("torch/utils/data/dataloader.py(736): __next__", 0, 50);
    sketch.Python(inner, 10, 40);
    return MeasureLoader(sketch.Finish(), {}, Known<IdleFacts>::Absent(""))->mode;
  };
  EXPECT_EQ(mode_with("torch/utils/data/dataloader.py(1297): _try_get_data"), LoaderMode::kWorkers);
  EXPECT_EQ(mode_with("torch/utils/data/_utils/fetch.py(51): fetch"), LoaderMode::kInProcess);
  EXPECT_EQ(mode_with("random.py(1): shuffle"), LoaderMode::kUnknown);
}

}  // namespace
}  // namespace hone::analyze
