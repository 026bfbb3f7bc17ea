// SPDX-License-Identifier: Apache-2.0
// Everything that an answer of `hone diff` is written from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/trust.h"
#include "diff/diff.h"
#include "diff/gate.h"

namespace hone::report {

struct DiffSide {
  std::string name;  // as given on the command line; its last part in a stable report
  std::string path;  // of the trace that leads
  std::string format;
  std::size_t traces = 1;       // ranks that were read
  std::int64_t lead_rank = -1;  // -1: not known
  analyze::TrustFacts trust;
};

struct DiffReport {
  DiffSide before, after;
  diff::Diff diff;
  std::vector<diff::GateResult> gates;
  bool stable = false;
};

}  // namespace hone::report
