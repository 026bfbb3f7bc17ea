// SPDX-License-Identifier: Apache-2.0
#include "analyze/sample_time.h"

#include <cmath>
#include <unordered_map>

#include "analyze/grouping.h"

namespace hone::analyze {
namespace {

using trace::StackFrames;

struct Weight {
  std::uint64_t samples = 0;
  Nanos time_ns = 0;
  void Add(const Weight& other) {
    samples += other.samples;
    time_ns = SaturatingAdd(time_ns, other.time_ns);
  }
};

// The frames as a tree to walk down: children of f are child[first[f] … first[f + 1]).
struct Children {
  std::vector<std::uint32_t> first, child;
  explicit Children(const StackFrames& frames) : first(frames.size() + 1, 0) {
    for (std::size_t f = 1; f < frames.size(); ++f) ++first[frames.caller[f] + 1];
    for (std::size_t f = 1; f < first.size(); ++f) first[f] += first[f - 1];
    child.resize(frames.size());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (std::uint32_t f = 1; f < frames.size(); ++f) child[next[frames.caller[f]]++] = f;
  }
};

// Rows by the string in `key`. A place that is on a stack more than once counts once: where it is
// outermost.
std::vector<PythonRow> Group(const trace::Trace& trace, const Column<StringId>& key,
                             const std::vector<Weight>& self, const std::vector<Weight>& total) {
  const Children children(trace.stack_frames);
  GroupIndex index;
  std::vector<PythonRow> rows;
  std::vector<std::uint64_t> self_samples;
  std::vector<std::uint32_t> open;
  struct Visit {
    std::uint32_t frame, next_child, row;
  };
  const auto enter = [&](std::uint32_t frame) {
    const std::uint32_t row = index.IdOf(static_cast<std::uint64_t>(key[frame]));
    if (row == rows.size()) {
      rows.push_back({.name = trace.Name(key[frame])});
      self_samples.push_back(0);
      open.push_back(0);
    }
    rows[row].self_ns = SaturatingAdd(rows[row].self_ns, self[frame].time_ns);
    self_samples[row] += self[frame].samples;
    if (open[row]++ == 0) {
      rows[row].total_ns = SaturatingAdd(rows[row].total_ns, total[frame].time_ns);
      rows[row].calls += total[frame].samples;
    }
    return Visit{frame, children.first[frame], row};
  };
  std::vector<Visit> path = {{0, children.first[0], 0}};
  while (!path.empty()) {
    Visit& top = path.back();
    if (top.next_child < children.first[top.frame + 1]) {
      const std::uint32_t frame = children.child[top.next_child++];
      if (total[frame].samples > 0) path.push_back(enter(frame));
    } else {
      if (top.frame != 0) --open[top.row];
      path.pop_back();
    }
  }
  // Of n independent samples the count has a standard deviation of at most its root.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (self_samples[i] == 0) continue;
    const auto count = static_cast<double>(self_samples[i]);
    rows[i].error_ns = std::llround(static_cast<double>(rows[i].self_ns) / std::sqrt(count));
  }
  return rows;
}

// Autograd's door: every training loop has one line that most of its time is behind, and nothing is
// to be learnt from it.
bool IsBackward(const SourceFrame& frame) {
  return frame.function == "backward" && (frame.file.ends_with("torch/_tensor.py") ||
                                          frame.file.ends_with("torch/autograd/__init__.py"));
}

// Time of a library or a framework belongs to the line of the user that called it; that of a
// backward pass to nobody's.
void FindBusiest(const trace::Trace& trace, const CountedSamples& counts, PythonFacts& facts) {
  const StackFrames& frames = trace.stack_frames;
  std::vector<std::uint32_t> user(frames.size(), 0);  // innermost at or above; 0: none
  for (std::uint32_t f = 1; f < frames.size(); ++f) {
    const SourceFrame frame = ParseFrame(trace.Name(frames.place[f]));
    user[f] = IsBackward(frame) ? 0 : IsUserFrame(frame) ? f : user[frames.caller[f]];
  }
  std::unordered_map<StringId, std::uint64_t> lines;
  for (std::size_t i = 0; i < trace.samples.size(); ++i) {
    if (!counts(i) || trace.samples.state[i] == trace::ThreadState::kWaiting) continue;
    ++facts.running_samples;
    const std::uint32_t frame = user[trace.samples.frame[i]];
    if (frame == 0) continue;
    const std::uint64_t count = ++lines[frames.place[frame]];
    if (count <= facts.busiest_samples) continue;
    facts.busiest_samples = count;
    facts.busiest_line = trace.Name(frames.place[frame]);
  }
}

}  // namespace

CountedSamples::CountedSamples(const trace::Trace& trace, const Steps& steps)
    : trace_(trace), lead_(UINT16_MAX) {
  if (steps.steady_count() > 0) {
    window_ = steps.host_window;
  } else {
    window_.AppendSorted({INT64_MIN / 4, INT64_MAX / 4});
  }
  // The main thread of the first process, which has the process's number.
  for (std::size_t t = 0; t < trace.threads.size() && lead_ == UINT16_MAX; ++t) {
    const trace::Thread& thread = trace.threads[t];
    if (thread.process == 0 && thread.tid == trace.processes[0].pid) {
      lead_ = static_cast<std::uint16_t>(t);
    }
  }
}

bool CountedSamples::operator()(std::size_t sample) const {
  const trace::StackSamples& samples = trace_.samples;
  if (!window_.Holds(samples.time_ns[sample])) return false;
  return samples.thread[sample] == lead_ || samples.state[sample] != trace::ThreadState::kWaiting;
}

void TimeBySamples(const trace::Trace& trace, const Steps& steps, PythonFacts& facts) {
  const trace::StackFrames& frames = trace.stack_frames;
  const CountedSamples counts(trace, steps);
  std::vector<Weight> self(frames.size());
  for (std::size_t i = 0; i < trace.samples.size(); ++i) {
    if (!counts(i)) continue;
    const Weight weight{1, trace.samples.period_ns[i]};
    self[trace.samples.frame[i]].Add(weight);
    ++facts.samples;
    facts.sampled_ns = SaturatingAdd(facts.sampled_ns, weight.time_ns);
  }
  if (facts.samples == 0) return;
  // Callers stand before callees, so one backward pass makes it inclusive.
  std::vector<Weight> total = self;
  for (std::size_t f = frames.size(); f-- > 1;) total[frames.caller[f]].Add(total[f]);
  std::unordered_map<std::string_view, Nanos> device;
  for (const PythonRow& line : facts.lines) device[line.name] = line.device_ns;
  facts.sampled = true;
  FindBusiest(trace, counts, facts);
  facts.functions = Group(trace, frames.function, self, total);
  facts.lines = Group(trace, frames.place, self, total);
  for (PythonRow& line : facts.lines) {
    const auto found = device.find(line.name);
    if (found != device.end()) line.device_ns = found->second;
  }
}

}  // namespace hone::analyze
