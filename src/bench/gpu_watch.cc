// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_watch.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "gpu/nvml.h"

namespace hone::bench {
namespace {

// Idle and "as the application asked" are no throttling.
constexpr std::uint64_t kNotThrottled = 1 | 2;

struct DeviceLog {
  double utilization = 0, clock = 0, clock_samples = 0, temperature = -1;
  double first_energy = -1, last_energy = -1;
  std::uint64_t reasons = 0;
};

}  // namespace

struct GpuWatch::State {
  explicit State(gpu::Nvml library) : nvml(std::move(library)) {}
  gpu::Nvml nvml;
  std::vector<gpu::NvmlValue> values;
  std::map<unsigned, DeviceLog> devices;

  void Take() {
    values.clear();
    nvml.Sample(values);
    std::map<unsigned, bool> busy;
    for (const gpu::NvmlValue& value : values) {
      if (std::strcmp(value.series, "utilization_pct") == 0) busy[value.device] = value.value > 0;
    }
    for (const gpu::NvmlValue& value : values) {
      DeviceLog& log = devices[value.device];
      const std::string_view series = value.series;
      if (series == "utilization_pct") log.utilization += value.value;
      if (series == "temperature_c") log.temperature = std::max(log.temperature, value.value);
      if (series == "energy_joules") {
        if (log.first_energy < 0) log.first_energy = value.value;
        log.last_energy = value.value;
      }
      if (!busy[value.device]) continue;  // an idle chip clocks down
      if (series == "sm_clock_mhz") {
        log.clock += value.value;
        log.clock_samples += 1;
      }
      if (series == "throttle_reasons") log.reasons |= static_cast<std::uint64_t>(value.value);
    }
  }
};

GpuWatch::GpuWatch() {
  gpu::Nvml::Options options;
  options.gpm = false;
  Result<gpu::Nvml> nvml = gpu::Nvml::Load(options);
  if (nvml) state_ = std::make_unique<State>(std::move(*nvml));
}

GpuWatch::~GpuWatch() = default;

void GpuWatch::Begin() {
  if (!state_) return;
  state_->devices.clear();
  state_->Take();
  for (auto& [device, log] : state_->devices) {
    log.utilization = 0;  // of what ran before
    log.clock = log.clock_samples = 0;
    log.reasons = 0;
  }
}

void GpuWatch::Sample() {
  if (state_) state_->Take();
}

std::optional<GpuLog> GpuWatch::End() {
  if (!state_) return std::nullopt;
  state_->Take();
  GpuLog log;
  double most = 0;
  for (const auto& [device, seen] : state_->devices) {
    if (seen.utilization <= 0) continue;
    if (seen.first_energy >= 0) {
      log.energy_j = log.energy_j.value_or(0) + seen.last_energy - seen.first_energy;
    }
    if (seen.utilization <= most) continue;
    most = seen.utilization;
    for (const gpu::NvmlDevice& known : state_->nvml.devices()) {
      if (known.index == device) log.name = known.name;
    }
    if (seen.clock_samples > 0) log.sm_clock_mhz = seen.clock / seen.clock_samples;
    if (seen.temperature >= 0) log.temperature_c = seen.temperature;
    log.throttle_reasons = seen.reasons & ~kNotThrottled;
  }
  if (most <= 0) return std::nullopt;
  return log;
}

}  // namespace hone::bench
