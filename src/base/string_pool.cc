// SPDX-License-Identifier: Apache-2.0
#include "base/string_pool.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"

namespace hone {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 18;

std::uint64_t Hash(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }
std::uint32_t Tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

StringPool::StringPool() : views_{std::string_view("")}, hashes_{0}, slots_(1024) {}

StringId StringPool::Intern(std::string_view text) {
  if (text.empty()) return StringId::kEmpty;
  const std::uint64_t hash = Hash(text);
  std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot].id != 0; slot = (slot + 1) & mask) {
    if (slots_[slot].hash_tag == Tag(hash) && views_[slots_[slot].id] == text) {
      return StringId{slots_[slot].id};
    }
  }
  if (views_.size() * 2 >= slots_.size()) {
    Grow();
    mask = slots_.size() - 1;
    for (slot = hash & mask; slots_[slot].id != 0;) slot = (slot + 1) & mask;
  }
  const auto id = static_cast<std::uint32_t>(views_.size());
  HONE_CHECK(id != UINT32_MAX);
  slots_[slot] = Slot{Tag(hash), id};
  views_.push_back(Store(text));
  hashes_.push_back(hash);
  return StringId{id};
}

StringId StringPool::Find(std::string_view text) const {
  if (text.empty()) return StringId::kEmpty;
  const std::uint64_t hash = Hash(text);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask; slots_[slot].id != 0; slot = (slot + 1) & mask) {
    if (slots_[slot].hash_tag == Tag(hash) && views_[slots_[slot].id] == text) {
      return StringId{slots_[slot].id};
    }
  }
  return StringId::kEmpty;
}

std::string_view StringPool::Store(std::string_view text) {
  if (text.size() > block_left_) {
    // A long string gets a block of its own, so that it does not waste the rest of the shared one.
    if (text.size() > kBlockBytes / 4) {
      blocks_.push_back(std::make_unique<char[]>(text.size()));
      std::memcpy(blocks_.back().get(), text.data(), text.size());
      return {blocks_.back().get(), text.size()};
    }
    blocks_.push_back(std::make_unique<char[]>(kBlockBytes));
    block_next_ = blocks_.back().get();
    block_left_ = kBlockBytes;
  }
  std::memcpy(block_next_, text.data(), text.size());
  const std::string_view stored(block_next_, text.size());
  block_next_ += text.size();
  block_left_ -= text.size();
  return stored;
}

void StringPool::Grow() {
  slots_.assign(slots_.size() * 2, Slot{});
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 1; id < views_.size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (slots_[slot].id != 0) slot = (slot + 1) & mask;
    slots_[slot] = Slot{Tag(hashes_[id]), id};
  }
}

}  // namespace hone
