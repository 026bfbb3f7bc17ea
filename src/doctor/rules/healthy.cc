// SPDX-License-Identifier: Apache-2.0
// healthy: nothing found is worth the work, and what the next ceiling is.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/rank.h"
#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

std::string Ceiling(const Case& the_case) {
  if (!the_case.facts.timeline) return "the host's own operators; --table ops lists them";
  const analyze::TimelineSplit& steady = the_case.facts.timeline->main_device().steady;
  const double busy = steady.total_ns > 0 ? 100.0 * static_cast<double>(steady.busy_ns) /
                                                static_cast<double>(steady.total_ns)
                                          : 0;
  std::string text = fmt::format("the device itself, busy {:.0f} % of a step", busy);
  if (!the_case.facts.efficiency || the_case.facts.efficiency->families.empty()) return text;
  const analyze::FamilyRow& most = the_case.facts.efficiency->families.front();
  return text + fmt::format(", {:.0f} % of its kernel time in {} kernels", 100 * most.share,
                            analyze::FamilyName(most.family));
}

}  // namespace

Judgement JudgeHealthy(const Case& the_case, const std::vector<Finding>& others) {
  const bool worse = std::any_of(others.begin(), others.end(), [](const Finding& finding) {
    return finding.severity >= Severity::kMedium;
  });
  if (worse) return Judgement::Quiet();
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  Finding finding;
  finding.id = "healthy";
  finding.severity = Severity::kInfo;
  finding.effort = Effort::kNone;
  finding.title = "nothing here is worth changing first";
  finding.evidence.push_back("next ceiling: " + Ceiling(the_case));
  finding.remedy =
      "# next: less work or faster hardware; hone whatif --list shows what can still be asked\n";
  finding.recoverable_ns = 0.0;
  finding.speedup = 1.0;
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
