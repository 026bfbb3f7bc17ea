// SPDX-License-Identifier: Apache-2.0
#include "collect/slices.h"

#include "base/torch_scope.h"
#include "collect/clock.h"
#include "collect/names.h"
#include "collect/python_frames.h"
#include "collect/recorder.h"
#include "collect/source.h"

namespace hone::collect {
namespace {

std::atomic<std::uint64_t> g_busy_since{0};
std::atomic<std::uint64_t> g_unmatched{0};
std::atomic<NameRole> g_roles[1u << 16];

bool IsOperator(wire::HostKind kind) {
  return kind == wire::HostKind::kOp || kind == wire::HostKind::kBackward;
}

void Record(ThreadState& state, const OpenSlice& slice, std::uint64_t end) {
  state.last_name = NameText(slice.name).data();
  if (state.own) return;
  if (state.host == nullptr) state.host = g_host_log.Claim(state.tid);
  HostRecord* record = g_host_log.Place(state.host, state.tid);
  if (record == nullptr) return;
  record->start = slice.start;
  record->end = end;
  record->sequence = slice.sequence;
  record->name = slice.name;
  record->frame = slice.frame;
  record->arguments = slice.arguments;
  record->forward_tid = 0;
  record->kind = slice.kind;
  g_host_log.Commit(state.host);
}

}  // namespace

OpenSlice* BeginSlice(ThreadState& state, const void* key, std::uint32_t name, wire::HostKind kind,
                      std::int64_t sequence, std::uint32_t frame) noexcept {
  const std::uint32_t depth = state.depth++;
  if (IsOperator(kind)) ++state.op_depth;
  if (depth >= ThreadState::kDeepest) return nullptr;
  OpenSlice& slice = state.open[depth];
  slice = {key, 0, sequence, name, frame, 0, kind};
  slice.start = Ticks();  // last: what we did before is not the slice's
  if (__builtin_expect(g_busy_since.load(std::memory_order_relaxed) == 0, 0)) {
    g_busy_since.store(slice.start, std::memory_order_relaxed);
  }
  return &slice;
}

std::uint32_t EndSlice(ThreadState& state, const void* key) noexcept {
  const std::uint64_t end = Ticks();
  if (state.depth > ThreadState::kDeepest) {  // too deep to have been kept
    --state.depth;
    if (state.op_depth > 0) --state.op_depth;
    g_unmatched.fetch_add(1, std::memory_order_relaxed);
    return kUnnamed;
  }
  std::uint32_t at = state.depth;
  while (at > 0 && state.open[at - 1].key != key) --at;
  if (at == 0) {  // began before the window, before a fork, or on another thread
    g_unmatched.fetch_add(1, std::memory_order_relaxed);
    return kUnnamed;
  }
  // Slices above it never saw their end: an exception went by, or they end on another thread.
  for (; state.depth > at; --state.depth) {
    if (IsOperator(state.open[state.depth - 1].kind)) --state.op_depth;
    g_unmatched.fetch_add(1, std::memory_order_relaxed);
  }
  const OpenSlice& slice = state.open[--state.depth];
  if (IsOperator(slice.kind)) --state.op_depth;
  if (Recording()) Record(state, slice, end);
  return slice.name;
}

void RegionBegin(const char* name, wire::HostKind kind) noexcept {
  // Also between windows: an end must find its own beginning.
  if (!RecorderStarted() || name == nullptr) return;
  const Guest guest(GetThreadState());
  if (guest) BeginSlice(*t_state, nullptr, InternName(name), kind, -1, FrameHere());
}

void RegionEnd() noexcept {
  if (t_state == nullptr) return;
  std::uint32_t name = kUnnamed;
  {
    const Guest guest(t_state);
    if (guest) name = EndSlice(*t_state, nullptr);
  }
  // Of torch's own marks the operators' source knows it (torch_ops.cc).
  if (name != kUnnamed && RoleOf(name) == NameRole::kOptimizerStep) NoteStep(StepSign::kOptimizer);
}

std::uint64_t BusySince() noexcept { return g_busy_since.load(std::memory_order_relaxed); }
void NoteBusy(std::uint64_t ticks) noexcept {
  std::uint64_t none = 0;
  g_busy_since.compare_exchange_strong(none, ticks, std::memory_order_relaxed);
}
void ForgetBusy() noexcept { g_busy_since.store(0, std::memory_order_relaxed); }
std::uint64_t TakeUnmatched() noexcept { return g_unmatched.exchange(0); }

NameRole RoleOf(std::uint32_t name) noexcept {
  std::atomic<NameRole>& role = g_roles[name & 0xFFFF];
  const NameRole known = role.load(std::memory_order_relaxed);
  if (known != NameRole::kUnknown) return known;
  const std::string_view text = NameText(name);
  const NameRole found = text.starts_with(kOptimizerStep)    ? NameRole::kOptimizerStep
                         : text.starts_with(kDataLoaderNext) ? NameRole::kLoaderNext
                                                             : NameRole::kPlain;
  role.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace hone::collect
