// SPDX-License-Identifier: Apache-2.0
#include "collect/torch_backward.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collect/source.h"
#include "collect/torch_library.h"

namespace hone::collect {
namespace {

// --- at::RecordFunctionTLS: a vector of callbacks, and whether records are wanted at all.
struct ThreadCallbacks {
  const void *first, *last, *room;
  std::uint8_t wanted;
};
static_assert(offsetof(ThreadCallbacks, wanted) == 24);

using GetCallbacks = const ThreadCallbacks&();
Original<GetCallbacks> g_get("libtorch_cpu.so", "_ZN2at24get_record_function_tls_Ev");
std::atomic<GetCallbacks*> g_current{nullptr};  // once it is known to hold what we think

bool IsEmpty(const ThreadCallbacks& callbacks) {
  return callbacks.first == callbacks.last && callbacks.wanted <= 1;
}

// --- Names of types that were spelt out before.
struct Spelling {
  std::uint32_t mangled_size, size;
  char text[];  // mangled and a 0, then as people write it and a 0
  const char* name() const { return text + mangled_size + 1; }
};

// Autograd has some 400 types of nodes; a program uses a few dozen.
constexpr std::uint32_t kSlots = 1u << 10;
constexpr std::size_t kArenaBytes = 128u << 10;
// In .bss: pages are touched as types come. Filled without a lock, so that a fork finds it whole.
std::atomic<const Spelling*> g_spellings[kSlots];
alignas(8) char g_arena[kArenaBytes];
std::atomic<std::size_t> g_arena_used{0};

// By the address: a type's name has one of its own. What else is asked for may come and go at the
// same address, so the text is compared as well.
std::atomic<const Spelling*>& SlotOf(const char* mangled) {
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(mangled) * 0x9E3779B97F4A7C15ULL;
  return g_spellings[mixed >> (64 - 10)];
}

void Remember(const char* mangled, const char* name, std::size_t size) {
  const std::size_t mangled_size = std::strlen(mangled);
  const std::size_t bytes = (sizeof(Spelling) + mangled_size + size + 2 + 7) & ~std::size_t{7};
  if (bytes > kArenaBytes / 16) return;
  std::atomic<const Spelling*>& slot = SlotOf(mangled);
  if (slot.load(std::memory_order_relaxed) != nullptr) return;  // the first one stays
  const std::size_t at = g_arena_used.fetch_add(bytes, std::memory_order_relaxed);
  if (at + bytes > kArenaBytes) return;
  auto* const spelling = reinterpret_cast<Spelling*>(g_arena + at);
  spelling->mangled_size = static_cast<std::uint32_t>(mangled_size);
  spelling->size = static_cast<std::uint32_t>(size);
  std::memcpy(spelling->text, mangled, mangled_size + 1);
  std::memcpy(spelling->text + mangled_size + 1, name, size);
  slot.store(spelling, std::memory_order_release);
}

// std::string of libstdc++ since version 5, which is what torch was built with: where it is not,
// the function below has another name and is not called.
struct Text {
  char* data;
  std::size_t size;
  union {
    char local[16];
    std::size_t capacity;
  };
};

// The program's operator new: torch gives the text back with the delete that belongs to it.
void* NewOfProgram(std::size_t bytes) {
  using New = void*(std::size_t);
  // Not made by the first who comes: in the child of a fork that one may not exist any more, and
  // the compiler's lock around it would never open.
  static std::atomic<New*> known{nullptr};
  New* function = known.load(std::memory_order_acquire);
  if (function == nullptr) {
    void* found = dlsym(RTLD_DEFAULT, "_Znwm");
    void* const library = found == nullptr ? FindLoaded("libc10.so") : nullptr;
    if (library != nullptr) found = dlsym(library, "_Znwm");
    function = reinterpret_cast<New*>(found);
    known.store(function, std::memory_order_release);
  }
  return function != nullptr ? function(bytes) : nullptr;
}

bool Fill(Text& text, const char* name, std::size_t size) {
  text.data = text.local;
  if (size >= sizeof(text.local)) {
    text.data = static_cast<char*>(NewOfProgram(size + 1));
    if (text.data == nullptr) return false;
    text.capacity = size;
  }
  std::memcpy(text.data, name, size);
  text.data[size] = 0;
  text.size = size;
  return true;
}

}  // namespace

void LearnThreadCallbacks() noexcept {
  static Original<bool()> is_enabled("libtorch_cpu.so", "_ZN2at23isRecordFunctionEnabledEv");
  static Original<void(bool)> enable("libtorch_cpu.so", "_ZN2at20enableRecordFunctionEb");
  if (g_current.load(std::memory_order_relaxed) != nullptr) return;
  auto* const get = g_get.Get();
  auto* const is = is_enabled.Get();
  auto* const set = enable.Get();
  if (get == nullptr || is == nullptr || set == nullptr) return;
  const bool before = is();
  const bool empty = IsEmpty(get()) && get().wanted == (before ? 1 : 0);
  set(!before);
  const bool follows = IsEmpty(get()) && get().wanted == (before ? 0 : 1);
  set(before);
  if (empty && follows) g_current.store(get, std::memory_order_release);
}

}  // namespace hone::collect

#define HONE_INTERPOSE extern "C" __attribute__((visibility("default")))

// void at::set_record_function_tls_(const RecordFunctionTLS&)
HONE_INTERPOSE void HoneSetThreadCallbacks(const hone::collect::ThreadCallbacks& callbacks) __asm__(
    "_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE");
void HoneSetThreadCallbacks(const hone::collect::ThreadCallbacks& callbacks) {
  using namespace hone::collect;
  static Original<decltype(HoneSetThreadCallbacks)> original(
      "libtorch_cpu.so", "_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE");
  auto* const current = g_current.load(std::memory_order_acquire);
  if (current != nullptr && Recording() && IsEmpty(callbacks)) {
    const ThreadCallbacks& now = current();
    if (IsEmpty(now) && now.wanted == callbacks.wanted) return;
  }
  if (auto* function = original.Get()) function(callbacks);
}

#if defined(__x86_64__)
// std::string c10::demangle(const char*): what is returned in memory is the first argument, and
// comes back.
HONE_INTERPOSE hone::collect::Text* HoneDemangle(
    hone::collect::Text* text, const char* mangled) __asm__("_ZN3c108demangleB5cxx11EPKc");
hone::collect::Text* HoneDemangle(hone::collect::Text* text, const char* mangled) {
  using namespace hone::collect;
  static Original<decltype(HoneDemangle)> original("libc10.so", "_ZN3c108demangleB5cxx11EPKc");
  if (Recording() && mangled != nullptr) {
    const Spelling* known = SlotOf(mangled).load(std::memory_order_acquire);
    if (known != nullptr && std::strcmp(known->text, mangled) == 0 &&
        Fill(*text, known->name(), known->size)) {
      return text;
    }
  }
  // Its own library calls it directly, so whoever comes here has libc10.
  if (auto* function = original.Get()) {
    function(text, mangled);
    if (Recording() && mangled != nullptr) Remember(mangled, text->data, text->size);
  } else {
    Fill(*text, mangled, std::strlen(mangled));
  }
  return text;
}
#endif
