// SPDX-License-Identifier: Apache-2.0
// An NVML without a GPU, loaded through the same door as the real one (HONE_NVML). The environment
// says what it has, HONE_FAKE_NVML="devices=2,gpm=1,lack=energy,init=0,…":
//   devices=N        (1)
//   init=CODE        what nvmlInit answers (0)
//   gpm=0|1          whether devices give it (0)
//   lack=NAME        utilization, power, energy, clock, temperature, reasons: not supported (3)
//   throttle=BITS    reasons (0)
// Values are made of the device's number and of how often they were asked, so that tests can tell
// one from another.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using Code = int;
constexpr Code kOk = 0, kNotSupported = 3, kInvalid = 2;

std::string Word(const char* key) {
  const char* text = std::getenv("HONE_FAKE_NVML");
  const std::string all = std::string(",") + (text == nullptr ? "" : text) + ",";
  const std::size_t at = all.find(std::string(",") + key + "=");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + std::strlen(key) + 2;
  return all.substr(begin, all.find(',', begin) - begin);
}

int Number(const char* key, int otherwise) {
  const std::string word = Word(key);
  return word.empty() ? otherwise : std::stoi(word);
}

bool Lacks(const char* what) { return Word("lack") == what; }

unsigned Index(void* device) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

struct Sample {
  unsigned device;
  unsigned number;
};
unsigned g_samples = 0;

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE Code nvmlInit_v2() { return Number("init", 0); }
FAKE Code nvmlShutdown() { return kOk; }
FAKE Code nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.65.06");
  return kOk;
}
FAKE Code nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Number("devices", 1));
  return kOk;
}
FAKE Code nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (static_cast<int>(index) == Number("broken", -1)) return 15;  // the GPU has fallen off the bus
  *device = reinterpret_cast<void*>(std::uintptr_t{index} + 1);
  return kOk;
}
FAKE Code nvmlDeviceGetName(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "Fake GPU %u", Index(device));
  return kOk;
}
FAKE Code nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-0000-%u", Index(device));
  return kOk;
}
FAKE Code nvmlDeviceGetPciInfo_v3(void* device, char* info) {
  std::memset(info, 0, 68);
  std::snprintf(info + 36, 32, "00000000:%02X:00.0", 0x18 + Index(device));
  return kOk;
}
FAKE Code nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) {
  memory[0] = 1000;
  memory[1] = 600;
  memory[2] = 400 + Index(device);
  return kOk;
}
FAKE Code nvmlDeviceGetUtilizationRates(void* device, unsigned* rates) {
  if (Lacks("utilization")) return kNotSupported;
  rates[0] = 90 + Index(device);
  rates[1] = 30;
  return kOk;
}
FAKE Code nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 650'500;
  return Lacks("power") ? kNotSupported : kOk;
}
FAKE Code nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return kOk;
}
FAKE Code nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  *millijoules = 12'345'678'000ull;
  return Lacks("energy") ? kNotSupported : kOk;
}
FAKE Code nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* mhz) {
  *mhz = type == 1 ? 1755 : 3201;
  return Lacks("clock") ? kNotSupported : kOk;
}
FAKE Code nvmlDeviceGetMaxClockInfo(void*, unsigned type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : 3201;
  return kOk;
}
FAKE Code nvmlDeviceGetTemperature(void*, unsigned, unsigned* celsius) {
  *celsius = 61;
  return Lacks("temperature") ? kNotSupported : kOk;
}
FAKE Code nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = static_cast<unsigned long long>(Number("throttle", 0));
  return Lacks("reasons") ? kNotSupported : kOk;
}
FAKE Code nvmlDeviceGetPcieThroughput(void*, unsigned direction, unsigned* kib) {
  *kib = direction == 0 ? 10 : 20;
  return kOk;
}
FAKE Code nvmlGpmQueryDeviceSupport(void*, unsigned* support) {
  if (support[0] != 1) return kInvalid;
  support[1] = static_cast<unsigned>(Number("gpm", 0));
  return kOk;
}
FAKE Code nvmlGpmSampleAlloc(void** sample) {
  *sample = new Sample{};
  return kOk;
}
FAKE Code nvmlGpmSampleFree(void* sample) {
  delete static_cast<Sample*>(sample);
  return kOk;
}
FAKE Code nvmlGpmSampleGet(void* device, void* sample) {
  *static_cast<Sample*>(sample) = {Index(device), ++g_samples};
  return kOk;
}
// version, count, before, after, then 40 bytes a metric: number, code, value, three texts.
FAKE Code nvmlGpmMetricsGet(unsigned char* get) {
  unsigned version = 0, count = 0;
  Sample *before = nullptr, *after = nullptr;
  std::memcpy(&version, get, 4);
  std::memcpy(&count, get + 4, 4);
  std::memcpy(&before, get + 8, 8);
  std::memcpy(&after, get + 16, 8);
  // Samples must be two different ones of one device, in order.
  if (version != 1 || before->device != after->device || before->number >= after->number) {
    return kInvalid;
  }
  for (unsigned i = 0; i < count; ++i) {
    unsigned char* metric = get + 24 + 40 * i;
    unsigned number = 0;
    std::memcpy(&number, metric, 4);
    const Code code = number >= 60 ? kNotSupported : kOk;  // no NVLink here
    const double value = number + after->device * 0.5;
    std::memcpy(metric + 4, &code, 4);
    std::memcpy(metric + 8, &value, 8);
  }
  return kOk;
}
