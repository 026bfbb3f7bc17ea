// SPDX-License-Identifier: Apache-2.0
// Where Python stands, read without its help: no GIL, no call that could wait, no allocation.
//
// Where an interpreter keeps its frames is learnt when it starts (hone_python_ready), by looking
// for values that the public C API just told, and then tested; an interpreter that does not pass is
// left alone and the file says so.
#pragma once

#include <atomic>
#include <cstdint>

#include "collect/python_layout.h"

namespace hone::collect {

// Whether stacks of this interpreter can be read.
bool PythonKnown() noexcept;

// The call stack of the calling thread, as the id of its innermost frame outside the framework's
// own files (torch/, and other packages' wrappers of it; see python_codes.cc). 0: no Python on this
// thread, or not known. About 100 ns: for top-level operators, synchronizations, allocations.
// The thread must be inside a call from Python (so its own frames stand still); it need not hold
// the GIL. Of stacks deeper than 96 frames the innermost are told.
std::uint32_t FrameHere() noexcept;
// The same with the framework's frames: where exactly it stands.
std::uint32_t WholeFrameHere() noexcept;

// hone_python_ready. Stages, each with the GIL held: 0 learns the layout; 1 reads the calling
// thread's stack both ways and compares (any number of times, from any stack); 2 takes it into use.
// 0, or -1 once something did not fit; the file says what.
int LearnPython(int stage) noexcept;

// Files under this folder ("/…/torch/") are the framework's; hidden: hone's own, which no stack
// shows.
void AddFrameworkFolder(const char* folder, bool hidden) noexcept;

// What a frame's id means, for tests: see hone_frame_text.
int FrameText(std::uint32_t id, char* text, int bytes) noexcept;

// The interpreter of this process, as far as it was learnt.
struct PythonInUse {
  PythonLayout layout;
  PythonApi api;
  std::atomic<bool> known{false};  // set last
};
extern PythonInUse g_python;

void PythonFramesForked() noexcept;

}  // namespace hone::collect
