// SPDX-License-Identifier: Apache-2.0
// Words and colours for single findings, wherever they are shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/doctor.h"
#include "report/words/style.h"

namespace hone::report {

inline constexpr std::size_t kNumberWidth = 3;  // of the number before a finding

const char* EffortText(doctor::Effort effort);  // "1 line"
Tone ToneOf(doctor::Severity severity);

// "1.4x", or "1.4x, 1.9x after 1" where the findings above change it; "12.3 ms" or "-" where no
// model predicts it. `number`: its place in the list, from 1.
std::string GainText(const doctor::Finding& finding, std::size_t number, const Style& style);

// What to do, in order: without the sentences (IsAdvice).
std::vector<const doctor::Finding*> Advice(const doctor::Diagnosis& diagnosis);

// A line of code, safe for the terminal, with its indentation; cut at the end, where least is lost.
std::string CodeLine(std::string_view line, std::size_t width, const Style& style);
std::vector<std::string> LinesOf(std::string_view text);

// "1.4 %", and at least 0.1 %: how near the replay comes to the measured step.
std::string WithinText(double error);

}  // namespace hone::report
