// SPDX-License-Identifier: Apache-2.0
// Notes: rare things to be written down (facts, losses, marks), left by any thread for the writer.
// A bounded ring; what does not fit is counted.
#pragma once

#include <cstdint>
#include <string_view>

#include "collect/source.h"
#include "collect/spin_lock.h"

namespace hone::collect {

class Notes {
 public:
  void Info(std::string_view key, std::string_view value) noexcept;
  void Loss(std::string_view what, std::uint64_t count, std::string_view detail) noexcept;
  void Mark(std::uint8_t kind, std::int64_t value, std::string_view text) noexcept;

  void Drain(Output& output) noexcept;  // writer only
  // In the child of a fork: facts of the parent are not the child's.
  void Forked() noexcept;

 private:
  enum class Kind : std::uint8_t { kInfo, kLoss, kMark };
  struct Note {
    Kind kind = Kind::kInfo;
    std::uint8_t mark = 0;
    std::uint32_t first = 0, second = 0;  // names
    std::int64_t number = 0;
    std::uint64_t time = 0;
  };
  void Add(const Note& note) noexcept;
  bool Take(Note& note) noexcept;

  static constexpr std::uint32_t kRoom = 4096;  // hone.step() marks between two rounds of 100 ms
  SpinLock lock_;
  Note notes_[kRoom] = {};
  std::uint32_t first_ = 0, count_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace hone::collect
