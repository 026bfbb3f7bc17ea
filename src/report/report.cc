// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

namespace hone::report {

std::string WhyNoGain(const doctor::Diagnosis& diagnosis, const doctor::Finding& finding) {
  if (!IsAdvice(finding)) return "nothing to fix in the program";
  if (!diagnosis.replay) return diagnosis.replay.why_not();
  const std::string& why = finding.recoverable_ns.why_not();
  return why.empty() ? "no model predicts this change" : why;
}

std::string ShownPath(const Report& report, const Input& input) {
  const std::string& path = input.trace.info.path;
  if (!report.stable) return path;
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::int64_t RankNumber(const std::vector<Input>& inputs, std::size_t i) {
  const std::int64_t rank = inputs[i].trace.info.rank;
  return rank >= 0 ? rank : static_cast<std::int64_t>(i);
}

const char* GroupByName(analyze::GroupBy group_by) {
  switch (group_by) {
    case analyze::GroupBy::kName: return "name";
    case analyze::GroupBy::kNameShape: return "shape";
    case analyze::GroupBy::kStack: return "stack";
    case analyze::GroupBy::kModule: return "module";
  }
  return "name";
}

}  // namespace hone::report
