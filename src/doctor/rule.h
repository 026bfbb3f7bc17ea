// SPDX-License-Identifier: Apache-2.0
// Rule: looks at one case and judges one thing. One file each under rules/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "analyze/comm.h"
#include "analyze/facts.h"
#include "doctor/finding.h"
#include "replay/whatif.h"
#include "trace/trace.h"

namespace hone::doctor {

// What a rule may look at.
struct Case {
  const trace::Trace& trace;
  const analyze::Facts& facts;
  const replay::WhatIf* whatif = nullptr;  // null: nothing to replay, why_no_replay says why
  std::string why_no_replay;
  const analyze::SkewFacts* skew = nullptr;  // several ranks only

  // Mean length of a steady step as recorded; 0 without steps.
  double step_ns() const;
  std::size_t steps() const { return facts.steps.steady_count(); }
};

// A rule fires, or looked and found nothing, or lacks the data to look.
class Judgement {
 public:
  static Judgement Fires(Finding finding) { return Judgement(kFires, {}, std::move(finding)); }
  static Judgement Quiet() { return Judgement(kQuiet, {}, {}); }
  // `why`: lower-case clause that ends with the way out: "no shapes in this trace; record with
  // record_shapes=True".
  static Judgement Missing(std::string why) { return Judgement(kMissing, std::move(why), {}); }

  bool fires() const { return kind_ == kFires; }
  bool missing() const { return kind_ == kMissing; }
  const std::string& why_missing() const { return why_; }
  Finding& finding() { return finding_; }

 private:
  enum Kind : std::uint8_t { kQuiet, kFires, kMissing };
  Judgement(Kind kind, std::string why, Finding finding)
      : kind_(kind), why_(std::move(why)), finding_(std::move(finding)) {}

  Kind kind_;
  std::string why_;
  Finding finding_;
};

struct RuleInfo {
  const char* id;
  const char* what;  // one clause, for `hone help rules` and the page docs/user/rules/<id>.md
  Judgement (*judge)(const Case& the_case);
};

// In no particular order of importance: findings are ranked by what they give back.
std::span<const RuleInfo> AllRules();

}  // namespace hone::doctor
