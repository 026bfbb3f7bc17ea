// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "collect/budget.h"

namespace hone::collect {
namespace {

// Untouched until the budget is spent, so they cost address space only.
alignas(4096) std::uint8_t g_discards[CudaBuffers::kDiscards][CudaBuffers::kDiscardBytes];

// A page fault on the program's threads costs up to a microsecond for each 16 launches.
void MakeResident(std::uint8_t* memory, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  for (std::size_t at = 0; at < bytes; at += 4096) {
    *const_cast<volatile std::uint8_t*>(memory + at) = 0;
  }
}

}  // namespace

void CudaBuffers::Configure(std::size_t buffer_bytes, std::size_t most_bytes,
                            bool null_allowed) noexcept {
  buffer_bytes_ = buffer_bytes;
  slots_ = std::clamp<std::size_t>(most_bytes / buffer_bytes, 1, kSlots);
  null_allowed_ = null_allowed;
  for (std::size_t i = 0; i < kDiscards; ++i) {
    Slot& slot = all_[kSlots + i];
    slot.data = g_discards[i];
    std::uint32_t empty = kEmpty;
    slot.state.compare_exchange_strong(empty, kReady, std::memory_order_release);
  }
}

bool CudaBuffers::Claim(Slot& slot, State from, State to) noexcept {
  std::uint32_t expected = from;
  return slot.state.load(std::memory_order_relaxed) == from &&
         slot.state.compare_exchange_strong(expected, to, std::memory_order_acq_rel);
}

void CudaBuffers::Request(std::uint8_t** buffer, std::size_t* size) noexcept {
  asked_.store(true, std::memory_order_release);
  const bool wanted = wanted_.load(std::memory_order_relaxed);
  if (wanted && Give(buffer, size)) return;
  if (wanted) refused_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = kSlots; i < kSlots + kDiscards; ++i) {
    if (!Claim(all_[i], kReady, kGiven)) continue;
    *buffer = all_[i].data;
    *size = kDiscardBytes;
    return;
  }
  if (null_allowed_) {
    *buffer = nullptr;
    *size = 0;
    return;
  }
  // An old CUPTI would crash without a buffer: share the last one. Its records are garbage that
  // nobody reads, and it is handed over 16 buffers into a shortage.
  *buffer = all_[kSlots + kDiscards - 1].data;
  *size = kDiscardBytes;
}

bool CudaBuffers::Give(std::uint8_t** buffer, std::size_t* size) noexcept {
  for (std::size_t i = 0; i < slots_; ++i) {
    if (!Claim(all_[i], kReady, kGiven)) continue;
    *buffer = all_[i].data;
    *size = buffer_bytes_;
    return true;
  }
  for (std::size_t i = 0; i < slots_; ++i) {
    Slot& slot = all_[i];
    if (!Claim(slot, kEmpty, kBusy)) continue;
    slot.data = static_cast<std::uint8_t*>(TakeMemory(buffer_bytes_, AfterFork::kDropped));
    slot.state.store(slot.data == nullptr ? kEmpty : kGiven, std::memory_order_release);
    if (slot.data == nullptr) break;
    *buffer = slot.data;
    *size = buffer_bytes_;
    return true;
  }
  return false;
}

void CudaBuffers::Complete(std::uint8_t* buffer, std::size_t valid) noexcept {
  if (buffer == nullptr) return;
  for (std::size_t i = 0; i < kSlots + kDiscards; ++i) {
    Slot& slot = all_[i];
    if (slot.state.load(std::memory_order_acquire) != kGiven || slot.data != buffer) continue;
    if (i >= kSlots && !wanted_.load(std::memory_order_relaxed)) {
      // The writer sleeps most of the time then, and CUPTI would ask again for every record.
      std::memset(slot.data, 0, kDiscardBytes);
      slot.state.store(kReady, std::memory_order_release);
      return;
    }
    slot.valid = std::min(valid, Bytes(i));
    slot.sequence = sequence_.fetch_add(1, std::memory_order_relaxed) + 1;
    slot.state.store(kComplete, std::memory_order_release);
    return;
  }
  // Another tool's, taken over when the callbacks changed hands: not ours to read or to free.
  foreign_.fetch_add(1, std::memory_order_relaxed);
}

CudaBuffers::Full CudaBuffers::TakeOldest() noexcept {
  std::size_t oldest = kSlots + kDiscards;
  for (std::size_t i = 0; i < kSlots + kDiscards; ++i) {
    if (all_[i].state.load(std::memory_order_acquire) != kComplete) continue;
    if (oldest == kSlots + kDiscards || all_[i].sequence < all_[oldest].sequence) oldest = i;
  }
  if (oldest == kSlots + kDiscards) return {};
  const Slot& slot = all_[oldest];
  return {slot.data, slot.valid, oldest >= kSlots, static_cast<std::uint32_t>(oldest)};
}

void CudaBuffers::Return(const Full& full) noexcept {
  Slot& slot = all_[full.slot];
  // All of it: what CUPTI began to write past the valid part would read as a record later.
  std::memset(slot.data, 0, Bytes(full.slot));
  slot.state.store(kReady, std::memory_order_release);
}

void CudaBuffers::Prepare(std::size_t ready) noexcept {
  std::size_t have = 0;
  for (std::size_t i = 0; i < slots_; ++i) {
    if (all_[i].state.load(std::memory_order_relaxed) == kReady) ++have;
  }
  for (std::size_t i = 0; i < slots_ && have < ready; ++i) {
    Slot& slot = all_[i];
    if (!Claim(slot, kEmpty, kBusy)) continue;
    slot.data = static_cast<std::uint8_t*>(TakeMemory(buffer_bytes_, AfterFork::kDropped));
    if (slot.data != nullptr) MakeResident(slot.data, buffer_bytes_);
    slot.state.store(slot.data == nullptr ? kEmpty : kReady, std::memory_order_release);
    if (slot.data == nullptr) return;
    ++have;
  }
}

void CudaBuffers::GiveBackReady() noexcept {
  for (std::size_t i = 0; i < slots_; ++i) {
    Slot& slot = all_[i];
    if (!Claim(slot, kReady, kBusy)) continue;
    GiveBack(slot.data, buffer_bytes_);
    slot.data = nullptr;
    slot.state.store(kEmpty, std::memory_order_release);
  }
}

std::size_t CudaBuffers::Outstanding() const noexcept {
  std::size_t given = 0;
  for (const Slot& slot : all_) given += slot.state.load(std::memory_order_relaxed) == kGiven;
  return given;
}

}  // namespace hone::collect
