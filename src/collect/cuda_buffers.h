// SPDX-License-Identifier: Apache-2.0
// CudaBuffers: the memory that CUPTI writes its records into.
//
// CUPTI asks for a buffer on the program's threads (and takes it to be zeroed), and gives it back
// full on a thread of its own or inside a flush. Between them no lock: each slot has a state that
// one thread at a time owns. Clearing and making memory resident is the writer's work. When the
// budget is spent, records go into small discard buffers that are counted and thrown away. CUPTI
// may want buffers when nothing is recorded, too: seen on an H200 (CUDA 13.0), where every kernel
// is off and a CUDA graph that was made afterwards still had each of its nodes recorded. Those
// records go round in the discards, uncounted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hone::collect {

class CudaBuffers {
 public:
  static constexpr std::size_t kSlots = 128, kDiscards = 16, kDiscardBytes = 64u << 10;

  // Before the first request. At most `most_bytes` are taken from the budget.
  // `null_allowed`: CUPTI takes a null buffer to mean "drop" when even the discards are out.
  void Configure(std::size_t buffer_bytes, std::size_t most_bytes, bool null_allowed) noexcept;

  // --- CUPTI's callbacks, any thread
  void Request(std::uint8_t** buffer, std::size_t* size) noexcept;
  void Complete(std::uint8_t* buffer, std::size_t valid) noexcept;

  // --- The writer's
  struct Full {
    std::uint8_t* data = nullptr;  // null: none is complete
    std::size_t valid = 0;
    bool discard = false;
    std::uint32_t slot = 0;
  };
  Full TakeOldest() noexcept;              // in the order of completion
  void Return(const Full& full) noexcept;  // clears it and makes it ready
  // Brings the number of ready buffers up to `ready`: memory taken, zeroed and resident.
  void Prepare(std::size_t ready) noexcept;
  void GiveBackReady() noexcept;  // to the budget: the window is over
  // Whether what comes now is wanted.
  void Wanted(bool wanted) noexcept { wanted_.store(wanted, std::memory_order_relaxed); }
  std::size_t Outstanding() const noexcept;  // with CUPTI just now

  // Requests for what is wanted, answered from the discards or not at all, ever.
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  std::uint64_t completed() const { return sequence_.load(std::memory_order_relaxed); }
  // Whether CUPTI ever wanted a buffer: there was something to record, so the driver is up.
  bool asked() const { return asked_.load(std::memory_order_acquire); }
  std::uint64_t foreign() const { return foreign_.load(std::memory_order_relaxed); }

 private:
  enum State : std::uint32_t { kEmpty, kReady, kBusy, kGiven, kComplete };
  struct Slot {
    std::atomic<std::uint32_t> state{kEmpty};
    std::uint8_t* data = nullptr;
    std::size_t valid = 0;
    std::uint64_t sequence = 0;
  };
  bool Claim(Slot& slot, State from, State to) noexcept;
  bool Give(std::uint8_t** buffer, std::size_t* size) noexcept;  // one that is read later
  std::size_t Bytes(std::size_t slot) const {
    return slot < kSlots ? buffer_bytes_ : kDiscardBytes;
  }

  std::size_t buffer_bytes_ = 1u << 20;
  std::size_t slots_ = kSlots;
  bool null_allowed_ = false;
  Slot all_[kSlots + kDiscards];  // the discards are last
  std::atomic<std::uint64_t> sequence_{0}, refused_{0}, foreign_{0};
  std::atomic<bool> asked_{false}, wanted_{true};
};

}  // namespace hone::collect
