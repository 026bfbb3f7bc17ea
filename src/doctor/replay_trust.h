// SPDX-License-Identifier: Apache-2.0
// What a replay that does not reproduce the measured step says about everything predicted from it.
#pragma once

#include "analyze/trust.h"

namespace hone::doctor {

// Lowers the trust where the replayed step is further from the measured one than predictions may
// be off. Times of one step, in nanoseconds.
void DoubtReplay(double measured_ns, double replayed_ns, analyze::TrustFacts& trust);

}  // namespace hone::doctor
