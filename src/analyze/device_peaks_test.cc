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

// Names as CUDA and nvidia-smi give them; fp16 and TF32 are what rules about precision hang on.
TEST(DevicePeaks, EachProductIsItsOwnRow) {
  const struct {
    const char* device;
    const char* name;
    double fp32, tf32, fp16, memory;
  } cases[] = {
      {"Tesla P100-PCIE-16GB", "Tesla P100 PCIe", 9.3, 0, 0, 732},
      {"Tesla P100-PCIE-12GB", "Tesla P100 PCIe 12GB", 9.3, 0, 0, 549},
      {"Tesla P100-SXM2-16GB", "Tesla P100 SXM", 10.6, 0, 0, 732},
      {"NVIDIA TITAN Xp", "TITAN Xp", 12.1, 0, 0, 547.7},
      {"TITAN X (Pascal)", "TITAN X (Pascal)", 11, 0, 0, 480},
      {"NVIDIA GeForce GTX 1080 Ti", "GeForce GTX 1080 Ti", 11.3, 0, 0, 484},
      {"GeForce GTX 1080", "GeForce GTX 1080", 8.9, 0, 0, 320},
      {"NVIDIA GeForce GTX 1660 Ti", "GeForce GTX 1660 Ti", 5.4, 0, 0, 288},
      {"NVIDIA TITAN V", "TITAN V", 13.8, 0, 110, 653},
      {"Tesla V100-SXM2-16GB", "Tesla V100 SXM", 15.7, 0, 125, 900},
      {"Tesla T4", "Tesla T4", 8.1, 0, 65, 320},
      {"NVIDIA TITAN RTX", "TITAN RTX", 16.3, 0, 130.5, 672},
      {"Quadro RTX 4000", "Quadro RTX 4000", 7.1, 0, 57, 416},
      {"Quadro RTX 6000", "Quadro RTX 6000", 16.3, 0, 130.5, 672},
      {"NVIDIA GeForce RTX 2080 Ti", "GeForce RTX 2080 Ti", 13.4, 0, 53.8, 616},
      {"GeForce RTX 2080 SUPER", "GeForce RTX 2080 SUPER", 11.2, 0, 44.6, 496},
      {"NVIDIA GeForce RTX 2080", "GeForce RTX 2080", 10.1, 0, 40.3, 448},
      {"NVIDIA A2", "A2", 4.5, 9, 18, 200},
      {"NVIDIA A10G", "A10G", 35, 35, 70, 600},
      {"NVIDIA A800 40GB Active", "A800 40GB Active", 19.5, 156, 312, 1555},
      {"NVIDIA RTX A2000 12GB", "RTX A2000", 8, 15.97, 31.95, 288},
      {"NVIDIA RTX A4000", "RTX A4000", 19.2, 38.35, 76.7, 448},
      {"NVIDIA GeForce RTX 3080", "GeForce RTX 3080", 29.8, 29.8, 59.5, 760},
      {"NVIDIA GeForce RTX 3080 Ti", "GeForce RTX 3080 Ti", 34.1, 34.1, 68.2, 912},
      {"NVIDIA GeForce RTX 3090 Ti", "GeForce RTX 3090 Ti", 40, 40, 80, 1008},
      {"NVIDIA L20", "L20", 59.8, 59.8, 119.5, 864},
      {"NVIDIA RTX 4000 Ada Generation", "RTX 4000 Ada", 26.7, 53.45, 106.9, 360},
      {"NVIDIA RTX 4000 SFF Ada Generation", "RTX 4000 SFF Ada", 19.2, 38.35, 76.7, 280},
      {"NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", 91.1, 182.1, 364.2, 960},
      {"NVIDIA GeForce RTX 4070", "GeForce RTX 4070", 29.1, 29.1, 58.3, 504},
      {"NVIDIA GeForce RTX 4070 SUPER", "GeForce RTX 4070 SUPER", 35.5, 35.5, 71, 504},
      {"NVIDIA GeForce RTX 4070 Ti", "GeForce RTX 4070 Ti", 40.1, 40.1, 80.2, 504},
      {"NVIDIA GeForce RTX 4070 Ti SUPER", "GeForce RTX 4070 Ti SUPER", 44.1, 44.1, 88.2, 672},
      {"NVIDIA GeForce RTX 5060 Ti", "GeForce RTX 5060 Ti", 23.7, 23.7, 47.4, 448},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000 Blackwell", 126, 251.9,
       503.8, 1792},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX PRO 6000 Blackwell Max-Q",
       110, 219.4, 438.9, 1792},
      {"AMD Instinct MI100", "Instinct MI100", 46.1, 0, 184.6, 1229},
      {"AMD Instinct MI300A", "Instinct MI300A", 122.6, 490.3, 980.6, 5300},
  };
  for (const auto& expected : cases) {
    const Known<DevicePeaks> peaks = FindDevicePeaks(expected.device);
    ASSERT_TRUE(peaks) << expected.device;
    EXPECT_EQ(peaks->name, expected.name) << expected.device;
    EXPECT_EQ(peaks->fp32, expected.fp32) << expected.device;
    EXPECT_EQ(peaks->tf32, expected.tf32) << expected.device;
    EXPECT_EQ(peaks->fp16, expected.fp16) << expected.device;
    EXPECT_EQ(peaks->memory_gbytes_per_s, expected.memory) << expected.device;
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
       {"AMD Radeon Graphics", "NVIDIA GeForce RTX 3080 Ti Laptop GPU",
        "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 4090 Ti", "NVIDIA GeForce RTX 4060 SUPER",
        "NVIDIA GeForce RTX 2080 with Max-Q Design", "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "NVIDIA RTX A4000 Laptop GPU", "NVIDIA RTX 5000 Ada Generation Laptop GPU",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA RTX PRO 4000 Blackwell",
        "NVIDIA RTX 4000", "NVIDIA L400", "NVIDIA T400", "NVIDIA GeForce GTX 980", "Orin"}) {
    const Known<DevicePeaks> peaks = FindDevicePeaks(device);
    EXPECT_FALSE(peaks) << device;
    EXPECT_NE(peaks.why_not().find(device), std::string::npos) << device;
  }
  EXPECT_EQ(FindDevicePeaks("").why_not(), "the trace does not name its device");
}

}  // namespace
}  // namespace hone::analyze
