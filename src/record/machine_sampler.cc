// SPDX-License-Identifier: Apache-2.0
#include "record/machine_sampler.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "gpu/nvml.h"
#include "record/machine_counters.h"
#include "record/process_counters.h"
#include "wire/control_page.h"

namespace hone::record {
namespace {

// NVML may take a second to start; a program that is over by then shall not wait for it.
constexpr std::uint64_t kSamplesBeforeGpus = 10;
constexpr std::uint64_t kSamplesAFlush = 10;
constexpr std::uint64_t kDenseSamples = 6000;  // ten minutes
constexpr std::uint64_t kSparse = 10;

}  // namespace

struct MachineSampler::State {
  explicit State(CounterFile the_file) : file(std::move(the_file)), machine(file) {}

  void FindGpus() {
    Result<gpu::Nvml> found = gpu::Nvml::Load();
    if (!found) {
      file.Info("nvml", found.error().message());
      return;
    }
    nvml.emplace(std::move(*found));
    file.Info("driver", nvml->driver_version());
    for (const gpu::NvmlDevice& device : nvml->devices()) {
      gpu_tracks.push_back(file.Name(fmt::format("GPU {}", device.index)));
      const auto say = [&](const char* key, std::string_view value) {
        if (!value.empty()) file.Device(device.index, key, value);
      };
      say("name", device.name);
      say("uuid", device.uuid);
      say("bus_id", device.bus_id);
      if (device.memory_bytes >= 0) say("memory_bytes", fmt::to_string(device.memory_bytes));
      if (device.max_sm_clock_mhz >= 0) {
        say("max_sm_clock_mhz", fmt::to_string(device.max_sm_clock_mhz));
      }
      if (device.max_memory_clock_mhz >= 0) {
        say("max_memory_clock_mhz", fmt::to_string(device.max_memory_clock_mhz));
      }
      if (device.power_limit_watts >= 0) {
        say("power_limit_watts", fmt::format("{}", device.power_limit_watts));
      }
    }
  }

  void SampleGpus() {
    if (!nvml) return;
    values.clear();
    nvml->Sample(values);
    // Beside the clock, so that whoever reads one knows what it could be.
    for (const gpu::NvmlDevice& device : nvml->devices()) {
      if (device.max_sm_clock_mhz > 0 && device.index < gpu_tracks.size()) {
        file.Put(gpu_tracks[device.index], file.Name("max_sm_clock_mhz"), device.max_sm_clock_mhz);
      }
    }
    for (const gpu::NvmlValue& value : values) {
      if (value.device < gpu_tracks.size()) {
        file.Put(gpu_tracks[value.device], file.Name(value.series), value.value);
      }
    }
  }

  CounterFile file;
  MachineCounters machine;
  std::optional<ProcessCounters> processes;
  std::optional<gpu::Nvml> nvml;
  std::vector<std::uint32_t> gpu_tracks;  // by NVML's index
  std::vector<gpu::NvmlValue> values;
  std::uint64_t samples = 0;
};

MachineSampler::MachineSampler(std::unique_ptr<State> state) : state_(std::move(state)) {}
MachineSampler::MachineSampler(MachineSampler&&) noexcept = default;
MachineSampler::~MachineSampler() = default;

Result<MachineSampler> MachineSampler::Create(
    const std::string& folder, const std::vector<std::pair<std::string, std::string>>& facts) {
  Result<CounterFile> file = CounterFile::Create(folder + "/" + wire::kMachineFile);
  if (!file) return std::move(file).error();
  auto state = std::make_unique<State>(std::move(*file));
  for (const auto& [key, value] : facts) state->file.Info(key, value);
  state->file.Flush();
  return MachineSampler(std::move(state));
}

void MachineSampler::Sample(std::uint32_t program, const std::vector<SlotView>& slots) {
  State& state = *state_;
  const std::uint64_t number = state.samples++;
  if (number >= kDenseSamples && number % kSparse != 0) return;
  if (number == kSamplesBeforeGpus) state.FindGpus();
  if (!state.processes) state.processes.emplace(state.file, program);
  for (const SlotView& slot : slots) {
    if (slot.alive) state.processes->Add(slot.pid);
  }
  state.file.SetTime(MonotonicNanos());
  state.machine.Sample();
  state.processes->Sample(state.machine.limited());
  state.SampleGpus();
  if (number % kSamplesAFlush == kSamplesAFlush - 1 || number >= kDenseSamples) state.file.Flush();
}

double MachineSampler::IdleCores() const { return state_->machine.idle_cores(); }

void MachineSampler::Flush() { state_->file.Flush(); }

void MachineSampler::Finish(const std::vector<std::pair<std::string, std::string>>& facts) {
  State& state = *state_;
  for (const auto& [key, value] : facts) state.file.Info(key, value);
  if (state.processes) state.processes->Finish();
  if (state.nvml) {
    for (const std::string& missing : state.nvml->Missing())
      state.file.Loss("gpu counters", 1, missing);
  }
  state.file.End();
}

}  // namespace hone::record
