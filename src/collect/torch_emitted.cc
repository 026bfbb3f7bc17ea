// SPDX-License-Identifier: Apache-2.0
#include "collect/torch_emitted.h"

#include <algorithm>
#include <atomic>
#include <charconv>

#include "collect/names.h"
#include "collect/python_frames.h"
#include "collect/recorder.h"
#include "collect/slices.h"
#include "collect/source.h"
#include "collect/torch_library.h"
#include "collect/torch_ops.h"

namespace hone::collect {
namespace {

std::atomic<bool> g_emitted{false};
const char g_itt = 0;  // its address is the key of slices that come by ITT

// Backward functions are named after their class: "AddmmBackward0", "torch::autograd::CopySlices".
wire::HostKind KindOf(std::string_view name) {
  if (name.starts_with("torch::autograd::")) return wire::HostKind::kBackward;
  if (name.find("::") != std::string_view::npos) return wire::HostKind::kOp;
  const std::size_t end = name.find_last_not_of("0123456789");
  const std::string_view stem = name.substr(0, end == std::string_view::npos ? 0 : end + 1);
  // In-place views of tensors are dispatched without a namespace of their own.
  if (name == "detach" || name == "detach_") return wire::HostKind::kOp;
  return stem.ends_with("Backward") ? wire::HostKind::kBackward : wire::HostKind::kUser;
}

}  // namespace

void UseEmittedOperators(bool on) noexcept {
  if (on) TorchLetGo();
  g_emitted.store(on, std::memory_order_release);
}
bool EmittedOperators() noexcept { return g_emitted.load(std::memory_order_relaxed); }

EmittedName ParseEmitted(std::string_view text) noexcept {
  EmittedName emitted;
  constexpr std::string_view kSequence = ", seq = ", kId = ", op_id = ";
  const std::size_t sequence = text.find(kSequence), id = text.find(kId);
  if (sequence != std::string_view::npos) {
    const char* const from = text.data() + sequence + kSequence.size();
    std::from_chars(from, text.data() + text.size(), emitted.sequence);
  }
  emitted.by_torch = sequence != std::string_view::npos || id != std::string_view::npos;
  emitted.name = text.substr(0, std::min({sequence, id, text.size()}));
  emitted.kind = KindOf(emitted.name);
  return emitted;
}

void BeginEmitted(const void* key, const EmittedName& emitted) noexcept {
  if (!RecorderStarted() && !(RecorderWanted() && StartRecorder())) return;
  const Guest guest(GetThreadState());
  if (!guest) return;
  ThreadState& state = *t_state;
  const bool outermost = emitted.kind == wire::HostKind::kUser || state.op_depth == 0;
  // Also between windows: an end must find its own beginning.
  BeginSlice(state, key, InternName(emitted.name), emitted.kind, emitted.sequence,
             Recording() && outermost ? FrameHere() : 0);
}

void EndEmitted(const void* key) noexcept {
  if (t_state == nullptr) return;
  std::uint32_t name = kUnnamed;
  {
    const Guest guest(t_state);
    if (guest) name = EndSlice(*t_state, key);
  }
  if (name != kUnnamed) TorchEnded(name);
}

}  // namespace hone::collect

// The two functions that torch calls, under their own names.
#pragma GCC visibility push(default)
namespace torch::profiler {

void itt_range_push(const char* text);
void itt_range_push(const char* text) {
  using namespace hone::collect;  // NOLINT: this file is one of its doors
  static Original<void(const char*)> original("libtorch_cpu.so",
                                              "_ZN5torch8profiler14itt_range_pushEPKc");
  if (auto* const theirs = original.Get()) theirs(text);
  if (EmittedOperators() && text != nullptr) {
    const std::string_view name(text);
    BeginEmitted(&g_itt, {name, -1, true, KindOf(name)});
  }
}

void itt_range_pop();
void itt_range_pop() {
  using namespace hone::collect;  // NOLINT: this file is one of its doors
  static Original<void()> original("libtorch_cpu.so", "_ZN5torch8profiler13itt_range_popEv");
  if (EmittedOperators()) EndEmitted(&g_itt);
  if (auto* const theirs = original.Get()) theirs();
}

}  // namespace torch::profiler
#pragma GCC visibility pop
