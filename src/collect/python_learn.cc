// SPDX-License-Identifier: Apache-2.0
// Learning an interpreter, and the test that it was learnt right (python_frames.h: LearnPython).
#include <cstdio>
#include <cstring>
#include <string_view>

#include "collect/foreign_memory.h"
#include "collect/names.h"
#include "collect/python_frames.h"
#include "collect/python_sampler.h"
#include "collect/python_stacks.h"
#include "collect/recorder.h"

namespace hone::collect {
namespace {

enum class State { kNew, kLearnt, kTested, kInUse, kOff };
State g_state = State::kNew;  // under the GIL

int Refuse(const char* what, const char* detail) noexcept {
  g_python.known.store(false, std::memory_order_release);
  g_state = State::kOff;
  char why[256];
  std::snprintf(why, sizeof(why), "%s%s; no Python lines in this process", what, detail);
  NoteLoss("python", 1, why);
  return -1;
}

int Learn() noexcept {
  PythonApi& api = g_python.api;
  if (const char* missing = FindPythonApi(&api)) {
    return Refuse("this Python has no function ", missing);
  }
  PythonLayout layout;
  if (const char* missing = LearnLayout(api, &layout)) {
    return Refuse("in this Python's memory was not found: ", missing);
  }
  g_python.layout = layout;
  if (!g_python_stacks.Prepare(g_python.layout)) {
    return Refuse("no memory for Python's frames; raise HONE_MEMORY_BYTES", "");
  }
  g_state = State::kLearnt;
  return 0;
}

// Empty for a file name that is no Unicode.
std::string_view TextOf(const PythonApi& api, PyAddress object) noexcept {
  std::intptr_t bytes = 0;
  const char* text = api.PyUnicode_AsUTF8AndSize(object, &bytes);
  if (text == nullptr) {
    api.PyErr_Clear();
    return {};
  }
  return {text, static_cast<std::size_t>(bytes)};
}

bool SameText(std::string_view told, std::uint32_t name) noexcept {
  constexpr std::size_t kCompared = 1024;  // names are cut beyond
  return told.empty() || NameText(name).substr(0, kCompared) == told.substr(0, kCompared);
}

// What of the frame is not what the API says; null: nothing.
const char* Difference(const PythonApi& api, const KnownFrame& told, std::uint32_t id) noexcept {
  const PythonStacks::Frame* frame = g_python_stacks.Get(id);
  if (frame == nullptr) return "a frame is missing";
  const PythonCode* code = g_python_stacks.codes().Get(frame->code);
  if (code == nullptr || code->address != told.code) return "a function differs";
  if (!SameText(TextOf(api, told.file), code->file)) return "a file name differs";
  if (!SameText(TextOf(api, told.name), code->function)) return "a function's name differs";
  if (code->first_line != told.first_line) return "a first line differs";
  // Where the API has no line, ours is the one before.
  if (told.line > 0 && frame->line != told.line) return "a line differs";
  return nullptr;
}

int Test() noexcept {
  const PythonApi& api = g_python.api;
  KnownStack told;
  if (const char* missing = AskStack(api, &told)) return Refuse("Python does not tell ", missing);
  g_python.known.store(true, std::memory_order_release);
  std::uint32_t id = WholeFrameHere();
  g_python.known.store(false, std::memory_order_release);
  for (int i = 0; i < told.count; ++i) {
    if (TextOf(api, told.frames[i].file).starts_with(kImportSystem)) continue;
    if (const char* what = Difference(api, told.frames[i], id)) {
      return Refuse("stacks read from this Python's memory are wrong: ", what);
    }
    id = g_python_stacks.Get(id)->caller;
  }
  if (id != 0 && told.count < KnownStack::kMost) {
    return Refuse("stacks read from this Python's memory are wrong: ", "they are too deep");
  }
  if (g_state == State::kLearnt) g_state = State::kTested;
  return 0;
}

}  // namespace

int LearnPython(int stage) noexcept {
  if (g_state == State::kOff) return -1;
  // A second interpreter in the process, or one that was ended and started again: the same code. (A
  // test there could fail: to 3.11 a thread is found by the first interpreter it ran.)
  if (g_state == State::kInUse) return 0;
  switch (stage) {
    case 0: return Learn();
    case 1: return g_state == State::kNew ? Refuse("stage 0 was not done", "") : Test();
    default: break;
  }
  if (g_state != State::kTested) return Refuse("no stack was tested", "");
  // The stacks of the test are nobody's.
  g_python_stacks.Forked();
  PythonFramesForked();
  g_state = State::kInUse;
  g_python.known.store(true, std::memory_order_release);
  AddPythonSource();
  return 0;
}

}  // namespace hone::collect
