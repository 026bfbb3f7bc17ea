// SPDX-License-Identifier: Apache-2.0
#include "doctor/replay_trust.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace hone::doctor {
namespace {

// The reference traces are reproduced within 0.1 % (docs/design/predictions.md): times are set from
// the trace, and only a start that the model does not know can move them. A fifth is as much as
// most fixes give.
constexpr double kPartial = 0.03, kPoor = 0.2;

}  // namespace

void DoubtReplay(double measured_ns, double replayed_ns, analyze::TrustFacts& trust) {
  if (!(measured_ns > 0) || !std::isfinite(replayed_ns)) return;
  const double off = replayed_ns / measured_ns - 1;
  if (std::abs(off) <= kPartial) return;
  analyze::Lower(
      trust, std::abs(off) > kPoor ? analyze::Verdict::kPoor : analyze::Verdict::kPartial,
      fmt::format("the replay takes {} for the measured step of {} ({} {}); predicted gains may be "
                  "off by as much; measure a fix with hone bench before you keep it",
                  HumanDuration(std::llround(replayed_ns)),
                  HumanDuration(std::llround(measured_ns)), Percent(std::abs(off)),
                  off > 0 ? "more" : "less"));
}

}  // namespace hone::doctor
