// SPDX-License-Identifier: Apache-2.0
// NCCL's profiler plugin: which collectives the program started, on which communicator, how large
// and by which algorithm. NCCL loads what NCCL_PROFILER_PLUGIN names and looks for the newest
// ncclProfiler_vN it knows; versions 2 to 5 (NCCL 2.24 to 2.28, and later ones, which still take
// them) are here. Version 1 (2.23) gives numbers for names and is left out.
//
// Only collectives and point-to-point calls are asked for: proxy and channel events are a flood.
// What NCCL times is the launch; how long the work took, CUPTI's kernel rows say.
//
// The layouts are NCCL's public plugin interface, in our own words. A wrong one would crash the
// program, so each version has its own struct and nothing is shared by likeness.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "collect/clock.h"
#include "collect/names.h"
#include "collect/recorder.h"
#include "collect/source.h"
#include "collect/spin_lock.h"

namespace hone::collect {
namespace {

constexpr int kSuccess = 0;
constexpr std::uint64_t kCollective = 1u << 1, kPointToPoint = 1u << 2;
constexpr int kMask = static_cast<int>(kCollective | kPointToPoint);

struct Head4 {  // of versions 2 to 4
  std::uint8_t type;
  void* parent;
  int rank;
};
struct Head5 {
  std::uint64_t type;
  void* parent;
  int rank;
};
static_assert(sizeof(Head4) == 24 && sizeof(Head5) == 24);

struct Collective2 {
  const char* name;
  std::uint64_t communicator, sequence;
  const char* function;
  const void *from, *to;
  std::size_t count;
  int root;
  const char* type;
  std::size_t traffic_bytes;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct Collective3 {
  const char* name;
  std::uint64_t communicator, sequence;
  const char* function;
  const void *from, *to;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct Collective4 {  // and 5, which adds a member at the end
  std::uint64_t sequence;
  const char* function;
  const void *from, *to;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct PointToPoint3 {  // and 2
  const char* name;
  std::uint64_t communicator;
  const char* function;
  const void* buffer;
  const char* type;
  std::size_t count;
  int peer;
};
struct PointToPoint4 {  // and 5
  const char* function;
  const void* buffer;
  const char* type;
  std::size_t count;
  int peer;
};
template <typename Head, typename Collective, typename PointToPoint>
struct Descriptor {
  Head head;
  union {
    Collective collective;
    PointToPoint point_to_point;
  };
};
using Descriptor2 = Descriptor<Head4, Collective2, PointToPoint3>;
using Descriptor3 = Descriptor<Head4, Collective3, PointToPoint3>;
using Descriptor4 = Descriptor<Head4, Collective4, PointToPoint4>;
using Descriptor5 = Descriptor<Head5, Collective4, PointToPoint4>;
static_assert(offsetof(Descriptor5, collective) == 24);

// A communicator, as its init told; never freed, so that a late event finds it.
struct Communicator {
  std::uint64_t id;
  int rank, ranks;
};

struct Event {
  enum State : std::uint8_t { kFree, kOpen, kDone };
  State state;
  std::uint64_t start, end, communicator, count;
  std::int64_t sequence;
  std::uint32_t tid, name, type, algorithm, protocol;
  int rank, ranks;
};

// Events between two rounds of 100 ms (more are counted), and communicators of a process (more
// share the last place). Outside the source, so that they take no room in the file.
constexpr std::size_t kEvents = 4096, kCommunicators = 256;
Event g_events[kEvents];
Communicator g_communicators[kCommunicators];

std::uint32_t Intern(const char* text) { return text == nullptr ? kUnnamed : InternNameAt(text); }

class NcclSource final : public Source {
 public:
  const char* name() const noexcept override { return "nccl"; }
  void Open() noexcept override { SetMask(kMask); }
  void Close() noexcept override { SetMask(0); }
  void Drain(Output& output, bool last) noexcept override;
  void Forked() noexcept override;

  void* Communicate(int* mask, std::uint64_t id, int rank, int ranks) noexcept;
  void* Begin(const Event& event) noexcept;
  void End(void* handle) noexcept;

 private:
  void SetMask(int value) noexcept {
    if (int* const mask = mask_.load()) __atomic_store_n(mask, value, __ATOMIC_RELAXED);
  }
  std::atomic<int*> mask_{nullptr};
  SpinLock lock_;
  std::size_t next_ = 0;
  std::uint64_t lost_ = 0;
  std::size_t communicator_count_ = 0;
};
NcclSource g_nccl;

void* NcclSource::Communicate(int* mask, std::uint64_t id, int rank, int ranks) noexcept {
  mask_.store(mask);
  AddSource(*this);
  SetMask(Recording() ? kMask : 0);  // for the second communicator, which opens nothing
  const std::lock_guard<SpinLock> guard(lock_);
  if (communicator_count_ == kCommunicators) return &g_communicators[kCommunicators - 1];
  Communicator& communicator = g_communicators[communicator_count_++];
  communicator = {id, rank, ranks};
  return &communicator;
}

void* NcclSource::Begin(const Event& event) noexcept {
  const std::lock_guard<SpinLock> guard(lock_);
  for (std::size_t tries = 0; tries < kEvents; ++tries) {
    Event& slot = g_events[next_];
    next_ = (next_ + 1) % kEvents;
    if (slot.state != Event::kFree) continue;
    slot = event;
    slot.state = Event::kOpen;
    slot.start = Ticks();
    return &slot;
  }
  ++lost_;
  return nullptr;
}

void NcclSource::End(void* handle) noexcept {
  auto* const event = static_cast<Event*>(handle);
  if (event < g_events || event >= g_events + kEvents) return;
  const std::lock_guard<SpinLock> guard(lock_);
  if (event->state != Event::kOpen) return;
  event->end = Ticks();
  event->state = Event::kDone;
}

void NcclSource::Drain(Output& output, bool) noexcept {
  for (Event& event : g_events) {
    Event done{};
    {
      const std::lock_guard<SpinLock> guard(lock_);
      if (event.state != Event::kDone) continue;
      done = event;
      event.state = Event::kFree;
    }
    output.Row(wire::Table::kCollectives, done.start, done.end - done.start, done.tid, done.name,
               done.type, done.count, done.communicator, done.rank, done.ranks, done.sequence,
               done.algorithm, done.protocol);
  }
  lock_.lock();
  const std::uint64_t lost = lost_;
  lost_ = 0;
  lock_.unlock();
  if (lost > 0) {
    output.Loss("collectives", lost, "more than 4,096 were started between two rounds of 100 ms");
  }
}

void NcclSource::Forked() noexcept {
  lock_.Reset();
  for (Event& event : g_events) event.state = Event::kFree;
  lost_ = 0;
}

// --- The plugin's functions ---------------------------------------------------------------------

void* Init(int* mask, std::uint64_t id, int rank, int ranks) {
  *mask = 0;
  if (!RecorderWanted() || !Wanted("nccl") || !StartRecorder()) return nullptr;
  return g_nccl.Communicate(mask, id, rank, ranks);
}

int Init3(void** context, int* mask) {
  *context = Init(mask, 0, -1, -1);
  return kSuccess;
}
int Init4(void** context, int* mask, const char*, std::uint64_t id, int, int ranks, int rank,
          void*) {
  *context = Init(mask, id, rank, ranks);
  return kSuccess;
}
int Init5(void** context, std::uint64_t id, int* mask, const char*, int, int ranks, int rank,
          void*) {
  *context = Init(mask, id, rank, ranks);
  return kSuccess;
}

template <typename What>
std::uint64_t CommunicatorOf(const What& what, const Communicator& known) {
  if constexpr (requires { what.communicator; }) {
    return what.communicator;
  } else {
    return known.id;
  }
}

// NCCL starts parents (groups, calls of the API) too, asked for or not: they get no handle, which
// NCCL takes for "not recorded".
template <typename Descriptor>
int Start(void* context, void** handle, const Descriptor* descriptor) {
  *handle = nullptr;
  if (context == nullptr || descriptor == nullptr || !Recording()) return kSuccess;
  const auto& communicator = *static_cast<const Communicator*>(context);
  Event event{};
  event.rank = descriptor->head.rank;
  event.ranks = communicator.ranks;
  if (descriptor->head.type == kCollective) {
    const auto& what = descriptor->collective;
    event.name = Intern(what.function);
    event.type = Intern(what.type);
    event.count = what.count;
    event.sequence = static_cast<std::int64_t>(what.sequence);
    event.algorithm = Intern(what.algorithm);
    event.protocol = Intern(what.protocol);
    event.communicator = CommunicatorOf(what, communicator);
  } else if (descriptor->head.type == kPointToPoint) {
    const auto& what = descriptor->point_to_point;
    event.name = Intern(what.function);
    event.type = Intern(what.type);
    event.count = what.count;
    event.sequence = -1;
    event.communicator = CommunicatorOf(what, communicator);
  } else {
    return kSuccess;
  }
  event.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  *handle = g_nccl.Begin(event);
  return kSuccess;
}

int Stop(void* handle) {
  if (handle != nullptr) g_nccl.End(handle);
  return kSuccess;
}
int RecordState(void*, int, void*) { return kSuccess; }
int Finalize(void*) { return kSuccess; }

template <typename Init, typename Descriptor>
struct Plugin {
  const char* name;
  Init init;
  int (*start)(void* context, void** handle, const Descriptor* descriptor);
  int (*stop)(void* handle);
  int (*record_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

}  // namespace
}  // namespace hone::collect

#pragma GCC visibility push(default)
extern "C" {
using namespace hone::collect;  // NOLINT: the tables are doors of that room
extern const Plugin<decltype(&Init3), Descriptor2> ncclProfiler_v2;
extern const Plugin<decltype(&Init3), Descriptor3> ncclProfiler_v3;
extern const Plugin<decltype(&Init4), Descriptor4> ncclProfiler_v4;
extern const Plugin<decltype(&Init5), Descriptor5> ncclProfiler_v5;
const Plugin<decltype(&Init3), Descriptor2> ncclProfiler_v2 = {
    "hone", Init3, Start<Descriptor2>, Stop, RecordState, Finalize};
const Plugin<decltype(&Init3), Descriptor3> ncclProfiler_v3 = {
    "hone", Init3, Start<Descriptor3>, Stop, RecordState, Finalize};
const Plugin<decltype(&Init4), Descriptor4> ncclProfiler_v4 = {
    "hone", Init4, Start<Descriptor4>, Stop, RecordState, Finalize};
const Plugin<decltype(&Init5), Descriptor5> ncclProfiler_v5 = {
    "hone", Init5, Start<Descriptor5>, Stop, RecordState, Finalize};
}
#pragma GCC visibility pop
