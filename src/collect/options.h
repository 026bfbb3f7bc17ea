// SPDX-License-Identifier: Apache-2.0
// Options: what `hone run` asked of this process (environment: wire/control_page.h). Read once,
// when the library is loaded; later changes of the environment do not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hone::collect {

struct Options {
  char folder[3072] = {};             // empty: record nothing
  char collect[256] = {};             // empty: everything
  std::uint32_t steps = 30;           // steady ones of a window
  double least_seconds = 0;           // that they must last together
  double seconds = 0;                 // of a window; 0: no limit
  std::uint32_t every = 0;            // steps between the starts of windows; 0: one window
  double seconds_without_steps = 30;  // of a program that makes none
  bool all = false;
  std::size_t memory_bytes = std::size_t{64} << 20;
  std::uint32_t stack_hz = 100;
};

const Options& GetOptions() noexcept;
void ReadOptions() noexcept;  // once, before anything else

}  // namespace hone::collect
