// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/sampled_pauses.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

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
  // Samples at a line of the user's, wherever they are; of them inside a framework that it calls.
  std::map<StringId, std::uint64_t> seen, called;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples.thread[i] != thread || samples.time_ns[i] < window.begin_ns ||
        samples.time_ns[i] >= window.end_ns) {
      continue;
    }
    const std::uint32_t user = code_.User(samples.frame[i]);
    // What waits around torch.save waits for the checkpoint (checkpoint-stall).
    const bool saves =
        samples.state[i] == trace::ThreadState::kWaiting && code_.AroundSave(samples.frame[i]) != 0;
    const std::uint32_t own = saves ? 0 : code_.Own(samples.frame[i]);
    if (user != 0) ++(own != 0 ? seen : called)[trace_.stack_frames.place[user]];
    const Pause* const pause = At(pauses, samples.time_ns[i]);
    if (pause == nullptr) continue;
    for (Group* group : {&groups_[trace_.host.name[pause->after]], &all_}) {
      ++group->samples;
      if (own == 0) continue;
      Count& count = group->rows[own];
      ++count.all;
      if (samples.state[i] != trace::ThreadState::kWaiting) continue;
      ++count.waiting;
      ++count.waits[code_.Wait(samples.frame[i])];
    }
  }
  DropLinesThatCall(seen, called);
}

// A line that is inside operators for the most part calls them: what it takes between them is the
// way from one to the next. One that calls a framework must have nearly all of its time for itself:
// where a model returns, what it returned last is let go, with the graph of its backward pass.
void SampledPauses::DropLinesThatCall(const std::map<StringId, std::uint64_t>& seen,
                                      const std::map<StringId, std::uint64_t>& called) {
  std::map<StringId, std::uint64_t> paused;
  for (const auto& [row, count] : all_.rows) paused[trace_.stack_frames.place[row]] += count.all;
  const auto calls = [&](const auto& entry) {
    const StringId line = trace_.stack_frames.place[entry.first];
    const auto framework = called.find(line);
    return 2 * paused.at(line) < seen.at(line) ||
           (framework != called.end() && 4 * framework->second > paused.at(line));
  };
  for (auto& [name, group] : groups_) std::erase_if(group.rows, calls);
  std::erase_if(all_.rows, calls);
}

// The function with most samples of its own.
SampledPauses::Choice SampledPauses::Innermost() const {
  std::map<StringId, std::uint64_t> functions;
  for (const auto& [row, count] : all_.rows) functions[code_.Function(row)] += count.all;
  const auto most = Most(functions);
  return {most.first, most.second};
}

// The function that holds most samples, its own and those of what it calls, and that runs no
// framework; of the functions inside of it the innermost that still holds nearly all of them.
SampledPauses::Choice SampledPauses::Outermost() const {
  std::map<StringId, std::uint64_t> outermost;
  for (const auto& [row, count] : all_.rows) {
    const std::vector<StringId> around = code_.Around(row);
    if (!around.empty()) outermost[around.front()] += count.all;
  }
  const auto most = Most(outermost);
  if (most.second == 0) return {};
  std::map<StringId, std::uint64_t> inside;
  std::map<StringId, std::size_t> depth;
  for (const auto& [row, count] : all_.rows) {
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
  if (code_.Function(row) == function) return true;
  const std::vector<StringId> around = code_.Around(row);
  return std::find(around.begin(), around.end(), function) != around.end();
}

bool SampledPauses::Choose(Hotspot& hotspot) const {
  Choice choice = Innermost();
  if (const Choice holder = Outermost(); holder.samples >= choice.samples) choice = holder;
  if (choice.samples < kLeastSamples) return false;
  std::map<StringId, std::uint64_t> lines, waits;
  for (const auto& [row, count] : all_.rows) {
    if (!Holds(choice.function, row)) continue;
    for (const auto& [wait, samples] : count.waits) waits[wait] += samples;
    lines[trace_.stack_frames.place[row]] += count.all;
    hotspot.function_samples += count.all;
    hotspot.waiting_samples += count.waiting;
  }
  hotspot.function = choice.function;
  hotspot.wait = Most(waits).first;
  hotspot.samples = all_.samples;
  const auto its = static_cast<double>(hotspot.function_samples);
  hotspot.error = std::sqrt((1 - its / static_cast<double>(all_.samples)) / its);
  std::tie(hotspot.line, hotspot.line_samples) = Most(lines);
  return true;
}

bool SampledPauses::Tells(StringId name) const {
  const auto found = groups_.find(name);
  return found != groups_.end() && found->second.samples >= kLeastSamples;
}

double SampledPauses::Share(const Hotspot& hotspot, StringId name) const {
  // Few samples are no share of one place, but all such places together have one.
  const bool tells = Tells(name);
  std::uint64_t all = 0, own = 0;
  for (const auto& [after, group] : groups_) {
    if (tells ? after != name : Tells(after)) continue;
    all += group.samples;
    for (const auto& [row, count] : group.rows) {
      if (Holds(hotspot.function, row)) own += count.all;
    }
  }
  return all == 0 ? 0 : static_cast<double>(own) / static_cast<double>(all);
}

}  // namespace hone::replay
