// SPDX-License-Identifier: Apache-2.0
// What the doctor says of a small trace, for tests of its rules.
#pragma once

#include <string>
#include <string_view>

#include "analyze/facts.h"
#include "analyze/sketch_test.h"
#include "doctor/doctor.h"

namespace hone::doctor {

inline Diagnosis DiagnoseTrace(const trace::Trace& trace,
                               const analyze::SkewFacts* skew = nullptr) {
  const analyze::Facts facts = analyze::Analyze(trace);
  return Diagnose(trace, facts, skew);
}

inline const Finding* FindingOf(const Diagnosis& diagnosis, std::string_view id) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

// Why a rule could not look; empty: it could.
inline std::string WhyNotChecked(const Diagnosis& diagnosis, std::string_view id) {
  for (const NotChecked& rule : diagnosis.not_checked) {
    if (rule.id == id) return rule.why;
  }
  return {};
}

// A trace together with what was found in it: findings name rows of the trace.
class Look {
 public:
  explicit Look(analyze::TraceSketch sketch)
      : trace_(sketch.Finish()), found_(DiagnoseTrace(trace_)) {}

  const Finding* Find(std::string_view id) const { return FindingOf(found_, id); }

 private:
  const trace::Trace trace_;
  const Diagnosis found_;
};

}  // namespace hone::doctor
