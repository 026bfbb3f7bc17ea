// SPDX-License-Identifier: Apache-2.0
// The environment of a recorded program: the user's own, and what brings the recorder in.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "record/installation.h"
#include "wire/control_page.h"

namespace hone::record {

using wire::kLeastMemory, wire::kMostMemory;

// What to record. Zero or empty: the recorder's own default (wire/control_page.h).
struct RecordOptions {
  std::uint32_t steps = 30;  // steady ones of a window
  double least_seconds = 0;  // that they last together, or there are more of them
  double seconds = 0;        // longest window; 0: no limit
  bool all = false;          // one window, from start to end
  std::uint64_t every = 0;   // steps between the starts of windows; 0: one window
  std::int64_t stack_hz = -1;
  std::uint64_t memory_bytes = 0;
  std::string collect;  // comma-separated sources
};

// "NAME=value" strings.
using Variables = std::vector<std::string>;

struct Environment {
  Variables variables;
  // What stood in the way of recording: (name, why), for the run's info and for the user.
  std::vector<std::pair<std::string, std::string>> notes;
};

// The variables of this process.
Variables OwnVariables();
// The value, or null.
const char* FindVariable(const Variables& variables, std::string_view name);

// LD_PRELOAD keeps the user's libraries first, PYTHONPATH the user's folders last; a variable that
// only one tool can hold (CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH, NCCL_PROFILER_PLUGIN) stays
// the user's when it is set. HONE_* of an outer `hone run` are replaced.
Environment BuildEnvironment(const Variables& own, const Installation& installation,
                             const std::string& folder, const RecordOptions& options);

}  // namespace hone::record
