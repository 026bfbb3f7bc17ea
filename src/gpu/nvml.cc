// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace hone::gpu {
namespace {

// NVML's own shapes, as its public header gives them; only what we call.
using Handle = void*;
using Code = int;
constexpr Code kOk = 0, kNotSupported = 3, kNoPermission = 4;
constexpr unsigned kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0;
constexpr unsigned kPcieSent = 0, kPcieReceived = 1;

struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct GpmMetric {
  unsigned metric;
  Code code;
  double value;
  const char *short_name, *long_name, *unit;
};
// The header's array has grown from 98 to over 300 elements; NVML reads the first `count`, and a
// longer one than any is harmless.
struct GpmMetricsGet {
  unsigned version, count;
  Handle before, after;
  GpmMetric metrics[512];
};
struct GpmSupport {
  unsigned version, supported;
};
static_assert(sizeof(PciInfo) == 68 && sizeof(GpmMetric) == 40);

struct GpmSeries {
  unsigned metric;
  const char* series;
  double scale;
};
constexpr double kMiB = 1024.0 * 1024.0;
constexpr GpmSeries kGpmSeries[] = {
    {2, "sm_active_pct", 1},
    {3, "sm_occupancy_pct", 1},
    {5, "tensor_active_pct", 1},
    {10, "dram_active_pct", 1},
    {11, "fp64_active_pct", 1},
    {12, "fp32_active_pct", 1},
    {13, "fp16_active_pct", 1},
    {20, "pcie_sent_bytes_per_second", kMiB},
    {21, "pcie_received_bytes_per_second", kMiB},
    {60, "nvlink_received_bytes_per_second", kMiB},
    {61, "nvlink_sent_bytes_per_second", kMiB},
};

const char* Reason(Code code) {
  switch (code) {
    case kNotSupported: return "this device does not give it";
    case kNoPermission: return "needs permission that this user does not have";
    default: return "the driver answered with an error";
  }
}

struct Api {
  Code (*init)() = nullptr;
  Code (*shutdown)() = nullptr;
  Code (*driver_version)(char*, unsigned) = nullptr;
  Code (*count)(unsigned*) = nullptr;
  Code (*by_index)(unsigned, Handle*) = nullptr;
  Code (*name)(Handle, char*, unsigned) = nullptr;
  Code (*uuid)(Handle, char*, unsigned) = nullptr;
  Code (*pci)(Handle, PciInfo*) = nullptr;
  Code (*memory)(Handle, Memory*) = nullptr;
  Code (*utilization)(Handle, Utilization*) = nullptr;
  Code (*power)(Handle, unsigned*) = nullptr;
  Code (*power_limit)(Handle, unsigned*) = nullptr;
  Code (*energy)(Handle, unsigned long long*) = nullptr;
  Code (*clock)(Handle, unsigned, unsigned*) = nullptr;
  Code (*max_clock)(Handle, unsigned, unsigned*) = nullptr;
  Code (*temperature)(Handle, unsigned, unsigned*) = nullptr;
  Code (*reasons)(Handle, unsigned long long*) = nullptr;
  Code (*pcie)(Handle, unsigned, unsigned*) = nullptr;
  Code (*gpm_support)(Handle, GpmSupport*) = nullptr;
  Code (*gpm_alloc)(Handle*) = nullptr;
  Code (*gpm_free)(Handle) = nullptr;
  Code (*gpm_sample)(Handle, Handle) = nullptr;
  Code (*gpm_metrics)(GpmMetricsGet*) = nullptr;
};

template <typename Function>
void Find(void* library, Function& function, const char* name, const char* older = nullptr) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr && older != nullptr) symbol = dlsym(library, older);
  function = reinterpret_cast<Function>(symbol);
}

Api FindAll(void* library) {
  Api api;
  Find(library, api.init, "nvmlInit_v2", "nvmlInit");
  Find(library, api.shutdown, "nvmlShutdown");
  Find(library, api.driver_version, "nvmlSystemGetDriverVersion");
  Find(library, api.count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
  Find(library, api.by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
  Find(library, api.name, "nvmlDeviceGetName");
  Find(library, api.uuid, "nvmlDeviceGetUUID");
  Find(library, api.pci, "nvmlDeviceGetPciInfo_v3");
  Find(library, api.memory, "nvmlDeviceGetMemoryInfo");
  Find(library, api.utilization, "nvmlDeviceGetUtilizationRates");
  Find(library, api.power, "nvmlDeviceGetPowerUsage");
  Find(library, api.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  Find(library, api.energy, "nvmlDeviceGetTotalEnergyConsumption");
  Find(library, api.clock, "nvmlDeviceGetClockInfo");
  Find(library, api.max_clock, "nvmlDeviceGetMaxClockInfo");
  Find(library, api.temperature, "nvmlDeviceGetTemperature");
  Find(library, api.reasons, "nvmlDeviceGetCurrentClocksEventReasons",
       "nvmlDeviceGetCurrentClocksThrottleReasons");
  Find(library, api.pcie, "nvmlDeviceGetPcieThroughput");
  Find(library, api.gpm_support, "nvmlGpmQueryDeviceSupport");
  Find(library, api.gpm_alloc, "nvmlGpmSampleAlloc");
  Find(library, api.gpm_free, "nvmlGpmSampleFree");
  Find(library, api.gpm_sample, "nvmlGpmSampleGet");
  Find(library, api.gpm_metrics, "nvmlGpmMetricsGet");
  return api;
}

}  // namespace

struct Nvml::State {
  struct Gpu {
    Handle handle = nullptr;
    Handle gpm[2] = {nullptr, nullptr};  // before, now
    bool gpm_before = false;             // gpm[0] holds a sample
  };
  struct Absent {
    unsigned device;
    const char* series;
    Code code;
  };
  Api api;
  Options options;
  bool started = false;
  std::string driver_version;
  std::vector<NvmlDevice> devices;
  std::vector<Gpu> gpus;
  std::vector<Absent> absent;
  std::unique_ptr<GpmMetricsGet> metrics;

  ~State() {
    for (Gpu& gpu : gpus) {
      for (Handle sample : gpu.gpm) {
        if (sample != nullptr && api.gpm_free != nullptr) api.gpm_free(sample);
      }
    }
    if (started && api.shutdown != nullptr) api.shutdown();
    // The library stays mapped: its threads, if any, may still run in it.
  }

  // Once a device and series: it is asked again every time, since a device that sleeps answers
  // with an error and later does not.
  void Miss(unsigned device, const char* series, Code code) {
    const bool told = std::any_of(absent.begin(), absent.end(), [&](const Absent& a) {
      return a.device == device && std::strcmp(a.series, series) == 0;
    });
    if (!told) absent.push_back({device, series, code});
  }

  template <typename Raw, typename Function, typename... Arguments>
  bool Ask(unsigned device, const char* series, Raw& raw, Function function,
           Arguments... arguments) {
    const Code code =
        function == nullptr ? kNotSupported : function(gpus[device].handle, arguments..., &raw);
    if (code != kOk) Miss(device, series, code);
    return code == kOk;
  }

  void Describe(unsigned index);
  void StartGpm(unsigned index);
  void SamplePlain(unsigned index, std::vector<NvmlValue>& values);
  void SamplePcie(unsigned index, std::vector<NvmlValue>& values);
  void SampleGpm(unsigned index, std::vector<NvmlValue>& values);
};

void Nvml::State::Describe(unsigned index) {
  NvmlDevice& device = devices[index];
  device.index = index;
  const Handle handle = gpus[index].handle;
  char text[128] = "";
  if (api.name != nullptr && api.name(handle, text, sizeof text) == kOk) device.name = text;
  if (api.uuid != nullptr && api.uuid(handle, text, sizeof text) == kOk) device.uuid = text;
  PciInfo pci{};
  if (api.pci != nullptr && api.pci(handle, &pci) == kOk) {
    device.bus_id.assign(pci.bus_id, strnlen(pci.bus_id, sizeof pci.bus_id));
  }
  Memory memory{};
  if (api.memory != nullptr && api.memory(handle, &memory) == kOk) {
    device.memory_bytes = static_cast<std::int64_t>(memory.total);
  }
  unsigned value = 0;
  if (api.max_clock != nullptr && api.max_clock(handle, kClockSm, &value) == kOk) {
    device.max_sm_clock_mhz = static_cast<int>(value);
  }
  if (api.max_clock != nullptr && api.max_clock(handle, kClockMemory, &value) == kOk) {
    device.max_memory_clock_mhz = static_cast<int>(value);
  }
  if (api.power_limit != nullptr && api.power_limit(handle, &value) == kOk) {
    device.power_limit_watts = value / 1000.0;
  }
  StartGpm(index);
}

void Nvml::State::StartGpm(unsigned index) {
  if (!options.gpm || api.gpm_support == nullptr || api.gpm_alloc == nullptr ||
      api.gpm_sample == nullptr || api.gpm_metrics == nullptr) {
    return;
  }
  Gpu& gpu = gpus[index];
  GpmSupport support{1, 0};
  if (api.gpm_support(gpu.handle, &support) != kOk || support.supported == 0) return;
  if (api.gpm_alloc(&gpu.gpm[0]) != kOk || api.gpm_alloc(&gpu.gpm[1]) != kOk) return;
  if (!metrics) metrics = std::make_unique<GpmMetricsGet>();
  devices[index].has_gpm = true;
}

void Nvml::State::SamplePlain(unsigned index, std::vector<NvmlValue>& values) {
  const auto put = [&](const char* series, double value) {
    values.push_back({index, series, value});
  };
  Utilization utilization{};
  if (Ask(index, "utilization_pct", utilization, api.utilization)) {
    put("utilization_pct", utilization.gpu);
    put("memory_activity_pct", utilization.memory);
  }
  Memory memory{};
  if (Ask(index, "memory_used_bytes", memory, api.memory)) {
    put("memory_used_bytes", static_cast<double>(memory.used));
  }
  unsigned small = 0;
  if (Ask(index, "power_watts", small, api.power)) put("power_watts", small / 1000.0);
  unsigned long long large = 0;
  if (Ask(index, "energy_joules", large, api.energy)) {
    put("energy_joules", static_cast<double>(large) / 1000.0);
  }
  if (Ask(index, "temperature_c", small, api.temperature, kTemperatureGpu)) {
    put("temperature_c", small);
  }
  if (Ask(index, "sm_clock_mhz", small, api.clock, kClockSm)) put("sm_clock_mhz", small);
  if (Ask(index, "memory_clock_mhz", small, api.clock, kClockMemory)) {
    put("memory_clock_mhz", small);
  }
  if (Ask(index, "throttle_reasons", large, api.reasons)) {
    put("throttle_reasons", static_cast<double>(large));
  }
}

void Nvml::State::SamplePcie(unsigned index, std::vector<NvmlValue>& values) {
  unsigned kib_per_second = 0;
  if (Ask(index, "pcie_sent_bytes_per_second", kib_per_second, api.pcie, kPcieSent)) {
    values.push_back({index, "pcie_sent_bytes_per_second", kib_per_second * 1024.0});
  }
  if (Ask(index, "pcie_received_bytes_per_second", kib_per_second, api.pcie, kPcieReceived)) {
    values.push_back({index, "pcie_received_bytes_per_second", kib_per_second * 1024.0});
  }
}

void Nvml::State::SampleGpm(unsigned index, std::vector<NvmlValue>& values) {
  Gpu& gpu = gpus[index];
  const Code code = api.gpm_sample(gpu.handle, gpu.gpm[1]);
  if (code != kOk) {
    Miss(index, "sm_active_pct", code);
    gpu.gpm_before = false;
    return;
  }
  if (gpu.gpm_before) {
    metrics->version = 1;
    metrics->count = static_cast<unsigned>(std::size(kGpmSeries));
    metrics->before = gpu.gpm[0];
    metrics->after = gpu.gpm[1];
    for (std::size_t i = 0; i < std::size(kGpmSeries); ++i) {
      metrics->metrics[i] = GpmMetric{kGpmSeries[i].metric, kOk, 0, nullptr, nullptr, nullptr};
    }
    const Code all = api.gpm_metrics(metrics.get());
    for (std::size_t i = 0; i < std::size(kGpmSeries); ++i) {
      const GpmMetric& metric = metrics->metrics[i];
      const Code one = all != kOk ? all : metric.code;
      if (one == kOk) {
        values.push_back({index, kGpmSeries[i].series, metric.value * kGpmSeries[i].scale});
      } else {
        Miss(index, kGpmSeries[i].series, one);
      }
    }
  }
  std::swap(gpu.gpm[0], gpu.gpm[1]);
  gpu.gpm_before = true;
}

Nvml::Nvml(std::unique_ptr<State> state) : state_(std::move(state)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;
Nvml::~Nvml() = default;

Result<Nvml> Nvml::Load(const Options& options) {
  const char* path = std::getenv("HONE_NVML");
  if (path == nullptr || *path == '\0') path = "libnvidia-ml.so.1";
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error(std::string(path) +
                 " cannot be loaded; without NVIDIA's driver on this machine "
                 "there are no GPU counters");
  }
  auto state = std::make_unique<State>();
  state->api = FindAll(library);
  state->options = options;
  const Api& api = state->api;
  if (api.init == nullptr || api.count == nullptr || api.by_index == nullptr) {
    return Error(std::string(path) +
                 " lacks nvmlInit, nvmlDeviceGetCount or "
                 "nvmlDeviceGetHandleByIndex; it is no NVML that hone knows");
  }
  const Code code = api.init();
  if (code != kOk) {
    return Error("nvmlInit failed with code " + std::to_string(code) +
                 "; look whether nvidia-smi works");
  }
  state->started = true;
  char version[96] = "";
  if (api.driver_version != nullptr && api.driver_version(version, sizeof version) == kOk) {
    state->driver_version = version;
  }
  unsigned count = 0;
  if (const Code why = api.count(&count); why != kOk) {
    return Error("nvmlDeviceGetCount failed with code " + std::to_string(why) +
                 "; look whether nvidia-smi works");
  }
  state->devices.resize(count);
  state->gpus.resize(count);
  for (unsigned i = 0; i < count; ++i) {
    state->devices[i].index = i;
    const Code why = api.by_index(i, &state->gpus[i].handle);
    if (why == kOk) {
      state->Describe(i);
    } else {
      state->gpus[i].handle = nullptr;
      state->Miss(i, "all series", why);
    }
  }
  return Nvml(std::move(state));
}

const std::vector<NvmlDevice>& Nvml::devices() const { return state_->devices; }
std::string_view Nvml::driver_version() const { return state_->driver_version; }

void Nvml::Sample(std::vector<NvmlValue>& values) {
  for (unsigned i = 0; i < state_->gpus.size(); ++i) {
    if (state_->gpus[i].handle == nullptr) continue;
    state_->SamplePlain(i, values);
    if (state_->devices[i].has_gpm) {
      state_->SampleGpm(i, values);
    } else if (state_->options.pcie) {
      state_->SamplePcie(i, values);
    }
  }
}

std::vector<std::string> Nvml::Missing() const {
  std::vector<std::string> sentences;
  for (const State::Absent& absent : state_->absent) {
    sentences.push_back("GPU " + std::to_string(absent.device) + ": " + absent.series + ": " +
                        Reason(absent.code) + " (NVML code " + std::to_string(absent.code) + ")");
  }
  return sentences;
}

}  // namespace hone::gpu
