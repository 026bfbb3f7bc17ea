// SPDX-License-Identifier: Apache-2.0
// What changed between two recordings, and where the time went. docs/user/diff.md.
//
// Times are of one step (Basis::kStep) or of one second of the recording (Basis::kSecond), in whole
// nanoseconds. Parts, phases, and operators with what is no operator's each sum exactly to the
// whole on both sides, so their changes sum exactly to its change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyze/facts.h"
#include "base/known.h"
#include "base/units.h"
#include "diff/figures.h"
#include "diff/match.h"
#include "diff/names.h"
#include "diff/noise.h"
#include "diff/setup.h"
#include "trace/trace.h"

namespace hone::diff {

enum class Basis : std::uint8_t {
  kStep,
  kSecond,  // one of the recordings has no steps
};

// Whose time is told apart.
enum class Account : std::uint8_t {
  kDevice,
  kHost,  // one of the recordings has no device work
};

struct Change {
  Nanos before_ns = 0, after_ns = 0;
  Nanos delta_ns() const { return after_ns - before_ns; }
};

enum class PartKind : std::uint8_t { kCompute, kCommunication, kCopy, kIdle, kOperators, kOther };

struct PartChange {  // "idle: waiting for data"
  std::string id;    // stable: "idle:waiting-for-data"
  std::string text;
  PartKind kind = PartKind::kOther;
  Change time;
};

struct PhaseChange {
  std::string id;  // "forward", "backward", "optimizer", "unknown"; "end": idle after all work
  Change time;     // device work launched in it, and idle time before that work
};

struct OpChange {
  StringId name = StringId::kEmpty;          // in Diff::names; empty: no operator known
  Fate fate = Fate::kKept;                   // never kReplaced
  Change time;                               // of what it launched itself, or of itself on the host
  double count_before = 0, count_after = 0;  // kernels a unit, or calls on the host
  // Where its time changed most: index into Diff::places.
  std::size_t main_place = 0;
  std::size_t places = 0;  // that are its own, on either side
};

// One line of "what did it": an idle cause or an operator. All of them sum to the change.
struct Contribution {
  bool is_op = false;
  std::size_t index = 0;  // into ops or parts
  Nanos delta_ns = 0;
};

struct Diff {
  Names names;
  Setup setup;
  Basis basis = Basis::kStep;
  std::string why_seconds;  // where basis is kSecond
  Known<StepChange> step;   // medians or means, and whether it is noise
  Account account = Account::kDevice;
  std::string why_host;                               // where account is kHost
  std::size_t devices_before = 0, devices_after = 0;  // with work; the busiest is compared
  Known<Change> total;            // mean step, time between steps included; absent: no account
  bool between_steps = false;     // worth saying
  std::vector<PartChange> parts;  // fixed order; those that are 0 on both sides left out
  Known<std::vector<PhaseChange>> phases;
  std::vector<PlaceChange> places;          // largest change first
  std::vector<OpChange> ops;                // largest change first
  std::vector<Contribution> contributions;  // largest change first, no zeros
  std::vector<Figure> figures;
};

struct Side {
  const trace::Trace& trace;  // with its rows
  const analyze::Facts& facts;
};

// Pure. Linear in the rows of both, besides sorting places.
Diff Compare(const Side& before, const Side& after);

}  // namespace hone::diff
