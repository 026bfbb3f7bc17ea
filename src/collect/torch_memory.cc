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

MemoryRecord OfDevice(std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
                      DeviceBits device) {
  MemoryRecord event = {};
  event.bytes = bytes;
  event.allocated = allocated;
  event.reserved = reserved;
  event.device_type = device.type;
  event.device = device.index;
  return event;
}

void RecordDevice(void* address, std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
                  DeviceBits device) noexcept {
  constexpr std::int8_t kCpu = 0;  // those of the CPU come by New and Delete, always
  if (!Recording() || device.type == kCpu) return;
  MemoryRecord event = OfDevice(bytes, allocated, reserved, device);
  event.address = reinterpret_cast<std::uint64_t>(address);
  event.freed = bytes < 0;
  Record(event);
}

void RecordOutOfMemory(std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
                       DeviceBits device) noexcept {
  if (!Recording()) return;
  MemoryRecord event = OfDevice(bytes, allocated, reserved, device);
  event.oom = 1;
  Record(event);
}

}  // namespace
}  // namespace hone::collect

using namespace hone::collect;  // NOLINT: the rest of this file is doors of theirs

#define HONE_INTERPOSE extern "C" __attribute__((visibility("default")))

// Both totals are size_t from torch 2.1 on and int64_t in 1.13 ("l" in the place of "m"): the
// same registers, another name.
#define HONE_REPORT_MEMORY "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define HONE_REPORT_MEMORY_SIGNED "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define HONE_REPORT_NO_MEMORY "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
#define HONE_REPORT_NO_MEMORY_SIGNED "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"

// void c10::reportMemoryUsageToProfiler(void*, int64_t, size_t, size_t, Device)
HONE_INTERPOSE void HoneReportMemory(void* address, std::int64_t bytes, std::size_t allocated,
                                     std::size_t reserved,
                                     DeviceBits device) __asm__(HONE_REPORT_MEMORY);
void HoneReportMemory(void* address, std::int64_t bytes, std::size_t allocated,
                      std::size_t reserved, DeviceBits device) {
  static Original<decltype(HoneReportMemory)> original("libc10.so", HONE_REPORT_MEMORY);
  RecordDevice(address, bytes, static_cast<std::int64_t>(allocated),
               static_cast<std::int64_t>(reserved), device);
  if (auto* function = original.Get()) function(address, bytes, allocated, reserved, device);
}

HONE_INTERPOSE void HoneReportMemorySigned(void* address, std::int64_t bytes,
                                           std::int64_t allocated, std::int64_t reserved,
                                           DeviceBits device) __asm__(HONE_REPORT_MEMORY_SIGNED);
void HoneReportMemorySigned(void* address, std::int64_t bytes, std::int64_t allocated,
                            std::int64_t reserved, DeviceBits device) {
  static Original<decltype(HoneReportMemorySigned)> original("libc10.so",
                                                             HONE_REPORT_MEMORY_SIGNED);
  RecordDevice(address, bytes, allocated, reserved, device);
  if (auto* function = original.Get()) function(address, bytes, allocated, reserved, device);
}

// void c10::reportOutOfMemoryToProfiler(int64_t, size_t, size_t, Device)
HONE_INTERPOSE void HoneReportOutOfMemory(std::int64_t bytes, std::size_t allocated,
                                          std::size_t reserved,
                                          DeviceBits device) __asm__(HONE_REPORT_NO_MEMORY);
void HoneReportOutOfMemory(std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                           DeviceBits device) {
  static Original<decltype(HoneReportOutOfMemory)> original("libc10.so", HONE_REPORT_NO_MEMORY);
  RecordOutOfMemory(bytes, static_cast<std::int64_t>(allocated),
                    static_cast<std::int64_t>(reserved), device);
  if (auto* function = original.Get()) function(bytes, allocated, reserved, device);
}

HONE_INTERPOSE void HoneReportOutOfMemorySigned(
    std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
    DeviceBits device) __asm__(HONE_REPORT_NO_MEMORY_SIGNED);
void HoneReportOutOfMemorySigned(std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
                                 DeviceBits device) {
  static Original<decltype(HoneReportOutOfMemorySigned)> original("libc10.so",
                                                                  HONE_REPORT_NO_MEMORY_SIGNED);
  RecordOutOfMemory(bytes, allocated, reserved, device);
  if (auto* function = original.Get()) function(bytes, allocated, reserved, device);
}

// void c10::ProfiledCPUMemoryReporter::New(void*, size_t)
HONE_INTERPOSE void HoneCpuNew(void* reporter, void* address, std::size_t bytes) __asm__(
    "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm");
void HoneCpuNew(void* reporter, void* address, std::size_t bytes) {
  static Original<decltype(HoneCpuNew)> original("libc10.so",
                                                 "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm");
  if (Recording() && bytes != 0) {
    MemoryRecord event = {};
    event.address = reinterpret_cast<std::uint64_t>(address);
    event.bytes = static_cast<std::int64_t>(bytes);
    event.allocated = event.reserved = -1;
    event.device = -1;
    Record(event);
  }
  if (auto* function = original.Get()) function(reporter, address, bytes);
}

// void c10::ProfiledCPUMemoryReporter::Delete(void*)
HONE_INTERPOSE void HoneCpuDelete(void* reporter, void* address) __asm__(
    "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv");
void HoneCpuDelete(void* reporter, void* address) {
  static Original<decltype(HoneCpuDelete)> original("libc10.so",
                                                    "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv");
  if (Recording() && address != nullptr) {
    MemoryRecord event = {};
    event.address = reinterpret_cast<std::uint64_t>(address);
    event.freed = 1;
    event.allocated = event.reserved = -1;
    event.device = -1;
    Record(event);
  }
  if (auto* function = original.Get()) function(reporter, address);
}
