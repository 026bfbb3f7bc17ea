// SPDX-License-Identifier: Apache-2.0
#include "doctor/finding.h"

namespace hone::doctor {

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kInfo: return "info";
    case Severity::kLow: return "low";
    case Severity::kMedium: return "medium";
    case Severity::kHigh: return "high";
  }
  return "info";
}

const char* ConfidenceName(Confidence confidence) {
  switch (confidence) {
    case Confidence::kLow: return "low";
    case Confidence::kMedium: return "medium";
    case Confidence::kHigh: return "high";
  }
  return "low";
}

const char* EffortName(Effort effort) {
  switch (effort) {
    case Effort::kNone: return "none";
    case Effort::kOneWord: return "one word";
    case Effort::kOneLine: return "one line";
    case Effort::kFewLines: return "a few lines";
    case Effort::kRework: return "rework";
  }
  return "none";
}

bool IsAdvice(const Finding& finding) {
  return finding.id != "observer-effect" && finding.id != "healthy";
}

}  // namespace hone::doctor
