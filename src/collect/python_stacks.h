// SPDX-License-Identifier: Apache-2.0
// PythonStacks: call stacks as a tree of frames, each distinct one once (kFrames of the file).
//
// A stack is the id of its innermost frame; a frame is (function, line, caller's id). Any thread
// looks up and adds, without lock; bounded, and what does not fit is counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "collect/python_codes.h"

namespace hone::collect {

// One frame as it stands in memory.
struct RawFrame {
  PyAddress code;
  std::uint64_t print;
  std::int64_t offset;  // of the instruction, in bytes; below 0: not begun
};

class PythonStacks {
 public:
  bool Prepare(const PythonLayout& layout) noexcept;  // takes the memory; once
  PythonCodes& codes() noexcept { return codes_; }

  // The id of this frame, called from `caller` (0: outermost). The caller's id when the frame is
  // hidden or does not fit; kGone when there is no such function (any more). About 15 ns;
  // microseconds the first time.
  static constexpr std::uint32_t kGone = ~0u;
  std::uint32_t Find(const RawFrame& frame, std::uint32_t caller) noexcept;

  void Drain(Output& output) noexcept;  // writer thread only: new rows
  void Forked() noexcept;

  // For tests: what a frame is.
  struct Frame {
    std::uint32_t caller, code;
    std::int32_t line;
    std::atomic<bool> whole;
  };
  const Frame* Get(std::uint32_t id) const noexcept {
    return id == 0 || id >= kFrames ? nullptr : &frames_[id];
  }

 private:
  static constexpr std::uint32_t kFrames = 1u << 16;  // 1 MiB
  static constexpr std::uint32_t kSlots = 1u << 17;   // 4 MiB, touched as they are used
  static constexpr int kProbes = 64;

  // What leads to a frame: (code, print, instruction, caller), and (code's id, line, caller), so
  // that instructions of one line are one frame.
  struct Key {
    std::uint64_t code, print;
    std::int32_t at;
    std::uint32_t caller;
    bool operator==(const Key&) const = default;
    std::uint32_t Slot() const noexcept;
  };
  struct Slot {
    std::atomic<std::uint32_t> id;  // kFree, kTaken while it is filled
    std::uint32_t unused;
    Key key;
  };
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kTaken = ~0u;

  std::uint32_t Look(const Key& key) const noexcept;  // 0: not there
  void Put(const Key& key, std::uint32_t id) noexcept;
  std::uint32_t Add(const Key& key, const RawFrame& frame, std::uint32_t caller) noexcept;
  int LineOf(const RawFrame& frame, int first_line) const noexcept;

  const PythonLayout* layout_ = nullptr;
  PythonCodes codes_;
  Frame* frames_ = nullptr;  // [0] is not used
  Slot* slots_ = nullptr;
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::uint64_t lost_told_ = 0;  // the writer's
  std::uint32_t written_ = 0;    // the writer's
};

extern PythonStacks g_python_stacks;

}  // namespace hone::collect
