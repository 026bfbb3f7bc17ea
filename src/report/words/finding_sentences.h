// SPDX-License-Identifier: Apache-2.0
// Sentences around the findings: what all of them give, what the recorder costs, that nothing is
// wrong. One line each, safe for a terminal; the writers wrap them.
#pragma once

#include <string>
#include <string_view>

#include "base/known.h"
#include "doctor/doctor.h"
#include "report/words/breakdown.h"
#include "report/words/style.h"

namespace hone::report {

const doctor::Finding* FindingById(const doctor::Diagnosis& diagnosis, std::string_view id);

// Where the sentence about the recorder's own cost stands: first only where it costs more than
// anything that surely is the program's.
enum class ObserverPlace { kNowhere, kFirst, kLast };
ObserverPlace PlaceOfObserver(const doctor::Diagnosis& diagnosis);
std::string ObserverSentence(const doctor::ReplayFacts& replay, const Style& style);

// "together: 191 → 29.1 ms a step predicted (26.0–33.1); the replay reproduces …". Needs
// replay->together.
std::string TogetherSentence(const doctor::Diagnosis& diagnosis, const Style& style);
// "half precision is left to try: 99.7 ms a step predicted (74.2–142) …". Needs replay->half.
std::string HalfSentence(const doctor::ReplayFacts& replay, const Style& style);
std::string HealthySentence(const doctor::Finding& healthy, const Style& style);
// `breakdown` names the largest idle cause.
std::string NothingSentence(const doctor::Diagnosis& diagnosis, const Known<Breakdown>& breakdown);

// "45 % of the time is spent at train.py:46 (augment) …".
std::string BusiestSentence(const doctor::BusiestLine& busiest, const Style& style);
// "one kernel takes 68 % of the device's time, and no finding is about it: …".
std::string BusiestSentence(const doctor::BusiestKernel& busiest, const Style& style);

// "train.py:46, aten::item, thread 1234, 9.00 ms".
std::string PlaceText(const doctor::Place& place, const Style& style);

}  // namespace hone::report
