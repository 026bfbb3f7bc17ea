// SPDX-License-Identifier: Apache-2.0
#include "collect/host_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "collect/names.h"
#include "collect/slices.h"
#include "collect/thread_state.h"

namespace hone::collect {
namespace {

// Threads seen by the writer, in a table of its own: programs with more are rare, and beyond it
// threads only lack a name.
constexpr std::uint32_t kMostThreads = 4096;
std::uint32_t g_tids[kMostThreads];
std::uint32_t g_tid_count = 0, g_named = 0;
std::uint32_t g_last_tid = 0;

void SeeThread(std::uint32_t tid) {
  if (tid == g_last_tid) return;
  g_last_tid = tid;
  for (std::uint32_t i = 0; i < g_tid_count; ++i) {
    if (g_tids[i] == tid) return;
  }
  if (g_tid_count < kMostThreads) g_tids[g_tid_count++] = tid;
}

constexpr const char* kTooFast =
    "the writer could not keep up with the program within the recorder's memory; give it more with "
    "--memory, or record less with --collect";

class SliceSource final : public Source {
 public:
  const char* name() const noexcept override { return "ops"; }
  void Open() noexcept override {}
  void Close() noexcept override {}
  void Drain(Output& output, bool) noexcept override {
    g_host_log.Drain([&](std::uint32_t tid, const HostRecord& record) {
      SeeThread(tid);
      output.Row(wire::Table::kHost, tid, record.start, record.end - record.start, record.name,
                 record.kind, record.frame, record.sequence, record.forward_tid, record.arguments,
                 0);
    });
    if (const std::uint64_t lost = g_host_log.TakeLost()) output.Loss("operators", lost, kTooFast);
    if (const std::uint64_t lost = TakeUnmatched()) {
      output.Loss("unmatched slices", lost,
                  "operators that ended on another thread than they began on, or lay deeper than "
                  "192 levels");
    }
    const std::uint64_t names = NamesLost();
    if (names > names_told_) output.Loss("names", names - names_told_, "no room for more names");
    names_told_ = names;
    WriteThreadNames(output, false);
  }
  void Forked() noexcept override {
    g_tid_count = g_named = g_last_tid = 0;
    TakeUnmatched();
  }

 private:
  std::uint64_t names_told_ = 0;
};

class MemorySource final : public Source {
 public:
  const char* name() const noexcept override { return "memory"; }
  void Open() noexcept override {}
  void Close() noexcept override {}
  void Drain(Output& output, bool) noexcept override {
    g_memory_log.Drain([&](std::uint32_t tid, const MemoryRecord& record) {
      SeeThread(tid);
      output.Row(wire::Table::kMemory, tid, record.time, record.device_type, record.device,
                 record.address, record.bytes, record.freed, record.allocated, record.reserved,
                 record.frame, record.oom);
    });
    if (const std::uint64_t lost = g_memory_log.TakeLost()) {
      output.Loss("allocations", lost, kTooFast);
    }
  }
  void Forked() noexcept override {}
};

SliceSource g_slices;
MemorySource g_memory;

}  // namespace

void AddHostSources() noexcept {
  AddSource(g_slices);
  AddSource(g_memory);
}

void WriteThreadNames(Output& output, bool all) noexcept {
  if (all) g_named = 0;
  for (; g_named < g_tid_count; ++g_named) {
    char path[64], text[64];
    std::snprintf(path, sizeof(path), "/proc/self/task/%u/comm", g_tids[g_named]);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;  // it has ended
    ssize_t size = read(fd, text, sizeof(text));
    close(fd);
    if (size > 0 && text[size - 1] == '\n') --size;
    if (size <= 0) continue;
    output.Row(wire::Table::kThreads, g_tids[g_named],
               std::string_view(text, static_cast<std::size_t>(size)));
  }
}

}  // namespace hone::collect
