// SPDX-License-Identifier: Apache-2.0
#include "collect/python_windows.h"

#include <atomic>
#include <mutex>

#include "collect/python_api.h"
#include "collect/spin_lock.h"

namespace hone::collect {
namespace {

PythonApi g_api;
// Held while a call is handed to the interpreter: who stops watching (before the interpreter goes)
// knows that nobody is inside it any more.
SpinLock g_lock;
bool g_watched = false;
bool g_told = false;
std::atomic<bool> g_wanted{false};

// On the main thread, with the GIL, between two of its instructions.
int CallPython(void*) noexcept {
  const bool wanted = g_wanted.load(std::memory_order_acquire);
  const PyAddress module = g_api.PyImport_ImportModule("_hone._windows");
  PyAddress answer = 0;
  if (module != 0) {
    answer = g_api.PyObject_CallMethod(module, "sampling", "i", wanted ? 1 : 0);
    g_api.Py_DecRef(module);
  }
  if (answer != 0) {
    g_api.Py_DecRef(answer);
  } else {
    g_api.PyErr_Clear();
  }
  return 0;
}

}  // namespace

void WatchFromPython(bool on) noexcept {
  if (on && FindPythonApi(&g_api) != nullptr) return;
  const std::lock_guard<SpinLock> guard(g_lock);
  g_watched = on;
}

void TellPython(bool sampling) noexcept {
  g_wanted.store(sampling, std::memory_order_release);
  const std::lock_guard<SpinLock> guard(g_lock);
  if (!g_watched || sampling == g_told || g_api.Py_IsInitialized() == 0) return;
  // Full (32 wait): the next one tells it.
  if (g_api.Py_AddPendingCall(&CallPython, nullptr) == 0) g_told = sampling;
}

void PythonWindowsForked() noexcept {
  // The child's Python takes its own flag back (python/hone/_windows.py).
  g_lock.Reset();
  g_told = false;
  g_wanted.store(false, std::memory_order_relaxed);
}

}  // namespace hone::collect
