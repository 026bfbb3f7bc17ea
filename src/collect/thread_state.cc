// SPDX-License-Identifier: Apache-2.0
#include "collect/thread_state.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

namespace hone::collect {

ThreadLog<HostRecord> g_host_log;
ThreadLog<MemoryRecord> g_memory_log;
thread_local ThreadState* t_state = nullptr;

namespace {

constexpr std::size_t kStateBytes = (sizeof(ThreadState) + 4095) & ~std::size_t{4095};

// States of ended threads, kept for the next ones.
struct FreeState {
  FreeState* next;
};
FreeState* g_free = nullptr;
SpinLock g_lock;

pthread_key_t g_key;
pthread_once_t g_once = PTHREAD_ONCE_INIT;
bool g_has_key = false;

void ThreadEnds(void* pointer) {
  auto* const state = static_cast<ThreadState*>(pointer);
  t_state = nullptr;  // destructors that run after this one make a new state, and are called again
  g_host_log.Release(state->host);
  g_memory_log.Release(state->memory);
  auto* const free = static_cast<FreeState*>(pointer);
  const std::lock_guard<SpinLock> guard(g_lock);
  free->next = g_free;
  g_free = free;
}

ThreadState* TakeState() {
  {
    const std::lock_guard<SpinLock> guard(g_lock);
    if (FreeState* const free = g_free) {
      g_free = free->next;
      return reinterpret_cast<ThreadState*>(free);
    }
  }
  return static_cast<ThreadState*>(TakeMemory(kStateBytes, AfterFork::kDropped));
}

}  // namespace

ThreadState* MakeThreadState() noexcept {
  pthread_once(&g_once, [] { g_has_key = pthread_key_create(&g_key, ThreadEnds) == 0; });
  ThreadState* const state = TakeState();
  if (state == nullptr) return nullptr;
  state->tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  state->depth = state->op_depth = 0;
  state->busy = state->own = false;
  state->host = nullptr;
  state->memory = nullptr;
  state->last_name = nullptr;
  t_state = state;
  if (g_has_key) pthread_setspecific(g_key, state);
  return state;
}

void ForkedThreads() noexcept {
  g_lock.Reset();
  g_free = nullptr;  // and with it all states but this thread's own, 8 KiB that no budget counts
  g_host_log.Forked();
  g_memory_log.Forked();
  ThreadState* const state = t_state;
  if (state == nullptr) return;
  state->tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  state->depth = state->op_depth = 0;
  state->busy = false;
  state->host = nullptr;
  state->memory = nullptr;
}

}  // namespace hone::collect
