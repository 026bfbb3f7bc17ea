// SPDX-License-Identifier: Apache-2.0
// Finds the program's own libtorch_cpu and libc10, which Python loads out of everyone's sight
// (RTLD_LOCAL), and functions in them. Loads nothing.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace hone::collect {

// A handle of the loaded library whose file name begins with `stem` ("libtorch_cpu.so"); null: not
// loaded. Never closed.
void* FindLoaded(const char* stem) noexcept;
// Whether libraries were loaded since the last call of this function.
bool LibrariesChanged() noexcept;

// A function of torch's that the program calls through us: the one of its library, looked up once,
// by the first call. Null: not there.
template <typename Function>
class Original {
 public:
  constexpr Original(const char* stem, const char* name) : stem_(stem), name_(name) {}
  Function* Get() noexcept {
    void* function = function_.load(std::memory_order_acquire);
    if (function == nullptr) {
      void* const library = FindLoaded(stem_);
      function = library != nullptr ? dlsym(library, name_) : nullptr;
      function_.store(function, std::memory_order_release);
    }
    return reinterpret_cast<Function*>(function);
  }

 private:
  const char *stem_, *name_;
  std::atomic<void*> function_{nullptr};
};

}  // namespace hone::collect
