// SPDX-License-Identifier: Apache-2.0
#include "collect/python_frames.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "collect/budget.h"
#include "collect/names.h"
#include "collect/python_stacks.h"

namespace hone::collect {

PythonInUse g_python;

namespace {

constexpr int kDeepest = 96;  // frames of a stack, the interpreter's own entries among them

const PythonLayout& g_layout = g_python.layout;

// What a thread remembers of its last stack. Most of it stands still from one operator to the next,
// so only the frames that changed are looked up.
struct Memo {
  Memo* next;  // of all; never unlinked
  std::atomic<bool> taken;
  int count;
  // One a frame, outermost first.
  PyAddress instruction[kDeepest];  // as the frame has it
  PyAddress code[kDeepest];
  std::uint64_t print[kDeepest];
  std::uint32_t id[kDeepest];
  std::uint8_t check[kDeepest];  // Check

  static constexpr std::size_t kCodes = 32;
  struct Code {
    PyAddress address;
    std::uint64_t print;
    const PythonCode* code;
  } codes[kCodes];
};
// What besides the instruction says that a frame stands where the remembered one stood.
enum Check : std::uint8_t {
  kNothing = 0,  // an address says its code as well, and the code is of a kind that stays
  kCode = 1,     // a number says nothing of the code
  kPrint = 2,    // other code may have come to this address
};
constexpr std::size_t kMemoBytes = 4096;
static_assert(sizeof(Memo) <= kMemoBytes);

std::atomic<Memo*> g_memos{nullptr};
thread_local Memo* t_memo = nullptr;
pthread_key_t g_key;
pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
bool g_key_made = false;

void ReleaseMemo(void* memo) noexcept {
  t_memo = nullptr;
  static_cast<Memo*>(memo)->taken.store(false, std::memory_order_release);
}

Memo* ClaimMemo() noexcept {
  for (Memo* memo = g_memos.load(std::memory_order_acquire); memo; memo = memo->next) {
    bool free = false;
    if (memo->taken.compare_exchange_strong(free, true, std::memory_order_acquire)) return memo;
  }
  auto* memo = static_cast<Memo*>(TakeMemory(kMemoBytes, AfterFork::kKept));
  if (memo == nullptr) return nullptr;
  memo->taken.store(true, std::memory_order_relaxed);
  memo->next = g_memos.load(std::memory_order_relaxed);
  while (!g_memos.compare_exchange_weak(memo->next, memo, std::memory_order_release)) {
  }
  return memo;
}

Memo* MakeMemo() noexcept {
  pthread_once(&g_key_once, [] { g_key_made = pthread_key_create(&g_key, &ReleaseMemo) == 0; });
  if (!g_key_made) return nullptr;
  Memo* const memo = ClaimMemo();
  if (memo == nullptr) return nullptr;
  t_memo = memo;
  pthread_setspecific(g_key, memo);
  return memo;
}

template <typename Value>
Value Load(PyAddress from) noexcept {
  Value value;
  std::memcpy(&value, reinterpret_cast<const void*>(from), sizeof(value));
  return value;
}

PyAddress TopFrame(PyAddress thread) noexcept {
  PyAddress frame = Load<PyAddress>(thread + g_layout.thread_frame);
  if (frame != 0 && g_layout.frame_hop != PythonLayout::kNone) {
    frame = Load<PyAddress>(frame + g_layout.frame_hop);
  }
  return frame;
}

PyAddress CodeOf(PyAddress frame) noexcept {
  return Load<PyAddress>(frame + g_layout.frame_code) & ~PythonLayout::kTag;
}
// An entry from C has no code, or something else in its place.
bool IsCode(PyAddress code) noexcept {
  return code != 0 && Load<PyAddress>(code + g_layout.object_type) == g_layout.code_type;
}

PyAddress InstructionOf(PyAddress frame) noexcept {
  const PyAddress from = frame + g_layout.frame_instruction;
  return g_layout.form == InstructionForm::kAddress ? Load<PyAddress>(from)
                                                    : Load<std::uint32_t>(from);
}

bool IsFramework(Memo* memo, PyAddress address) noexcept {
  const std::uint64_t print = g_python_stacks.codes().FingerPrint(address);
  Memo::Code& slot = memo->codes[(address >> 5) % Memo::kCodes];
  if (slot.address != address || slot.print != print) {
    const PythonCode* code = g_python_stacks.codes().Find(address, print);
    if (code == nullptr) return false;
    slot = {address, print, code};
  }
  // Hidden ones too: while looking for the innermost frame of the program they are in the way.
  return slot.code->flags.load(std::memory_order_relaxed) != 0;
}

// The calling thread's frames, innermost first, and of those deeper than kDeepest the innermost.
int Walk(Memo* memo, bool skip_framework, PyAddress* frames) noexcept {
  constexpr int kMostSkipped = 4 * kDeepest;
  const PyAddress thread = g_python.api.PyGILState_GetThisThreadState();
  PyAddress frame = thread != 0 ? TopFrame(thread) : 0;
  if (skip_framework) {
    for (int skipped = 0; frame != 0 && skipped < kMostSkipped; ++skipped) {
      const PyAddress code = CodeOf(frame);
      if (IsCode(code) && !IsFramework(memo, code)) break;
      frame = Load<PyAddress>(frame + g_layout.frame_back);
    }
  }
  int count = 0;
  for (; frame != 0 && count < kDeepest; frame = Load<PyAddress>(frame + g_layout.frame_back)) {
    frames[count++] = frame;
  }
  return count;
}

// Whether frame `i` stands where the remembered one stood.
inline bool IsSame(const Memo& memo, int i, PyAddress frame) noexcept {
  if (memo.instruction[i] != InstructionOf(frame)) return false;
  if (memo.check[i] == kNothing) return true;
  const PyAddress code = CodeOf(frame);
  if (memo.code[i] != code) return false;
  return memo.check[i] == kCode || memo.print[i] == g_python_stacks.codes().FingerPrint(code);
}

void Look(Memo& memo, int i, PyAddress frame, std::uint32_t caller) noexcept {
  const PyAddress code = CodeOf(frame);
  memo.instruction[i] = InstructionOf(frame);
  memo.code[i] = code;
  memo.id[i] = caller;
  memo.check[i] = kCode;
  if (!IsCode(code)) return;
  bool lasting = false;
  memo.print[i] = g_python_stacks.codes().FingerPrint(code, &lasting);
  if (!lasting) memo.check[i] = kPrint;
  if (lasting && g_layout.form == InstructionForm::kAddress) memo.check[i] = kNothing;
  const std::uint32_t found = g_python_stacks.Find(
      {code, memo.print[i], g_layout.OffsetOf(memo.instruction[i], code)}, caller);
  if (found != PythonStacks::kGone) memo.id[i] = found;
}

std::uint32_t IdOf(Memo& memo, const PyAddress* frames, int count) noexcept {
  int i = 0;
  const int both = std::min(count, memo.count);
  while (i < both && IsSame(memo, i, frames[count - 1 - i])) ++i;
  // What follows a stack that is the start of the remembered one is still what it was.
  if (i < count) {
    memo.count = i;
    for (; i < count; ++i) Look(memo, i, frames[count - 1 - i], i == 0 ? 0 : memo.id[i - 1]);
    memo.count = count;
  }
  return count == 0 ? 0 : memo.id[count - 1];
}

std::uint32_t Here(bool skip_framework) noexcept {
  if (!g_python.known.load(std::memory_order_acquire)) return 0;
  Memo* const memo = t_memo != nullptr ? t_memo : MakeMemo();
  if (memo == nullptr) return 0;
  PyAddress frames[kDeepest];
  int count = Walk(memo, skip_framework, frames);
  if (count == 0 && skip_framework) count = Walk(memo, false, frames);
  return IdOf(*memo, frames, count);
}

}  // namespace

bool PythonKnown() noexcept { return g_python.known.load(std::memory_order_acquire); }
std::uint32_t FrameHere() noexcept { return Here(true); }
std::uint32_t WholeFrameHere() noexcept { return Here(false); }
void AddFrameworkFolder(const char* folder, bool hidden) noexcept {
  if (folder == nullptr) return;
  g_python_stacks.codes().AddFolder(folder, hidden ? kHiddenCode : kFrameworkCode);
}

int FrameText(std::uint32_t id, char* text, int bytes) noexcept {
  const PythonStacks::Frame* frame = PythonKnown() ? g_python_stacks.Get(id) : nullptr;
  const PythonCode* code = frame != nullptr ? g_python_stacks.codes().Get(frame->code) : nullptr;
  if (code == nullptr || bytes < 0) return -1;
  const std::string_view file = NameText(code->file), function = NameText(code->function);
  return std::snprintf(text, static_cast<std::size_t>(bytes), "%u\t%.*s\t%d\t%.*s", frame->caller,
                       static_cast<int>(file.size()), file.data(), frame->line,
                       static_cast<int>(function.size()), function.data());
}

void PythonFramesForked() noexcept {
  for (Memo* memo = g_memos.load(std::memory_order_relaxed); memo; memo = memo->next) {
    memo->count = 0;
    std::memset(memo->codes, 0, sizeof(memo->codes));
    if (memo != t_memo) memo->taken.store(false, std::memory_order_relaxed);
  }
}

}  // namespace hone::collect
