// SPDX-License-Identifier: Apache-2.0
// The host-side analyses on recorded traces, against what their makers know to be true.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "analyze/idle.h"
#include "analyze/launches.h"
#include "analyze/loader.h"
#include "analyze/python_time.h"
#include "analyze/syncs.h"
#include "analyze/transfers.h"
#include "import/import.h"

namespace hone::analyze {
namespace {

namespace fs = std::filesystem;
using trace::Trace;

fs::path Shared() {
  const char* given = std::getenv("HONE_SHARED");
#ifdef HONE_SOURCE_DIR
  return given != nullptr ? fs::path(given) : fs::path(HONE_SOURCE_DIR) / ".." / "shared";
#else
  return given != nullptr ? fs::path(given) : fs::path("..") / "shared";
#endif
}

Nanos Total(const std::array<Nanos, kIdleCauseCount>& by_cause) {
  return std::accumulate(by_cause.begin(), by_cause.end(), Nanos{0});
}

struct Facts {
  Steps steps;
  Known<Timeline> timeline;
  Known<IdleFacts> idle;
  Nanos steady(IdleCause cause) const { return idle->steady_ns[static_cast<std::size_t>(cause)]; }
  IdleCause largest() const {
    const auto& all = idle->steady_ns;
    return static_cast<IdleCause>(std::max_element(all.begin(), all.end()) - all.begin());
  }
};

Facts Analyze(const Trace& trace) {
  Facts facts;
  facts.steps = FindSteps(trace);
  facts.timeline = ComputeTimeline(trace, WorkClasses(trace), facts.steps.steady_window);
  facts.idle = ExplainIdle(trace, facts.timeline, facts.steps, Lineage(trace));
  return facts;
}

class HostOnRealTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(Shared() / "traces")) {
      GTEST_SKIP() << "no recorded traces at " << Shared() << "; set HONE_SHARED";
    }
  }
  static Trace Load(const char* name) {
    auto loaded = importer::LoadTrace((Shared() / "traces" / name).string());
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message());
    return loaded ? std::move(*loaded) : Trace();
  }
};

TEST_F(HostOnRealTraces, CausesSumToTheIdleTimeInEveryFile) {
  std::size_t explained = 0;
  for (const char* folder : {"traces", "peers/hta", "peers/tracelens", "peers/nsys"}) {
    if (!fs::is_directory(Shared() / folder)) continue;
    for (const auto& entry : fs::directory_iterator(Shared() / folder)) {
      const std::string path = entry.path().string();
      if (!path.ends_with(".json.gz") && !path.ends_with(".sqlite")) continue;
      const auto loaded = importer::LoadTrace(path);
      ASSERT_TRUE(loaded.has_value()) << path;
      const Facts facts = Analyze(*loaded);
      ASSERT_EQ(facts.idle.has_value(), facts.timeline.has_value()) << path;
      if (!facts.idle) continue;
      const DeviceTimeline& device = facts.timeline->main_device();
      EXPECT_EQ(Total(facts.idle->whole_ns), device.whole.idle_ns) << path;
      EXPECT_EQ(Total(facts.idle->steady_ns), device.steady.idle_ns) << path;
      ++explained;
    }
  }
  EXPECT_GE(explained, 12u);
}

TEST_F(HostOnRealTraces, ResnetWaitsForData) {
  const Trace trace = Load("resnet50_bad_light.json.gz");
  const Facts facts = Analyze(trace);
  EXPECT_EQ(facts.largest(), IdleCause::kLoader);
  EXPECT_NEAR(ToMillis(facts.steady(IdleCause::kLoader)) / 4, 107, 3);
  const auto loader = MeasureLoader(trace, facts.steps, facts.idle);
  ASSERT_TRUE(loader.has_value());
  EXPECT_EQ(loader->mode, LoaderMode::kInProcess);
  EXPECT_EQ(loader->fetches, 4u);
  EXPECT_NEAR(*loader->per_step_ns / 1e6, 107, 1);

  const auto transfers = MeasureTransfers(trace, facts.timeline);
  ASSERT_TRUE(transfers.has_value());
  EXPECT_EQ(transfers->rows[0].source, trace::MemoryKind::kPageable);
  EXPECT_NEAR(ToMillis(transfers->rows[0].total_ns), 22.5, 0.05);
  const auto sizes = MeasureKernelSizes(trace);
  EXPECT_EQ(sizes->kernels, 7148u);
  EXPECT_EQ(sizes->under_10us, 5137u);

  const auto syncs = FindSyncs(trace, Lineage(trace), facts.steps);
  ASSERT_TRUE(syncs.has_value());
  const auto item = std::find_if(syncs->rows.begin(), syncs->rows.end(), [&](const SyncRow& row) {
    return trace.Name(row.op) == "aten::item";
  });
  ASSERT_NE(item, syncs->rows.end());
  EXPECT_EQ(item->count, 4u);
  EXPECT_DOUBLE_EQ(item->per_step, 1.0);
  EXPECT_EQ(std::count_if(syncs->rows.begin(), syncs->rows.end(),
                          [](const SyncRow& row) { return row.by_profiler; }),
            1);
}

TEST_F(HostOnRealTraces, TinyLaunchesTooSlowly) {
  const Trace trace = Load("tiny_bad_light.json.gz");
  const Facts facts = Analyze(trace);
  EXPECT_EQ(facts.largest(), IdleCause::kLaunch);
  EXPECT_GT(facts.steady(IdleCause::kLaunch),
            facts.timeline->main_device().steady.idle_ns * 8 / 10);
  const auto sizes = MeasureKernelSizes(trace);
  EXPECT_EQ(sizes->kernels, 4u * 556);
  EXPECT_EQ(sizes->under_10us, sizes->kernels);
}

TEST_F(HostOnRealTraces, HostBoundUnderTheProfiler) {
  for (const char* name : {"gpt2_good_light.json.gz", "resnet50_good_full.json.gz"}) {
    const Facts facts = Analyze(Load(name));
    EXPECT_EQ(facts.largest(), IdleCause::kLaunch) << name;
    EXPECT_GT(facts.steady(IdleCause::kLaunch) + facts.steady(IdleCause::kHostWork),
              facts.timeline->main_device().steady.idle_ns * 9 / 10)
        << name;
    EXPECT_LT(facts.steady(IdleCause::kLoader), kMillisecond) << name;
  }
}

TEST_F(HostOnRealTraces, ComputeBoundHasLittleIdle) {
  const Facts facts = Analyze(Load("gpt2_bad_light.json.gz"));
  const TimelineSplit& steady = facts.timeline->main_device().steady;
  EXPECT_LT(steady.idle_ns, steady.total_ns * 3 / 100);
}

TEST_F(HostOnRealTraces, PythonFramesOfTheFullTrace) {
  const Trace trace = Load("resnet50_good_full.json.gz");
  const Facts facts = Analyze(trace);
  const auto loader = MeasureLoader(trace, facts.steps, facts.idle);
  EXPECT_EQ(loader->mode, LoaderMode::kWorkers);
  const auto python = MeasurePython(trace, Lineage(trace), {});
  ASSERT_TRUE(python.has_value());
  EXPECT_TRUE(python->lines_are_definitions);
  const auto line =
      std::find_if(python->lines.begin(), python->lines.end(),
                   [](const PythonRow& row) { return row.name == "work.py(40): steps"; });
  ASSERT_NE(line, python->lines.end());
  EXPECT_GT(line->device_ns, 0);
  const auto syncs = FindSyncs(trace, Lineage(trace), facts.steps);
  for (const SyncRow& row : syncs->rows) EXPECT_FALSE(row.where.empty());
}

}  // namespace
}  // namespace hone::analyze
