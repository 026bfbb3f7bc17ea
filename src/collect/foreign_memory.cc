// SPDX-License-Identifier: Apache-2.0
#include "collect/foreign_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace hone::collect {
namespace {

constexpr std::size_t kPage = 4096;  // the smallest there is; larger ones end on its borders too
constexpr std::size_t kMostPieces = 64;

enum class Way : int { kUnknown, kNone, kCall, kFile };
std::atomic<Way> g_way{Way::kUnknown};
std::atomic<pid_t> g_pid{0};
std::atomic<int> g_file{-1};

Way FindWay() noexcept {
  const std::uint64_t known = 0x686f6e65;
  std::uint64_t seen = 0;
  iovec local{&seen, sizeof(seen)};
  iovec remote{const_cast<std::uint64_t*>(&known), sizeof(known)};
  const pid_t pid = getpid();
  if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(seen) && seen == known) {
    g_pid.store(pid, std::memory_order_relaxed);
    return Way::kCall;
  }
  // Forbidden by a container's filter of system calls.
  const int file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (file < 0) return Way::kNone;
  seen = 0;
  if (pread(file, &seen, sizeof(seen),
            static_cast<off_t>(reinterpret_cast<std::uintptr_t>(&known))) != sizeof(seen) ||
      seen != known) {
    close(file);
    return Way::kNone;
  }
  g_file.store(file, std::memory_order_relaxed);
  return Way::kFile;
}

Way GetWay() noexcept {
  Way way = g_way.load(std::memory_order_acquire);
  if (way == Way::kUnknown) {
    way = FindWay();
    g_way.store(way, std::memory_order_release);
  }
  return way;
}

std::size_t ReadByFile(std::span<const ForeignPiece> pieces) noexcept {
  const int file = g_file.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const ForeignPiece& piece = pieces[i];
    const ssize_t got = pread(file, piece.to, piece.bytes, static_cast<off_t>(piece.from));
    if (got < 0 || static_cast<std::size_t>(got) != piece.bytes) return i;
  }
  return pieces.size();
}

std::size_t ReadByCall(std::span<const ForeignPiece> pieces) noexcept {
  iovec local[kMostPieces];
  iovec remote[kMostPieces];
  std::size_t done = 0;
  while (done < pieces.size()) {
    const std::size_t count = std::min(pieces.size() - done, kMostPieces);
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const ForeignPiece& piece = pieces[done + i];
      local[i] = {piece.to, piece.bytes};
      remote[i] = {reinterpret_cast<void*>(piece.from), piece.bytes};
      wanted += piece.bytes;
    }
    const ssize_t got =
        process_vm_readv(g_pid.load(std::memory_order_relaxed), local, count, remote, count, 0);
    if (got == static_cast<ssize_t>(wanted)) {
      done += count;
      continue;
    }
    std::size_t left = got < 0 ? 0 : static_cast<std::size_t>(got);
    for (std::size_t i = 0; i < count && left >= pieces[done].bytes; ++i) {
      left -= pieces[done].bytes;
      ++done;
    }
    return done;
  }
  return done;
}

}  // namespace

bool ForeignMemoryWorks() noexcept { return GetWay() != Way::kNone; }

std::size_t ReadForeignPieces(std::span<const ForeignPiece> pieces) noexcept {
  switch (GetWay()) {
    case Way::kCall: return ReadByCall(pieces);
    case Way::kFile: return ReadByFile(pieces);
    default: return 0;
  }
}

bool ReadForeign(std::uintptr_t from, void* to, std::size_t bytes) noexcept {
  const ForeignPiece piece{from, to, bytes};
  return ReadForeignPieces({&piece, 1}) == 1;
}

std::size_t ReadForeignUpTo(std::uintptr_t from, void* to, std::size_t bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t page_left = kPage - (from + done) % kPage;
    const std::size_t part = std::min(bytes - done, page_left);
    if (!ReadForeign(from + done, static_cast<std::uint8_t*>(to) + done, part)) break;
    done += part;
  }
  return done;
}

void ForeignMemoryForked() noexcept {
  // /proc/self/mem of the parent is the parent's memory: look again.
  g_file.store(-1, std::memory_order_relaxed);
  g_way.store(Way::kUnknown, std::memory_order_release);
}

}  // namespace hone::collect
