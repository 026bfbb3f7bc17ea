// SPDX-License-Identifier: Apache-2.0
#include "diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyze/step_split.h"
#include "diff/per_unit.h"
#include "diff/place.h"

namespace hone::diff {
namespace {

using analyze::StepPartKind;
using trace::Interval;

constexpr std::size_t kEnd = kPhaseCount;  // idle time after all work, among the phases

struct Part {
  std::string id, text;
  PartKind kind;
  Nanos time_ns;  // of one unit
};

// One side's account.
struct Sum {
  Nanos total_ns = 0;
  bool between_steps = false;
  std::vector<Part> parts;
  std::vector<Place> places;
  std::array<Nanos, kPhaseCount + 1> phases{};
};

PartKind KindOf(StepPartKind kind) {
  switch (kind) {
    case StepPartKind::kCompute: return PartKind::kCompute;
    case StepPartKind::kCommunication: return PartKind::kCommunication;
    case StepPartKind::kCopy: return PartKind::kCopy;
    case StepPartKind::kIdle: return PartKind::kIdle;
  }
  return PartKind::kOther;
}

Part Named(const analyze::StepPart& part) {
  const PartKind kind = KindOf(part.kind);
  switch (part.kind) {
    case StepPartKind::kCompute: return {"compute", "GPU compute", kind, 0};
    case StepPartKind::kCommunication:
      return {"communication", "communication, not hidden", kind, 0};
    case StepPartKind::kCopy: return {"copy", "copies, not hidden", kind, 0};
    case StepPartKind::kIdle: break;
  }
  if (!part.cause) return {"idle", "idle", kind, 0};
  return {fmt::format("idle:{}", analyze::IdleCauseId(*part.cause)),
          fmt::format("idle: {}", analyze::IdleCauseText(*part.cause)), kind, 0};
}

PerUnit UnitOf(const Side& side, const trace::IntervalSet& window, Basis basis) {
  if (basis == Basis::kStep) return {1, static_cast<std::int64_t>(side.facts.steps.steady_count())};
  return {kSecond, std::max<std::int64_t>(window.length(), 1)};
}

// Work by its launch; idle time by the work that ended it, which was late.
void SumPhases(const Side& side, const analyze::StepSplit& split, const HostPlaces& host,
               PerUnit unit, Sum& sum) {
  std::array<Nanos, kPhaseCount + 1> time{};
  for (const Place& place : sum.places) {
    time[static_cast<std::size_t>(place.phase)] += place.exposed_ns;
  }
  Nanos idle = split.total_ns - split.busy_ns;
  const trace::DeviceWork& work = side.trace.device;
  if (side.facts.idle) {
    for (const analyze::IdleGap& gap : side.facts.idle->gaps) {
      const Nanos inside = split.window.LengthWithin(gap.span);
      if (inside <= 0 || gap.next_work == trace::kNoRow) continue;
      const trace::RowId row = work.op[gap.next_work] != trace::kNoRow ? work.op[gap.next_work]
                                                                       : work.api[gap.next_work];
      const Phase phase = row == trace::kNoRow ? Phase::kUnknown : host.phase(row);
      time[static_cast<std::size_t>(phase)] += inside;
      idle -= inside;
    }
  }
  time[kEnd] += idle;
  Spread spread(unit);
  for (std::size_t i = 0; i < time.size(); ++i) sum.phases[i] = spread.Take(time[i]);
}

Sum SumDevice(const Side& side, Basis basis, Names& names) {
  Sum sum;
  const auto split =
      analyze::SplitStep(side.facts, basis == Basis::kStep ? analyze::StepWindow::kSteady
                                                           : analyze::StepWindow::kWhole);
  const PerUnit unit = UnitOf(side, split->window, basis);
  Spread spread(unit);
  for (const analyze::StepPart& part : split->parts) {
    Part named = Named(part);
    named.time_ns = spread.Take(part.time_ns);
    sum.total_ns += named.time_ns;
    sum.parts.push_back(std::move(named));
  }
  sum.between_steps = split->between_steps;
  HostPlaces host(side.trace, names);
  sum.places = DevicePlaces(side.trace, side.facts, split->window, host, unit);
  SumPhases(side, *split, host, unit, sum);
  return sum;
}

Sum SumHost(const Side& side, Basis basis, Names& names) {
  Sum sum;
  const trace::IntervalSet& window = side.facts.steps.host_window;
  const PerUnit unit = UnitOf(side, window, basis);
  HostPlaces host(side.trace, names);
  HostTime time = OperatorPlaces(side.trace, window, host, unit);
  sum.places = std::move(time.places);
  Spread spread(unit);
  const Nanos rest = window.length() - time.operators_ns - time.loader_ns;
  sum.parts = {
      {"operators", "operators", PartKind::kOperators, spread.Take(time.operators_ns)},
      {"waiting-for-data", "waiting for data", PartKind::kOther, spread.Take(time.loader_ns)},
      {"outside-operators", "outside operators", PartKind::kOther, spread.Take(rest)}};
  for (const Part& part : sum.parts) sum.total_ns += part.time_ns;
  return sum;
}

bool HasSteps(const Side& side) { return side.facts.steps.stats.has_value(); }

void ChooseBasis(const Side& before, const Side& after, Diff& diff) {
  const bool a = HasSteps(before), b = HasSteps(after);
  if (a && b) return;
  diff.basis = Basis::kSecond;
  diff.why_seconds = !a && !b ? "no steps in either recording"
                     : !a     ? "no steps in the first recording"
                              : "no steps in the second recording";
}

void ChooseAccount(const Side& before, const Side& after, Diff& diff) {
  const bool a = before.facts.timeline.has_value(), b = after.facts.timeline.has_value();
  if (a && b) return;
  diff.account = Account::kHost;
  diff.why_host = !a && !b ? "no device work in either recording"
                  : !a     ? "no device work in the first recording"
                           : "no device work in the second recording";
}

std::vector<Nanos> Lengths(const analyze::Steps& steps) {
  std::vector<Nanos> lengths;
  for (std::size_t i = steps.warm_up_count; i < steps.steps.size(); ++i) {
    lengths.push_back(steps.steps[i].span.length());
  }
  return lengths;
}

void SumOps(Diff& diff) {
  std::vector<std::uint32_t> slot(diff.names.pool().size(), UINT32_MAX);
  const auto at = [&](StringId name, std::size_t place) -> OpChange& {
    std::uint32_t& index = slot[static_cast<std::uint32_t>(name)];
    if (index == UINT32_MAX) {
      index = static_cast<std::uint32_t>(diff.ops.size());
      diff.ops.push_back({name, Fate::kKept, {}, 0, 0, place, 0});
    }
    return diff.ops[index];
  };
  for (std::size_t i = 0; i < diff.places.size(); ++i) {
    const PlaceChange& change = diff.places[i];
    // Where only one of the traces knows the operator, it is the same one.
    const StringId a = change.op_before, b = change.op_after;
    if (change.before.count > 0 || change.before.exposed_ns > 0) {
      OpChange& op = at(a == StringId::kEmpty ? b : a, i);
      op.time.before_ns += change.before.exposed_ns;
      op.count_before += change.before.count;
      ++op.places;
    }
    if (change.after.count > 0 || change.after.exposed_ns > 0) {
      OpChange& op = at(b == StringId::kEmpty ? a : b, i);
      op.time.after_ns += change.after.exposed_ns;
      op.count_after += change.after.count;
      if (change.fate == Fate::kAppeared || a != b) ++op.places;
    }
  }
  for (OpChange& op : diff.ops) {
    if (op.count_before == 0 && op.time.before_ns == 0) op.fate = Fate::kAppeared;
    if (op.count_after == 0 && op.time.after_ns == 0) op.fate = Fate::kVanished;
  }
  std::stable_sort(diff.ops.begin(), diff.ops.end(), [&](const OpChange& a, const OpChange& b) {
    const Nanos size_a = std::abs(a.time.delta_ns()), size_b = std::abs(b.time.delta_ns());
    if (size_a != size_b) return size_a > size_b;
    const Nanos time_a = a.time.before_ns + a.time.after_ns;
    const Nanos time_b = b.time.before_ns + b.time.after_ns;
    return time_a != time_b ? time_a > time_b : diff.names[a.name] < diff.names[b.name];
  });
}

bool IsWork(PartKind kind) { return kind != PartKind::kIdle && kind != PartKind::kOther; }

void RankContributions(Diff& diff) {
  for (std::size_t i = 0; i < diff.parts.size(); ++i) {
    if (IsWork(diff.parts[i].kind)) continue;  // told by operators
    diff.contributions.push_back({false, i, diff.parts[i].time.delta_ns()});
  }
  for (std::size_t i = 0; i < diff.ops.size(); ++i) {
    diff.contributions.push_back({true, i, diff.ops[i].time.delta_ns()});
  }
  std::erase_if(diff.contributions, [](const Contribution& c) { return c.delta_ns == 0; });
  std::stable_sort(diff.contributions.begin(), diff.contributions.end(),
                   [](const Contribution& a, const Contribution& b) {
                     return std::abs(a.delta_ns) > std::abs(b.delta_ns);
                   });
}

void JoinPhases(const Side& before, const Side& after, const Sum& a, const Sum& b, Diff& diff) {
  using Phases = std::vector<PhaseChange>;
  for (const auto& [side, which] : {std::pair(&before, "first"), std::pair(&after, "second")}) {
    if (side->facts.trust.present.ops > 0) continue;
    diff.phases = Known<Phases>::Absent(fmt::format("no operators in the {} recording", which));
    return;
  }
  Phases phases;
  for (std::size_t i = 0; i <= kPhaseCount; ++i) {
    if (a.phases[i] == 0 && b.phases[i] == 0) continue;
    phases.push_back(
        {i == kEnd ? "end" : PhaseName(static_cast<Phase>(i)), {a.phases[i], b.phases[i]}});
  }
  diff.phases = std::move(phases);
}

void JoinFigures(const Side& before, const Side& after, Diff& diff) {
  const bool by_step = diff.basis == Basis::kStep;
  diff.figures = MeasureFigures(before.trace, before.facts, by_step);
  std::vector<Figure> of_after = MeasureFigures(after.trace, after.facts, by_step);
  for (std::size_t i = 0; i < diff.figures.size(); ++i) {
    diff.figures[i].after = std::move(of_after[i].before);
  }
}

}  // namespace

Diff Compare(const Side& before, const Side& after) {
  Diff diff;
  diff.setup = CompareSetup(before.trace, before.facts, after.trace, after.facts);
  ChooseBasis(before, after, diff);
  ChooseAccount(before, after, diff);
  if (diff.basis == Basis::kStep) {
    diff.step = CompareSteps(Lengths(before.facts.steps), Lengths(after.facts.steps));
  } else {
    diff.step = Known<StepChange>::Absent(diff.why_seconds);
  }
  JoinFigures(before, after, diff);
  if (before.facts.timeline) diff.devices_before = before.facts.timeline->devices.size();
  if (after.facts.timeline) diff.devices_after = after.facts.timeline->devices.size();
  const bool device = diff.account == Account::kDevice;
  const Sum a =
      device ? SumDevice(before, diff.basis, diff.names) : SumHost(before, diff.basis, diff.names);
  const Sum b =
      device ? SumDevice(after, diff.basis, diff.names) : SumHost(after, diff.basis, diff.names);
  diff.total = Change{a.total_ns, b.total_ns};
  diff.between_steps = a.between_steps || b.between_steps;
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    const Part& part = a.parts[i];
    if (part.time_ns == 0 && b.parts[i].time_ns == 0) continue;
    diff.parts.push_back({part.id, part.text, part.kind, {part.time_ns, b.parts[i].time_ns}});
  }
  if (device) {
    JoinPhases(before, after, a, b, diff);
  } else {
    diff.phases = Known<std::vector<PhaseChange>>::Absent(diff.why_host);
  }
  diff.places = MatchPlaces(a.places, b.places, diff.names);
  SumOps(diff);
  RankContributions(diff);
  return diff;
}

}  // namespace hone::diff
