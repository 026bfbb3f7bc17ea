// SPDX-License-Identifier: Apache-2.0
// A recorder that only writes down who called it: one line a call, "PID TID function arguments", to
// the file that HONE_FAKE_LOG names. For tests of python/hone, which must not depend on what the
// true one makes of a call. Its answers come from the environment (HONE_FAKE_TORCH_READY, …).
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "collect/abi.h"

namespace {

void Say(const char* function, const char* first = "", const char* second = "") {
  const char* path = std::getenv("HONE_FAKE_LOG");
  if (path == nullptr) return;
  char line[4096];
  const int length =
      std::snprintf(line, sizeof(line), "%d %ld %s %s %s\n", static_cast<int>(getpid()),
                    static_cast<long>(syscall(SYS_gettid)), function, first, second);
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  // One write: lines of several processes do not mix.
  if (length > 0 && write(file, line, static_cast<std::size_t>(length)) < 0) std::abort();
  close(file);
}

int Answer(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

void Say(const char* function, int number) {
  char text[16];
  std::snprintf(text, sizeof(text), "%d", number);
  Say(function, text);
}

}  // namespace

extern "C" {

int hone_active(void) noexcept { return Answer("HONE_FAKE_ACTIVE", 1); }
int hone_recording(void) noexcept { return Answer("HONE_FAKE_RECORDING", 1); }
int hone_start(void) noexcept {
  Say("start");
  return 0;
}
int hone_torch_ready(void) noexcept {
  Say("torch_ready");
  return Answer("HONE_FAKE_TORCH_READY", 0);
}
uint64_t hone_operators_seen(void) noexcept {
  // Each look sees this many more.
  static uint64_t seen = 0;
  return seen += static_cast<uint64_t>(Answer("HONE_FAKE_OPERATORS", 1));
}
const char* hone_last_operator(void) noexcept {
  const char* name = std::getenv("HONE_FAKE_LAST_OPERATOR");
  return name == nullptr ? "aten::add" : name;
}
void hone_own(int on) noexcept { Say("own", on); }
void hone_torch_refuse(const char* why) noexcept { Say("torch_refuse", why); }
void hone_torch_emitted(int on) noexcept { Say("torch_emitted", on); }
int hone_torch_probe(int stage) noexcept {
  Say("torch_probe", stage);
  return Answer("HONE_FAKE_TORCH_PROBE", 0);
}
int hone_python_ready(int stage) noexcept {
  Say("python_ready", stage);
  return 0;
}
void hone_framework(const char* folder, int hidden) noexcept {
  Say(hidden != 0 ? "hidden" : "framework", folder);
}
uint32_t hone_frame_here(int) noexcept { return 0; }
int hone_frame_text(uint32_t, char*, int) noexcept { return -1; }
void hone_step(void) noexcept { Say("step"); }
void hone_region_begin(const char* name, int kind) noexcept {
  char text[16];
  std::snprintf(text, sizeof(text), "%d", kind);
  Say("region_begin", name, text);
}
void hone_region_end(void) noexcept { Say("region_end"); }
void hone_cuda_yield(const char* who) noexcept { Say("cuda_yield", who); }
void hone_cuda_resume(void) noexcept { Say("cuda_resume"); }
void hone_info(const char* key, const char* value) noexcept { Say("info", key, value); }
void hone_loss(const char* what, const char* detail) noexcept { Say("loss", what, detail); }
const char* hone_why(void) noexcept { return "the fake refuses"; }

}  // extern "C"
