// SPDX-License-Identifier: Apache-2.0
// Report: everything an answer is written from. Writers (text, JSON, CSV) read it and nothing else.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/compat.h"
#include "analyze/facts.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::report {

struct Input {             // one trace file
  trace::Trace trace;      // rows may have been released; strings, devices and info stay
  analyze::Facts facts;
};

struct Report {
  std::vector<Input> inputs;            // by rank, then path
  std::size_t lead = 0;                 // the one that leads: the slowest rank's median step
  Known<analyze::SkewFacts> skew;       // several ranks only
  const Input& leading() const { return inputs[lead]; }
};

}  // namespace hone::report
