// SPDX-License-Identifier: Apache-2.0
// Finding: one thing that is wrong, what it costs, and what to type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/known.h"
#include "base/units.h"
#include "replay/whatif.h"

namespace hone::doctor {

enum class Severity : std::uint8_t { kInfo, kLow, kMedium, kHigh };
enum class Confidence : std::uint8_t { kLow, kMedium, kHigh };
enum class Effort : std::uint8_t { kNone, kOneWord, kOneLine, kFewLines, kRework };
const char* SeverityName(Severity severity);        // "high"
const char* ConfidenceName(Confidence confidence);  // "high"
const char* EffortName(Effort effort);              // "one line"

// Where to look. Empty strings and negative numbers: not known.
struct Place {
  std::string source;   // train.py:46
  std::string op;       // aten::item
  std::string kernel;   // name of a kernel
  std::string thread;   // "thread 1234"
  std::string step;     // "ProfilerStep#3"
  Nanos start_ns = -1;  // on the trace's clock
  Nanos duration_ns = -1;
};

// Another change that cures the same, and what it would give alone.
struct Instead {
  std::string fix;  // a word of replay::AllEdits()
  replay::Prediction predicted;
  double speedup = 1;
};

struct Finding {
  // Set by the rule.
  std::string id;     // of the rule, stable
  std::string title;  // one clause: what is wrong
  Confidence confidence = Confidence::kHigh;
  Effort effort = Effort::kOneLine;
  std::vector<std::string> evidence;  // clauses with numbers, the strongest first
  std::vector<Place> where;           // largest first, a few
  std::string remedy;                 // code a PyTorch user can paste; lines end with '\n'
  // Of `remedy`, all lines that the predicted gain takes and what comes before them; the rest are
  // alternatives and remarks. Empty: the first line that can be typed is enough.
  std::string needed;
  // How bad it is where no time can be predicted (memory, healthy). The doctor sets it from the
  // prediction where there is one.
  Severity severity = Severity::kLow;
  // Words of replay::AllEdits() that fixing it means; empty: no model predicts it.
  std::vector<std::string> fix;
  // The same words where the time is nobody's to give back (waiting for requests): nothing is
  // predicted, and findings that would only fill that time are its other faces. `fix` is empty
  // then.
  std::vector<std::string> explains;
  // What is predicted is the most that it can give back: nothing tells how much of it can go.
  bool at_most = false;
  // What the program computes is not what was meant: that comes before any gain of time.
  bool wrong_results = false;
  std::vector<Instead> instead;  // remedies beside `fix`; none is counted in what follows

  // Set by the doctor.
  Known<double> recoverable_ns;         // a step; bare step − predicted step
  Known<double> speedup;                // bare step / predicted step
  Known<replay::Prediction> predicted;  // the step with this fixed
  Known<double> speedup_after;          // on top of all findings before it
  std::vector<std::string> same_cause;  // ids of findings that are other faces of this one
};

// Whether the finding is a thing to do. The recorder's own cost and "healthy" are sentences.
bool IsAdvice(const Finding& finding);

}  // namespace hone::doctor
