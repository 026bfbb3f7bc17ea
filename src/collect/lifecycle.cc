// SPDX-License-Identifier: Apache-2.0
// How a process gets its recorder and how it ends: loading, fork, exit. What runs here runs in
// every process that inherits the preload, shells and compilers too, so it does next to nothing.
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "collect/options.h"
#include "collect/recorder.h"
#include "collect/torch_ops.h"

namespace hone::collect {
namespace {

// Python that was told to ignore its environment or its site files (-I, -E, -S) runs no start-up
// file of ours; it is recorded all the same, without lines.
bool IsBarePython() {
  char text[4096];
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t size = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (size <= 0) return false;
  text[size] = 0;
  const char* const end = text + size;
  const char* const slash = std::strrchr(text, '/');
  if (std::strncmp(slash != nullptr ? slash + 1 : text, "python", 6) != 0) return false;
  for (const char* word = text + std::strlen(text) + 1; word < end; word += std::strlen(word) + 1) {
    if (word[0] != '-' || word[1] == '-') return false;  // the script, or a long option
    for (const char* letter = word + 1; *letter != 0; ++letter) {
      if (*letter == 'I' || *letter == 'E' || *letter == 'S') return true;
      if (std::strchr("cmWX", *letter) != nullptr) return false;  // the rest is its argument
    }
  }
  return false;
}

__attribute__((constructor)) void Loaded() {
  ReadOptions();
  if (!RecorderWanted()) return;
  pthread_atfork(nullptr, nullptr, ForkedRecorder);
  std::atexit([] { FinishRecorder(); });
  // A program linked with PyTorch: its libraries are mapped before we run, and have run their own
  // constructors, since the loader begins at the far end of its list.
  TorchWithoutPython();
  if (IsBarePython()) StartRecorder();
}

}  // namespace
}  // namespace hone::collect

// Python's workers, and some launchers, end by _exit, which runs no handlers.
#define HONE_INTERPOSE extern "C" __attribute__((visibility("default"), noreturn))

HONE_INTERPOSE void HoneExit(int status) __asm__("_exit");
void HoneExit(int status) {
  hone::collect::FinishRecorder();
  for (;;) syscall(SYS_exit_group, status);
}

HONE_INTERPOSE void HoneExitC99(int status) __asm__("_Exit");
void HoneExitC99(int status) { HoneExit(status); }
