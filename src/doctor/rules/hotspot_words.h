// SPDX-License-Identifier: Apache-2.0
// Words of python-hotspot for what is no plain code: loops of operators, and waiting.
#pragma once

#include <string_view>

#include "doctor/rule.h"
#include "replay/edits/python_hotspot.h"

namespace hone::doctor {

// Title, place, evidence and remedy of the same operators over and over.
void NameLoop(const Case& the_case, const replay::OperatorLoop& loop, Finding& finding);

// The same of what operators compute beside the model.
void NameBeside(const Case& the_case, const replay::UserOperators& beside, Finding& finding);

// A program that trains decides itself when it goes on; one that serves may have nothing to do.
bool MayIdle(const Case& the_case);
// At most one such pause an iteration, so between iterations, as far as anybody can tell.
bool OnceAStep(const Case& the_case, const replay::Hotspot& hotspot);

// A server between requests. What it waits in is not what ends the wait, so it is not called a
// fault, and not sworn to be none.
void NameIdle(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding);
// Of a training that waits: somebody's work, and not this function's. `who`: of the title.
void NameWait(const Case& the_case, const replay::Hotspot& hotspot, std::string_view who,
              Finding& finding);
// Nothing in the program gives this time back, as far as the trace can tell. `why`: a clause.
void SellNothing(const char* why, Finding& finding);

}  // namespace hone::doctor
