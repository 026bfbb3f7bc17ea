// SPDX-License-Identifier: Apache-2.0
#include "collect/own_thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

bool OnlyOwnThreadsLeft() noexcept {
  char path[64], text[512];
  const auto read_file = [&](int size) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t length = read(file, text, static_cast<std::size_t>(size));
    close(file);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
  };
  const int pid = getpid();
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/stat", pid);
  if (!read_file(sizeof(text) - 1)) return false;
  const char* const state = std::strrchr(text, ')');  // "123 (name) Z …"; names may hold anything
  if (state == nullptr || std::strncmp(state, ") Z", 3) != 0) return false;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return false;
  bool only_ours = true;
  while (const dirent* const task = readdir(tasks)) {
    if (task->d_name[0] == '.' || std::atoi(task->d_name) == pid) continue;
    std::snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", task->d_name);
    if (read_file(sizeof(text) - 1) && std::strncmp(text, "hone-", 5) != 0) only_ours = false;
  }
  closedir(tasks);
  return only_ours;
}

}  // namespace hone::collect
