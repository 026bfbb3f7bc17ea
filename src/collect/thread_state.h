// SPDX-License-Identifier: Apache-2.0
// ThreadState: what the recorder knows of one thread of the program, reached by one thread-local
// pointer. Made on the first event of the thread, in memory of the recorder's own.
#pragma once

#include <cstdint>

#include "collect/thread_log.h"
#include "wire/table.h"

namespace hone::collect {

struct HostRecord {
  std::uint64_t start, end;
  std::int64_t sequence;
  std::uint32_t name, frame, arguments, forward_tid;
  wire::HostKind kind;
};

struct MemoryRecord {
  std::uint64_t time;
  std::uint64_t address;
  std::int64_t bytes, allocated, reserved;
  std::uint32_t frame;
  std::int8_t device_type, device;
  std::uint8_t freed, oom;
};

struct OpenSlice {
  const void* key;  // the framework's object; null for regions of ours
  std::uint64_t start;
  std::int64_t sequence;
  std::uint32_t name, frame, arguments;
  wire::HostKind kind;
};

struct ThreadState {
  static constexpr std::uint32_t kDeepest = 192;  // deeper slices are counted as lost

  std::uint32_t tid;
  std::uint32_t depth;     // of open, may pass kDeepest
  std::uint32_t op_depth;  // open slices of the framework's operators
  bool busy;               // inside the recorder: what comes now is our own doing
  bool own;                // runs the recorder's self-test: seen, not recorded
  ThreadLog<HostRecord>::Chain* host;
  ThreadLog<MemoryRecord>::Chain* memory;
  const char* last_name;  // of the last slice that ended, for the self-test
  OpenSlice open[kDeepest];
};

extern ThreadLog<HostRecord> g_host_log;
extern ThreadLog<MemoryRecord> g_memory_log;

extern thread_local ThreadState* t_state;
// Null when there is no memory for it.
ThreadState* MakeThreadState() noexcept;
inline ThreadState* GetThreadState() noexcept {
  return __builtin_expect(t_state != nullptr, 1) ? t_state : MakeThreadState();
}

// In the child of a fork, on its only thread.
void ForkedThreads() noexcept;

// While it stands, events of this thread are the recorder's own and are not recorded.
class Guest {
 public:
  explicit Guest(ThreadState* state) noexcept : state_(state) {
    entered_ = state != nullptr && !state->busy;
    if (entered_) state->busy = true;
  }
  ~Guest() {
    if (entered_) state_->busy = false;
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  explicit operator bool() const noexcept { return entered_; }

 private:
  ThreadState* state_;
  bool entered_;
};

}  // namespace hone::collect
