// SPDX-License-Identifier: Apache-2.0
// What several rules ask about the steady steps.
#pragma once

#include "base/known.h"
#include "doctor/rule.h"
#include "replay/edits/comm_exposure.h"

namespace hone::doctor {

// Whether the steady steps hold a backward pass or an optimizer: operators of autograd's engine,
// operators that carry the thread of their forward, "…Backward…", "Optimizer.step". Linear.
bool Trains(const Case& the_case);

// Compute on the leading device over the step without the recorder, 0 … 1. What is left is the
// host, the loader, copies and communication. Absent without device work or without a replay.
Known<double> ComputeShare(const Case& the_case);

// For rules about communication where facts.comm is absent: quiet, because a job of one process has
// nothing to wait for; missing where collectives were launched and their kernels not recorded.
Judgement JudgeWithoutCollectives(const Case& the_case);

// For rules about memory where facts.memory is absent: why, and how to record it.
Judgement JudgeWithoutMemory(const Case& the_case);

// For findings about communication: what of it is waiting for other ranks and counted under
// straggler, and where that cannot be told, why; lowers the confidence accordingly.
void NoteWaits(const Case& the_case, const replay::CommExposure& exposure, Finding& finding);

// Whether the model is wrapped so: torch marks every forward pass of it.
bool WrappedInDdp(const trace::Trace& trace);
bool WrappedInFsdp(const trace::Trace& trace);

// The same device's time a step, in nanoseconds; the timeline must be there.
double PerStep(const Case& the_case, Nanos in_steady_window);

}  // namespace hone::doctor
