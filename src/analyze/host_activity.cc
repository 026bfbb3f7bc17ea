// SPDX-License-Identifier: Apache-2.0
#include "analyze/host_activity.h"

#include <algorithm>
#include <utility>

#include "analyze/slice_activity.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;

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
  std::size_t kept = first, run = 0;  // run: first kept segment of the current weak run; 0: none
  bool after_strong = false;
  for (std::size_t i = first; i < segments_.size(); ++i) {
    ActivitySegment segment = segments_[i];
    if (IsWeak(segment.what)) {
      if (after_strong) run = kept;
      after_strong = false;
      segments_[kept++] = segment;
      continue;
    }
    if (run != 0 && segment.what == IdleCause::kLaunch &&
        segment.begin_ns - segments_[run].begin_ns <= kDispatchPause) {
      segment.begin_ns = segments_[run].begin_ns;
      kept = run;
    }
    run = 0;
    after_strong = true;
    segments_[kept++] = segment;
  }
  segments_.resize(kept);
}

std::vector<std::uint64_t> HostActivity::CountLaunches(const trace::Trace& trace) {
  std::vector<std::uint64_t> launches(trace.threads.size(), 0);
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId from = trace.device.api[w] != kNoRow ? trace.device.api[w] : trace.device.op[w];
    if (from != kNoRow) ++launches[trace.host.thread[from]];
  }
  const std::size_t processes = trace.processes.size();
  launchers_.resize(processes + 1);
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

// All that these threads did besides Python, in order of begin.
std::vector<HostActivity::Piece> HostActivity::StrongPieces(
    const std::vector<std::size_t>& threads) const {
  std::vector<Piece> pieces;
  std::vector<std::size_t> runs = {0};
  for (const std::size_t thread : threads) {
    const auto own = OfThread(thread);
    for (std::size_t i = 0; i + 1 < own.size(); ++i) {  // the last one is kUnknown
      if (IsWeak(own[i].what)) continue;
      pieces.push_back({own[i].begin_ns, own[i + 1].begin_ns, own[i].blamed, own[i].what});
    }
    runs.push_back(pieces.size());
  }
  const auto by_begin = [](const Piece& a, const Piece& b) { return a.begin_ns < b.begin_ns; };
  const auto at = [&](std::size_t index) {
    return pieces.begin() + static_cast<std::ptrdiff_t>(index);
  };
  // Each thread's run is sorted: merging pairs of runs is log(threads) walks through memory in
  // order. A heap of threads was tried: 1.2 times the time with 500 of them, the same with two.
  while (runs.size() > 2) {
    std::vector<std::size_t> merged = {0};
    for (std::size_t r = 0; r + 1 < runs.size(); r += 2) {
      const std::size_t end = r + 2 < runs.size() ? runs[r + 2] : runs[r + 1];
      std::inplace_merge(at(runs[r]), at(runs[r + 1]), at(end), by_begin);
      merged.push_back(end);
    }
    runs = std::move(merged);
  }
  return pieces;
}

void HostActivity::MergeLaunchers(const std::vector<std::uint64_t>& launches) {
  std::vector<std::vector<std::size_t>> threads(launchers_.size());
  for (std::size_t t = 0; t < launches.size(); ++t) {
    if (launches[t] > 0) threads[process_of_[t]].push_back(t);
  }
  std::array<std::size_t, kIdleCauseCount> list{};
  for (std::size_t c = 0; c < kByStrength.size(); ++c) {
    list[static_cast<std::size_t>(kByStrength[c])] = c;
  }
  for (std::size_t process = 0; process < launchers_.size(); ++process) {
    if (threads[process].size() < 2) continue;
    for (Piece piece : StrongPieces(threads[process])) {
      auto& out = launchers_[process][list[static_cast<std::size_t>(piece.what)]];
      if (!out.empty()) piece.begin_ns = std::max(piece.begin_ns, out.back().end_ns);
      if (piece.begin_ns < piece.end_ns) out.push_back(piece);
    }
  }
}

}  // namespace hone::analyze
