// SPDX-License-Identifier: Apache-2.0
// Trust: how far the answers below hold, and why. docs/user/trust.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/steps.h"
#include "analyze/timeline.h"
#include "base/known.h"
#include "base/loss.h"
#include "trace/trace.h"

namespace hone::analyze {

enum class Verdict : std::uint8_t { kGood, kPartial, kPoor };
const char* VerdictName(Verdict verdict);

struct TrustReason {
  Verdict lowers_to = Verdict::kPartial;
  std::string text;  // one clause with both numbers and the way out
};

struct InputPresence {          // counts of what the file holds
  std::uint64_t processes = 0;  // with host activity; recorders also name one for every device
  std::uint64_t ops = 0, annotations = 0, api_calls = 0, python = 0, os_calls = 0;
  std::uint64_t kernels = 0, copies = 0, sets = 0, graphs = 0;
  std::uint64_t memory_events = 0, counters = 0, syncs = 0, flows = 0;
  bool shapes = false, stacks = false, modules = false;
};

struct LossRow {
  LossKind kind = LossKind::kUnknownEvent;
  std::uint64_t count = 0;
  Known<double> time_share;  // of device time, where the loss has a time
  std::string detail;
};

struct TrustFacts {
  Verdict verdict = Verdict::kGood;
  std::vector<TrustReason> reasons;  // worst first; empty when good
  InputPresence present;
  std::vector<LossRow> losses;  // worst severity first
  std::size_t steps = 0, steady_steps = 0;
  bool warm_up_inside = false;  // warm-up steps are in the file (and were left out)
};

// Adds a reason in its place, and lowers the verdict where it is worse.
void Lower(TrustFacts& trust, Verdict lowers_to, std::string text);

TrustFacts JudgeTrust(const trace::Trace& trace, const Steps& steps,
                      const Known<Timeline>& timeline);

}  // namespace hone::analyze
