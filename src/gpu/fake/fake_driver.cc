// SPDX-License-Identifier: Apache-2.0
// A libcuda without a GPU, under the true one's name (its soname), with one device. Its cuInit
// calls the door that CUDA_INJECTION64_PATH names and then goes on for a while, as the true one
// does on a machine that has just started. Whoever comes in from another thread meanwhile ends the
// program: the true one has crashed there.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

std::atomic<bool> g_busy{false};
std::atomic<bool> g_up{false};
std::thread::id g_thread;

constexpr int kOk = 0, kNotInitialized = 3;

int Entered(const char* function) {
  if (g_busy.load() && std::this_thread::get_id() != g_thread) {
    std::fprintf(stderr, "fake driver: %s on another thread inside cuInit\n", function);
    std::_Exit(5);
  }
  return g_up.load() ? kOk : kNotInitialized;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

// Of the fake CUPTI, whose true one asks the driver.
FAKE void FakeDriverEntered(const char* function) { Entered(function); }

FAKE int FakeDriverInit(unsigned milliseconds) {
  g_thread = std::this_thread::get_id();
  g_busy.store(true);
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  auto* const door = library == nullptr
                         ? nullptr
                         : reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (door != nullptr) door();
  usleep(milliseconds * 1000);
  g_up.store(true);
  g_busy.store(false);
  return kOk;
}

FAKE int cuDeviceGetCount(int* count) {
  *count = 1;
  return Entered("cuDeviceGetCount");
}

FAKE int cuDeviceGet(int* device, int number) {
  *device = number;
  return Entered("cuDeviceGet");
}

FAKE int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake GPU");
  return Entered("cuDeviceGetName");
}

FAKE int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{8} << 30;
  return Entered("cuDeviceTotalMem");
}

FAKE int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute;
  return Entered("cuDeviceGetAttribute");
}
