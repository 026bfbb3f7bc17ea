// SPDX-License-Identifier: Apache-2.0
// What is not the same about two recordings before any time is compared.
#pragma once

#include <string>
#include <vector>

#include "analyze/facts.h"
#include "trace/trace.h"

namespace hone::diff {

struct SetupDifference {
  std::string id;             // stable: "device", "recorder", "cuda_runtime"
  std::string what;           // "device"
  std::string before, after;  // never empty: what is not in the file does not count
  std::string so;             // why it matters, a clause; may be empty
};

struct Setup {
  std::vector<SetupDifference> differences;  // those that matter most first
  std::vector<std::string> same;             // recorder and devices, where both have the same
};

Setup CompareSetup(const trace::Trace& trace_before, const analyze::Facts& facts_before,
                   const trace::Trace& trace_after, const analyze::Facts& facts_after);

}  // namespace hone::diff
