// SPDX-License-Identifier: Apache-2.0
// Tells python/hone when a step to be looked at closely begins and ends: it names torch.compile's
// regions then (python/hone/_windows.py).
#pragma once

namespace hone::collect {

// hone_python_watch: from now on `_hone._windows.sampling(on)` is called, on the interpreter's main
// thread and when it next looks up from its work; or no more. Holds the GIL.
void WatchFromPython(bool on) noexcept;

// Any thread, no GIL. Cheap; waits for nobody.
void TellPython(bool sampling) noexcept;

void PythonWindowsForked() noexcept;

}  // namespace hone::collect
