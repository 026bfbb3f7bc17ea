// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvml.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace hone::gpu {
namespace {

// Loads the fake of src/gpu/fake, set up by `words`.
Result<Nvml> LoadFake(const char* words, Nvml::Options options = {}) {
  setenv("HONE_NVML", HONE_FAKE_NVML_LIBRARY, 1);
  setenv("HONE_FAKE_NVML", words, 1);
  return Nvml::Load(options);
}

std::map<std::string, double> SampleOf(Nvml& nvml, unsigned device) {
  std::vector<NvmlValue> values;
  nvml.Sample(values);
  std::map<std::string, double> found;
  for (const NvmlValue& value : values) {
    if (value.device != device) continue;
    EXPECT_TRUE(found.emplace(value.series, value.value).second) << value.series << " twice";
  }
  return found;
}

TEST(NvmlTest, DevicesAndTheirSeriesInOurUnits) {
  auto nvml = LoadFake("devices=2,throttle=4");
  ASSERT_TRUE(nvml) << nvml.error().message();
  EXPECT_EQ(nvml->driver_version(), "580.65.06");
  ASSERT_EQ(nvml->devices().size(), 2u);
  const NvmlDevice& second = nvml->devices()[1];
  EXPECT_EQ(second.index, 1u);
  EXPECT_EQ(second.name, "Fake GPU 1");
  EXPECT_EQ(second.uuid, "GPU-0000-1");
  EXPECT_EQ(second.bus_id, "00000000:19:00.0");
  EXPECT_EQ(second.memory_bytes, 1000);
  EXPECT_EQ(second.max_sm_clock_mhz, 1980);
  EXPECT_EQ(second.power_limit_watts, 700);
  EXPECT_FALSE(second.has_gpm);
  auto values = SampleOf(*nvml, 1);
  EXPECT_EQ(values["utilization_pct"], 91);
  EXPECT_EQ(values["memory_activity_pct"], 30);
  EXPECT_EQ(values["memory_used_bytes"], 401);
  EXPECT_EQ(values["power_watts"], 650.5);
  EXPECT_EQ(values["energy_joules"], 12'345'678);
  EXPECT_EQ(values["sm_clock_mhz"], 1755);
  EXPECT_EQ(values["memory_clock_mhz"], 3201);
  EXPECT_EQ(values["temperature_c"], 61);
  EXPECT_EQ(values["throttle_reasons"], 4);
  EXPECT_EQ(values.size(), 9u);  // no GPM, and PCIe was not asked for
  EXPECT_TRUE(nvml->Missing().empty());
}

TEST(NvmlTest, WhatADeviceDoesNotGiveIsLeftOutAndNamedOnce) {
  auto nvml = LoadFake("lack=energy");
  ASSERT_TRUE(nvml);
  EXPECT_EQ(SampleOf(*nvml, 0).count("energy_joules"), 0u);
  EXPECT_EQ(SampleOf(*nvml, 0).count("power_watts"), 1u);
  ASSERT_EQ(nvml->Missing().size(), 1u);
  EXPECT_EQ(nvml->Missing()[0], "GPU 0: energy_joules: this device does not give it (NVML code 3)");
}

TEST(NvmlTest, GpmIsTheAverageSinceTheSampleBefore) {
  auto nvml = LoadFake("devices=2,gpm=1");
  ASSERT_TRUE(nvml);
  EXPECT_TRUE(nvml->devices()[0].has_gpm);
  EXPECT_EQ(SampleOf(*nvml, 1).count("sm_active_pct"), 0u) << "the first has nothing before it";
  for (int round = 0; round < 3; ++round) {
    auto values = SampleOf(*nvml, 1);
    EXPECT_EQ(values["sm_active_pct"], 2.5);  // the fake says its number and half the device's
    EXPECT_EQ(values["tensor_active_pct"], 5.5);
    EXPECT_EQ(values["dram_active_pct"], 10.5);
    EXPECT_EQ(values["pcie_sent_bytes_per_second"], 20.5 * 1024 * 1024);
    EXPECT_EQ(values.count("nvlink_sent_bytes_per_second"), 0u);
  }
  EXPECT_EQ(nvml->Missing().size(), 4u);  // NVLink both ways, of two devices
}

TEST(NvmlTest, GpmCanBeDeclinedAndPcieAskedFor) {
  auto nvml = LoadFake("gpm=1", {.gpm = false, .pcie = true});
  ASSERT_TRUE(nvml);
  auto values = SampleOf(*nvml, 0);
  EXPECT_EQ(values["pcie_sent_bytes_per_second"], 10 * 1024);
  EXPECT_EQ(values["pcie_received_bytes_per_second"], 20 * 1024);
  EXPECT_EQ(SampleOf(*nvml, 0).count("sm_active_pct"), 0u);
}

TEST(NvmlTest, OneBrokenDeviceLeavesTheOthers) {
  auto nvml = LoadFake("devices=3,broken=1");
  ASSERT_TRUE(nvml);
  EXPECT_TRUE(SampleOf(*nvml, 1).empty());
  EXPECT_FALSE(SampleOf(*nvml, 2).empty());
  ASSERT_EQ(nvml->Missing().size(), 1u);
  EXPECT_EQ(nvml->Missing()[0].substr(0, 17), "GPU 1: all series");
}

TEST(NvmlTest, ErrorsSayWhatIsMissing) {
  const auto no_driver = LoadFake("init=9");
  ASSERT_FALSE(no_driver);
  EXPECT_EQ(no_driver.error().message(),
            "nvmlInit failed with code 9; look whether nvidia-smi works");
  setenv("HONE_NVML", "/nowhere/libnvidia-ml.so", 1);
  const auto no_library = Nvml::Load();
  ASSERT_FALSE(no_library);
  EXPECT_NE(no_library.error().message().find("/nowhere/libnvidia-ml.so"), std::string::npos);
  setenv("HONE_NVML", "libm.so.6", 1);
  const auto not_nvml = Nvml::Load();
  ASSERT_FALSE(not_nvml);
  EXPECT_NE(not_nvml.error().message().find("nvmlInit"), std::string::npos);
}

}  // namespace
}  // namespace hone::gpu
