// SPDX-License-Identifier: Apache-2.0
// Report: everything an answer is written from. Writers (text, JSON, CSV) read it and nothing else.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analyze/compat.h"
#include "analyze/facts.h"
#include "base/known.h"
#include "doctor/doctor.h"
#include "trace/trace.h"

namespace hone::report {

struct Input {         // one trace file
  trace::Trace trace;  // rows may have been released; strings, devices and info stay
  analyze::Facts facts;
  std::optional<analyze::TraceLensFacts> tracelens;  // where asked for
  std::optional<analyze::HtaFacts> hta;
};

struct Report {
  std::vector<Input> inputs;           // by rank, then path; never empty
  std::size_t lead = 0;                // the one that leads: the slowest rank's median step
  Known<analyze::SkewFacts> skew;      // several ranks only
  Known<doctor::Diagnosis> diagnosis;  // of the leading input
  analyze::GroupBy group_by = analyze::GroupBy::kName;
  std::vector<std::string> asked;  // paths as they were typed
  bool stable = false;  // leave out what changes from run to run: folders and our own version
  const Input& leading() const { return inputs[lead]; }
};

// Why nothing says what the finding gives back.
std::string WhyNoGain(const doctor::Diagnosis& diagnosis, const doctor::Finding& finding);

// The file as shown: without folders in a stable report.
std::string ShownPath(const Report& report, const Input& input);

// The rank as the file says; where it does not, the place among the inputs: findings and tables
// name ranks by the same number.
std::int64_t RankNumber(const std::vector<Input>& inputs, std::size_t i);

const char* GroupByName(analyze::GroupBy group_by);

}  // namespace hone::report
