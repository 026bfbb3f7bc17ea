// SPDX-License-Identifier: Apache-2.0
#include "replay/host_lanes.h"

#include <algorithm>

#include "analyze/loader.h"
#include "replay/handoff.h"

namespace hone::replay {
namespace {

using analyze::ApiClass;
using trace::Interval;
using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// What a call that waits costs when there is nothing to wait for: cudaStreamSynchronize on an idle
// stream of an H200 returns after 2 to 5 µs.
constexpr Nanos kCallCost = 4 * kMicrosecond;
// A launch call takes 2 to 10 µs (7 under a profiler); one that takes this long was held back.
constexpr Nanos kHeldBack = 100 * kMicrosecond;
// So many launches wait for the device at most (1,022 in every trace of a program that its device
// binds): with nearly as many before it, a call of this length waited for room, too.
constexpr std::size_t kFullQueue = 1000;
constexpr Nanos kSlowLaunch = 12 * kMicrosecond;
// cudaFree waits for the device; one that returns sooner found it idle.
constexpr Nanos kWaitingFree = 50 * kMicrosecond;

// Without calls a thread's code has no parts. A pause of this length is one of its own, so that
// what comes after it is not mixed with what came before.
constexpr Nanos kPause = kMillisecond;

struct Rows {  // of one thread inside the window
  RowId first = 0, last = 0;
};

Rows RowsOf(const trace::Trace& trace, const trace::Thread& thread, Interval window) {
  const auto begin = trace.host.start_ns.begin();
  const auto first =
      std::lower_bound(begin + thread.first_slice, begin + thread.last_slice, window.begin_ns);
  const auto last = std::lower_bound(first, begin + thread.last_slice, window.end_ns);
  return {static_cast<RowId>(first - begin), static_cast<RowId>(last - begin)};
}

// The thread on whose clock the steps were taken: the one that carries their marks, else the one
// with the optimizer, else the one that launches most.
std::size_t StepThread(const GraphInput& input, const std::vector<std::uint64_t>& launches) {
  const trace::HostSlices& host = input.trace.host;
  std::size_t optimizer = SIZE_MAX;
  if (!input.steps.steps.empty()) {
    const Interval step = input.steps.steps.back().host_span;
    for (RowId i = 0; i < host.size(); ++i) {
      if (host.kind[i] != SliceKind::kAnnotation) continue;
      if (host.start_ns[i] == step.begin_ns && host.end_ns(i) == step.end_ns) return host.thread[i];
      if (optimizer == SIZE_MAX && input.trace.HostName(i).starts_with("Optimizer.step")) {
        optimizer = host.thread[i];
      }
    }
  }
  if (optimizer != SIZE_MAX) return optimizer;
  const auto most = std::max_element(launches.begin(), launches.end());
  if (most != launches.end() && *most > 0) return static_cast<std::size_t>(most - launches.begin());
  // No device: the thread with most slices.
  std::size_t busiest = 0;
  for (std::size_t t = 1; t < input.trace.threads.size(); ++t) {
    const auto rows = [&](std::size_t thread) {
      return input.trace.threads[thread].last_slice - input.trace.threads[thread].first_slice;
    };
    if (rows(t) > rows(busiest)) busiest = t;
  }
  return busiest;
}

// Writes the tasks of one thread, moving a cursor through its time.
class LaneWriter {
 public:
  LaneWriter(const GraphInput& input, const DeviceIndex& index, std::uint16_t lane, Draft& draft)
      : input_(input), index_(index), lane_(lane), draft_(draft), at_(draft.window.begin_ns) {}

  void Count(RowId row) {
    LeaveLoader(input_.trace.host.start_ns[row]);
    switch (input_.trace.host.kind[row]) {
      case SliceKind::kOp: ++pending_.ops; break;
      case SliceKind::kApi: ++pending_.calls; break;
      case SliceKind::kPython: ++pending_.python; break;
      default: break;
    }
  }

  void Fetch(RowId row) {
    Advance(input_.trace.host.start_ns[row]);
    loader_ = row;
  }

  Place Resume(const Handoff& handoff) {
    Advance(handoff.idle_from_ns);
    Task task;
    task.start_ns = handoff.released_ns;
    task.duration_ns = handoff.resume_ns - handoff.released_ns;
    at_ = std::max(at_, handoff.resume_ns);
    return Add(task);
  }

  void Call(RowId row);

  // What comes from here on is a task of its own; fetches stay whole.
  void Cut(Nanos time) {
    LeaveLoader(time);
    if (loader_ == kNoRow) Fill(time);
  }

  // Time up to `time` is code between calls, or the loader's.
  void Advance(Nanos time) {
    LeaveLoader(time);
    Fill(time);
  }

 private:
  struct Wait {
    WaitTarget target;
    Repeated stands;  // for it, in the window
  };
  struct Waits {
    std::vector<Wait> targets;
    bool unseen = false;  // for work that the trace does not have
    bool bound = false;   // the call took as long as it did because of them
  };
  Waits FindWaits(RowId row) const;
  void AddEndOfWait(RowId row, const Waits& waits);

  Place Add(Task task) {
    task.lane = lane_;
    task.ops = pending_.ops;
    task.calls = pending_.calls;
    task.python = pending_.python;
    pending_ = {};
    std::vector<Task>& tasks = draft_.tasks[lane_];
    tasks.push_back(task);
    return {lane_, static_cast<std::uint32_t>(tasks.size() - 1)};
  }
  void Fill(Nanos time) {
    if (time <= at_) return;
    Task task;
    task.start_ns = at_;
    task.duration_ns = time - at_;
    if (loader_ != kNoRow) {
      task.kind = TaskKind::kInput;
      task.row = loader_;
    }
    Add(task);
    at_ = time;
  }
  void LeaveLoader(Nanos time) {
    if (loader_ == kNoRow || input_.trace.host.end_ns(loader_) > time) return;
    Fill(input_.trace.host.end_ns(loader_));
    loader_ = kNoRow;
  }

  // cudaFree goes on working after the device has come to rest.
  void FreeAfterWait(const Waits& waits, Task& end) const {
    Nanos done = INT64_MIN;
    for (const auto& [wait, stands] : waits.targets) {
      if (wait.bound) done = std::max(done, input_.trace.device.end_ns(wait.work));
    }
    end.kind = TaskKind::kAllocate;
    end.duration_ns = std::max<Nanos>(0, end.start_ns - done);
    end.start_ns -= end.duration_ns;
  }

  struct Pending {
    std::uint32_t ops = 0, calls = 0, python = 0;
  };

  const GraphInput& input_;
  const DeviceIndex& index_;
  const std::uint16_t lane_;
  Draft& draft_;
  Nanos at_;
  RowId loader_ = kNoRow;
  Pending pending_;
};

LaneWriter::Waits LaneWriter::FindWaits(RowId row) const {
  const ApiClass what = input_.calls[row];
  const Nanos length = input_.trace.host.duration_ns[row];
  Waits found;
  std::vector<WaitTarget> targets;
  if (what == ApiClass::kSync || what == ApiClass::kBlockingCopy ||
      (what == ApiClass::kFree && length >= kWaitingFree)) {
    targets = index_.WaitsOf(row);
  } else if (index_.WorkOf(row) != kNoRow &&
             (length >= kHeldBack ||
              (length >= kSlowLaunch && index_.QueuedAt(row) >= kFullQueue))) {
    const RowId by = index_.HeldBackBy(row);
    if (by != kNoRow) targets.push_back({by, true});
    found.unseen = by == kNoRow && index_.HeldBackUnseen(row);
  }
  for (const WaitTarget& target : targets) {
    // Of work that is not known to be repeated, the time spent on it stays with the call.
    const Repeated stands = index_.InWindow(target.work, draft_.window);
    if (stands.work == kNoRow || stands.laps > kMostLaps) continue;
    found.targets.push_back({target, stands});
    found.bound = found.bound || target.bound;
  }
  found.bound = found.bound || found.unseen;
  return found;
}

// A call that waits becomes two tasks: its own cost, and its end, which the device decides.
void LaneWriter::Call(RowId row) {
  const trace::HostSlices& host = input_.trace.host;
  const ApiClass what = input_.calls[row];
  const Waits waits = FindWaits(row);
  Task call;
  call.row = row;
  call.duration_ns = host.duration_ns[row];
  if (index_.WorkOf(row) != kNoRow) {
    call.kind = TaskKind::kLaunch;
  } else if (what == ApiClass::kAllocate || what == ApiClass::kFree) {
    call.kind = TaskKind::kAllocate;
  } else if (waits.targets.empty() && what != ApiClass::kSync) {
    return;  // a query: part of the code around it
  }
  Advance(host.start_ns[row]);
  call.start_ns = std::max(at_, host.start_ns[row]);
  if (waits.bound) call.duration_ns = std::min(call.duration_ns, kCallCost);
  draft_.of_call[row] = Add(call);
  at_ = std::max(at_, host.end_ns(row));
  if (!waits.targets.empty() || waits.unseen) AddEndOfWait(row, waits);
}

void LaneWriter::AddEndOfWait(RowId row, const Waits& waits) {
  const trace::HostSlices& host = input_.trace.host;
  const ApiClass what = input_.calls[row];
  Task end;
  end.start_ns = host.end_ns(row);
  end.kind = TaskKind::kWait;
  end.row = row;
  if (what == ApiClass::kFree && waits.bound) FreeAfterWait(waits, end);
  const Place place = Add(end);
  DraftEdge edge;
  edge.to = place;
  if (waits.unseen) {
    edge.from = place;
    edge.laps = kUnseenLap;
    edge.ready_ns = end.start_ns;
    draft_.edges.push_back(edge);
  }
  for (const auto& [wait, stands] : waits.targets) {
    edge = {};
    edge.to = place;
    edge.from_work = stands.work;
    edge.laps = static_cast<std::uint8_t>(stands.laps);
    const Nanos returned = std::min(end.start_ns, host.end_ns(row));
    const Nanos done = index_.ReplayedEnd(wait.work);
    if (wait.bound) {
      edge.lag_ns = returned - done;
      edge.waited_ns = host.duration_ns[row] - std::min(host.duration_ns[row], kCallCost);
    }
    edge.ready_ns = done + edge.lag_ns;
    // A copy of pageable memory is staged: the call may return before the device has it all.
    if (index_.WorkOf(row) == wait.work && !wait.bound && what == ApiClass::kBlockingCopy) {
      edge.from_start = true;
      edge.lag_ns = std::max<Nanos>(0, end.start_ns - input_.trace.device.start_ns[wait.work]);
    }
    draft_.edges.push_back(edge);
  }
}

struct ThreadPlan {
  std::size_t thread = 0;
  Rows rows;
  std::vector<Interval> activity;
  std::vector<Nanos> cuts;  // sorted
};

// Outermost operators, calls outside operators, and fetches: what the thread does by itself.
std::vector<Interval> ActivityOf(const GraphInput& input, Rows rows,
                                 const std::vector<std::uint8_t>& is_fetch) {
  const trace::HostSlices& host = input.trace.host;
  std::vector<Interval> activity;
  for (RowId i = rows.first; i < rows.last; ++i) {
    const bool own = is_fetch[i] != 0 ||
                     (host.kind[i] == SliceKind::kOp && input.lineage.top_op[i] == i) ||
                     (host.kind[i] == SliceKind::kApi && input.lineage.top_op[i] == kNoRow);
    if (!own) continue;
    if (!activity.empty() && host.start_ns[i] < activity.back().end_ns) continue;
    activity.push_back({host.start_ns[i], host.end_ns(i)});
  }
  return activity;
}

// Where steps begin, and both ends of long pauses, those at the ends of the window too.
std::vector<Nanos> CutsOf(const GraphInput& input, const std::vector<Interval>& activity,
                          Interval window) {
  std::vector<Nanos> cuts;
  for (const analyze::Step& step : input.steps.steps) cuts.push_back(step.host_span.begin_ns);
  for (std::size_t i = 0; i <= activity.size(); ++i) {
    const Nanos begin = i == 0 ? window.begin_ns : activity[i - 1].end_ns;
    const Nanos end = i == activity.size() ? window.end_ns : activity[i].begin_ns;
    if (end - begin < kPause) continue;
    cuts.push_back(begin);
    cuts.push_back(end);
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

// Returns the task that begins with each handoff.
std::vector<Place> WriteLane(const GraphInput& input, const DeviceIndex& index,
                             const ThreadPlan& plan, const std::vector<Handoff>& handoffs,
                             const std::vector<std::uint8_t>& is_fetch, std::uint16_t lane,
                             Draft& draft) {
  std::vector<Place> resumed;
  const trace::HostSlices& host = input.trace.host;
  LaneWriter writer(input, index, lane, draft);
  std::size_t next = 0, cut = 0;
  const auto cut_until = [&](Nanos time) {
    for (; cut < plan.cuts.size() && plan.cuts[cut] <= time; ++cut) writer.Cut(plan.cuts[cut]);
  };
  for (RowId i = plan.rows.first; i < plan.rows.last; ++i) {
    for (; next < handoffs.size() && handoffs[next].resume_ns <= host.start_ns[i]; ++next) {
      resumed.push_back(writer.Resume(handoffs[next]));
    }
    cut_until(host.start_ns[i]);
    writer.Count(i);
    if (is_fetch[i] != 0) writer.Fetch(i);
    if (host.kind[i] != SliceKind::kApi) continue;
    const RowId parent = host.parent[i];
    if (parent != kNoRow && host.kind[parent] == SliceKind::kApi) {
      draft.of_call[i] = draft.of_call[parent];  // a driver call inside a runtime call
      continue;
    }
    writer.Call(i);
  }
  cut_until(draft.window.end_ns);
  const Nanos end = plan.activity.empty() ? draft.window.begin_ns : plan.activity.back().end_ns;
  writer.Advance(lane == 0 ? draft.window.end_ns : std::min(end, draft.window.end_ns));
  return resumed;
}

// From the task of the other thread that had ended, or was running, when it handed over.
void AddHandoffEdge(Place to, const Handoff& handoff, Draft& draft) {
  const std::vector<Task>& tasks = draft.tasks[handoff.from];
  const auto after = std::upper_bound(tasks.begin(), tasks.end(), handoff.released_ns,
                                      [](Nanos t, const Task& task) { return t <= task.start_ns; });
  if (after == tasks.begin()) return;
  const auto found = after - 1;
  const Nanos end = found->start_ns + found->duration_ns;
  DraftEdge edge;
  edge.to = to;
  edge.from = {handoff.from, static_cast<std::uint32_t>(found - tasks.begin())};
  edge.from_start = end > handoff.released_ns;
  edge.lag_ns = handoff.released_ns - (edge.from_start ? found->start_ns : end);
  draft.edges.push_back(edge);
}

}  // namespace

void AddHostLanes(const GraphInput& input, const DeviceIndex& index, Draft& draft) {
  const trace::Trace& trace = input.trace;
  draft.of_call.assign(trace.host.size(), {kNoLane, 0});
  draft.lane_of_thread.assign(trace.threads.size(), kNoLane);
  std::vector<std::uint8_t> is_fetch(trace.host.size(), 0);
  for (const RowId row : analyze::FindLoaderSlices(trace)) is_fetch[row] = 1;

  std::vector<std::uint64_t> launches(trace.threads.size(), 0);
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId call = trace.device.api[w];
    if (call != kNoRow) ++launches[trace.host.thread[call]];
  }
  if (trace.threads.empty()) return;
  const std::size_t main = StepThread(input, launches);
  const RowId process = trace.threads[main].process;
  std::vector<ThreadPlan> plans;
  const auto add = [&](std::size_t thread) {
    ThreadPlan plan{thread, RowsOf(trace, trace.threads[thread], draft.window), {}, {}};
    plan.activity = ActivityOf(input, plan.rows, is_fetch);
    if (trace.device.size() == 0) plan.cuts = CutsOf(input, plan.activity, draft.window);
    draft.lane_of_thread[thread] = static_cast<std::uint16_t>(plans.size());
    draft.lanes.push_back(
        {LaneKind::kThread, static_cast<std::uint32_t>(thread), draft.window.begin_ns});
    draft.tasks.emplace_back();
    plans.push_back(std::move(plan));
  };
  add(main);
  for (std::size_t t = 0; t < trace.threads.size(); ++t) {
    if (plans.size() >= kMostLanes / 2) break;
    if (t != main && launches[t] > 0 && trace.threads[t].process == process) add(t);
  }
  std::vector<std::vector<Interval>> activities;
  activities.reserve(plans.size());
  for (const ThreadPlan& plan : plans) activities.push_back(plan.activity);
  const std::vector<std::vector<Handoff>> handoffs =
      FindHandoffs(activities, draft.window.begin_ns);
  std::vector<std::vector<Place>> resumed;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    resumed.push_back(WriteLane(input, index, plans[p], handoffs[p], is_fetch,
                                static_cast<std::uint16_t>(p), draft));
  }
  for (std::size_t p = 0; p < plans.size(); ++p) {
    for (std::size_t h = 0; h < resumed[p].size(); ++h) {
      AddHandoffEdge(resumed[p][h], handoffs[p][h], draft);
    }
  }
}

}  // namespace hone::replay
