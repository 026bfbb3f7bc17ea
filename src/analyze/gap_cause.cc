// SPDX-License-Identifier: Apache-2.0
#include "analyze/gap_cause.h"

#include <algorithm>
#include <array>
#include <span>

#include "analyze/grouping.h"
#include "analyze/work_class.h"

namespace hone::analyze {
namespace {

using trace::Interval;
using trace::kNoRow;
using trace::RowId;

// Queued work starts within this of being able to, or something that the trace does not show holds
// it back. The longest of some 60,000 queued gaps in traces of V100, A100, H100 and H200 is 16 µs;
// three times that.
constexpr Nanos kTurnAround = 50 * kMicrosecond;

// A call that returned at most this before the device ran dry still counts as blocking it: the
// driver returns from a pageable copy while its last chunk is on the way (6 µs, H200).
constexpr Nanos kEarlyReturn = 20 * kMicrosecond;

RowId LaunchOf(const trace::DeviceWork& device, RowId work) {
  return device.api[work] != kNoRow ? device.api[work] : device.op[work];
}

// Moves `at` to the segment that holds `time`; times come in order.
void Advance(std::span<const ActivitySegment> segments, Nanos time, std::size_t& at) {
  while (at + 1 < segments.size() && segments[at + 1].begin_ns <= time) ++at;
}

}  // namespace

// Time of a gap by cause. The largest wins; the earlier cause of the list on a tie.
class GapExplainer::Vote {
 public:
  // A blocking call that began before the gap held the host back for as long as it took. Without
  // it all that followed would have come that much earlier, part of it while the device still had
  // work: up to `until_ns`, launching and plain host work count against the call and not against
  // themselves.
  void Drained(IdleCause cause, RowId call, Nanos until_ns) {
    drain_ = cause;
    drain_row_ = call;
    drain_until_ns_ = until_ns;
  }

  void Add(Interval span, IdleCause cause, RowId row) {
    if (span.begin_ns >= span.end_ns) return;
    const bool hideable = cause == IdleCause::kLaunch || IsWeak(cause);
    if (hideable && span.begin_ns < drain_until_ns_) {
      const Nanos cut = std::min(span.end_ns, drain_until_ns_);
      Count(cut - span.begin_ns, drain_, drain_row_);
      span.begin_ns = cut;
      if (span.begin_ns >= span.end_ns) return;
    }
    Count(span.length(), cause, row);
  }

  GapCause Winner() const {
    const auto best =
        static_cast<std::size_t>(std::max_element(time_.begin(), time_.end()) - time_.begin());
    if (time_[best] == 0) return {};
    return {static_cast<IdleCause>(best), row_[best]};
  }

 private:
  void Count(Nanos length, IdleCause cause, RowId row) {
    const auto c = static_cast<std::size_t>(cause);
    time_[c] += length;
    if (length > longest_[c]) {
      longest_[c] = length;
      row_[c] = row;
    }
  }

  std::array<Nanos, kIdleCauseCount> time_{}, longest_{};
  std::array<RowId, kIdleCauseCount> row_ = [] {
    std::array<RowId, kIdleCauseCount> none;
    none.fill(kNoRow);
    return none;
  }();
  IdleCause drain_ = IdleCause::kUnknown;
  RowId drain_row_ = kNoRow;
  Nanos drain_until_ns_ = INT64_MIN;
};

GapExplainer::GapExplainer(const trace::Trace& trace, const HostActivity& activity,
                           const ApiCalls& calls)
    : trace_(trace),
      activity_(activity),
      calls_(calls),
      thread_at_(trace.threads.size(), 0),
      process_at_(activity.process_count()),
      first_linked_(trace.streams.size(), kNoRow),
      comm_names_(trace.strings.size(), 0) {
  for (RowId w = 0; w < trace.device.size(); ++w) {
    RowId& first = first_linked_[trace.device.stream[w]];
    if (first == kNoRow && LaunchOf(trace.device, w) != kNoRow) first = w;
  }
}

GapCause GapExplainer::Explain(Interval gap, GapEnds ends) {
  if (trace_.host.size() == 0) return {};
  const RowId launch = ends.next == kNoRow ? kNoRow : LaunchOf(trace_.device, ends.next);
  if (launch == kNoRow) {
    if (ends.next != kNoRow && LaunchedBeforeRecording(ends.next)) {
      return {Queued(ends, gap.length()), kNoRow};
    }
    if (activity_.main_launcher() < 0) return {};
    const auto thread = static_cast<std::size_t>(activity_.main_launcher());
    Vote vote = StartVote(thread, gap);
    Walk(thread, gap, IdleCause::kUnknown, vote);
    return vote.Winner();
  }

  const std::size_t thread = trace_.host.thread[launch];
  const Nanos call_start = std::clamp(trace_.host.start_ns[launch], gap.begin_ns, gap.end_ns);
  const Nanos call_end = trace_.host.end_ns(launch);
  if (call_end <= gap.begin_ns) return {Queued(ends, gap.length()), kNoRow};

  Vote vote = StartVote(thread, gap);
  // The host was late, so it was at work somewhere, even where no slice shows it.
  Walk(thread, {gap.begin_ns, call_start}, IdleCause::kHostWork, vote);
  // From the call on, the work is on its way to the device; beyond the usual latency something
  // else held it back.
  const Nanos under_way = std::clamp(SaturatingAdd(call_end, kTurnAround), call_start, gap.end_ns);
  const bool blocking = calls_[launch] == ApiClass::kBlockingCopy;
  vote.Add({call_start, under_way}, blocking ? IdleCause::kCopy : IdleCause::kLaunch, launch);
  if (under_way < gap.end_ns) {
    vote.Add({under_way, gap.end_ns}, Queued(ends, gap.end_ns - call_end), kNoRow);
  }
  return vote.Winner();
}

// Finds the blocking call that kept the host from running ahead, if there is one. Of a pageable
// copy and the synchronization that PyTorch sends after it, the longer counts.
GapExplainer::Vote GapExplainer::StartVote(std::size_t thread, Interval gap) {
  Vote vote;
  Nanos longest = 0;
  const auto consider = [&](IdleCause what, RowId call) {
    if (!IsBlocked(what) || call == kNoRow) return;
    const Nanos held = trace_.host.duration_ns[call];
    if (trace_.host.start_ns[call] >= gap.begin_ns || held <= longest) return;
    if (trace_.host.end_ns(call) < gap.begin_ns - kEarlyReturn) return;
    longest = held;
    vote.Drained(what, call, SaturatingAdd(gap.begin_ns, held));
  };
  const Moment now = At(thread, gap.begin_ns, gap.end_ns);
  consider(now.what, now.blamed);
  const auto own = activity_.OfThread(thread);
  const std::size_t at = thread_at_[thread];
  for (std::size_t back = 1; back <= 2 && back <= at; ++back) {
    consider(own[at - back].what, own[at - back].blamed);
  }
  return vote;
}

// The thread's own activity first. Where it has none, or only plain Python, the other threads of
// its process that launch are asked: the autograd engine works while the main thread waits in
// backward(), and the other way round. Somebody else's data loading is not what a thread with
// code of its own waits for.
GapExplainer::Moment GapExplainer::At(std::size_t thread, Nanos time, Nanos limit) {
  const auto own = activity_.OfThread(thread);
  std::size_t& at = thread_at_[thread];
  Advance(own, time, at);
  Moment moment{own[at].what, own[at].blamed, limit};
  if (at + 1 < own.size()) moment.end_ns = std::min(limit, own[at + 1].begin_ns);
  if (!IsWeak(moment.what)) return moment;

  const std::size_t process = activity_.ProcessOf(thread);
  const HostActivity::Pieces& others = activity_.OfLaunchers(process);
  for (std::size_t c = 0; c < others.size(); ++c) {
    if (HostActivity::kByStrength[c] == IdleCause::kLoader && moment.what != IdleCause::kUnknown) {
      continue;
    }
    std::size_t& piece = process_at_[process][c];
    while (piece < others[c].size() && others[c][piece].end_ns <= time) ++piece;
    if (piece == others[c].size()) continue;
    const HostActivity::Piece& next = others[c][piece];
    if (next.begin_ns > time) {
      moment.end_ns = std::min(moment.end_ns, next.begin_ns);  // something stronger begins then
      continue;
    }
    return {next.what, next.blamed, std::min(moment.end_ns, next.end_ns)};
  }
  return moment;
}

void GapExplainer::Walk(std::size_t thread, Interval window, IdleCause unseen, Vote& vote) {
  for (Nanos now = window.begin_ns; now < window.end_ns;) {
    const Moment moment = At(thread, now, window.end_ns);
    vote.Add({now, moment.end_ns}, moment.what == IdleCause::kUnknown ? unseen : moment.what,
             moment.blamed);
    now = moment.end_ns;
  }
}

// Work that was on the device's queue before the device ran dry. Nothing of this device ran in the
// gap, so what it waited for can only be what ended last, or its own turn.
IdleCause GapExplainer::Queued(GapEnds ends, Nanos waited_ns) {
  const trace::DeviceWork& device = trace_.device;
  if (ends.previous != kNoRow && ends.next != kNoRow &&
      device.stream[ends.previous] != device.stream[ends.next]) {
    if (IsCommunication(ends.previous)) return IdleCause::kCommunication;
    if (device.kind[ends.previous] == trace::WorkKind::kCopy) return IdleCause::kCopy;
  }
  return waited_ns <= kTurnAround ? IdleCause::kDeviceOverhead : IdleCause::kUnknown;
}

bool GapExplainer::IsCommunication(RowId work) {
  if (trace_.device.collective[work] != 0) return true;
  const StringId name = trace_.device.name[work];
  std::uint8_t& seen = comm_names_[static_cast<std::uint32_t>(name)];
  if (seen == 0) seen = IsCommunicationName(trace_.Name(name)) ? 2 : 1;
  return seen == 2;
}

// Streams run in launch order: work ahead of the first one whose launch was recorded was launched
// before the recording began.
bool GapExplainer::LaunchedBeforeRecording(RowId work) const {
  const RowId first = first_linked_[trace_.device.stream[work]];
  return first != kNoRow && work < first;
}

}  // namespace hone::analyze
