// SPDX-License-Identifier: Apache-2.0
#include "analyze/compat.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "analyze/compat_rules.h"
#include "analyze/fixture_test.h"
#include "import/import.h"
#include "trace/builder.h"

namespace hone::analyze {
namespace {

using trace::SliceInput;
using trace::SliceKind;
using trace::WorkInput;
using trace::WorkKind;

TEST(DecimalMicros, IsTheNearestDouble) {
  EXPECT_EQ(DecimalMicros(0), 0.0);
  EXPECT_EQ(DecimalMicros(1'234'567), 1234.567);
  EXPECT_EQ(DecimalMicros(-1'234'567), -1234.567);
  EXPECT_EQ(DecimalMicros(3'847'693'928'422'549), 3847693928422.549);
  EXPECT_EQ(DecimalMicros(1'712'195'495'984'501'234), 1712195495984501.234);
  EXPECT_EQ(DecimalMicros(-1'712'195'495'984'501'007), -1712195495984501.007);
  EXPECT_EQ(DecimalMicros(INT64_MAX), 9223372036854775.807);
  EXPECT_EQ(DecimalMicros(INT64_MIN), -9223372036854775.808);
}

class CompatTest : public testing::Test {
 protected:
  void Host(double start_us, double duration_us, const char* name, SliceKind kind,
            std::int64_t id = 0) {
    builder_.Add(SliceInput{.start_ns = static_cast<Nanos>(start_us * 1000),
                            .duration_ns = static_cast<Nanos>(duration_us * 1000),
                            .name = builder_.Intern(name),
                            .kind = kind,
                            .thread = builder_.ThreadFor(1, 1),
                            .id = id});
  }
  void Work(double start_us, double duration_us, const char* name, std::int64_t correlation,
            std::int64_t stream = 7, WorkKind kind = WorkKind::kKernel) {
    builder_.Add(WorkInput{.start_ns = static_cast<Nanos>(start_us * 1000),
                           .duration_ns = static_cast<Nanos>(duration_us * 1000),
                           .name = builder_.Intern(name),
                           .kind = kind,
                           .stream = builder_.StreamFor(0, stream),
                           .correlation = correlation});
  }
  trace::Trace Finish() { return std::move(builder_).Finish(); }
  trace::Builder builder_;
};

TEST_F(CompatTest, TraceLensCountsLinkedWorkOnly) {
  Host(0, 100, "aten::mm", SliceKind::kOp);
  Host(1, 5, "cudaLaunchKernel", SliceKind::kApi, 1);
  Host(110, 5, "cudaLaunchKernel", SliceKind::kApi, 2);
  Host(120, 5, "cudaMemcpyAsync", SliceKind::kApi, 3);
  Host(130, 5, "cudaGraphLaunch", SliceKind::kApi, 4);
  Work(0, 10, "gemm", 99);  // launched before the window
  Work(100, 20, "gemm", 1);
  Work(115, 20, "ncclDevKernel_AllReduce", 2, 20);
  Work(130, 10, "Memcpy DtoH", 3, 7, WorkKind::kCopy);
  Work(150, 5, "layer", 4);
  Work(160, 5, "layer", 4);
  const TraceLensFacts facts = ComputeTraceLens(Finish());
  ASSERT_TRUE(facts.timeline.has_value());
  EXPECT_DOUBLE_EQ(facts.timeline->total, 0.065);
  EXPECT_DOUBLE_EQ(facts.timeline->computation, 0.030);
  EXPECT_DOUBLE_EQ(facts.timeline->total_comm, 0.020);
  EXPECT_DOUBLE_EQ(facts.timeline->exposed_comm, 0.015);
  EXPECT_DOUBLE_EQ(facts.timeline->total_memcpy, 0.010);
  EXPECT_DOUBLE_EQ(facts.timeline->exposed_memcpy, 0.005);
  EXPECT_DOUBLE_EQ(facts.timeline->busy, 0.050);
  EXPECT_DOUBLE_EQ(facts.timeline->idle, 0.015);

  ASSERT_EQ(facts.kernels.size(), 4U);  // two gemm rows, nccl, layer; the copy is no kernel
  std::map<std::string, const TraceLensKernelRow*> by_parent;
  for (const TraceLensKernelRow& row : facts.kernels) by_parent[row.parent_op] = &row;
  EXPECT_EQ(by_parent["aten::mm"]->category, "GEMM");
  EXPECT_EQ(by_parent[""]->category, "");
  EXPECT_EQ(by_parent["cudaLaunchKernel"]->category, "runtime");
  EXPECT_EQ(by_parent["cudaGraphLaunch"]->category, "graph");
  EXPECT_EQ(by_parent["cudaGraphLaunch"]->count, 2U);
  EXPECT_DOUBLE_EQ(by_parent["aten::mm"]->pct_of_kernels, 100 * 20.0 / 60.0);
  EXPECT_DOUBLE_EQ(by_parent["aten::mm"]->pct_of_total, 100 * 20.0 / 65.0);
}

TEST_F(CompatTest, TraceLensNeedsALaunch) {
  Work(0, 10, "gemm", 99);
  const TraceLensFacts facts = ComputeTraceLens(Finish());
  EXPECT_FALSE(facts.timeline.has_value());
  EXPECT_EQ(facts.kernels.size(), 1U);
}

TEST(TraceLensCategory, Names) {
  EXPECT_STREQ(TraceLensOpCategory("aten::addmm"), "GEMM");
  EXPECT_STREQ(TraceLensOpCategory("aten::native_layer_norm"), "NORM_fwd");
  EXPECT_STREQ(TraceLensOpCategory("aten::cudnn_batch_norm_backward"), "NORM_bwd");
  EXPECT_STREQ(TraceLensOpCategory("triton_poi_fused_add_0"), "triton");
  EXPECT_EQ(TraceLensOpCategory("aten::gelu"), nullptr);
  EXPECT_STREQ(TraceLensWorkCategory("void at::native::vectorized_elementwise_kernel<4>"),
               "elementwise");
  EXPECT_STREQ(TraceLensWorkCategory("void (anonymous namespace)::elementwise_kernel"), "other");
}

TEST_F(CompatTest, HtaRoundsStopsAtTheLastStepAndCountsSyncs) {
  Host(0, 100, "ProfilerStep#1", SliceKind::kAnnotation);
  Host(100, 100, "ProfilerStep#2", SliceKind::kAnnotation);
  Host(1.2, 5, "cudaLaunchKernel", SliceKind::kApi, 1);
  Host(20, 5, "cudaLaunchKernel", SliceKind::kApi, 2);
  Host(21, 5, "cudaLaunchKernel", SliceKind::kApi, 3);
  Host(150, 5, "cudaLaunchKernel", SliceKind::kApi, 4);
  Work(10.5, 10, "gemm", 1);                       // [11, 20]
  Work(40.2, 9.9, "ncclKernel_AllReduce", 2, 20);  // [41, 50]
  Work(45, 15, "gemm", 3);                         // [45, 60], 25 µs after the first
  Work(160, 10, "gemm", 4);                        // launched in the last step
  builder_.Add(trace::SyncInput{.start_ns = 60'000,
                                .duration_ns = 20'000,
                                .name = builder_.Intern("Stream Sync"),
                                .stream = builder_.StreamFor(0, 7),
                                .correlation = 3});
  const HtaFacts facts = ComputeHta(Finish());
  ASSERT_TRUE(facts.breakdown.has_value());
  EXPECT_EQ(facts.breakdown->kernel_time, 69);  // 11 to 80
  EXPECT_EQ(facts.breakdown->idle, 21);         // 20 to 41
  EXPECT_EQ(facts.breakdown->compute, 24);      // 9 + 15
  EXPECT_EQ(facts.breakdown->non_compute, 24);
  EXPECT_EQ(facts.breakdown->idle_pct, 30.43);
  ASSERT_TRUE(facts.comm_comp_overlap_pct.has_value());
  EXPECT_EQ(*facts.comm_comp_overlap_pct, 55.56);  // 45 to 50 of 41 to 50
  ASSERT_EQ(facts.idle.size(), 3U);
  EXPECT_EQ(facts.idle[0].stream, 7);
  EXPECT_EQ(facts.idle[0].category, "host_wait");  // launched at 21, the first ended at 20
  EXPECT_EQ(facts.idle[0].idle_us, 25);
  EXPECT_EQ(facts.idle[1].category, "other");
  EXPECT_EQ(facts.idle[2].stream, 20);
}

TEST_F(CompatTest, NothingToCompare) {
  EXPECT_FALSE(ComputeHta(trace::Builder().Finish()).breakdown.has_value());
  EXPECT_FALSE(ComputeTraceLens(trace::Builder().Finish()).timeline.has_value());
  Work(0, 1, "gemm", 1);
  trace::Trace nsys = Finish();
  nsys.info.format = trace::Format::kNsys;
  EXPECT_FALSE(ComputeTraceLens(nsys).timeline.has_value());
  EXPECT_FALSE(ComputeHta(nsys).breakdown.has_value());
}

// ---- TraceLens's own answers ----

std::vector<std::vector<std::string>> ReadCsv(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        fields.emplace_back();
      } else {
        fields.back().push_back(c);
      }
    }
    rows.push_back(std::move(fields));
  }
  return rows;
}

void ExpectClose(double got, const std::string& expected, const std::string& what) {
  const double value = std::stod(expected);
  EXPECT_LE(std::abs(got - value), 1e-6 * std::abs(value))
      << what << ": " << got << " for " << value;
}

class TraceLensPeer : public testing::TestWithParam<const char*> {};

TEST_P(TraceLensPeer, EveryRowAgrees) {
  const std::string base = std::string("peers/tracelens/") + GetParam();
  const std::string path = SharedPath(base + ".json.gz");
  HONE_SKIP_WITHOUT(path);
  const Result<trace::Trace> trace = importer::LoadKineto(path);
  ASSERT_TRUE(trace.has_value());
  const TraceLensFacts facts = ComputeTraceLens(*trace);
  ASSERT_TRUE(facts.timeline.has_value());
  const std::map<std::string, double> ours = {
      {"computation_time", facts.timeline->computation},
      {"exposed_comm_time", facts.timeline->exposed_comm},
      {"exposed_memcpy_time", facts.timeline->exposed_memcpy},
      {"busy_time", facts.timeline->busy},
      {"idle_time", facts.timeline->idle},
      {"total_time", facts.timeline->total},
      {"total_comm_time", facts.timeline->total_comm},
      {"total_memcpy_time", facts.timeline->total_memcpy}};
  const auto timeline = ReadCsv(SharedPath(base + ".gpu_timeline.csv"));
  ASSERT_EQ(timeline.size(), 9U);
  for (std::size_t i = 1; i < timeline.size(); ++i) {
    ExpectClose(ours.at(timeline[i][0]), timeline[i][1], timeline[i][0]);
  }

  std::map<std::string, const TraceLensKernelRow*> by_key;
  for (const TraceLensKernelRow& row : facts.kernels) {
    by_key[row.category + "|" + row.parent_op + "|" + row.kernel + "|" +
           std::to_string(row.stream)] = &row;
  }
  const auto kernels = ReadCsv(SharedPath(base + ".kernel_summary.csv"));
  ASSERT_EQ(kernels.size(), facts.kernels.size() + 1);
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    const auto& row = kernels[i];
    const std::string key = row[0] + "|" + row[1] + "|" + row[2] + "|" + row[3];
    ASSERT_TRUE(by_key.contains(key)) << key;
    const TraceLensKernelRow& got = *by_key[key];
    ExpectClose(got.sum, row[4], key);
    EXPECT_EQ(got.count, std::stoull(row[5])) << key;
    ExpectClose(got.mean, row[6], key);
    ExpectClose(got.min, row[7], key);
    ExpectClose(got.max, row[8], key);
    ExpectClose(got.pct_of_kernels, row[9], key);
    ExpectClose(got.pct_of_total, row[10], key);
  }
}
INSTANTIATE_TEST_SUITE_P(H100, TraceLensPeer,
                         testing::Values("Qwen_Qwen1.5-0.5B-Chat__1016005",
                                         "gaunernst_bert-small-uncased__1016001"),
                         [](const auto& info) { return info.index == 0 ? "Qwen" : "Bert"; });

// ---- HTA 0.5.0's answers on the same files, read off its data frames ----

struct HtaAnswer {
  const char* file;
  double idle, compute, non_compute, kernel_time;
  double overlap;  // -1: no communication
};
class HtaPeer : public testing::TestWithParam<HtaAnswer> {};

TEST_P(HtaPeer, BreakdownAgrees) {
  const std::string path = SharedPath(GetParam().file);
  HONE_SKIP_WITHOUT(path);
  const Result<trace::Trace> trace = importer::LoadKineto(path);
  ASSERT_TRUE(trace.has_value());
  const HtaFacts facts = ComputeHta(*trace);
  ASSERT_TRUE(facts.breakdown.has_value());
  EXPECT_EQ(facts.breakdown->idle, GetParam().idle);
  EXPECT_EQ(facts.breakdown->compute, GetParam().compute);
  EXPECT_EQ(facts.breakdown->non_compute, GetParam().non_compute);
  EXPECT_EQ(facts.breakdown->kernel_time, GetParam().kernel_time);
  EXPECT_EQ(facts.comm_comp_overlap_pct.has_value(), GetParam().overlap >= 0);
  if (facts.comm_comp_overlap_pct.has_value()) {
    EXPECT_EQ(*facts.comm_comp_overlap_pct, GetParam().overlap);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Files, HtaPeer,
    testing::Values(
        HtaAnswer{"peers/hta/amd_mi250.json.gz", 8780, 96, 35, 8911, -1},
        HtaAnswer{"peers/hta/nccl_data.json.gz", 338781, 75169, 21636, 435586, 14.31},
        HtaAnswer{"peers/hta/ns_resolution.json.gz", 10113, 372150, 2371, 384634, -1},
        HtaAnswer{"peers/hta/trace_diff_control.json.gz", 62119, 234760, 86525, 383404, 47.03},
        HtaAnswer{"peers/hta/trace_diff_test.json.gz", 46910, 429216, 152245, 628371, 68.8},
        HtaAnswer{"traces/gpt2_bad_light.json.gz", 22851, 601689, 102, 624642, -1},
        HtaAnswer{"traces/resnet50_bad_light.json.gz", 348463, 237399, 22528, 608390, -1}),
    [](const auto& info) {
      std::string name = std::filesystem::path(info.param.file).filename().string();
      name = name.substr(0, name.find('.'));
      return name;
    });

}  // namespace
}  // namespace hone::analyze
