// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/sampled_pauses.h"

#include <algorithm>
#include <iterator>

namespace hone::replay {
namespace {

// Fewer could be in any function.
constexpr std::uint64_t kLeastSamples = 5;
// Of a function's samples, that must be in one that it calls for that one to be named: the rest is
// then not worth a look.
constexpr double kNearlyAll = 0.8;

const Pause* At(const std::vector<Pause>& pauses, Nanos time) {
  const auto after =
      std::upper_bound(pauses.begin(), pauses.end(), time,
                       [](Nanos at, const Pause& pause) { return at < pause.span.begin_ns; });
  if (after == pauses.begin() || std::prev(after)->span.end_ns <= time) return nullptr;
  return &*std::prev(after);
}

std::pair<StringId, std::uint64_t> Most(const std::map<StringId, std::uint64_t>& counts) {
  std::pair<StringId, std::uint64_t> most{StringId::kEmpty, 0};
  for (const auto& count : counts) {
    if (count.second > most.second) most = count;
  }
  return most;
}

}  // namespace

SampledPauses::SampledPauses(const Model& model, const std::vector<Pause>& pauses)
    : trace_(model.trace()), code_(trace_) {
  const std::uint32_t thread = model.graph().lanes[0].row;
  const trace::StackSamples& samples = trace_.samples;
  const trace::Interval& window = model.graph().window;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples.thread[i] != thread || samples.time_ns[i] < window.begin_ns ||
        samples.time_ns[i] >= window.end_ns) {
      continue;
    }
    const std::uint32_t own = code_.Own(samples.frame[i]);
    if (own != 0) ++seen_[trace_.stack_frames.place[own]];
    if (const Pause* pause = At(pauses, samples.time_ns[i])) {
      Add(*pause, own, samples.state[i] == trace::ThreadState::kWaiting);
    }
  }
}

void SampledPauses::Add(const Pause& pause, std::uint32_t own, bool waits) {
  Group& group = groups_[trace_.host.name[pause.after]];
  ++group.samples;
  if (own == 0) return;
  ++group.own;
  Count& count = group.rows[own];
  ++count.all;
  count.waiting += waits ? 1 : 0;
  ++paused_[trace_.stack_frames.place[own]];
}

// The function with most samples of its own.
SampledPauses::Choice SampledPauses::Innermost(const Group& group) const {
  std::map<StringId, std::uint64_t> functions;
  for (const auto& [row, count] : group.rows) {
    functions[trace_.stack_frames.function[row]] += count.all;
  }
  const auto most = Most(functions);
  return {most.first, most.second};
}

// The function that holds most samples, its own and those of what it calls, and that runs no
// framework; of the functions inside of it the innermost that still holds nearly all of them.
SampledPauses::Choice SampledPauses::Outermost(const Group& group) const {
  std::map<StringId, std::uint64_t> outermost;
  for (const auto& [row, count] : group.rows) {
    const std::vector<StringId> around = code_.Around(row);
    if (!around.empty()) outermost[around.front()] += count.all;
  }
  const auto most = Most(outermost);
  if (most.second == 0) return {};
  std::map<StringId, std::uint64_t> inside;
  std::map<StringId, std::size_t> depth;
  for (const auto& [row, count] : group.rows) {
    std::vector<StringId> around = code_.Around(row);
    if (around.empty() || around.front() != most.first) continue;
    for (std::size_t d = 0; d < around.size(); ++d) {
      // A function that calls itself counts once, where it was entered.
      if (std::find(around.begin(), around.begin() + static_cast<std::ptrdiff_t>(d), around[d]) !=
          around.begin() + static_cast<std::ptrdiff_t>(d)) {
        continue;
      }
      inside[around[d]] += count.all;
      depth.emplace(around[d], d);
    }
  }
  Choice choice{most.first, most.second};
  for (const auto& [function, count] : inside) {
    if (static_cast<double>(count) < kNearlyAll * static_cast<double>(most.second)) continue;
    if (depth.at(function) > depth.at(choice.function)) choice = {function, count};
  }
  return choice;
}

bool SampledPauses::Holds(StringId function, std::uint32_t row) const {
  if (trace_.stack_frames.function[row] == function) return true;
  const std::vector<StringId> around = code_.Around(row);
  return std::find(around.begin(), around.end(), function) != around.end();
}

double SampledPauses::Judge(StringId name, Hotspot& hotspot) const {
  const auto found = groups_.find(name);
  if (found == groups_.end() || found->second.samples < kLeastSamples) return 1;
  const Group& group = found->second;
  const auto share = [&](std::uint64_t part) {
    return static_cast<double>(part) / static_cast<double>(group.samples);
  };
  Choice choice = Innermost(group);
  if (const Choice holder = Outermost(group); holder.samples >= choice.samples) choice = holder;
  if (choice.samples < kLeastSamples) return 2 * group.own >= group.samples ? share(group.own) : 0;
  std::map<StringId, std::uint64_t> lines;
  std::uint64_t samples = 0, waiting = 0;
  for (const auto& [row, count] : group.rows) {
    if (!Holds(choice.function, row)) continue;
    lines[trace_.stack_frames.place[row]] += count.all;
    samples += count.all;
    waiting += count.waiting;
  }
  const auto line = Most(lines);
  // Elsewhere the line is inside operators for the most part: it calls them, and they compute.
  if (2 * paused_.at(line.first) < seen_.at(line.first)) return 0;
  hotspot.function = choice.function;
  hotspot.line = line.first;
  hotspot.line_samples = line.second;
  hotspot.function_samples = samples;
  hotspot.waiting_samples = waiting;
  hotspot.samples = group.samples;
  return share(samples);
}

}  // namespace hone::replay
