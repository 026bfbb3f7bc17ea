// SPDX-License-Identifier: Apache-2.0
// Holes: time between steps that is nobody's. Two cycles of a profiler in one file, a step whose
// mark was lost, a mark that ends long after everything that was recorded.
#include <algorithm>

#include "analyze/step_source.h"
#include "base/median.h"
#include "base/torch_scope.h"
#include "trace/interval.h"

namespace hone::analyze {
namespace {

using trace::Interval;
using trace::IntervalSet;
using trace::RowId;

// A stretch of five steps that is a third of everything is no part of the program's pace, where
// nothing at all was recorded in it; a stall in which something was recorded is a finding.
constexpr double kApartShare = 0.3;
constexpr Nanos kApartSteps = 5;
// Steps of one kind differ by less: a mark of this length that nothing outlives has a wrong end.
constexpr Nanos kEndlessSteps = 20;
// A few numbers of ten that do not follow: steps that are missing. More: numbers of something else.
constexpr double kOddNumbers = 0.3;
constexpr std::size_t kFewest = 3;  // of two steps nobody can say which is the odd one

bool OfProfiler(const Step& step) { return step.name.starts_with(kProfilerStep); }

// By how much the numbers of neighbours differ; 0 where that cannot be said. A program that numbers
// its own steps may count samples, or mark every tenth, and one difference may be odd (the last
// batch, the last step); where many are, its numbers count something else.
std::int64_t Stride(const std::vector<Step>& steps) {
  std::vector<std::int64_t> apart;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    // Numbers that stay or go back say nothing about the stride.
    if (steps[i].number > steps[i - 1].number) {
      apart.push_back(steps[i].number - steps[i - 1].number);
    }
  }
  std::sort(apart.begin(), apart.end());
  std::int64_t stride = 0;
  std::size_t most = 0;
  for (auto at = apart.begin(); at != apart.end();) {
    const auto next = std::upper_bound(at, apart.end(), *at);
    const auto times = static_cast<std::size_t>(next - at);
    if (times > most) {
      most = times;
      stride = *at;
    }
    at = next;
  }
  const double odd = static_cast<double>(apart.size() - most);
  return odd > kOddNumbers * static_cast<double>(apart.size()) ? 0 : stride;
}

// ProfilerStep and hone.step() count calls. Where their numbers begin anew and no step has room in
// between, the program began to count again; else another recording did.
bool CallsApart(const Step& a, const Step& b, Nanos median_length) {
  if (b.number > a.number) return b.number != a.number + 1;
  return b.span.begin_ns - a.span.end_ns >= median_length;
}

void CompareNumbers(StepSource source, std::vector<Step>& steps) {
  const bool calls = source == StepSource::kMark || OfProfiler(steps[0]);
  const std::int64_t stride = calls ? 1 : Stride(steps);
  if (stride == 0) return;
  std::vector<Nanos> lengths;
  for (const Step& step : steps) lengths.push_back(step.span.length());
  const Nanos median = UpperMedian(std::move(lengths));
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const Step &a = steps[i - 1], &b = steps[i];
    const bool apart = calls ? CallsApart(a, b, median) : (b.number - a.number) / 2 >= stride;
    if (apart && b.span.begin_ns > a.span.end_ns) steps[i].before = Before::kOtherSteps;
  }
}

// The longest stretch of `inside` that nothing covers which began in it: operators, calls, frames,
// samples, work of a device. What began earlier (the loop, the step's own mark) says nothing.
Nanos LongestUnrecorded(const trace::Trace& trace, Interval inside) {
  std::vector<Interval> seen;
  const auto add = [&](Nanos begin, Nanos end) {
    if (end > inside.begin_ns && begin < inside.end_ns) seen.push_back({begin, end});
  };
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (trace.host.start_ns[i] > inside.begin_ns) add(trace.host.start_ns[i], trace.host.end_ns(i));
  }
  for (RowId i = 0; i < trace.device.size(); ++i) {
    add(trace.device.start_ns[i], trace.device.end_ns(i));
  }
  for (RowId i = 0; i < trace.samples.size(); ++i) {
    add(trace.samples.time_ns[i], trace.samples.time_ns[i] + trace.samples.period_ns[i]);
  }
  Nanos longest = 0;
  for (const Interval& gap : trace::Complement(IntervalSet::Union(std::move(seen)), inside)) {
    longest = std::max(longest, gap.length());
  }
  return longest;
}

class EmptyStretches {
 public:
  EmptyStretches(const trace::Trace& trace, const std::vector<Step>& steps) : trace_(trace) {
    std::vector<Nanos> lengths, paces;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      lengths.push_back(steps[i].span.length());
      total_ns_ += steps[i].span.length();
      if (i == 0 || steps[i].before != Before::kNeighbour) continue;
      paces.push_back(steps[i].span.begin_ns - steps[i - 1].span.begin_ns);
      total_ns_ += steps[i].span.begin_ns - steps[i - 1].span.end_ns;
    }
    median_length_ = UpperMedian(lengths);
    median_pace_ = paces.empty() ? median_length_ : UpperMedian(std::move(paces));
  }

  bool Long(const Step& step) const { return Odd(step.span.length(), median_length_); }
  // A mark that goes on for ever. Whatever ends with it or after it saw the program stall.
  bool Endless(const Step& step) const {
    return step.span.length() >= kEndlessSteps * median_length_ &&
           Within(step.span, median_length_) && !AnythingAtOrAfter(step);
  }
  bool Between(const Step& a, const Step& b) const {
    return Within({a.span.end_ns, b.span.begin_ns}, median_pace_);
  }

 private:
  bool Within(Interval inside, Nanos usual) const {
    return Odd(inside.length(), usual) && Odd(LongestUnrecorded(trace_, inside), usual);
  }
  // At most three stretches of a trace are, so that each may look at all rows.
  bool Odd(Nanos length, Nanos usual) const {
    return length >= kApartSteps * usual &&
           static_cast<double>(length) >= kApartShare * static_cast<double>(total_ns_);
  }

  // But for the mark itself and its copies.
  bool AnythingAtOrAfter(const Step& step) const {
    const Nanos end = step.span.end_ns;
    for (RowId i = 0; i < trace_.host.size(); ++i) {
      const bool mark = trace_.host.end_ns(i) == end && trace_.HostName(i) == step.name;
      if (trace_.host.end_ns(i) >= end && !mark) return true;
    }
    for (RowId i = 0; i < trace_.device.size(); ++i) {
      if (trace_.device.end_ns(i) >= end) return true;
    }
    return std::any_of(trace_.samples.time_ns.begin(), trace_.samples.time_ns.end(),
                       [&](Nanos time) { return time >= end; });
  }

  const trace::Trace& trace_;
  Nanos total_ns_ = 0, median_length_ = 0, median_pace_ = 0;
};

// Between two marks of torch.profiler lies nothing, as one call ends the one and begins the other:
// a stretch without records is a hole of the recording. Between labels of the program it may be a
// checkpoint that nobody sees, and inside a step it is one. Only a last mark that goes on for ever
// has a wrong end.
void FindEmpty(const trace::Trace& trace, std::vector<Step>& steps, std::vector<StepHole>& holes) {
  if (steps.size() < kFewest) return;
  const EmptyStretches empty(trace, steps);
  // Long steps at the front are warm-up: nothing is recorded while a program is compiled.
  std::size_t first = 0;
  while (first < steps.size() && empty.Long(steps[first])) ++first;
  for (std::size_t i = first + 1; i < steps.size() && OfProfiler(steps[0]); ++i) {
    if (steps[i].before != Before::kNeighbour) continue;
    if (empty.Between(steps[i - 1], steps[i])) steps[i].before = Before::kNothing;
  }
  if (first + 1 < steps.size() && empty.Endless(steps.back())) {
    const Step last = std::move(steps.back());
    steps.pop_back();
    holes.push_back(
        {Before::kNothing, steps.back().name, "", last.span.end_ns - steps.back().span.end_ns});
  }
}

}  // namespace

std::vector<StepHole> FindHoles(const trace::Trace& trace, StepSource source,
                                std::vector<Step>& steps) {
  if (steps.size() < 2) return {};
  if (source == StepSource::kMark || source == StepSource::kProfilerStep) {
    CompareNumbers(source, steps);
  }
  std::vector<StepHole> open_end, holes;
  if (source == StepSource::kProfilerStep) FindEmpty(trace, steps, open_end);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].before == Before::kNeighbour) continue;
    holes.push_back({steps[i].before, steps[i - 1].name, steps[i].name,
                     steps[i].span.begin_ns - steps[i - 1].span.end_ns});
  }
  holes.insert(holes.end(), open_end.begin(), open_end.end());
  return holes;
}

}  // namespace hone::analyze
