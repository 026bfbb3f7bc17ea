// SPDX-License-Identifier: Apache-2.0
#include "analyze/host_activity.h"

#include <algorithm>
#include <array>
#include <queue>

#include "analyze/slice_activity.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;

// Where several threads are active at once, the one that works says more than the one that waits.
int Strength(IdleCause what) {
  switch (what) {
    case IdleCause::kLaunch: return 6;
    case IdleCause::kAllocator: return 5;
    case IdleCause::kCommunication: return 4;
    case IdleCause::kCopy: return 3;
    case IdleCause::kSync: return 2;
    case IdleCause::kLoader: return 1;
    default: return 0;
  }
}

}  // namespace

HostActivity::HostActivity(const trace::Trace& trace, const Lineage& lineage,
                           const ApiCalls& calls) {
  const SliceActivity slices(trace, lineage, calls);
  for (const trace::Thread& thread : trace.threads) {
    first_.push_back(segments_.size());
    Flatten(trace, slices, thread);
    BridgePauses(first_.back());
  }
  first_.push_back(segments_.size());
  MergeLaunchers(CountLaunches(trace));
}

void HostActivity::Emit(std::size_t first, ActivitySegment segment) {
  if (segments_.size() > first + 1 && segments_.back().begin_ns == segment.begin_ns) {
    segments_.resize(segments_.size() - 1);  // nothing lasts for no time
  }
  const ActivitySegment& last = segments_.back();
  if (last.what == segment.what && last.blamed == segment.blamed) return;
  segments_.push_back(segment);
}

// Nested slices to consecutive segments: the innermost open slice decides.
void HostActivity::Flatten(const trace::Trace& trace, const SliceActivity& slices,
                           const trace::Thread& thread) {
  const trace::HostSlices& host = trace.host;
  const std::size_t first = segments_.size();
  segments_.push_back({});
  std::vector<RowId> open;
  Nanos now = INT64_MIN;
  const auto close_until = [&](Nanos time) {
    while (!open.empty() && host.end_ns(open.back()) <= time) {
      // A crossing slice may end after the one around it: time never runs backwards.
      now = std::max(now, host.end_ns(open.back()));
      open.pop_back();
      if (open.empty()) {
        Emit(first, {now, kNoRow, IdleCause::kUnknown});
      } else {
        Emit(first, {now, slices.blamed[open.back()], slices.what[open.back()]});
      }
    }
  };
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    if (host.duration_ns[i] <= 0) continue;
    close_until(host.start_ns[i]);
    now = std::max(now, host.start_ns[i]);
    Emit(first, {now, slices.blamed[i], slices.what[i]});
    open.push_back(i);
  }
  close_until(INT64_MAX);
}

// Short pauses on the way to an operator or launch become part of it.
void HostActivity::BridgePauses(std::size_t first) {
  std::size_t run = 0;  // first segment of the current weak run; 0: none
  bool after_strong = false;
  for (std::size_t i = first; i < segments_.size(); ++i) {
    if (IsWeak(segments_[i].what)) {
      if (after_strong) run = i;
      after_strong = false;
      continue;
    }
    if (run != 0 && segments_[i].what == IdleCause::kLaunch &&
        segments_[i].begin_ns - segments_[run].begin_ns <= kDispatchPause) {
      for (std::size_t k = run; k < i; ++k) {
        segments_[k].what = IdleCause::kLaunch;
        segments_[k].blamed = segments_[i].blamed;
      }
    }
    run = 0;
    after_strong = true;
  }
}

std::vector<std::uint64_t> HostActivity::CountLaunches(const trace::Trace& trace) {
  std::vector<std::uint64_t> launches(trace.threads.size(), 0);
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId from = trace.device.api[w] != kNoRow ? trace.device.api[w] : trace.device.op[w];
    if (from != kNoRow) ++launches[trace.host.thread[from]];
  }
  const std::size_t processes = trace.processes.size();
  merged_.resize(processes + 1);
  std::uint64_t most = 0;
  for (std::size_t t = 0; t < trace.threads.size(); ++t) {
    process_of_.push_back(std::min<std::size_t>(trace.threads[t].process, processes));
    if (launches[t] > most) {
      most = launches[t];
      main_launcher_ = static_cast<int>(t);
    }
  }
  return launches;
}

void HostActivity::MergeLaunchers(const std::vector<std::uint64_t>& launches) {
  struct Cursor {
    Nanos begin_ns;
    std::size_t thread, at;  // segment of segments_ that begins then
    bool operator<(const Cursor& other) const { return begin_ns > other.begin_ns; }  // earliest up
  };
  std::vector<std::vector<std::size_t>> threads(merged_.size());
  for (std::size_t t = 0; t < launches.size(); ++t) {
    if (launches[t] > 0) threads[process_of_[t]].push_back(t);
  }
  for (std::size_t process = 0; process < merged_.size(); ++process) {
    if (threads[process].size() < 2) continue;
    Column<ActivitySegment>& out = merged_[process];
    out.push_back({});
    std::priority_queue<Cursor> next;
    for (const std::size_t t : threads[process]) next.push({INT64_MIN, t, first_[t]});
    std::array<std::uint32_t, kIdleCauseCount> active{};
    std::array<RowId, kIdleCauseCount> row;
    row.fill(kNoRow);
    while (!next.empty()) {
      Cursor top = next.top();
      next.pop();
      const ActivitySegment& segment = segments_[top.at];
      if (top.at > first_[top.thread]) {
        --active[static_cast<std::size_t>(segments_[top.at - 1].what)];
      }
      ++active[static_cast<std::size_t>(segment.what)];
      row[static_cast<std::size_t>(segment.what)] = segment.blamed;
      IdleCause best = IdleCause::kUnknown;
      for (std::size_t c = 0; c < kIdleCauseCount; ++c) {
        const auto cause = static_cast<IdleCause>(c);
        if (active[c] > 0 && Strength(cause) > Strength(best)) best = cause;
      }
      const RowId blamed =
          best == IdleCause::kUnknown ? kNoRow : row[static_cast<std::size_t>(best)];
      if (out.back().begin_ns == segment.begin_ns) {
        out.back() = {segment.begin_ns, blamed, best};
      } else if (out.back().what != best || out.back().blamed != blamed) {
        out.push_back({segment.begin_ns, blamed, best});
      }
      if (++top.at < first_[top.thread + 1]) {
        top.begin_ns = segments_[top.at].begin_ns;
        next.push(top);
      }
    }
  }
}

}  // namespace hone::analyze
