// SPDX-License-Identifier: Apache-2.0
// PyTorch's allocators, by standing in their way: these functions of libc10 are called by its CPU
// and CUDA allocators across the dynamic linker, and a preloaded library comes first. Each call
// goes on to libc10's own, so PyTorch's profiler sees what it always saw.
#include <atomic>
#include <cstdint>

#include "collect/clock.h"
#include "collect/python_frames.h"
#include "collect/source.h"
#include "collect/thread_state.h"
#include "collect/torch_library.h"

namespace hone::collect {
namespace {

// c10::Device as it travels in a register: type, index.
struct DeviceBits {
  std::int8_t type, index;
};

void Record(const MemoryRecord& event) noexcept {
  // Not a constant that the first thread makes: see NewOfProgram in torch_backward.cc.
  static std::atomic<int> wanted{-1};
  int known = wanted.load(std::memory_order_relaxed);
  if (known < 0) wanted.store(known = Wanted("memory") ? 1 : 0, std::memory_order_relaxed);
  if (known == 0) return;
  const Guest guest(GetThreadState());
  if (!guest || t_state->own) return;
  ThreadState& state = *t_state;
  if (state.memory == nullptr) state.memory = g_memory_log.Claim(state.tid);
  MemoryRecord* const record = g_memory_log.Place(state.memory, state.tid);
  if (record == nullptr) return;
  *record = event;
  record->time = Ticks();
  // Inside an operator its own place is the allocation's; frees belong to no line.
  if (!event.freed) {
    for (std::uint32_t i = 0; i < state.depth && i < ThreadState::kDeepest; ++i) {
      if (state.open[i].frame != 0) record->frame = state.open[i].frame;
      if (state.open[i].kind == wire::HostKind::kOp) break;
    }
    if (record->frame == 0 && state.op_depth == 0) record->frame = FrameHere();
  }
  g_memory_log.Commit(state.memory);
}

}  // namespace
}  // namespace hone::collect

using hone::collect::MemoryRecord;
using hone::collect::Recording;

#define HONE_INTERPOSE extern "C" __attribute__((visibility("default")))

// void c10::reportMemoryUsageToProfiler(void*, int64_t, size_t, size_t, Device)
HONE_INTERPOSE void HoneReportMemory(
    void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
    hone::collect::DeviceBits
        device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void HoneReportMemory(void* address, std::int64_t bytes, std::size_t allocated,
                      std::size_t reserved, hone::collect::DeviceBits device) {
  static hone::collect::Original<decltype(HoneReportMemory)> original(
      "libc10.so", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
  constexpr std::int8_t kCpu = 0;  // those of the CPU come by New and Delete, always
  if (Recording() && device.type != kCpu) {
    MemoryRecord event = {};
    event.address = reinterpret_cast<std::uint64_t>(address);
    event.bytes = bytes;
    event.freed = bytes < 0;
    event.allocated = static_cast<std::int64_t>(allocated);
    event.reserved = static_cast<std::int64_t>(reserved);
    event.device_type = device.type;
    event.device = device.index;
    hone::collect::Record(event);
  }
  if (auto* function = original.Get()) function(address, bytes, allocated, reserved, device);
}

// void c10::reportOutOfMemoryToProfiler(int64_t, size_t, size_t, Device)
HONE_INTERPOSE void HoneReportOutOfMemory(
    std::int64_t bytes, std::size_t allocated, std::size_t reserved,
    hone::collect::DeviceBits
        device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");
void HoneReportOutOfMemory(std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                           hone::collect::DeviceBits device) {
  static hone::collect::Original<decltype(HoneReportOutOfMemory)> original(
      "libc10.so", "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");
  if (Recording()) {
    MemoryRecord event = {};
    event.bytes = bytes;
    event.oom = 1;
    event.allocated = static_cast<std::int64_t>(allocated);
    event.reserved = static_cast<std::int64_t>(reserved);
    event.device_type = device.type;
    event.device = device.index;
    hone::collect::Record(event);
  }
  if (auto* function = original.Get()) function(bytes, allocated, reserved, device);
}

// void c10::ProfiledCPUMemoryReporter::New(void*, size_t)
HONE_INTERPOSE void HoneCpuNew(void* reporter, void* address, std::size_t bytes) __asm__(
    "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm");
void HoneCpuNew(void* reporter, void* address, std::size_t bytes) {
  static hone::collect::Original<decltype(HoneCpuNew)> original(
      "libc10.so", "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm");
  if (Recording() && bytes != 0) {
    MemoryRecord event = {};
    event.address = reinterpret_cast<std::uint64_t>(address);
    event.bytes = static_cast<std::int64_t>(bytes);
    event.allocated = event.reserved = -1;
    event.device = -1;
    hone::collect::Record(event);
  }
  if (auto* function = original.Get()) function(reporter, address, bytes);
}

// void c10::ProfiledCPUMemoryReporter::Delete(void*)
HONE_INTERPOSE void HoneCpuDelete(void* reporter, void* address) __asm__(
    "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv");
void HoneCpuDelete(void* reporter, void* address) {
  static hone::collect::Original<decltype(HoneCpuDelete)> original(
      "libc10.so", "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv");
  if (Recording() && address != nullptr) {
    MemoryRecord event = {};
    event.address = reinterpret_cast<std::uint64_t>(address);
    event.freed = 1;
    event.allocated = event.reserved = -1;
    event.device = -1;
    hone::collect::Record(event);
  }
  if (auto* function = original.Get()) function(reporter, address);
}
