// SPDX-License-Identifier: Apache-2.0
#include "collect/own_thread.h"

#include <pthread.h>
#include <signal.h>

#include <cstddef>

namespace hone::collect {

bool StartOwnThread(const char* name, void* (*main)(void*), void* argument) noexcept {
  constexpr std::size_t kStack = 512u << 10;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, main, argument);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return false;
  pthread_setname_np(thread, name);
  pthread_detach(thread);
  return true;
}

}  // namespace hone::collect
