// SPDX-License-Identifier: Apache-2.0
// Place: one kernel of one operator with one shape at one place of the program, and its time in a
// window. The times of all places sum to what the device did in it, overlap counted once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/facts.h"
#include "analyze/work_class.h"
#include "base/units.h"
#include "diff/names.h"
#include "diff/per_unit.h"
#include "trace/interval.h"
#include "trace/trace.h"

namespace hone::diff {

enum class Phase : std::uint8_t { kForward, kBackward, kOptimizer, kUnknown };
inline constexpr std::size_t kPhaseCount = 4;
const char* PhaseName(Phase phase);

struct Amount {  // of one step, or of one second
  double count = 0;
  Nanos sum_ns = 0;      // of durations
  Nanos exposed_ns = 0;  // the part that nothing counted before it covers
};

struct Place {
  PathId path = kNoPath;  // operators and annotations around the launch; the operator is the last
  StringId op = StringId::kEmpty, shape = StringId::kEmpty, kernel = StringId::kEmpty;
  analyze::WorkClass work_class = analyze::WorkClass::kCompute;
  Phase phase = Phase::kUnknown;
  trace::RowId first = trace::kNoRow;  // row of its first appearance: its position
  std::uint64_t count = 0;             // over the window
  Nanos sum_ns = 0, exposed_ns = 0;
  Amount amount;  // the same, of one unit
};

// What the names and phases of host rows are, found once per trace.
class HostPlaces {
 public:
  HostPlaces(const trace::Trace& trace, Names& pool);  // which must both outlive it

  // Operators and annotations around a row, itself included.
  PathId path(trace::RowId row) const { return path_[row]; }
  Phase phase(trace::RowId row) const { return phase_[row]; }
  // The name of that id of the trace, in the pool.
  StringId Shared(StringId own);

 private:
  const trace::Trace& trace_;
  Names& pool_;
  std::vector<PathId> path_;
  std::vector<Phase> phase_;
  std::vector<StringId> shared_;  // by id of the trace; kEmpty: not asked for yet
};

// Of the main device inside the window, by class: exposed times of a class sum to its part of
// analyze::StepSplit. Linear in rows.
std::vector<Place> DevicePlaces(const trace::Trace& trace, const analyze::Facts& facts,
                                const trace::IntervalSet& window, HostPlaces& host, PerUnit unit);

// Of operators on the host, by own time, on the threads of the process whose operators take most.
// The moment belongs to the operator that began first where threads run at the same time, and to
// the loader where that runs.
struct HostTime {
  std::vector<Place> places;
  Nanos operators_ns = 0, loader_ns = 0;  // of the window
};
HostTime OperatorPlaces(const trace::Trace& trace, const trace::IntervalSet& steps,
                        HostPlaces& host, PerUnit unit);

}  // namespace hone::diff
