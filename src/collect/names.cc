// SPDX-License-Identifier: Apache-2.0
#include "collect/names.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "collect/budget.h"
#include "collect/spin_lock.h"

namespace hone::collect {
namespace {

// A text of the arena. Made whole before its address is published, and never changed.
struct Entry {
  std::uint64_t hash;
  std::uint32_t id;
  std::uint32_t size;
  char text[];  // and a 0
};

// 65,536 names at most: more distinct kernels, operators and files than any program of ours had
// (the largest trace at hand has 2,300). Tables of twice that, so that probes stay short.
constexpr std::uint32_t kMostNames = 1u << 16;
constexpr std::uint32_t kTableSize = kMostNames * 2;
constexpr std::size_t kArenaBytes = 1u << 20;
constexpr std::size_t kLongestName = 4096;  // mangled names of templates reach this; cut beyond
constexpr std::uint32_t kCacheSize = 1u << 13;

// In .bss: pages are touched as names come.
std::atomic<Entry*> g_table[kTableSize];
std::atomic<Entry*> g_by_id[kMostNames + 1];
std::atomic<std::uint32_t> g_by_address[kCacheSize];
std::atomic<std::uint32_t> g_count{0};
std::atomic<std::uint64_t> g_lost{0};
SpinLock g_lock;  // for new names only
char* g_arena = nullptr;
std::size_t g_arena_left = 0;

std::uint64_t Hash(std::string_view text) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL ^ text.size();
  const char* at = text.data();
  std::size_t left = text.size();
  while (left > 0) {
    std::uint64_t word = 0;
    const std::size_t take = left < 8 ? left : 8;
    std::memcpy(&word, at, take);
    hash = (hash ^ word) * 0xFF51AFD7ED558CCDULL;
    hash ^= hash >> 32;
    at += take;
    left -= take;
  }
  return hash;
}

// The entry, or null with `slot` at the empty place where it belongs.
Entry* Find(std::string_view text, std::uint64_t hash, std::uint32_t& slot) {
  slot = static_cast<std::uint32_t>(hash) & (kTableSize - 1);
  for (;; slot = (slot + 1) & (kTableSize - 1)) {
    Entry* entry = g_table[slot].load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;
    if (entry->hash == hash && entry->size == text.size() &&
        std::memcmp(entry->text, text.data(), text.size()) == 0) {
      return entry;
    }
  }
}

Entry* NewEntry(std::string_view text, std::uint64_t hash) {
  const std::size_t bytes = (sizeof(Entry) + text.size() + 1 + 7) & ~std::size_t{7};
  if (bytes > g_arena_left) {
    char* arena = static_cast<char*>(TakeMemory(kArenaBytes, AfterFork::kKept));
    if (arena == nullptr) return nullptr;
    g_arena = arena;
    g_arena_left = kArenaBytes;
  }
  Entry* entry = reinterpret_cast<Entry*>(g_arena);
  g_arena += bytes;
  g_arena_left -= bytes;
  entry->hash = hash;
  entry->size = static_cast<std::uint32_t>(text.size());
  std::memcpy(entry->text, text.data(), text.size());
  return entry;
}

}  // namespace

std::uint32_t InternName(std::string_view text) noexcept {
  if (text.size() > kLongestName) text = text.substr(0, kLongestName);
  const std::uint64_t hash = Hash(text);
  std::uint32_t slot = 0;
  if (const Entry* entry = Find(text, hash, slot)) return entry->id;
  const std::lock_guard<SpinLock> guard(g_lock);
  if (const Entry* entry = Find(text, hash, slot)) return entry->id;  // someone was faster
  const std::uint32_t count = g_count.load(std::memory_order_relaxed);
  Entry* entry = count < kMostNames ? NewEntry(text, hash) : nullptr;
  if (entry == nullptr) {
    g_lost.fetch_add(1, std::memory_order_relaxed);
    return kUnnamed;
  }
  entry->id = count + 1;
  g_by_id[entry->id].store(entry, std::memory_order_release);
  // Counted before it can be found: a fork between the two would leave the child a text with an id
  // that it gives out again.
  g_count.store(entry->id, std::memory_order_release);
  g_table[slot].store(entry, std::memory_order_release);
  return entry->id;
}

std::uint32_t InternNameAt(const char* text) noexcept {
  if (text == nullptr) return kUnnamed;
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(text) * 0x9E3779B97F4A7C15ULL;
  std::atomic<std::uint32_t>& cached = g_by_address[mixed >> (64 - 13)];
  const std::uint32_t id = cached.load(std::memory_order_relaxed);
  if (id != kUnnamed) {
    const Entry* entry = g_by_id[id].load(std::memory_order_acquire);
    if (entry != nullptr && std::strcmp(entry->text, text) == 0) return id;
  }
  const std::uint32_t fresh = InternName(text);
  cached.store(fresh, std::memory_order_relaxed);
  return fresh;
}

std::uint32_t NameCount() noexcept { return g_count.load(std::memory_order_acquire); }

std::string_view NameText(std::uint32_t id) noexcept {
  const Entry* entry = id <= kMostNames ? g_by_id[id].load(std::memory_order_acquire) : nullptr;
  return entry != nullptr ? std::string_view(entry->text, entry->size) : std::string_view();
}

std::uint64_t NamesLost() noexcept { return g_lost.load(std::memory_order_relaxed); }

void ForkedNames() noexcept {
  if (g_lock.Held()) g_arena_left = 0;  // someone was cutting from it: leave the piece alone
  g_lock.Reset();
}

}  // namespace hone::collect
