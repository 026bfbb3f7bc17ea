// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_devices.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>

#include "collect/fork_section.h"

namespace hone::collect {
namespace {

struct Attribute {
  const char* key;
  int number;  // CUdevice_attribute
};
constexpr Attribute kAttributes[] = {
    {"compute_major", 75},    {"compute_minor", 76},        {"sm_count", 16},
    {"warp_size", 10},        {"max_threads_per_sm", 39},   {"max_threads_per_block", 1},
    {"registers_per_sm", 82}, {"shared_memory_per_sm", 81}, {"clock_khz", 13},
    {"memory_clock_khz", 36}, {"memory_bus_bits", 37},      {"l2_bytes", 38},
};
constexpr int kPciDomain = 50, kPciBus = 33, kPciDevice = 34;

struct Driver {
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
};

template <typename Function>
void Find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

bool WriteCudaDevices(Output& output) noexcept {
  const ForkSection section;  // the driver has locks
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  Driver driver;
  Find(library, driver.count, "cuDeviceGetCount");
  Find(library, driver.get, "cuDeviceGet");
  Find(library, driver.name, "cuDeviceGetName");
  Find(library, driver.memory, "cuDeviceTotalMem_v2");
  Find(library, driver.attribute, "cuDeviceGetAttribute");
  if (driver.count == nullptr || driver.get == nullptr || driver.attribute == nullptr) return true;
  int count = 0;
  if (driver.count(&count) != 0) return false;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    if (driver.get(&device, i) != 0) continue;
    char text[256] = "";
    const auto put = [&](const char* key) { output.Row(wire::Table::kDevices, i, key, text); };
    if (driver.name != nullptr && driver.name(text, sizeof text, device) == 0) put("name");
    std::size_t bytes = 0;
    if (driver.memory != nullptr && driver.memory(&bytes, device) == 0) {
      std::snprintf(text, sizeof text, "%zu", bytes);
      put("memory_bytes");
    }
    int value = 0;
    for (const Attribute& attribute : kAttributes) {
      if (driver.attribute(&value, attribute.number, device) != 0) continue;
      std::snprintf(text, sizeof text, "%d", value);
      put(attribute.key);
    }
    int domain = 0, bus = 0, slot = 0;
    if (driver.attribute(&domain, kPciDomain, device) == 0 &&
        driver.attribute(&bus, kPciBus, device) == 0 &&
        driver.attribute(&slot, kPciDevice, device) == 0) {
      std::snprintf(text, sizeof text, "%08X:%02X:%02X.0", static_cast<unsigned>(domain),
                    static_cast<unsigned>(bus), static_cast<unsigned>(slot));
      put("bus_id");
    }
  }
  return true;
}

}  // namespace hone::collect
