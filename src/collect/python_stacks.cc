// SPDX-License-Identifier: Apache-2.0
#include "collect/python_stacks.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>

#include "collect/budget.h"
#include "collect/foreign_memory.h"
#include "collect/source.h"

namespace hone::collect {

PythonStacks g_python_stacks;

std::uint32_t PythonStacks::Key::Slot() const noexcept {
  std::uint64_t hash = code ^ (print << 7);
  hash = (hash ^ static_cast<std::uint32_t>(at)) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ (hash >> 32) ^ caller) * 0xc2b2ae3d27d4eb4fu;
  return static_cast<std::uint32_t>(hash >> 40);
}

bool PythonStacks::Prepare(const PythonLayout& layout) noexcept {
  layout_ = &layout;
  if (frames_ == nullptr) {
    frames_ = static_cast<Frame*>(TakeMemory(kFrames * sizeof(Frame), AfterFork::kKept));
    slots_ = static_cast<Slot*>(TakeMemory(kSlots * sizeof(Slot), AfterFork::kKept));
  }
  return frames_ != nullptr && slots_ != nullptr && codes_.Prepare(layout);
}

std::uint32_t PythonStacks::Find(const RawFrame& frame, std::uint32_t caller) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto at = static_cast<std::int32_t>(std::clamp<std::int64_t>(frame.offset, -1, kMost));
  const Key key{frame.code, frame.print, at, caller};
  const std::uint32_t id = Look(key);
  return id != 0 ? id : Add(key, frame, caller);
}

std::uint32_t PythonStacks::Look(const Key& key) const noexcept {
  const std::uint32_t start = key.Slot();
  for (int probe = 0; probe < kProbes; ++probe) {
    const Slot& slot = slots_[(start + static_cast<std::uint32_t>(probe)) % kSlots];
    const std::uint32_t id = slot.id.load(std::memory_order_acquire);
    if (id == kFree) return 0;
    if (id != kTaken && slot.key == key) return id;
  }
  return 0;
}

void PythonStacks::Put(const Key& key, std::uint32_t id) noexcept {
  const std::uint32_t start = key.Slot();
  for (int probe = 0; probe < kProbes; ++probe) {
    Slot& slot = slots_[(start + static_cast<std::uint32_t>(probe)) % kSlots];
    std::uint32_t free = kFree;
    if (!slot.id.compare_exchange_strong(free, kTaken, std::memory_order_acquire)) continue;
    slot.key = key;
    slot.id.store(id, std::memory_order_release);
    return;
  }
  // Found anew every time, then: slower, and right.
}

int PythonStacks::LineOf(const RawFrame& frame, int first_line) const noexcept {
  PyAddress table = 0;
  PyAddress type = 0;
  std::int64_t size = 0;
  if (!ReadForeignValue(frame.code + layout_->code_table, &table) ||
      !ReadForeignValue(table + layout_->object_type, &type) || type != layout_->bytes_type ||
      !ReadForeignValue(table + layout_->bytes_size, &size) || size < 0) {
    return first_line;
  }
  std::uint8_t bytes[16u << 10];  // a function of some 2,000 lines; beyond, its last line in here
  const auto length = std::min(static_cast<std::size_t>(size), sizeof(bytes));
  if (!ReadForeign(table + layout_->bytes_data, bytes, length)) return first_line;
  return LineAt(layout_->lines, {bytes, length}, first_line, frame.offset);
}

std::uint32_t PythonStacks::Add(const Key& key, const RawFrame& frame,
                                std::uint32_t caller) noexcept {
  const PythonCode* code = codes_.Find(frame.code, frame.print);
  if (code == nullptr) return codes_.full() ? caller : kGone;
  if ((code->flags.load(std::memory_order_relaxed) & kHiddenCode) != 0) return caller;
  const int line = LineOf(frame, code->first_line);
  // Another thread's code may have gone while we read, and its table with it.
  if (!codes_.IsStill(frame.code, frame.print)) return kGone;
  const Key by_line{code->id, ~std::uint64_t{0}, line, caller};
  std::uint32_t id = Look(by_line);
  if (id == 0) {
    id = count_.load(std::memory_order_relaxed) + 1 < kFrames
             ? count_.fetch_add(1, std::memory_order_relaxed) + 1
             : kFrames;
    if (id >= kFrames) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return caller;
    }
    Frame& added = frames_[id];
    added.caller = caller;
    added.code = code->id;
    added.line = line;
    added.whole.store(true, std::memory_order_release);
    Put(by_line, id);
  }
  Put(key, id);
  return id;
}

void PythonStacks::Drain(Output& output) noexcept {
  if (frames_ == nullptr) return;
  // The code of a frame was whole before the frame: written after it, it would be unknown.
  const std::uint32_t last = count_.load(std::memory_order_acquire);
  std::uint32_t ready = written_;
  while (ready < last && ready + 1 < kFrames &&
         frames_[ready + 1].whole.load(std::memory_order_acquire)) {
    ++ready;
  }
  codes_.Drain(output);
  while (written_ < ready) {
    const Frame& frame = frames_[++written_];
    output.Row(wire::Table::kFrames, written_, frame.caller, frame.code, frame.line);
  }
  const std::uint64_t lost = lost_.load(std::memory_order_relaxed) + codes_.lost();
  if (lost > lost_told_) {
    output.Loss("python stacks", lost - lost_told_,
                "the table of Python frames is full; stacks end early there");
    lost_told_ = lost;
  }
}

void PythonStacks::Forked() noexcept {
  codes_.Forked();
  if (frames_ == nullptr) return;
  madvise(frames_, kFrames * sizeof(Frame), MADV_DONTNEED);
  madvise(slots_, kSlots * sizeof(Slot), MADV_DONTNEED);
  count_.store(0, std::memory_order_relaxed);
  lost_.store(0, std::memory_order_relaxed);
  lost_told_ = 0;
  written_ = 0;
}

}  // namespace hone::collect
