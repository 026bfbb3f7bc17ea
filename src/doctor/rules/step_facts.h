// SPDX-License-Identifier: Apache-2.0
// What several rules ask about the steady steps.
#pragma once

#include "base/known.h"
#include "doctor/rule.h"

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

// Where the traces of all ranks show a straggler and this rank is not it, part of its communication
// is waiting for that rank: says so, and lowers the confidence of a finding about communication.
void NoteStraggler(const Case& the_case, Finding& finding);

// The same device's time a step, in nanoseconds; the timeline must be there.
double PerStep(const Case& the_case, Nanos in_steady_window);

}  // namespace hone::doctor
