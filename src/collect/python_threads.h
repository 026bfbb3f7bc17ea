// SPDX-License-Identifier: Apache-2.0
// PythonThreads: the interpreter's threads and their stacks, seen from a thread of the recorder's
// own. Not thread-safe: the sampler's alone.
#pragma once

#include <cstdint>

#include "collect/python_stacks.h"

namespace hone::collect {

// One thread of the program, as far as the interpreter knows it.
struct PythonThread {
  PyAddress state;  // its PyThreadState; 0: free
  PyAddress pthread;
  PyAddress root;        // code of its outermost frame when last seen
  std::uint64_t cpu_ns;  // it had used when its stack was read
  std::uint64_t ticks;   // when that was: in the middle of reading its frames
  std::uint32_t tid;
  std::uint32_t frame;  // its stack then
  int file;             // /proc/self/task/TID/stat, and 1; 0: not open
  bool settled;         // it did not run while it was read: the stack is exact
  bool runnable;        // it ran, or wanted to, when it was last looked at
  bool seen;            // in this round
};

class PythonThreads {
 public:
  static constexpr int kMost = 512;

  // Learns from the calling thread where the C library keeps a thread's number.
  bool Prepare(const PythonLayout& layout, PythonStacks& stacks) noexcept;

  enum class Now : std::uint8_t { kUnknown = 0, kRunning = 1, kWaiting = 2 };

  // Calls take(thread, now) for every thread that runs Python code: one round.
  template <typename Take>
  void Look(const Take& take) noexcept {
    ReadList();
    for (int i = 0; i < count_; ++i) {
      PythonThread& thread = *order_[i];
      const Now now = ReadStack(thread, tops_[i]);
      if (thread.frame != 0) take(thread, now);
    }
  }

  // In the child of a fork, where none of the threads is.
  void Forked() noexcept;

  std::uint64_t torn() const noexcept { return torn_; }          // stacks given up
  std::uint64_t too_many() const noexcept { return too_many_; }  // threads not looked at

 private:
  static constexpr int kDeepest = 64;
  static constexpr int kMostFiles = 64;
  // Code that was read in the last so many rounds is taken to be there still: of a kind that is
  // hardly ever freed, and of any other. (A sample may then name what stood there 30 ms ago.)
  static constexpr std::uint32_t kTrustedRounds = 16;
  static constexpr std::uint32_t kBrieflyTrusted = 4;

  struct KnownPrint {
    PyAddress code;
    std::uint64_t print;
    std::uint32_t until;  // round
  };

  void ReadList() noexcept;
  bool ReadSameList() noexcept;
  std::size_t BytesOfThread() const noexcept;
  void Close(PythonThread& thread) noexcept;
  bool IsRunnable(PythonThread& thread) noexcept;
  PythonThread* Enter(PyAddress state, PyAddress pthread) noexcept;
  Now ReadStack(PythonThread& thread, PyAddress top) noexcept;
  int Walk(PyAddress top, RawFrame* frames) noexcept;  // -1: torn
  bool ReadPrints(RawFrame* frames, int count, bool trusting) noexcept;
  bool ReadFrame(PyAddress frame, std::uint8_t* to) noexcept;
  void ReadBlock(PyAddress top) noexcept;

  const PythonLayout* layout_ = nullptr;
  PythonStacks* stacks_ = nullptr;
  std::uint16_t frame_bytes_ = 0;
  std::uint16_t tid_offset_ = 0;  // in what pthread_t points at
  PythonThread threads_[kMost] = {};
  PythonThread* order_[kMost] = {};  // of this round, as the interpreter lists them
  PyAddress tops_[kMost] = {};
  int count_ = 0;
  int files_ = 0;
  std::uint32_t round_ = 0;
  static constexpr std::size_t kPrints = 1024;
  KnownPrint prints_[kPrints] = {};
  std::uint64_t torn_ = 0;
  std::uint64_t too_many_ = 0;

  // Frames of a thread mostly stand side by side: what was read around the top one, by one call.
  static constexpr std::uintptr_t kPage = 4096;
  std::uintptr_t block_begin_ = 0, block_end_ = 0;
  alignas(8) std::uint8_t block_[3 * kPage];
};

}  // namespace hone::collect
