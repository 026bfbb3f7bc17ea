// SPDX-License-Identifier: Apache-2.0
#include "analyze/machine_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace hone::analyze {
namespace {

// Processor time is counted in hundredths of a second; below this it is mostly rounding.
constexpr Nanos kShortest = 200 * kMillisecond;
// As many threads as hone run reads the waits of.
constexpr std::size_t kThreadsRead = 16;
// Of the processor time, that must be in threads whose waits were read: new ones are found late.
constexpr double kMostOfIt = 0.8;

// Of the busiest process of the program: below it one waits for others. An elastic launcher used
// none of a core while its ranks used 0.7 each; a loader's worker that barely keeps up uses most of
// one.
constexpr double kComputes = 0.1;
// Cores. What a thread of a pool wanted in recordings of too many threads: 0.4 and more.
constexpr double kPoolThread = 0.05;

struct Growth {
  Nanos first_ns = 0, last_ns = 0;
  double first = 0, last = 0;
};

// A cumulative series, by the tracks whose names begin with `tracks`.
std::map<StringId, Growth> ReadGrowth(const trace::Trace& trace, trace::Interval window,
                                      std::string_view tracks, std::string_view name) {
  std::map<StringId, Growth> found;
  for (trace::RowId i = 0; i < trace.counters.size(); ++i) {
    const Nanos time = trace.counters.time_ns[i];
    if (time < window.begin_ns || time > window.end_ns) continue;
    if (trace.Name(trace.counters.series[i]) != name) continue;
    if (!trace.Name(trace.counters.track[i]).starts_with(tracks)) continue;
    const double value = trace.counters.value[i];
    const auto [at, fresh] =
        found.emplace(trace.counters.track[i], Growth{time, time, value, value});
    if (fresh) continue;
    at->second.last_ns = time;
    at->second.last = value;
  }
  return found;
}

// Growth a second; nothing where the span is too short. The busiest threads are looked for anew
// every two seconds, so each has a span of its own.
double Rate(const Growth& growth) {
  const Nanos span = growth.last_ns - growth.first_ns;
  return span < kShortest ? 0 : (growth.last - growth.first) / (static_cast<double>(span) * 1e-9);
}

bool IsRecorder(std::string_view track) { return track.find(" hone-") != std::string_view::npos; }

// Threads of the processes, less those that were read for long enough to say what they want.
Known<double> CountUnread(const trace::Trace& trace, trace::Interval window,
                          const std::map<StringId, Growth>& read) {
  const auto counted = ReadGrowth(trace, window, "process ", "threads");
  if (counted.empty()) return Known<double>::Absent("the processes' threads are not counted");
  double threads = 0;
  for (const auto& [track, growth] : counted) threads += std::max(growth.first, growth.last);
  for (const auto& [track, growth] : read) {
    if (growth.last_ns - growth.first_ns >= kShortest) --threads;
  }
  return std::max(0.0, threads);
}

double Sum(const std::map<StringId, Growth>& tracks) {
  double sum = 0;
  for (const auto& [track, growth] : tracks) sum += std::max(0.0, growth.last - growth.first);
  return sum;
}

// "thread 7/8 python" -> "7", "8", "python".
struct ThreadTrack {
  std::string_view process, thread, name;
};
ThreadTrack ParseThread(std::string_view track) {
  track.remove_prefix(std::min(track.size(), std::string_view("thread ").size()));
  const std::size_t slash = track.find('/'), space = track.find(' ');
  if (slash == std::string_view::npos || space == std::string_view::npos || space < slash) {
    return {};
  }
  return {track.substr(0, slash), track.substr(slash + 1, space - slash - 1),
          track.substr(space + 1)};
}

// Threads of OpenMP's pool keep the name of the thread that made them; PyTorch's, Gloo's and the
// recorder's own have names of their own, and compute nothing that set_num_threads divides.
bool HasNameOfItsOwn(std::string_view name) {
  return name.starts_with("pt_") || name.starts_with("gloo") || name.starts_with("hone-");
}

}  // namespace

CounterSeries ReadCounter(const trace::Trace& trace, trace::Interval window,
                          std::string_view name) {
  CounterSeries series;
  for (trace::RowId i = 0; i < trace.counters.size(); ++i) {
    const Nanos time = trace.counters.time_ns[i];
    if (time < window.begin_ns || time > window.end_ns) continue;
    if (trace.Name(trace.counters.series[i]) != name) continue;
    const double value = trace.counters.value[i];
    if (series.count == 0) series.first = value;
    series.last = value;
    series.sum += value;
    ++series.count;
  }
  return series;
}

Known<OwnDemand> ReadOwnDemand(const trace::Trace& trace, trace::Interval window) {
  const auto processes = ReadGrowth(trace, window, "process ", "cpu_seconds");
  const auto threads = ReadGrowth(trace, window, "thread ", "wait_for_core_seconds");
  Nanos first = window.end_ns, last = window.begin_ns;
  for (const auto& [track, growth] : processes) {
    first = std::min(first, growth.first_ns);
    last = std::max(last, growth.last_ns);
  }
  if (threads.empty() || last - first < kShortest) {
    return Known<OwnDemand>::Absent("too few counters of the program's own processes");
  }
  const double seconds = static_cast<double>(last - first) * 1e-9;
  OwnDemand demand;
  demand.running = Sum(processes) / seconds;
  for (const auto& [track, growth] : threads) {
    if (!IsRecorder(trace.Name(track))) demand.waiting += Rate(growth);
  }
  const double seen = Sum(ReadGrowth(trace, window, "thread ", "cpu_seconds"));
  demand.complete = threads.size() < kThreadsRead && seen >= kMostOfIt * Sum(processes);
  if (!demand.complete) demand.unread = CountUnread(trace, window, threads);
  return demand;
}

Known<StepDemand> ReadStepDemand(const trace::Trace& trace, trace::Interval window,
                                 std::int64_t pid, std::int64_t tid) {
  const std::string process = fmt::format("thread {}/", pid);
  const std::string own = fmt::format("{}{} ", process, tid);
  StepDemand demand;
  bool seen = false;
  for (const char* series : {"cpu_seconds", "wait_for_core_seconds"}) {
    const bool waits = series[0] == 'w';
    for (const auto& [track, growth] : ReadGrowth(trace, window, process, series)) {
      if (IsRecorder(trace.Name(track))) continue;
      demand.process_wanted += Rate(growth);
      if (!trace.Name(track).starts_with(own)) continue;
      seen = seen || growth.last_ns - growth.first_ns >= kShortest;
      (waits ? demand.waiting : demand.running) = Rate(growth);
    }
  }
  if (!seen) return Known<StepDemand>::Absent("no counters of the thread that makes the steps");
  return demand;
}

Known<ComputeDemand> ReadComputeDemand(const trace::Trace& trace, trace::Interval window) {
  ComputeDemand demand;
  const auto processes = ReadGrowth(trace, window, "process ", "cpu_seconds");
  double busiest = 0;
  for (const auto& [track, growth] : processes) busiest = std::max(busiest, Rate(growth));
  if (busiest <= 0) {
    return Known<ComputeDemand>::Absent("too few counters of the program's own processes");
  }
  for (const auto& [track, growth] : processes) {
    if (Rate(growth) >= kComputes * busiest) ++demand.processes;
  }
  const auto used = ReadGrowth(trace, window, "thread ", "cpu_seconds");
  const auto waited = ReadGrowth(trace, window, "thread ", "wait_for_core_seconds");
  std::map<std::string_view, std::string_view> first_threads;  // by process, their names
  for (const auto& [track, growth] : used) {
    const ThreadTrack thread = ParseThread(trace.Name(track));
    if (thread.process == thread.thread) first_threads[thread.process] = thread.name;
  }
  for (const auto& [track, growth] : used) {
    const ThreadTrack thread = ParseThread(trace.Name(track));
    const auto wait = waited.find(track);
    const double wants = Rate(growth) + (wait == waited.end() ? 0 : Rate(wait->second));
    if (thread.process == thread.thread || wants < kPoolThread) continue;
    const auto first = first_threads.find(thread.process);
    const bool named = HasNameOfItsOwn(thread.name) &&
                       (first == first_threads.end() || first->second != thread.name);
    if (!named) demand.pools = true;
  }
  demand.complete = used.size() < kThreadsRead && Sum(used) >= kMostOfIt * Sum(processes);
  return demand;
}

}  // namespace hone::analyze
