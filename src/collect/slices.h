// SPDX-License-Identifier: Apache-2.0
// Slices: spans of work on the program's threads, from operators and from marks. Begin and End are
// the hot path of the recorder: one clock read each, no lock, no allocation.
#pragma once

#include "collect/thread_state.h"

namespace hone::collect {

// `key`: what End will name; null for regions, which end in order.
OpenSlice* BeginSlice(ThreadState& state, const void* key, std::uint32_t name, wire::HostKind kind,
                      std::int64_t sequence, std::uint32_t frame) noexcept;
// The record that was written, by its name; kUnnamed when there was nothing to end.
std::uint32_t EndSlice(ThreadState& state, const void* key) noexcept;

// For marks from the program itself. Any thread, any time.
void RegionBegin(const char* name, wire::HostKind kind) noexcept;
void RegionEnd() noexcept;

// When the first slice (or kernel, by NoteBusy) of this window was seen, in ticks; 0: none yet.
std::uint64_t BusySince() noexcept;
void NoteBusy(std::uint64_t ticks) noexcept;
void ForgetBusy() noexcept;
// Slices that ended on another thread than they began on, or deeper than we follow; since last
// time.
std::uint64_t TakeUnmatched() noexcept;

// A slice of this name marks a step when it ends; looked up once a name.
enum class NameRole : std::uint8_t { kUnknown, kPlain, kOptimizerStep, kLoaderNext };
NameRole RoleOf(std::uint32_t name) noexcept;

}  // namespace hone::collect
