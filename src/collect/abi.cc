// SPDX-License-Identifier: Apache-2.0
#include "collect/abi.h"

#include "collect/cuda_source.h"
#include "collect/options.h"
#include "collect/python_frames.h"
#include "collect/recorder.h"
#include "collect/slices.h"
#include "collect/source.h"
#include "collect/torch_emitted.h"
#include "collect/torch_ops.h"
#include "wire/table.h"

using namespace hone::collect;  // NOLINT: this file is the door of that room

#pragma GCC visibility push(default)
extern "C" {

int hone_active(void) noexcept { return RecorderWanted() ? 1 : 0; }
int hone_recording(void) noexcept { return Recording() ? 1 : 0; }

int hone_start(void) noexcept {
  PythonHookPresent();
  return StartRecorder() ? 0 : -1;
}

int hone_torch_ready(void) noexcept { return TorchReady(); }
uint64_t hone_operators_seen(void) noexcept { return TorchOperatorsSeen(); }
const char* hone_last_operator(void) noexcept {
  return t_state != nullptr && t_state->last_name != nullptr ? t_state->last_name : "";
}
void hone_own(int on) noexcept {
  if (ThreadState* const state = GetThreadState()) state->own = on != 0;
}
void hone_torch_refuse(const char* why) noexcept { TorchRefuse(why); }
void hone_torch_emitted(int on) noexcept { UseEmittedOperators(on != 0); }
int hone_torch_probe(int stage) noexcept { return TorchProbe(stage); }

int hone_python_ready(int stage) noexcept {
  return RecorderWanted() && Wanted("python") ? LearnPython(stage) : -1;
}
void hone_framework(const char* folder, int hidden) noexcept {
  AddFrameworkFolder(folder, hidden != 0);
}
uint32_t hone_frame_here(int whole) noexcept { return whole != 0 ? WholeFrameHere() : FrameHere(); }
int hone_frame_text(uint32_t frame, char* text, int bytes) noexcept {
  return FrameText(frame, text, bytes);
}

void hone_step(void) noexcept {
  if (!RecorderStarted() && !(RecorderWanted() && StartRecorder())) return;
  static std::atomic<std::int64_t> count{0};
  const std::int64_t number = count.fetch_add(1);
  // Between windows steps are counted, and nothing is kept of them.
  if (Recording()) {
    NoteMark(static_cast<std::uint8_t>(hone::wire::MarkKind::kStep), number, "");
  }
  NoteStep(StepSign::kExplicit);
}

void hone_region_begin(const char* name, int kind) noexcept {
  if (!RecorderStarted() && !(RecorderWanted() && StartRecorder())) return;
  RegionBegin(name, static_cast<hone::wire::HostKind>(kind));
}
void hone_region_end(void) noexcept { RegionEnd(); }

void hone_cuda_yield(const char* who) noexcept { CudaYield(who); }
void hone_cuda_resume(void) noexcept { CudaResume(); }

void hone_info(const char* key, const char* value) noexcept {
  if (RecorderWanted() && key != nullptr && value != nullptr) NoteInfo(key, value);
}
void hone_loss(const char* what, const char* detail) noexcept {
  if (RecorderWanted() && what != nullptr && detail != nullptr) NoteLoss(what, 1, detail);
}
const char* hone_why(void) noexcept { return TorchWhy(); }

}  // extern "C"
#pragma GCC visibility pop
