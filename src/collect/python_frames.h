// SPDX-License-Identifier: Apache-2.0
// Where Python stands, read without its help: no GIL, no call into the interpreter, no allocation.
//
// Where an interpreter keeps its frames is learnt when it starts (hone_python_ready), by looking
// for values that the public C API just told, and then tested; an interpreter that does not pass is
// left alone and the file says so.
#pragma once

#include <cstdint>

namespace hone::collect {

// Whether stacks of this interpreter can be read.
bool PythonKnown() noexcept;

// The call stack of the calling thread, as the id of its innermost frame outside the framework's
// own files (torch/, and other packages' wrappers of it; see python_frames.cc). 0: no Python on
// this thread, or not known. About 100 ns: for top-level operators, synchronizations, allocations.
// The thread must be inside a call from Python (so its own frames stand still); it need not hold
// the GIL.
std::uint32_t FrameHere() noexcept;

}  // namespace hone::collect
