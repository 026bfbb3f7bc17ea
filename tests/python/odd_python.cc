// SPDX-License-Identifier: Apache-2.0
// An interpreter that nobody knows, made of one that is here: preloaded, it stands before the
// public functions by which the recorder learns where Python keeps its frames, and tells other
// things than memory holds. HONE_ODD says how:
//   code  all frames are of one function
//   line  every line is another one
//   late  the first stack is true, later ones are not: what was learnt is wrong
// Only for a Python in a libpython; one that is all in its program comes before any preload.
#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

namespace {

bool Is(std::string_view how) {
  const char* text = std::getenv("HONE_ODD");
  return text != nullptr && how == text;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

constexpr int kFramesOfFirstStack = 8;  // asked for while the layout is learnt, at most

}  // namespace

extern "C" __attribute__((visibility("default"))) int PyFrame_GetLineNumber(void* frame) {
  static auto* const real = Real<int(void*)>("PyFrame_GetLineNumber");
  static int asked = 0;
  const int line = real(frame);
  return Is("line") || (Is("late") && ++asked > kFramesOfFirstStack) ? line + 7 : line;
}

extern "C" __attribute__((visibility("default"))) void* PyFrame_GetCode(void* frame) {
  static auto* const real = Real<void*(void*)>("PyFrame_GetCode");
  static auto* const keep = Real<void(void*)>("Py_IncRef");
  static void* const first = real(frame);
  if (!Is("code")) return real(frame);
  keep(first);
  return first;
}
