// SPDX-License-Identifier: Apache-2.0
#include "collect/python_threads.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "collect/clock.h"
#include "collect/foreign_memory.h"

namespace hone::collect {
namespace {

template <typename Value>
Value At(const std::uint8_t* bytes, std::size_t offset) noexcept {
  Value value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

// Time on a core, to the nanosecond, of any thread of this process. 0: not told.
std::uint64_t CpuNanos(std::uint32_t tid) noexcept {
  // The kernel's encoding of "this thread's scheduled time" (include/linux/posix-timers.h).
  const auto clock = static_cast<clockid_t>((~tid << 3) | 6u);
  timespec time;
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

bool PythonThreads::Prepare(const PythonLayout& layout, PythonStacks& stacks) noexcept {
  layout_ = &layout;
  stacks_ = &stacks;
  frame_bytes_ = layout.FrameBytes();
  // This thread is not the first of the process, so its number is not also the process's.
  constexpr std::size_t kSearched = 2048;
  const auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  std::uint8_t memory[kSearched];
  const std::size_t got =
      ReadForeignUpTo(static_cast<std::uintptr_t>(pthread_self()), memory, kSearched);
  for (std::size_t at = 0; at + 4 <= got; at += 4) {
    if (At<std::uint32_t>(memory, at) != tid) continue;
    tid_offset_ = static_cast<std::uint16_t>(at);
    return true;
  }
  return false;
}

// The list as it was in the last round, by one call; false when it has changed.
bool PythonThreads::ReadSameList() noexcept {
  constexpr int kMostAtOnce = 63;
  constexpr std::size_t kMostBytes = 1024;
  const PythonLayout& layout = *layout_;
  const std::uint16_t first = std::min({layout.thread_next, layout.thread_id, layout.thread_frame});
  const std::size_t bytes = BytesOfThread() - first;
  if (count_ == 0 || count_ > kMostAtOnce) return false;
  // 64 KiB of the sampler's stack.
  std::uint8_t memory[kMostAtOnce][kMostBytes];
  ForeignPiece pieces[kMostAtOnce + 1];
  PyAddress expected = 0;
  pieces[0] = {layout.interpreter + layout.interpreter_threads, &expected, sizeof(expected)};
  for (int i = 0; i < count_; ++i) pieces[i + 1] = {order_[i]->state + first, memory[i], bytes};
  const auto wanted = static_cast<std::size_t>(count_) + 1;
  if (ReadForeignPieces({pieces, wanted}) != wanted) return false;
  for (int i = 0; i < count_; ++i) {
    const auto word = [&](std::uint16_t at) {
      return At<PyAddress>(memory[i], static_cast<std::size_t>(at - first));
    };
    if (order_[i]->state != expected || order_[i]->pthread != word(layout.thread_id)) return false;
    tops_[i] = word(layout.thread_frame);
    expected = word(layout.thread_next);
  }
  return expected == 0;
}

std::size_t PythonThreads::BytesOfThread() const noexcept {
  return std::max({layout_->thread_next, layout_->thread_id, layout_->thread_frame}) +
         sizeof(PyAddress);
}

void PythonThreads::ReadList() noexcept {
  ++round_;
  if (ReadSameList()) return;
  const PythonLayout& layout = *layout_;
  count_ = 0;
  PyAddress state = 0;
  if (!ReadForeignValue(layout.interpreter + layout.interpreter_threads, &state)) state = 0;
  std::uint8_t memory[1024 + sizeof(PyAddress)];
  // A thread that ended while we read may lead anywhere, in a circle too: what was its memory is
  // the C library's now, whose empty lists point at themselves. Then the round ends.
  for (int step = 0; state != 0; ++step) {
    if (step == kMost) {
      if (count_ == kMost) ++too_many_;
      break;
    }
    if (!ReadForeign(state, memory, BytesOfThread())) break;
    const PyAddress pthread = At<PyAddress>(memory, layout.thread_id);
    if (PythonThread* thread = pthread != 0 ? Enter(state, pthread) : nullptr) {
      tops_[count_] = At<PyAddress>(memory, layout.thread_frame);
      order_[count_++] = thread;
    }
    state = At<PyAddress>(memory, layout.thread_next);
  }
  for (PythonThread& thread : threads_) {
    if (!thread.seen && thread.state != 0) Close(thread);
    thread.seen = false;
  }
}

void PythonThreads::Close(PythonThread& thread) noexcept {
  if (thread.file > 0) {
    close(thread.file - 1);
    --files_;
  }
  thread = {};
}

void PythonThreads::Forked() noexcept {
  for (PythonThread& thread : threads_) {
    if (thread.state != 0) Close(thread);
  }
  count_ = 0;
  std::memset(prints_, 0, sizeof(prints_));
}

// Whether the kernel has it on a core or waiting for one. Where our own thread took its core, its
// clock stands still although it wants to run.
bool PythonThreads::IsRunnable(PythonThread& thread) noexcept {
  if (thread.file == 0) {
    if (files_ == kMostFiles) return false;
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/task/%u/stat", thread.tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    // Out of the way: programs have ideas about the numbers of their first files.
    constexpr int kOutOfTheWay = 200;
    const int high = fcntl(file, F_DUPFD_CLOEXEC, kOutOfTheWay);
    if (high >= 0) {
      close(file);
      file = high;
    }
    thread.file = file + 1;
    ++files_;
  }
  // "TID (name) S …": the name may hold anything, but not more than 16 characters.
  char text[64];
  const ssize_t got = pread(thread.file - 1, text, sizeof(text), 0);
  const char* const end = got > 0 ? text + got : text;
  const char* last = nullptr;
  for (const char* at = text; at < end && at < text + 40; ++at) {
    if (*at == ')') last = at;
  }
  return last != nullptr && last + 2 < end && last[2] == 'R';
}

PythonThread* PythonThreads::Enter(PyAddress state, PyAddress pthread) noexcept {
  PythonThread* free = nullptr;
  const std::size_t start = state >> 6;
  for (std::size_t i = 0; i < kMost; ++i) {
    PythonThread& thread = threads_[(start + i) % kMost];
    if (thread.state == state && thread.pthread == pthread) {
      if (thread.seen) return nullptr;  // the list went round
      thread.seen = true;
      return &thread;
    }
    if (thread.state == 0 && free == nullptr) free = &thread;
  }
  std::uint32_t tid = 0;
  if (free == nullptr || !ReadForeignValue(pthread + tid_offset_, &tid) || tid == 0) return nullptr;
  *free = {};
  free->state = state;
  free->pthread = pthread;
  free->tid = tid;
  free->seen = true;
  return free;
}

void PythonThreads::ReadBlock(PyAddress top) noexcept {
  block_begin_ = block_end_ = 0;
  const std::uintptr_t end = top + frame_bytes_;
  const std::uintptr_t page = top / kPage * kPage;
  std::uint8_t* const middle = block_ + kPage;
  ForeignPiece pieces[3];
  std::size_t count = 0;
  pieces[count++] = {page, middle, std::min(end, page + kPage) - page};
  if (end > page + kPage) pieces[count++] = {page + kPage, middle + kPage, end - page - kPage};
  // The page below last: it may not be there.
  pieces[count++] = {page - kPage, block_, kPage};
  const std::size_t got = ReadForeignPieces({pieces, count});
  if (got + 1 < count) return;
  block_begin_ = got == count ? page - kPage : page;
  block_end_ = end;
}

bool PythonThreads::ReadFrame(PyAddress frame, std::uint8_t* to) noexcept {
  // Not frame + frame_bytes_ <= block_end_: what was read of memory that went away may be near
  // 2^64.
  if (frame >= block_begin_ && frame < block_end_ && block_end_ - frame >= frame_bytes_) {
    // block_ + kPage is the page of the top frame, whether the one below was there or not.
    const std::uintptr_t page = (block_end_ - frame_bytes_) / kPage * kPage;
    std::memcpy(to, block_ + kPage + static_cast<std::ptrdiff_t>(frame - page), frame_bytes_);
    return true;
  }
  return ReadForeign(frame, to, frame_bytes_);
}

int PythonThreads::Walk(PyAddress top, RawFrame* frames) noexcept {
  constexpr int kMostSteps = 4 * kDeepest;
  const PythonLayout& layout = *layout_;
  if (layout.frame_hop != PythonLayout::kNone && top != 0 &&
      !ReadForeignValue(top + layout.frame_hop, &top)) {
    return -1;
  }
  if (top == 0) return 0;
  ReadBlock(top);
  std::uint8_t memory[256];
  int count = 0;
  for (int step = 0; top != 0 && count < kDeepest; ++step) {
    if (step == kMostSteps || top % sizeof(PyAddress) != 0 || !ReadFrame(top, memory)) return -1;
    const PyAddress code = At<PyAddress>(memory, layout.frame_code) & ~PythonLayout::kTag;
    RawFrame& frame = frames[count];
    frame.code = code;
    const PyAddress instruction = layout.form == InstructionForm::kAddress
                                      ? At<PyAddress>(memory, layout.frame_instruction)
                                      : At<std::uint32_t>(memory, layout.frame_instruction);
    frame.offset = layout.OffsetOf(instruction, code);
    // An entry from C has no code, or None in its place.
    if (code != 0 && code != layout.none) ++count;
    top = At<PyAddress>(memory, layout.frame_back);
  }
  return count;
}

bool PythonThreads::ReadPrints(RawFrame* frames, int count, bool trusting) noexcept {
  PyAddress codes[kDeepest];
  std::uint64_t prints[kDeepest];
  bool lasting[kDeepest];
  int asked[kDeepest];
  int wanted = 0;
  for (int i = 0; i < count; ++i) {
    const KnownPrint& known = prints_[(frames[i].code >> 4) % kPrints];
    if (trusting && known.code == frames[i].code && known.until > round_) {
      frames[i].print = known.print;
      continue;
    }
    asked[wanted] = i;
    codes[wanted++] = frames[i].code;
  }
  if (wanted == 0) return true;
  if (!stacks_->codes().ReadFingerPrints(codes, wanted, prints, lasting)) return false;
  for (int i = 0; i < wanted; ++i) {
    frames[asked[i]].print = prints[i];
    const std::uint32_t until = round_ + (lasting[i] ? kTrustedRounds : kBrieflyTrusted);
    prints_[(codes[i] >> 4) % kPrints] = {codes[i], prints[i], until};
  }
  return true;
}

PythonThreads::Now PythonThreads::ReadStack(PythonThread& thread, PyAddress top) noexcept {
  constexpr int kTries = 3;
  std::uint64_t before = CpuNanos(thread.tid);
  // It has not run since: it stands where it stood. Where others have the cores it may want to all
  // the same; one that was seen to wait is not asked again until it has run.
  if (before != 0 && thread.settled && before == thread.cpu_ns) {
    thread.ticks = Ticks();
    thread.runnable = thread.runnable && IsRunnable(thread);
    return thread.runnable ? Now::kRunning : Now::kWaiting;
  }
  RawFrame frames[kDeepest];
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (attempt > 0) {
      before = CpuNanos(thread.tid);
      if (!ReadForeignValue(thread.state + layout_->thread_frame, &top)) break;
    }
    const std::uint64_t began = Ticks();
    const int count = Walk(top, frames);
    const std::uint64_t ended = Ticks();
    if (count < 0 || !ReadPrints(frames, count, attempt == 0)) continue;
    const std::uint64_t after = CpuNanos(thread.tid);
    const bool still = before == after;
    const PyAddress root = count == 0 ? 0 : frames[count - 1].code;
    // A stack that ends elsewhere than the last one did, of a thread that runs, may have been cut
    // by a frame that went away under our eyes. Thrice the same: it does end there.
    if (!still && root != thread.root && thread.root != 0 && attempt + 1 < kTries) continue;
    std::uint32_t id = 0;
    for (int i = count - 1; i >= 0 && id != PythonStacks::kGone; --i) {
      id = stacks_->Find(frames[i], id);
    }
    if (id == PythonStacks::kGone) continue;
    thread.frame = id;
    thread.ticks = began + (ended - began) / 2;
    thread.root = root;
    thread.cpu_ns = after;
    thread.settled = still && after != 0;
    if (after == 0) return Now::kUnknown;
    thread.runnable = !still || IsRunnable(thread);
    return thread.runnable ? Now::kRunning : Now::kWaiting;
  }
  ++torn_;
  thread.frame = 0;
  thread.settled = false;
  return Now::kUnknown;
}

}  // namespace hone::collect
