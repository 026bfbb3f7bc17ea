// SPDX-License-Identifier: Apache-2.0
#include "report/whatif_answer.h"

#include <algorithm>

#include "base/check.h"

namespace hone::report {
namespace {

constexpr std::string_view kObserver = "observer-effect";

Known<double> Speedup(double before_ns, double after_ns) {
  if (after_ns <= 0) return Known<double>::Absent("the predicted step has no length");
  return before_ns / after_ns;
}

FixAnswer AnswerOne(const replay::WhatIf& whatif, std::string_view id) {
  const replay::EditInfo* info = replay::FindEdit(id);
  HONE_CHECK(info != nullptr);
  FixAnswer fix;
  fix.id = info->id;
  fix.what = info->what;
  const auto& edit = whatif.Find(id);
  if (!edit) {
    fix.why_not = edit.why_not();
    fix.alone = Known<replay::Prediction>::Absent(fix.why_not);
    fix.upto = fix.alone;
    fix.speedup = Known<double>::Absent(fix.why_not);
    return fix;
  }
  fix.scope = (*edit)->Scope(whatif.model());
  const replay::Prediction alone = whatif.Predict({id});
  fix.alone = alone;
  // Every prediction is without the recorder already; what that gives back counts from the record.
  const double before = id == kObserver ? whatif.measured_ns() : whatif.bare().likely_ns;
  fix.speedup = Speedup(before, alone.likely_ns);
  return fix;
}

}  // namespace

bool WhatIfAnswer::any() const {
  return std::any_of(fixes.begin(), fixes.end(),
                     [](const FixAnswer& fix) { return fix.applies(); });
}

WhatIfAnswer AnswerWhatIf(const replay::WhatIf& whatif, const std::vector<std::string_view>& ids) {
  WhatIfAnswer answer;
  answer.measured_ns = whatif.measured_ns();
  answer.replayed_ns = whatif.replayed_ns();
  answer.error = whatif.error();
  answer.steps = whatif.model().graph().steps;
  answer.first_step = whatif.model().graph().first_step;
  answer.all_steps = whatif.model().graph().all_steps;
  answer.bare = answer.predicted = whatif.bare();
  answer.timed_steps = whatif.bare_timed();
  const auto& recorder = whatif.Find(kObserver);
  answer.recorder = recorder ? Known<std::string>((*recorder)->Scope(whatif.model()))
                             : Known<std::string>::Absent(recorder.why_not());
  std::vector<std::string_view> all;
  for (const std::string_view id : ids) {
    FixAnswer& fix = answer.fixes.emplace_back(AnswerOne(whatif, id));
    if (!fix.applies()) continue;
    all.push_back(id);
    answer.predicted = all.size() == 1 ? *fix.alone : whatif.Predict(all);
    fix.upto = answer.predicted;
  }
  answer.recoverable_ns = answer.bare.likely_ns - answer.predicted.likely_ns;
  const Known<double> speedup = Speedup(answer.bare.likely_ns, answer.predicted.likely_ns);
  answer.speedup = speedup ? *speedup : 1;
  return answer;
}

}  // namespace hone::report
