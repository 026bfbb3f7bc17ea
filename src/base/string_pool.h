// SPDX-License-Identifier: Apache-2.0
// StringPool: each distinct string once, named by a 32-bit id. Traces repeat names: a million
// events usually carry a few thousand distinct strings.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace hone {

enum class StringId : std::uint32_t { kEmpty = 0 };  // kEmpty names "", in every pool

// Not thread-safe. Views stay valid for the life of the pool (storage never moves).
class StringPool {
 public:
  StringPool();
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;

  StringId Intern(std::string_view text);

  std::string_view View(StringId id) const { return views_[static_cast<std::uint32_t>(id)]; }
  std::string_view operator[](StringId id) const { return View(id); }

  // Ids are dense: every id is below size(). Analyses index plain arrays by id.
  std::size_t size() const { return views_.size(); }

  // The id of `text` if it was interned, else kEmpty.
  StringId Find(std::string_view text) const;

 private:
  struct Slot {
    std::uint32_t hash_tag = 0;  // upper hash bits; a cheap filter before the bytes are compared
    std::uint32_t id = 0;        // 0: free (the empty string never needs a slot)
  };

  std::string_view Store(std::string_view text);
  void Grow();

  std::vector<std::string_view> views_;
  std::vector<std::uint64_t> hashes_;
  std::vector<Slot> slots_;  // open addressing, power of two, at most half full
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_left_ = 0;
  char* block_next_ = nullptr;
};

}  // namespace hone
