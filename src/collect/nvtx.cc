// SPDX-License-Identifier: Apache-2.0
// NVTX: every copy of NVIDIA's header-only library in the program (torch, NCCL, cuDNN, the user's
// own) loads what NVTX_INJECTION64_PATH names at its first call, and hands over a table of function
// pointers to fill. Ranges become slices of the thread, as hone.region's do.
//
// Shapes and numbers are those of NVTX 3 (and 2, whose tables are the same), in our own words; they
// are part of its binary contract and do not change.
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "collect/names.h"
#include "collect/nvtx_ranges.h"
#include "collect/python_frames.h"
#include "collect/recorder.h"
#include "collect/slices.h"
#include "collect/torch_emitted.h"
#include "collect/torch_ops.h"

namespace hone::collect {
namespace {

struct EventAttributes {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const void* message;  // text, wide text, or the handle of a registered string
};
static_assert(offsetof(EventAttributes, message) == 40 && sizeof(EventAttributes) == 48);
constexpr std::int32_t kPlainText = 1, kWideText = 2, kRegistered = 3;

using Function = void (*)();
struct CallbackTable {
  std::size_t size;
  int (*functions)(int module, Function*** table, unsigned* count);
};
using GetTable = const void* (*)(std::uint32_t id);
constexpr std::uint32_t kCallbacksTable = 1;
constexpr int kCore = 1, kCore2 = 5;

NvtxRanges g_ranges;
const char g_default_domain = 0;  // its address is the key of slices without a domain

// Half of what a thread may have open: a program that pushes and never pops must not push the
// framework's operators out.
constexpr std::uint32_t kDeepest = ThreadState::kDeepest / 2;
thread_local std::uint32_t t_skipped = 0;

// --- Names --------------------------------------------------------------------------------------

std::uint32_t InternWide(const wchar_t* text) {
  char narrow[512];
  std::size_t used = 0;
  for (; text != nullptr && *text != 0 && used + 4 < sizeof narrow; ++text) {
    const auto c = static_cast<std::uint32_t>(*text);
    if (c < 0x80) {
      narrow[used++] = static_cast<char>(c);
    } else if (c < 0x800) {
      narrow[used++] = static_cast<char>(0xC0 | c >> 6);
      narrow[used++] = static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      narrow[used++] = static_cast<char>(0xE0 | c >> 12);
      narrow[used++] = static_cast<char>(0x80 | (c >> 6 & 0x3F));
      narrow[used++] = static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x110000) {
      narrow[used++] = static_cast<char>(0xF0 | c >> 18);
      narrow[used++] = static_cast<char>(0x80 | (c >> 12 & 0x3F));
      narrow[used++] = static_cast<char>(0x80 | (c >> 6 & 0x3F));
      narrow[used++] = static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return InternName(std::string_view(narrow, used));
}

// Literals are the rule, and then the address tells.
std::uint32_t InternText(const char* text) {
  return text == nullptr ? kUnnamed : InternNameAt(text);
}

// A registered string is handed back to the program as the id of its name; never null, which the
// program would take for a failure.
void* Handle(std::uint32_t name) { return reinterpret_cast<void*>(std::uintptr_t{name} + 1); }
std::uint32_t NameOf(const void* handle) {
  const std::uintptr_t value = reinterpret_cast<std::uintptr_t>(handle);
  return value == 0 || value - 1 > NameCount() ? kUnnamed : static_cast<std::uint32_t>(value - 1);
}

std::uint32_t MessageOf(const EventAttributes* attributes) {
  if (attributes == nullptr || attributes->size < sizeof(EventAttributes) ||
      attributes->message == nullptr) {
    return kUnnamed;
  }
  switch (attributes->message_type) {
    case kPlainText: return InternText(static_cast<const char*>(attributes->message));
    case kWideText: return InternWide(static_cast<const wchar_t*>(attributes->message));
    case kRegistered: return NameOf(attributes->message);
    default: return kUnnamed;
  }
}

// --- What the callbacks do ----------------------------------------------------------------------

std::uint32_t OfText(const void* what);

// What NVTX wants back of push and pop: the depth, or a negative number. Nobody reads it.
int Push(const void* key, std::uint32_t (*name_of)(const void*), const void* what) {
  if (!RecorderStarted()) return -1;
  const Guest guest(GetThreadState());
  if (!guest) return -1;
  ThreadState& state = *t_state;
  // Also between windows: a pop must find its own push.
  if (state.depth >= kDeepest || t_skipped > 0) {
    ++t_skipped;
    return -1;
  }
  const std::uint32_t frame = Recording() && state.op_depth == 0 ? FrameHere() : 0;
  if (EmittedOperators() && name_of == OfText && what != nullptr) {
    const EmittedName torchs = ParseEmitted(static_cast<const char*>(what));
    if (torchs.by_torch) {
      BeginSlice(state, key, InternName(torchs.name), torchs.kind, torchs.sequence, frame);
      return static_cast<int>(state.depth) - 1;
    }
  }
  BeginSlice(state, key, Recording() ? name_of(what) : kUnnamed, wire::HostKind::kRange, -1, frame);
  return static_cast<int>(state.depth) - 1;
}

int Pop(const void* key) {
  if (t_state == nullptr) return -1;
  std::uint32_t name = kUnnamed;
  {
    const Guest guest(t_state);
    if (!guest) return -1;
    if (t_skipped > 0) {
      --t_skipped;
      return -1;
    }
    name = EndSlice(*t_state, key);
  }
  if (name != kUnnamed && EmittedOperators()) TorchEnded(name);
  return static_cast<int>(t_state->depth);
}

std::uint64_t Start(std::uint32_t (*name_of)(const void*), const void* what) {
  if (!Recording()) return 0;
  const Guest guest(GetThreadState());
  return guest ? g_ranges.Start(name_of(what), t_state->tid) : 0;
}

void End(std::uint64_t id) {
  if (id == 0) return;
  const Guest guest(GetThreadState());
  if (guest) g_ranges.End(id, t_state->tid);
}

void Mark(std::uint32_t (*name_of)(const void*), const void* what) {
  if (!Recording()) return;
  const Guest guest(GetThreadState());
  if (!guest || t_state->depth >= kDeepest) return;
  static const char kMark = 0;
  BeginSlice(*t_state, &kMark, name_of(what), wire::HostKind::kRange, -1, 0);
  EndSlice(*t_state, &kMark);
}

std::uint32_t OfAttributes(const void* what) {
  return MessageOf(static_cast<const EventAttributes*>(what));
}
std::uint32_t OfText(const void* what) { return InternText(static_cast<const char*>(what)); }
std::uint32_t OfWide(const void* what) { return InternWide(static_cast<const wchar_t*>(what)); }

const void* Key(const void* domain) { return domain != nullptr ? domain : &g_default_domain; }

// --- The callbacks, by NVTX's numbers -----------------------------------------------------------

struct Entry {
  unsigned number;
  Function function;
};
template <typename Signature>
Function Plain(Signature* function) {
  return reinterpret_cast<Function>(function);
}

void MarkEx(const EventAttributes* a) { Mark(OfAttributes, a); }
void MarkA(const char* a) { Mark(OfText, a); }
void MarkW(const wchar_t* a) { Mark(OfWide, a); }
std::uint64_t RangeStartEx(const EventAttributes* a) { return Start(OfAttributes, a); }
std::uint64_t RangeStartA(const char* a) { return Start(OfText, a); }
std::uint64_t RangeStartW(const wchar_t* a) { return Start(OfWide, a); }
void RangeEnd(std::uint64_t id) { End(id); }
int RangePushEx(const EventAttributes* a) { return Push(&g_default_domain, OfAttributes, a); }
int RangePushA(const char* a) { return Push(&g_default_domain, OfText, a); }
int RangePushW(const wchar_t* a) { return Push(&g_default_domain, OfWide, a); }
int RangePop() { return Pop(&g_default_domain); }

void DomainMarkEx(void*, const EventAttributes* a) { Mark(OfAttributes, a); }
std::uint64_t DomainRangeStartEx(void*, const EventAttributes* a) { return Start(OfAttributes, a); }
void DomainRangeEnd(void*, std::uint64_t id) { End(id); }
int DomainRangePushEx(void* d, const EventAttributes* a) { return Push(Key(d), OfAttributes, a); }
int DomainRangePop(void* d) { return Pop(Key(d)); }
void* RegisterStringA(void*, const char* text) { return Handle(InternText(text)); }
void* RegisterStringW(void*, const wchar_t* text) { return Handle(InternWide(text)); }
// A domain is its name, so that copies of a library share it. Odd addresses are nobody's objects.
void* DomainCreateA(const char* name) { return Handle(InternText(name)); }
void* DomainCreateW(const wchar_t* name) { return Handle(InternWide(name)); }

void Fill(const CallbackTable& callbacks, int module, const Entry* entries, std::size_t count) {
  Function** table = nullptr;
  unsigned size = 0;
  if (callbacks.functions(module, &table, &size) == 0 || table == nullptr) return;
  for (std::size_t i = 0; i < count; ++i) {
    const Entry& entry = entries[i];
    if (entry.number < size && table[entry.number] != nullptr) {
      *table[entry.number] = entry.function;
    }
  }
}

bool FillAll(GetTable get_table) {
  const auto* callbacks = static_cast<const CallbackTable*>(get_table(kCallbacksTable));
  if (callbacks == nullptr || callbacks->size < sizeof(CallbackTable) ||
      callbacks->functions == nullptr) {
    return false;
  }
  const Entry core[] = {
      {1, Plain(MarkEx)},       {2, Plain(MarkA)},       {3, Plain(MarkW)},
      {4, Plain(RangeStartEx)}, {5, Plain(RangeStartA)}, {6, Plain(RangeStartW)},
      {7, Plain(RangeEnd)},     {8, Plain(RangePushEx)}, {9, Plain(RangePushA)},
      {10, Plain(RangePushW)},  {11, Plain(RangePop)},
  };
  const Entry core2[] = {
      {1, Plain(DomainMarkEx)},      {2, Plain(DomainRangeStartEx)}, {3, Plain(DomainRangeEnd)},
      {4, Plain(DomainRangePushEx)}, {5, Plain(DomainRangePop)},     {10, Plain(RegisterStringA)},
      {11, Plain(RegisterStringW)},  {12, Plain(DomainCreateA)},     {13, Plain(DomainCreateW)},
  };
  Fill(*callbacks, kCore, core, std::size(core));
  Fill(*callbacks, kCore2, core2, std::size(core2));
  return true;
}

}  // namespace
}  // namespace hone::collect

// 1: attached. 0: this copy of NVTX switches itself off.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    const void* (*get_table)(std::uint32_t)) noexcept {
  using namespace hone::collect;  // NOLINT: this file is one of its doors
  if (get_table == nullptr || !RecorderWanted() || !Wanted("nvtx") || !StartRecorder()) return 0;
  if (!FillAll(get_table)) return 0;
  AddSource(g_ranges);
  return 1;
}
