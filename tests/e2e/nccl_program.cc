// SPDX-License-Identifier: Apache-2.0
// Plays NCCL's part: loads the plugin that NCCL_PROFILER_PLUGIN names, takes the version it is told
// to (nccl_program 5), and starts and stops events as NCCL does. The descriptors are laid out here
// as NCCL's public headers say, byte by byte.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Plugin {
  const char* name;
  void* init;
  int (*start)(void*, void**, void*);
  int (*stop)(void*);
  int (*record_state)(void*, int, void*);
  int (*finalize)(void*);
};

// One word after the other, as the compiler lays out pointers, size_t and padded ints.
struct Words {
  std::uint64_t at[24] = {};
  int used = 0;
  Words& operator<<(std::uint64_t word) {
    at[used++] = word;
    return *this;
  }
  Words& operator<<(const char* text) { return *this << reinterpret_cast<std::uint64_t>(text); }
};

constexpr std::uint64_t kGroup = 1, kCollective = 2, kPointToPoint = 4, kGroupApi = 256;

Words Head(std::uint64_t type) {
  Words words;
  words << type << std::uint64_t{0} << std::uint64_t{3};  // type, parent, rank
  return words;
}

Words AllReduce(int version) {
  Words words = Head(kCollective);
  if (version <= 3) words << "comm" << std::uint64_t{0xC0FFEE};
  words << std::uint64_t{41} << "AllReduce" << std::uint64_t{0} << std::uint64_t{0};
  words << std::uint64_t{1000000} << std::uint64_t{0} << "ncclFloat32";
  if (version == 2) words << std::uint64_t{4000000};
  words << std::uint64_t{0x1008} << "RING"
        << "SIMPLE" << std::uint64_t{0};
  return words;
}

Words Send(int version) {
  Words words = Head(kPointToPoint);
  if (version <= 3) words << "comm" << std::uint64_t{0xC0FFEE};
  words << "Send" << std::uint64_t{0} << "ncclInt8" << std::uint64_t{512} << std::uint64_t{1};
  return words;
}

}  // namespace

int main(int count, char** arguments) {
  const int version = count > 1 ? std::atoi(arguments[1]) : 5;
  void* library = dlopen(std::getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
  const std::string symbol = "ncclProfiler_v" + std::to_string(version);
  auto* plugin =
      library == nullptr ? nullptr : static_cast<Plugin*>(dlsym(library, symbol.c_str()));
  if (plugin == nullptr) {
    std::printf("no %s\n", symbol.c_str());
    return 1;
  }
  void* context = nullptr;
  int mask = 1 << 30, failed = 0;
  for (int communicators = 0; communicators < 2; ++communicators) {
    if (version <= 3) {
      failed = reinterpret_cast<int (*)(void**, int*)>(plugin->init)(&context, &mask);
    } else if (version == 4) {
      failed =
          reinterpret_cast<int (*)(void**, int*, const char*, std::uint64_t, int, int, int, void*)>(
              plugin->init)(&context, &mask, "comm", 0xC0FFEE, 2, 8, 3, nullptr);
    } else {
      failed =
          reinterpret_cast<int (*)(void**, std::uint64_t, int*, const char*, int, int, int, void*)>(
              plugin->init)(&context, 0xC0FFEE, &mask, "comm", 2, 8, 3, nullptr);
    }
  }
  std::printf("%s %d mask %d\n", plugin->name, failed, mask);
  for (const std::uint64_t parent : {kGroup, kGroupApi}) {
    Words group = Head(parent);
    void* handle = &group;
    failed |= plugin->start(context, &handle, group.at);
    if (handle != nullptr) std::printf("a handle for a parent\n");
  }
  for (Words event : {AllReduce(version), Send(version)}) {
    void* handle = nullptr;
    failed |= plugin->start(context, &handle, event.at);
    failed |= plugin->record_state(handle, 1, nullptr);
    failed |= plugin->stop(handle);
    failed |= plugin->stop(handle);  // as graph replays did
  }
  return failed | plugin->finalize(context);
}
