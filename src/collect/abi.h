// SPDX-License-Identifier: Apache-2.0
// The C ABI of libhone_collect.so: what python/hone and include/hone.h call. Every function may be
// called at any time, from any thread, in a process that records nothing (then it does nothing).
// Stable: never change a signature; add new functions.
#pragma once

#include <cstdint>

extern "C" {

// Whether this process has a recorder (HONE_RUN_DIR was set when it started).
int hone_active(void) noexcept;
// Whether a window is open just now.
int hone_recording(void) noexcept;
// Starts the recorder if it has not started. 0, or -1 when there is nothing to do.
int hone_start(void) noexcept;

// torch was imported: finds its symbols and registers for its operators. 0: registered; 1: for
// its scopes only, operators are not wanted; else a negative number, and the reason is in
// hone_why(). Call with the GIL held, before threads start.
int hone_torch_ready(void) noexcept;
// Operators seen so far on any thread: for the self-test.
uint64_t hone_operators_seen(void) noexcept;
// The last operator's name that this thread ended ("aten::add"), for the self-test.
const char* hone_last_operator(void) noexcept;
// 1: what this thread runs from now on is the recorder's own self-test: counted, not recorded. 0:
// ended.
void hone_own(int on) noexcept;
// Unregisters the operators' callback for good: the self-test failed.
void hone_torch_refuse(const char* why) noexcept;
// 1: the callback is given up for operators as torch itself tells them (torch_emitted.h), which the
// caller makes it do. 0: not even that.
void hone_torch_emitted(int on) noexcept;
// The self-test of shapes and sequence numbers: between begin and end the caller runs known
// operators; see collect/torch_layout.h.
int hone_torch_probe(int stage) noexcept;

// Python is up and the caller holds the GIL: learns where this interpreter keeps its frames.
// 0, or -1 once it is not what it seems. Stages: see LearnPython (collect/python_frames.h).
int hone_python_ready(int stage) noexcept;
// Files under this folder ("/…/torch/") are the framework's: not where a person looks for his line.
// Hidden: hone's own, which no stack shows.
void hone_framework(const char* folder, int hidden) noexcept;
// Where the calling thread stands, as the recorder sees it (whole: with the framework's frames),
// and what such a number means: "CALLER\tFILE\tLINE\tFUNCTION", at most `bytes` with the final
// zero. Its length, or -1. For tests.
uint32_t hone_frame_here(int whole) noexcept;
int hone_frame_text(uint32_t frame, char* text, int bytes) noexcept;

// Marks. Regions nest per thread. kind: wire::HostKind kRange or kLoader.
void hone_step(void) noexcept;
void hone_region_begin(const char* name, int kind) noexcept;
void hone_region_end(void) noexcept;

// Another tool wants CUPTI ("torch.profiler"): flush, let go, mark the gap; and take it up again.
void hone_cuda_yield(const char* who) noexcept;
void hone_cuda_resume(void) noexcept;

// A fact about the process ("torch", "2.13.0"; "role", "loader worker 3").
void hone_info(const char* key, const char* value) noexcept;
// Something cannot be recorded here, and why.
void hone_loss(const char* what, const char* detail) noexcept;
// The reason of the last refusal, for a person.
const char* hone_why(void) noexcept;

}  // extern "C"
