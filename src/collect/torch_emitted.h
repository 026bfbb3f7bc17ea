// SPDX-License-Identifier: Apache-2.0
// Operators by torch's own words, where its callbacks are not what the recorder expects: Python
// enters torch.autograd.profiler.emit_itt (or emit_nvtx), and torch names every operator as it
// begins. emit_itt calls torch::profiler::itt_range_push across the dynamic linker, where a
// preloaded library comes first, so no collector of Intel's is needed; emit_nvtx comes in by NVTX's
// injection. Sees the thread that entered it and the backward passes it starts, and knows neither
// shapes nor (by ITT) sequence numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/table.h"

namespace hone::collect {

// From now on what torch says are its operators; before, only passed on. Unregisters the callbacks.
void UseEmittedOperators(bool on) noexcept;
bool EmittedOperators() noexcept;

// An operator as emit_nvtx writes it: "aten::mul, seq = 3, op_id = 12, sizes = [...]".
struct EmittedName {
  std::string_view name;
  std::int64_t sequence = -1;
  bool by_torch = false;  // it has a number of torch's in it; else it is someone's own range
  wire::HostKind kind = wire::HostKind::kUser;
};
EmittedName ParseEmitted(std::string_view text) noexcept;

// Begins and ends a slice as the callbacks would. Any thread; key: who ends it.
void BeginEmitted(const void* key, const EmittedName& emitted) noexcept;
void EndEmitted(const void* key) noexcept;

}  // namespace hone::collect
