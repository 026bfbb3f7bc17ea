// SPDX-License-Identifier: Apache-2.0
#include "analyze/efficiency.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "import/import.h"
#include "trace/builder.h"

namespace hone::analyze {
namespace {

constexpr const char* kBf16Gemm = "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NTT";
constexpr const char* kFp32Gemm = "ampere_sgemm_128x64_nn";
constexpr const char* kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >";

// One thread, one H200 unless told otherwise; operators nest by their times.
class TraceMaker {
 public:
  explicit TraceMaker(const char* device = "NVIDIA H200") {
    builder_.trace().devices[builder_.DeviceFor(0)].name = device;
    builder_.trace().devices[0].sm_count = 132;
    thread_ = builder_.ThreadFor(1, 1);
    stream_ = builder_.StreamFor(0, 7);
  }

  void Op(const char* name, Nanos start_ns, Nanos duration_ns, const char* dims = "",
          const char* types = "", const char* concrete = "", const char* stack = "") {
    trace::SliceInput slice;
    slice.start_ns = start_ns;
    slice.duration_ns = duration_ns;
    slice.name = builder_.Intern(name);
    slice.thread = thread_;
    trace::OpDetail detail;
    detail.dims = builder_.Intern(dims);
    detail.types = builder_.Intern(types);
    detail.concrete = builder_.Intern(concrete);
    detail.stack = builder_.Intern(stack);
    slice.detail = builder_.Detail(detail);
    builder_.Add(slice);
  }

  // A kernel whose launching call stands at `launch_ns` on the thread.
  void Kernel(const char* name, Nanos launch_ns, Nanos start_ns, Nanos duration_ns,
              std::uint32_t blocks = 0, float occupancy_pct = -1) {
    trace::SliceInput call;
    call.start_ns = launch_ns;
    call.duration_ns = 1;
    call.name = builder_.Intern("cudaLaunchKernel");
    call.kind = trace::SliceKind::kApi;
    call.thread = thread_;
    call.id = ++correlation_;
    builder_.Add(call);
    trace::WorkInput work;
    work.start_ns = start_ns;
    work.duration_ns = duration_ns;
    work.name = builder_.Intern(name);
    work.stream = stream_;
    work.correlation = correlation_;
    trace::LaunchConfig launch;
    launch.grid[0] = blocks;
    launch.grid[1] = launch.grid[2] = 1;
    launch.occupancy_pct = occupancy_pct;
    if (blocks > 0) work.launch = builder_.Launch(launch);
    builder_.Add(work);
  }

  Known<EfficiencyFacts> Measure(trace::Interval window) {
    trace_ = std::move(builder_).Finish();
    Steps steps;
    steps.steady_window.AppendSorted(window);
    return MeasureEfficiency(trace_, WorkClasses(trace_), Lineage(trace_), steps);
  }
  const trace::Trace& trace() const { return trace_; }

 private:
  trace::Builder builder_;
  trace::Trace trace_;
  std::uint16_t thread_ = 0, stream_ = 0;
  std::int64_t correlation_ = 0;
};

constexpr const char* kMmDims = "[[1000, 2000], [2000, 500]]";
constexpr double kMmFlops = 2.0 * 1000 * 2000 * 500;
constexpr const char* kFloats = R"(["float", "float"])";
constexpr const char* kBf16s = R"(["c10::BFloat16", "c10::BFloat16"])";

TEST(Efficiency, RooflineAndUtilizationByHand) {
  TraceMaker maker;
  maker.Op("aten::mm", 0, 100, kMmDims, kBf16s);
  maker.Kernel(kBf16Gemm, 10, 1'000, 10'000);
  maker.Op("aten::mm", 200, 100, kMmDims, kBf16s, "", "another stack");
  maker.Kernel(kBf16Gemm, 210, 20'000, 10'000);
  const auto facts = maker.Measure({0, 100'000});
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->device_name, "NVIDIA H200");
  ASSERT_TRUE(facts->roofline);
  ASSERT_EQ(facts->roofline->size(), 1u);
  const RooflineRow& row = facts->roofline->front();
  EXPECT_EQ(row.calls, 2u);
  EXPECT_EQ(row.device_ns, 20'000);
  EXPECT_EQ(row.flops, 2 * kMmFlops);
  EXPECT_EQ(row.precision, Precision::kBf16);
  // 4e9 FLOPs in 20 µs are 200 TFLOP/s, of 790.
  EXPECT_DOUBLE_EQ(row.tflops_per_s, 200);
  EXPECT_FALSE(row.memory_bound);
  EXPECT_NEAR(*row.roofline_share, 200.0 / 790, 1e-12);
  EXPECT_DOUBLE_EQ(*facts->modelled_share, 1);
  // The same FLOPs over a window of 100 µs.
  EXPECT_DOUBLE_EQ(*facts->tflops_per_s, 40);
  EXPECT_NEAR(*facts->model_flops_utilization, 40.0 / 790, 1e-12);
  EXPECT_EQ(facts->matrix_on_ns, 20'000);
  EXPECT_EQ(facts->matrix_off_ns, 0);
}

TEST(Efficiency, Fp32TensorsAreHeldAgainstWhatTheKernelsComputeIn) {
  const auto share = [](const char* kernel) {
    TraceMaker maker;
    maker.Op("aten::mm", 0, 100, kMmDims, kFloats);
    maker.Kernel(kernel, 10, 1'000, 100'000);
    const auto facts = maker.Measure({0, 200'000});
    return *facts->roofline->front().roofline_share;
  };
  const double tflops = kMmFlops / 100'000 / 1e3;
  EXPECT_NEAR(share(kFp32Gemm), tflops / 52, 1e-12);
  EXPECT_NEAR(share("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32"), tflops / 400,
              1e-12);
  // The name does not tell: the dtype decides.
  EXPECT_NEAR(share("my_gemm_kernel"), tflops / 52, 1e-12);
}

TEST(Efficiency, NestedOperatorsCountOnce) {
  TraceMaker maker;
  maker.Op("aten::linear", 0, 100, "[[1000, 2000], [500, 2000], [500]]",
           R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"])");
  maker.Kernel("some_helper", 5, 500, 1'000);  // of linear itself, which addmm supersedes
  maker.Op("aten::addmm", 10, 80, "[[500], [1000, 2000], [2000, 500]]",
           R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"])");
  maker.Kernel(kBf16Gemm, 20, 2'000, 10'000);
  maker.Kernel("void cublasLt::splitKreduce_kernel<32, 16, int, float>()", 30, 12'000, 1'000);
  const auto facts = maker.Measure({0, 100'000});
  ASSERT_TRUE(facts->roofline);
  ASSERT_EQ(facts->roofline->size(), 1u);
  EXPECT_EQ(maker.trace().Name(facts->roofline->front().op), "aten::addmm");
  EXPECT_EQ(facts->roofline->front().flops, kMmFlops);
  EXPECT_EQ(facts->roofline->front().device_ns, 11'000);
  // The fp32 reduction beside the product does not change what it was computed in.
  EXPECT_EQ(facts->roofline->front().precision, Precision::kBf16);
  EXPECT_NEAR(*facts->modelled_share, 11.0 / 12, 1e-12);
}

TEST(Efficiency, CastsInsideAConvolutionHaveRowsOfTheirOwn) {
  TraceMaker maker;
  maker.Op(
      "aten::convolution_backward", 0, 100,
      "[[1, 8, 4, 4], [1, 8, 4, 4], [8, 8, 1, 1], [], [], [], [], [], [], [], []]",
      R"(["float", "float", "float", "", "", "", "", "", "", "", ""])",
      R"(["", "", "", "[0]", "[1]", "[0]", "[1]", "False", "[0]", "1", "[True, True, False]"])");
  maker.Op("aten::copy_", 10, 10, "[[64], [64], []]", R"(["float", "float", "Scalar"])");
  maker.Kernel(kAdd, 12, 1'000, 100);
  maker.Kernel("cudnn_infer_volta_scudnn_128x64_relu_small_nn_v1", 50, 2'000, 5'000);
  const auto facts = maker.Measure({0, 10'000});
  ASSERT_EQ(facts->roofline->size(), 2u);
  EXPECT_EQ((*facts->roofline)[0].flops, 2 * 2.0 * 16 * 64);
  EXPECT_EQ((*facts->roofline)[0].device_ns, 5'000);
  EXPECT_EQ((*facts->roofline)[1].bytes, 512);
}

TEST(Efficiency, ListsTakeTheirElementSizeFromTheKernel) {
  const auto rows = [](const char* kernel) {
    TraceMaker maker;
    maker.Op("aten::cat", 0, 100, "[[[1000], [1000]], []]", R"(["TensorList", "Scalar"])");
    maker.Kernel(kernel, 10, 1'000, 100);
    const auto facts = maker.Measure({0, 10'000});
    return *facts->roofline;
  };
  const auto known = rows("void at::native::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int>");
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].bytes, 2 * 2000 * 2);
  EXPECT_TRUE(rows("triton_poi_fused_cat_0").empty());
}

TEST(Efficiency, UnknownShapesOfMatrixKernelsWithholdUtilization) {
  TraceMaker maker;
  maker.Op("aten::mm", 0, 100, kMmDims, kBf16s);
  maker.Kernel(kBf16Gemm, 10, 1'000, 10'000);
  maker.Op("custom::gemm", 200, 100);
  maker.Kernel(kBf16Gemm, 210, 20'000, 10'000);
  const auto facts = maker.Measure({0, 100'000});
  EXPECT_EQ(facts->tflops_per_s.why_not(),
            "only 50 % of the time in matrix kernels has known shapes");
  EXPECT_FALSE(facts->model_flops_utilization);
  EXPECT_TRUE(facts->roofline);
}

TEST(Efficiency, WithoutShapesFamiliesStillWork) {
  TraceMaker maker;
  maker.Op("aten::mm", 0, 100);
  maker.Kernel(kFp32Gemm, 10, 1'000, 3'000, 66, 50);
  maker.Op("aten::add", 200, 100);
  maker.Kernel(kAdd, 210, 5'000, 1'000, 264, 90);
  const auto facts = maker.Measure({0, 10'000});
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->roofline.why_not(), "record_shapes was off");
  EXPECT_EQ(facts->model_flops_utilization.why_not(), "record_shapes was off");
  ASSERT_EQ(facts->families.size(), 2u);
  EXPECT_EQ(facts->families[0].family, KernelFamily::kMatmul);
  EXPECT_EQ(facts->families[0].precision, Precision::kFp32);
  EXPECT_EQ(facts->families[0].matrix_unit, MatrixUnit::kNo);
  EXPECT_DOUBLE_EQ(facts->families[0].share, 0.75);
  EXPECT_EQ(facts->matrix_off_ns, 3'000);
  EXPECT_DOUBLE_EQ(*facts->occupancy_pct, (50 * 3.0 + 90 * 1.0) / 4);
  // 66 blocks fill half of 132 multiprocessors, 264 all of them.
  EXPECT_DOUBLE_EQ(*facts->sm_share_pct, 100 * (0.5 * 3 + 1.0) / 4);
}

TEST(Efficiency, AnUnknownDeviceHasNoShares) {
  TraceMaker maker("AMD Radeon Graphics");
  maker.Op("aten::mm", 0, 100, kMmDims, kBf16s);
  maker.Kernel(kBf16Gemm, 10, 1'000, 10'000);
  const auto facts = maker.Measure({0, 100'000});
  EXPECT_FALSE(facts->peaks);
  EXPECT_FALSE(facts->roofline->front().roofline_share);
  EXPECT_DOUBLE_EQ(*facts->tflops_per_s, 20);
  EXPECT_EQ(facts->model_flops_utilization.why_not(),
            "no peaks are known for \"AMD Radeon Graphics\"");
  EXPECT_EQ(facts->occupancy_pct.why_not(), "the trace records no occupancy");
}

TEST(Efficiency, NothingToMeasure) {
  TraceMaker empty;
  EXPECT_EQ(empty.Measure({}).why_not(), "the trace has no compute kernels");
  TraceMaker instant;
  instant.Op("aten::mm", 0, 100, kMmDims, kBf16s);
  instant.Kernel(kBf16Gemm, 10, 1'000, 0);
  const auto facts = instant.Measure({0, 0});
  EXPECT_EQ(facts->tflops_per_s.why_not(), "the steady window has no length");
  EXPECT_EQ(facts->roofline->front().roofline_share.why_not(), "its kernels took no time");
}

TEST(Efficiency, AMillionNestedCallsAreLinear) {
  TraceMaker maker;
  constexpr int kCalls = 100'000, kDepth = 1'000;
  for (int i = 0; i < kCalls / kDepth; ++i) {
    const Nanos start = i * 10'000;
    for (int depth = 0; depth < kDepth; ++depth) {
      maker.Op("aten::add", start + depth, 2 * (kDepth - depth), "[[4], [4]]", kFloats);
    }
    for (int kernel = 0; kernel < 100; ++kernel) maker.Kernel(kAdd, start + kDepth, start, 10);
  }
  const auto facts = maker.Measure({0, 10'000'000});
  ASSERT_EQ(facts->roofline->size(), 1u);
  EXPECT_EQ(facts->roofline->front().calls, 100u);  // the innermost of each thousand
}

// Empty when the shared data is not here.
std::string SharedFile(const std::string& file) {
  const char* variable = std::getenv("HONE_SHARED");
  const auto beside = std::filesystem::path(HONE_SOURCE_DIR) / ".." / "shared";
  const auto path = (variable != nullptr ? std::filesystem::path(variable) : beside) / file;
  return std::filesystem::exists(path) ? path.string() : "";
}

Known<EfficiencyFacts> MeasureFile(const std::string& path, std::size_t* steps = nullptr) {
  const auto loaded = importer::LoadTrace(path);
  if (!loaded) return Known<EfficiencyFacts>::Absent(loaded.error().message());
  const trace::Trace& trace = loaded.value();
  const Steps found = FindSteps(trace);
  if (steps != nullptr) *steps = found.steps.size();
  return MeasureEfficiency(trace, WorkClasses(trace), Lineage(trace), found);
}

TEST(EfficiencyOnRealTraces, ResNetTrainingStep) {
  const std::string path = SharedFile("traces/resnet50_good_full.json.gz");
  if (path.empty()) GTEST_SKIP() << "needs shared data (HONE_SHARED)";
  std::size_t steps = 0;
  const auto facts = MeasureFile(path, &steps);
  ASSERT_TRUE(facts && facts->roofline);
  ASSERT_EQ(steps, 4u);
  double flops = 0;
  for (const RooflineRow& row : *facts->roofline) flops += row.flops;
  // Forward 8.2 GFLOP an image (multiply-adds as two), backward twice that, 64 images.
  EXPECT_NEAR(flops / 4, 3 * 64 * 8.2e9, 0.1 * 3 * 64 * 8.2e9);
  EXPECT_GT(*facts->modelled_share, 0.95);
  EXPECT_GT(facts->matrix_on_ns, 0);
  EXPECT_EQ(facts->matrix_off_ns + facts->matrix_unknown_ns, 0);  // bf16 throughout
  for (const RooflineRow& row : *facts->roofline) {
    // Above 1 the data came from the cache; far above it the model would be wrong.
    ASSERT_TRUE(row.roofline_share);
    EXPECT_LT(*row.roofline_share, 3);
  }
}

TEST(EfficiencyOnRealTraces, Fp32ProgramsUseNoMatrixUnits) {
  for (const char* name : {"traces/resnet50_bad_light.json.gz", "traces/gpt2_bad_light.json.gz"}) {
    const std::string path = SharedFile(name);
    if (path.empty()) GTEST_SKIP() << "needs shared data (HONE_SHARED)";
    const auto facts = MeasureFile(path);
    ASSERT_TRUE(facts) << name;
    EXPECT_EQ(facts->matrix_on_ns, 0) << name;
    EXPECT_EQ(facts->matrix_unknown_ns, 0) << name;
    EXPECT_GT(facts->matrix_off_ns, 0) << name;
    EXPECT_EQ(facts->roofline.why_not(), "record_shapes was off") << name;
  }
}

TEST(EfficiencyOnRealTraces, HopperInferenceIsOnMatrixUnits) {
  for (const char* name : {"peers/tracelens/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
                           "peers/tracelens/gaunernst_bert-small-uncased__1016001.json.gz"}) {
    const std::string path = SharedFile(name);
    if (path.empty()) GTEST_SKIP() << "needs shared data (HONE_SHARED)";
    const auto facts = MeasureFile(path);
    ASSERT_TRUE(facts && facts->roofline) << name;
    EXPECT_EQ(facts->peaks->name, "H100 SXM");
    EXPECT_GT(facts->matrix_on_ns, 0) << name;
    // Qwen's rotary table is a product of a column with a row, which has no tile to feed.
    EXPECT_LT(facts->matrix_off_ns, facts->matrix_on_ns / 1000) << name;
    EXPECT_EQ(facts->matrix_unknown_ns, 0) << name;
    EXPECT_GT(*facts->modelled_share, 0.95) << name;
  }
}

}  // namespace
}  // namespace hone::analyze
