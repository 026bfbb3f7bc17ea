// SPDX-License-Identifier: Apache-2.0
#include "collect/python_frames.h"

namespace hone::collect {

bool PythonKnown() noexcept { return false; }
std::uint32_t FrameHere() noexcept { return 0; }

}  // namespace hone::collect
