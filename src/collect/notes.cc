// SPDX-License-Identifier: Apache-2.0
#include "collect/notes.h"

#include <mutex>

#include "collect/clock.h"
#include "collect/names.h"

namespace hone::collect {

void Notes::Add(const Note& note) noexcept {
  const std::lock_guard<SpinLock> guard(lock_);
  if (count_ == kRoom) {
    ++lost_;
    return;
  }
  notes_[(first_ + count_++) % kRoom] = note;
}

void Notes::Info(std::string_view key, std::string_view value) noexcept {
  Add({Kind::kInfo, 0, InternName(key), InternName(value), 0, 0});
}

void Notes::Loss(std::string_view what, std::uint64_t count, std::string_view detail) noexcept {
  Add({Kind::kLoss, 0, InternName(what), InternName(detail), static_cast<std::int64_t>(count), 0});
}

void Notes::Mark(std::uint8_t kind, std::int64_t value, std::string_view text) noexcept {
  Add({Kind::kMark, kind, InternName(text), 0, value, Ticks()});
}

bool Notes::Take(Note& note) noexcept {
  const std::lock_guard<SpinLock> guard(lock_);
  if (count_ == 0) return false;
  note = notes_[first_];
  first_ = (first_ + 1) % kRoom;
  --count_;
  return true;
}

void Notes::Drain(Output& output) noexcept {
  Note note = {};
  while (Take(note)) {
    const std::string_view first = NameText(note.first), second = NameText(note.second);
    switch (note.kind) {
      case Kind::kInfo: output.Row(wire::Table::kInfo, first, second); break;
      case Kind::kLoss: output.Loss(first, static_cast<std::uint64_t>(note.number), second); break;
      case Kind::kMark:
        output.Row(wire::Table::kMarks, note.time, note.mark, note.number, first);
        break;
    }
  }
  lock_.lock();
  const std::uint64_t lost = lost_;
  lost_ = 0;
  lock_.unlock();
  if (lost > 0) output.Loss("marks", lost, "more than 4,096 marks in a tenth of a second");
}

void Notes::Forked() noexcept {
  lock_.Reset();
  first_ = count_ = 0;
  lost_ = 0;
}

}  // namespace hone::collect
