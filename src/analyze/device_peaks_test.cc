// SPDX-License-Identifier: Apache-2.0
#include "analyze/device_peaks.h"

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

TEST(DevicePeaks, FindsEachVariantByTheDriversName) {
  const struct {
    const char* device;
    const char* name;
    double bf16, memory, link;
  } cases[] = {
      {"NVIDIA H200", "H200 SXM", 790, 4300, 55.5},
      {"NVIDIA H200 NVL", "H200 NVL", 835, 4800, 63},
      {"NVIDIA H100 80GB HBM3", "H100 SXM", 989.4, 3352, 63},
      {"NVIDIA H100 PCIe", "H100 PCIe", 756, 2039, 63},
      {"NVIDIA H100 NVL", "H100 NVL", 835, 3938, 63},
      {"NVIDIA H20", "H20", 148, 4000, 63},
      {"NVIDIA A100-SXM4-80GB", "A100 SXM 80GB", 312, 2039, 31.5},
      {"NVIDIA A100-SXM4-40GB", "A100 40GB", 312, 1555, 31.5},
      {"NVIDIA A100 80GB PCIe", "A100 PCIe 80GB", 312, 1935, 31.5},
      {"NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB", 312, 1555, 31.5},
      {"NVIDIA A100-PG509-200", "A100 40GB", 312, 1555, 31.5},
      {"NVIDIA A10", "A10", 125, 600, 31.5},
      {"NVIDIA A10G", "A10G", 70, 600, 31.5},
      {"NVIDIA L4", "L4", 121, 300, 31.5},
      {"NVIDIA L40", "L40", 181, 864, 31.5},
      {"NVIDIA L40S", "L40S", 362, 864, 31.5},
      {"NVIDIA RTX A6000", "RTX A6000", 154.8, 768, 31.5},
      {"NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", 364.2, 960, 31.5},
      {"NVIDIA GeForce RTX 4090", "GeForce RTX 4090", 165.2, 1008, 31.5},
      {"NVIDIA GH200 480GB", "GH200", 989.4, 4000, 450},
      {"NVIDIA B200", "B200", 2250, 7700, 63},
      {"NVIDIA GB200", "GB200", 2500, 8000, 450},
      {"NVIDIA B300 SXM6 AC", "B300", 2250, 8000, 63},
      {"AMD Instinct MI300X", "Instinct MI300X", 1307.4, 5300, 63},
      {"AMD Instinct MI250X / MI250", "Instinct MI250X (one die)", 191.5, 1638, 31.5},
  };
  for (const auto& expected : cases) {
    const Known<DevicePeaks> peaks = FindDevicePeaks(expected.device);
    ASSERT_TRUE(peaks) << expected.device;
    EXPECT_EQ(peaks->name, expected.name) << expected.device;
    EXPECT_EQ(peaks->bf16, expected.bf16) << expected.device;
    EXPECT_EQ(peaks->memory_gbytes_per_s, expected.memory) << expected.device;
    EXPECT_EQ(peaks->host_link_gbytes_per_s, expected.link) << expected.device;
  }
}

TEST(DevicePeaks, VoltaHasNoBf16) {
  const Known<DevicePeaks> peaks = FindDevicePeaks("Tesla V100-SXM2-32GB");
  ASSERT_TRUE(peaks);
  EXPECT_EQ(peaks->fp16, 125);
  EXPECT_EQ(peaks->Tflops(Precision::kBf16), 0);
  EXPECT_EQ(FindDevicePeaks("Tesla V100-PCIE-16GB")->fp16, 112);
}

TEST(DevicePeaks, OnlyTheH200IsMeasured) {
  EXPECT_TRUE(FindDevicePeaks("NVIDIA H200")->measured);
  EXPECT_FALSE(FindDevicePeaks("NVIDIA H100 80GB HBM3")->measured);
}

TEST(DevicePeaks, RelativesAndStrangersAreAbsent) {
  for (const char* device :
       {"AMD Radeon Graphics", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 4090 D", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "Quadro RTX 6000",
        "NVIDIA L400", "NVIDIA GeForce GTX 1080"}) {
    const Known<DevicePeaks> peaks = FindDevicePeaks(device);
    EXPECT_FALSE(peaks) << device;
    EXPECT_NE(peaks.why_not().find(device), std::string::npos) << device;
  }
  EXPECT_EQ(FindDevicePeaks("").why_not(), "the trace does not name its device");
}

}  // namespace
}  // namespace hone::analyze
