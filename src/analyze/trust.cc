// SPDX-License-Identifier: Apache-2.0
// Each threshold below says why it stands where it stands; docs/user/trust.md lists them.
#include "analyze/trust.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/api_class.h"
#include "analyze/first_uses.h"
#include "analyze/grouping.h"
#include "base/text.h"
#include "trace/record_again.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::Lacking;
using trace::LossHelp;
using trace::RecordAgain;
using trace::RowId;
using trace::SliceKind;
using trace::WorkKind;

// Below one percent no ranking of operators changes; above thirty the largest row may be missing.
constexpr double kUnlinkedPartial = 0.01, kUnlinkedPoor = 0.30;
// A graph holds whole steps, so its share is either next to nothing or most.
constexpr double kGraphPartial = 0.05;
// A few broken events are normal; one in ten is a broken file.
constexpr double kUnreadablePoor = 0.10;
// A recorder that loses the device side loses it for whole steps. Half of them without device work
// is not a program that anyone wrote.
constexpr double kStepsWithWorkPoor = 0.5, kStepsWithWorkPartial = 0.9;
constexpr std::size_t kStepsToJudge = 4;
constexpr std::size_t kMinSteadySteps = 2;  // one step has no spread
// A pause of five steps that is a third of everything is no part of the program's pace.
constexpr double kApartShare = 0.3;
constexpr Nanos kApartSteps = 5;
// Steps of real programs differ by less where they are of one kind; a step with an evaluation or a
// checkpoint in it can be this long, and then decides what all figures say.
constexpr double kOddStep = 20;
// Figures without a tenth of the time hold for the steps and say little about the run.
constexpr double kHolesPartial = 0.1;
// Ids that stand on several calls link work to the wrong one now and then.
constexpr double kAmbiguousPartial = 0.01;

// A stream runs one piece after the other, but a kernel may begin before the one ahead has quite
// ended (3 % of the device's time at most in 80 recordings of an H200). Beyond this, ends are
// wrong.
constexpr double kOverlapPartial = 0.1;
// Less than that no order of findings hangs on.
constexpr double kLoadingPartial = 0.05;

double Share(double part, double all) { return all > 0 ? part / all : 0; }

struct Tally {
  std::uint64_t count = 0;
  double time = 0;
};

// Device work by what is known about its launch.
struct DeviceLinks {
  Tally all;
  Tally nameless;  // neither the launching call nor an operator is in the file
  Tally no_id;     // of these: without an id by which either could be found
  Tally no_call;   // an operator by External id, but no call
  Tally graph;     // of a CUDA graph, or one itself, and no operator is known to have captured it
};

// Whether a graph's kernel was told the operator that captured it, which ran before the launch; the
// operator around the launch of a graph says nothing about its kernels.
bool CapturedElsewhere(const trace::Trace& trace, RowId work) {
  const RowId api = trace.device.api[work], op = trace.device.op[work];
  return api != kNoRow && op != kNoRow && trace.host.end_ns(op) <= trace.host.start_ns[api];
}

// Where the host runs ahead, work that it launched before recording began fills the device until
// the first step's own: that is the queue, not a loss, and no figure of a step holds it.
DeviceLinks CountLinks(const trace::Trace& trace, const Steps& steps) {
  const trace::DeviceWork& device = trace.device;
  const ApiCalls calls(trace);
  DeviceLinks links;
  for (RowId i = 0; i < device.size(); ++i) {
    if (steps.device_clock && device.start_ns[i] < steps.steady_window.hull().begin_ns) continue;
    const auto add = [&](Tally& tally) {
      ++tally.count;
      tally.time += static_cast<double>(device.duration_ns[i]);
    };
    add(links.all);
    const RowId api = device.api[i];
    const bool graph = device.graph[i] != 0 || device.kind[i] == WorkKind::kGraph ||
                       (api != kNoRow && calls[api] == ApiClass::kGraphLaunch);
    if (graph && !CapturedElsewhere(trace, i)) add(links.graph);
    if (api == kNoRow) add(device.op[i] == kNoRow ? links.nameless : links.no_call);
    if (api == kNoRow && device.correlation[i] == 0 && device.external_id[i] == 0) {
      add(links.no_id);
    }
  }
  return links;
}

InputPresence CountPresence(const trace::Trace& trace) {
  InputPresence present;
  std::uint64_t* const by_kind[trace::kSliceKindCount] = {
      &present.ops,    &present.annotations, &present.api_calls,
      &present.python, &present.os_calls,    nullptr,
      nullptr};
  for (const SliceKind kind : trace.host.kind) {
    std::uint64_t* const count = by_kind[static_cast<std::size_t>(kind)];
    if (count != nullptr) ++*count;
  }
  for (const WorkKind kind : trace.device.kind) {
    switch (kind) {
      case WorkKind::kKernel: ++present.kernels; break;
      case WorkKind::kCopy: ++present.copies; break;
      case WorkKind::kSet: ++present.sets; break;
      case WorkKind::kGraph: ++present.graphs; break;
    }
  }
  std::vector<bool> active(trace.processes.size(), false);
  for (const trace::Thread& thread : trace.threads) {
    if (thread.last_slice > thread.first_slice && thread.process < active.size()) {
      active[thread.process] = true;
    }
  }
  present.processes = static_cast<std::uint64_t>(std::count(active.begin(), active.end(), true));
  present.memory_events = trace.memory.size();
  present.counters = trace.counters.size();
  present.syncs = trace.syncs.size();
  present.flows = trace.flows.size();
  for (const trace::OpDetail& detail : trace.op_details) {
    present.shapes = present.shapes || detail.dims != StringId::kEmpty;
    present.stacks = present.stacks || detail.stack != StringId::kEmpty;
    present.modules = present.modules || detail.module != StringId::kEmpty;
  }
  present.stacks = present.stacks || present.python > 0;
  return present;
}

class Judge {
 public:
  Judge(const trace::Trace& trace, const Steps& steps, const Known<Timeline>& timeline,
        TrustFacts& facts)
      : trace_(trace), steps_(steps), timeline_(timeline), facts_(facts) {}

  void Input() {
    for (const LossKind kind : {LossKind::kTruncatedInput, LossKind::kDamagedCompression,
                                LossKind::kDroppedByRecorder, LossKind::kImplausibleDuration}) {
      const LossCount& loss = trace_.losses[kind];
      if (loss.count == 0) continue;
      const bool once = kind == LossKind::kTruncatedInput || kind == LossKind::kDamagedCompression;
      const std::string where = loss.first_detail.empty() ? "" : " (" + loss.first_detail + ")";
      const std::string read =
          once ? fmt::format("; {} before it {} read", Count(trace_.info.events_seen, "event"),
                             trace_.info.events_seen == 1 ? "was" : "were")
               : "";
      Add(Verdict::kPoor, fmt::format("{}{}{}; {}", CountedLoss(kind, loss.count), where, read,
                                      LossHelp(trace_.info, kind)));
    }
    if (trace_.info.compression_damaged &&
        trace_.losses[LossKind::kDamagedCompression].count == 0) {
      Add(Verdict::kPoor, Describe(LossKind::kDamagedCompression).what);
    }
    const LossCount& unreadable = trace_.losses[LossKind::kUnreadableEvent];
    if (unreadable.count > 0) {
      const std::uint64_t seen = std::max(trace_.info.events_seen, unreadable.count);
      const double share = Share(static_cast<double>(unreadable.count), static_cast<double>(seen));
      Add(share > kUnreadablePoor ? Verdict::kPoor : Verdict::kPartial,
          fmt::format("{} of {} events ({}) could not be read and were left out; {}",
                      WithThousands(unreadable.count), WithThousands(seen), Percent(share),
                      LossHelp(trace_.info, LossKind::kUnreadableEvent)));
    }
    Behind();
    Unread();
    Unknown();
    Merged();
    ImpossibleTimes();
    Recording();
    const LossCount& missing = trace_.losses[LossKind::kMissingTable];
    if (missing.count > 0) {
      Add(Verdict::kPartial,
          fmt::format("{} (first: {}); {}", CountedLoss(LossKind::kMissingTable, missing.count),
                      missing.first_detail, LossHelp(trace_.info, LossKind::kMissingTable)));
    }
  }

  // A few of them are what newer writers add; many are what the program did.
  void Unknown() {
    const LossCount& unknown = trace_.losses[LossKind::kUnknownEvent];
    const double share =
        Share(static_cast<double>(unknown.count),
              static_cast<double>(std::max(trace_.info.events_seen, unknown.count)));
    if (share <= kUnlinkedPartial) return;
    Add(share > kUnreadablePoor ? Verdict::kPoor : Verdict::kPartial,
        fmt::format("{} of {} events ({}) are of a kind that hone does not read (first: {}), so "
                    "whatever they recorded is missing below",
                    WithThousands(unknown.count), WithThousands(trace_.info.events_seen),
                    Percent(share), unknown.first_detail));
  }

  // A few stray bytes are nothing; another trace is what somebody wanted an answer to.
  void Behind() {
    const LossCount& behind = trace_.losses[LossKind::kTextBehind];
    const double share =
        Share(static_cast<double>(behind.count), static_cast<double>(trace_.info.raw_bytes));
    if (share <= kUnlinkedPartial) return;
    Add(Verdict::kPartial,
        fmt::format("{} of {} bytes stand behind the end of the trace ({}) and were not read; {}",
                    WithThousands(behind.count), WithThousands(trace_.info.raw_bytes),
                    behind.first_detail, LossHelp(trace_.info, LossKind::kTextBehind)));
  }

  void Unread() {
    const LossCount& unread = trace_.losses[LossKind::kUnreadDevice];
    if (unread.count == 0) return;
    Add(Verdict::kPoor,
        fmt::format("{} ({}): what the device did, when it was idle and why is not told; {}",
                    CountedLoss(LossKind::kUnreadDevice, unread.count), unread.first_detail,
                    LossHelp(trace_.info, LossKind::kUnreadDevice)));
  }

  // Every figure of a step is that of one rank, and waits for another one have no name.
  void Merged() {
    const LossCount& merged = trace_.losses[LossKind::kMergedRanks];
    if (merged.count == 0) return;
    Add(Verdict::kPartial,
        fmt::format("the file merges {} ranks and is read as {}; steps are those of one rank, and "
                    "what ranks wait for each other is not told; {}",
                    merged.count, merged.first_detail,
                    LossHelp(trace_.info, LossKind::kMergedRanks)));
  }

  // Times that cannot be: one is a recorder's slip, and the rest of its times may be as wrong.
  void ImpossibleTimes() {
    for (const LossKind kind : {LossKind::kBadTime, LossKind::kNegativeDuration, LossKind::kFarTime,
                                LossKind::kImplausibleEnd}) {
      const LossCount& loss = trace_.losses[kind];
      if (loss.count == 0) continue;
      const std::uint64_t all =
          kind == LossKind::kImplausibleEnd ? trace_.host.size() : trace_.info.events_seen;
      const std::uint64_t seen = std::max(all, loss.count);
      const double share = Share(static_cast<double>(loss.count), static_cast<double>(seen));
      const std::string where = loss.first_detail.empty() ? "" : ", first " + loss.first_detail;
      Add(share > kUnreadablePoor ? Verdict::kPoor : Verdict::kPartial,
          fmt::format("{} of {} {} ({}{}); {}", WithThousands(loss.count), WithThousands(seen),
                      Describe(kind).what, Percent(share), where, LossHelp(trace_.info, kind)));
    }
  }

  void EarlyStarts(std::uint64_t work) {
    const LossCount& early = trace_.losses[LossKind::kStartsBeforeLaunch];
    const double share = Share(static_cast<double>(early.count), static_cast<double>(work));
    if (share <= kUnlinkedPartial) return;
    Add(share > kUnlinkedPoor ? Verdict::kPoor : Verdict::kPartial,
        fmt::format("{} of {} pieces of device work ({}) start before the call that launched them "
                    "({}); launch delays and idle causes are wrong there; {}",
                    WithThousands(early.count), WithThousands(work), Percent(share),
                    early.first_detail, LossHelp(trace_.info, LossKind::kStartsBeforeLaunch)));
  }

  void Links() {
    if (trace_.device.size() == 0) return NoDevice();
    EarlyStarts(trace_.device.size());
    const DeviceLinks links = CountLinks(trace_, steps_);
    const double nameless = Share(links.nameless.time, links.all.time);
    if (nameless > kUnlinkedPartial) {
      const bool no_host = facts_.present.api_calls == 0 && facts_.present.ops == 0;
      const bool no_ids = links.no_id.count == links.nameless.count;
      Add(nameless > kUnlinkedPoor ? Verdict::kPoor : Verdict::kPartial,
          fmt::format("{} of {} pieces of device work ({} of device time) {}; op tables leave them "
                      "out; {}",
                      WithThousands(links.nameless.count), WithThousands(links.all.count),
                      Percent(nameless),
                      no_host  ? "have no host side, the file holds none"
                      : no_ids ? "have no correlation id, so that their launches cannot be told"
                               : "were launched outside the recorded window",
                      no_host  ? RecordAgain(trace_.info, Lacking::kCalls)
                      : no_ids ? "another tool may have left the ids out: analyze the file as the "
                                 "recorder wrote it"
                               : LossHelp(trace_.info, LossKind::kUnlinkedDeviceWork)));
    }
    const double no_call = Share(links.no_call.time, links.all.time);
    if (no_call > kUnlinkedPartial) {
      Add(Verdict::kPartial,
          fmt::format("{} of {} pieces of device work ({} of device time) have an operator but no "
                      "launching call; launch delays and idle causes leave them out; {}",
                      WithThousands(links.no_call.count), WithThousands(links.all.count),
                      Percent(no_call), RecordAgain(trace_.info, Lacking::kCalls)));
    }
    const double graph = Share(links.graph.time, links.all.time);
    if (graph > kGraphPartial) {
      Add(Verdict::kPartial,
          fmt::format(
              "{} of {} pieces of device work ({} of device time) came from CUDA graphs; no "
              "operator can be named for them and gaps inside a graph may be missing "
              "records; record a run without CUDA graphs to see operators",
              WithThousands(links.graph.count), WithThousands(links.all.count), Percent(graph)));
    }
    const LossCount& overlap = trace_.losses[LossKind::kStreamOverlap];
    const double twice = Share(static_cast<double>(overlap.time_ns), links.all.time);
    if (twice > kOverlapPartial) {
      Add(Verdict::kPartial,
          fmt::format("{} of {} pieces of device work begin before the one ahead on their stream "
                      "has ended ({} of device time), which a stream does not do: ends are "
                      "wrong, and tables of kernels and operators count that time twice; record "
                      "again",
                      WithThousands(overlap.count), WithThousands(links.all.count),
                      Percent(twice)));
    }
    const std::uint64_t ambiguous = trace_.losses[LossKind::kAmbiguousCorrelation].count;
    const double share =
        Share(static_cast<double>(ambiguous), static_cast<double>(facts_.present.api_calls));
    if (share > kAmbiguousPartial) {
      Add(Verdict::kPartial,
          fmt::format("{} of {} launching calls ({}) share their correlation id with another; {}",
                      WithThousands(ambiguous), WithThousands(facts_.present.api_calls),
                      Percent(share), LossHelp(trace_.info, LossKind::kAmbiguousCorrelation)));
    }
  }

  void StepsSeen() {
    if (steps_.source == StepSource::kNone) {
      Add(Verdict::kPartial, steps_.why_none +
                                 "; figures cover the whole trace, start-up included; " +
                                 RecordAgain(trace_.info, Lacking::kSteps));
      return;
    }
    if (steps_.source == StepSource::kKernelPattern || steps_.source == StepSource::kOpPattern) {
      Add(Verdict::kPartial,
          fmt::format("{} steps were inferred from {}, not marked; {}",
                      WithThousands(steps_.steps.size()), StepSourceName(steps_.source),
                      RecordAgain(trace_.info, Lacking::kSteps)));
    }
    if (steps_.steady_count() < kMinSteadySteps) {
      Add(Verdict::kPartial, fmt::format("only {} of {}; record at least {} steps after warm-up",
                                         Count(steps_.steady_count(), "steady step"),
                                         steps_.steps.size(), kMinSteadySteps + 1));
    }
    Holes();
    WrongMarks();
    Apart();
    FirstUses();
    if (timeline_.has_value() && steps_.steps.size() >= kStepsToJudge) StepsWithWork();
  }

 private:
  // What is paid once is no part of a step, however well it is measured.
  void FirstUses() {
    Nanos loading = 0;
    std::size_t count = 0;
    for (const FirstUse& use : FindFirstUses(trace_, ApiCalls(trace_))) {
      const RowId call = use.call;
      if (!steps_.steady_window.Holds(trace_.host.start_ns[call])) continue;
      loading = SaturatingAdd(loading, use.loading_ns);
      ++count;
    }
    const double share =
        Share(static_cast<double>(loading), static_cast<double>(steps_.steady_window.length()));
    if (share < kLoadingPartial) return;
    Add(Verdict::kPartial,
        fmt::format("{} for the first time in the steps and {} loaded then, {} ({} of their time), "
                    "which no later step does; {}",
                    Count(count, "kernel is launched", "kernels are launched"),
                    count == 1 ? "is" : "are", HumanDuration(loading), Percent(share),
                    RecordAgain(trace_.info, Lacking::kWarmUp)));
  }

  // A hole is left out, so figures hold without it. Where numbers say that other steps lie in it
  // and it is short, that is all there is to say; else it may have been a stall of the program.
  void Holes() {
    if (steps_.holes.empty()) return;
    const StepHole* longest = &steps_.holes[0];
    Nanos total = 0;
    bool nothing = false;
    for (const StepHole& hole : steps_.holes) {
      total += hole.length_ns;
      nothing = nothing || hole.kind == Before::kNothing;
      if (hole.length_ns > longest->length_ns) longest = &hole;
    }
    const std::string where = longest->to.empty()
                                  ? fmt::format("after {}", longest->from)
                                  : fmt::format("between {} and {}", longest->from, longest->to);
    const std::size_t count = steps_.holes.size();
    const std::string what =
        count == 1 ? fmt::format("the recording has a hole of {} {}", HumanDuration(total), where)
                   : fmt::format("the recording has {} holes of {} together, the longest of {} {}",
                                 WithThousands(count), HumanDuration(total),
                                 HumanDuration(longest->length_ns), where);
    const Nanos all =
        steps_.steps.back().host_span.end_ns - steps_.steps.front().host_span.begin_ns;
    const double share = Share(static_cast<double>(total), static_cast<double>(all));
    std::string then;
    if (nothing) {
      then = "; nothing was recorded in it: record again if the program stalled there, ";
      then += RecordAgain(trace_.info, Lacking::kStall);
    } else if (share > kHolesPartial) {
      then = fmt::format(
          " alone: {} of the time from the first to the last is in none of them; record steps that "
          "follow each other, each with its mark",
          Percent(share));
    }
    Add(then.empty() ? Verdict::kGood : Verdict::kPartial,
        fmt::format("{}; {} left out and figures are those of {} steps{}", what,
                    count == 1 ? "it is" : "they are", WithThousands(steps_.steps.size()), then));
  }

  void WrongMarks() {
    const EnclosingMarks& marks = steps_.enclosing;
    if (marks.count > 0) {
      Add(Verdict::kPartial,
          fmt::format("{} of {} step marks ({}, {} long) {} other steps and {} cut where the next "
                      "begins; {}",
                      WithThousands(marks.count), WithThousands(marks.of), marks.name,
                      HumanDuration(marks.length_ns), marks.count == 1 ? "encloses" : "enclose",
                      marks.count == 1 ? "is" : "are",
                      LossHelp(trace_.info, LossKind::kEnclosingStep)));
    }
    if (!steps_.stats || steps_.steady_count() < kStepsToJudge) return;
    const auto longest = std::max_element(
        steps_.steps.begin() + static_cast<std::ptrdiff_t>(steps_.warm_up_count),
        steps_.steps.end(),
        [](const Step& a, const Step& b) { return a.span.length() < b.span.length(); });
    const auto length = static_cast<double>(longest->span.length());
    const double times = Share(length, static_cast<double>(steps_.stats->median_ns));
    const double share = Share(length, static_cast<double>(steps_.steady_window.length()));
    if (times < kOddStep || share < kApartShare) return;
    Add(Verdict::kPartial,
        fmt::format("{} takes {}, {} times the median, and is {} of the time below; figures "
                    "and predictions are mostly of this one step; record a window without it",
                    longest->name, HumanDuration(longest->span.length()), Fixed(times, 0),
                    Percent(share)));
  }

  // Time between two neighbours: the program's own, but no part of a step.
  void Apart() {
    if (!steps_.stats) return;
    Nanos widest = 0;
    const Step* after = nullptr;
    for (std::size_t i = steps_.warm_up_count + 1; i < steps_.steps.size(); ++i) {
      const Nanos gap = steps_.steps[i].span.begin_ns - steps_.steps[i - 1].span.end_ns;
      if (steps_.steps[i].before != Before::kNeighbour || gap <= widest) continue;
      widest = gap;
      after = &steps_.steps[i];
    }
    const double share =
        Share(static_cast<double>(widest), static_cast<double>(steps_.steady_window.length()));
    if (share < kApartShare || widest < kApartSteps * steps_.stats->median_ns) return;
    Add(Verdict::kPoor,
        fmt::format("{} between {} and the step in front of it ({} of the time from the first to "
                    "the last step) count below as time of all steps; record a window without it",
                    HumanDuration(widest), after->name, Percent(share)));
  }

  // What hone's own recorder says about its recording. A process that was killed loses half a
  // second and no trust, but who made a copy of half a file must hear of it; nor does a record in a
  // hundred change a ranking.
  void Recording() {
    if (const LossCount& open = trace_.losses[LossKind::kProcessKilled]; open.count > 0) {
      Add(Verdict::kGood,
          fmt::format("{} ({}); {}", CountedLoss(LossKind::kProcessKilled, open.count),
                      open.first_detail, LossHelp(trace_.info, LossKind::kProcessKilled)));
    }
    const auto of_events = [&](std::uint64_t count) {
      return Share(static_cast<double>(count),
                   static_cast<double>(trace_.info.events_seen + count));
    };
    for (const LossKind kind :
         {LossKind::kNotRecorded, LossKind::kDamagedChunk, LossKind::kRecordingGap}) {
      const LossCount& loss = trace_.losses[kind];
      if (loss.count == 0) continue;
      const double share = kind == LossKind::kNotRecorded ? of_events(loss.count) : 0;
      if (kind == LossKind::kNotRecorded && share <= kUnlinkedPartial) continue;
      const std::string where = loss.first_detail.empty() ? "" : " (" + loss.first_detail + ")";
      Add(share > kUnreadablePoor ? Verdict::kPoor : Verdict::kPartial,
          fmt::format("{}{}; {}", CountedLoss(kind, loss.count), where,
                      LossHelp(trace_.info, kind)));
    }
  }

  // Launches without any device record: the device side was not recorded, or was lost.
  void NoDevice() {
    const ApiCalls calls(trace_);
    std::uint64_t launches = 0;
    for (RowId i = 0; i < trace_.host.size(); ++i) {
      if (calls[i] == ApiClass::kLaunch || calls[i] == ApiClass::kGraphLaunch) ++launches;
    }
    if (launches == 0) return;
    Add(Verdict::kPoor,
        fmt::format("no kernel records ({} seen); {}", Count(launches, "launch", "launches"),
                    trace_.info.format == trace::Format::kHone
                        ? "the losses say why"
                        : RecordAgain(trace_.info, Lacking::kDevice)));
  }

  void StepsWithWork() {
    std::size_t with_work = 0;
    for (const Step& step : steps_.steps) {
      const bool has_work = std::any_of(
          timeline_->devices.begin(), timeline_->devices.end(),
          [&](const DeviceTimeline& device) { return device.busy.LengthWithin(step.span) > 0; });
      if (has_work) ++with_work;
    }
    const double share =
        Share(static_cast<double>(with_work), static_cast<double>(steps_.steps.size()));
    if (share >= kStepsWithWorkPartial) return;
    Add(share <= kStepsWithWorkPoor ? Verdict::kPoor : Verdict::kPartial,
        fmt::format("device work in only {} of {} steps; the recorder lost the rest or recorded "
                    "them without the device; record a shorter window",
                    WithThousands(with_work), WithThousands(steps_.steps.size())));
  }

  void Add(Verdict lowers_to, std::string text) {
    facts_.reasons.push_back({lowers_to, std::move(text)});
    facts_.verdict = std::max(facts_.verdict, lowers_to);
  }

  const trace::Trace& trace_;
  const Steps& steps_;
  const Known<Timeline>& timeline_;
  TrustFacts& facts_;
};

std::vector<LossRow> ListLosses(const trace::Trace& trace, const Steps& steps) {
  double device_time = 0;
  for (const Nanos duration : trace.device.duration_ns)
    device_time += static_cast<double>(duration);
  std::vector<LossRow> rows;
  for (std::size_t i = 0; i < kLossKindCount; ++i) {
    const auto kind = static_cast<LossKind>(i);
    const LossCount& loss = trace.losses[kind];
    if (loss.count == 0) continue;
    LossRow row{kind, loss.count, Known<double>::Absent("no time is known for it"),
                loss.first_detail};
    // An implausible duration is not part of the device time that it would be a share of.
    if (loss.time_ns > 0 && device_time > 0 && kind != LossKind::kImplausibleDuration) {
      row.time_share = Share(static_cast<double>(loss.time_ns), device_time);
    }
    rows.push_back(std::move(row));
  }
  const auto of_steps = [&](LossKind kind, std::size_t count, const std::string& detail) {
    if (count == 0) return;
    rows.push_back({kind, count, Known<double>::Absent("no time is known for it"), detail});
  };
  of_steps(LossKind::kEnclosingStep, steps.enclosing.count, steps.enclosing.name);
  if (!steps.holes.empty()) {
    const StepHole& hole = steps.holes[0];
    of_steps(LossKind::kRecordingHole, steps.holes.size(),
             fmt::format("{} after {}", HumanDuration(hole.length_ns), hole.from));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const LossRow& a, const LossRow& b) {
    return Describe(a.kind).severity > Describe(b.kind).severity;
  });
  return rows;
}

}  // namespace

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood: return "good";
    case Verdict::kPartial: return "partial";
    case Verdict::kPoor: return "poor";
  }
  return "poor";
}

void Lower(TrustFacts& trust, Verdict lowers_to, std::string text) {
  const auto at = std::upper_bound(
      trust.reasons.begin(), trust.reasons.end(), lowers_to,
      [](Verdict verdict, const TrustReason& reason) { return verdict > reason.lowers_to; });
  trust.reasons.insert(at, {lowers_to, std::move(text)});
  trust.verdict = std::max(trust.verdict, lowers_to);
}

TrustFacts JudgeTrust(const trace::Trace& trace, const Steps& steps,
                      const Known<Timeline>& timeline) {
  TrustFacts facts;
  facts.present = CountPresence(trace);
  facts.losses = ListLosses(trace, steps);
  facts.steps = steps.steps.size();
  facts.steady_steps = steps.steady_count();
  facts.warm_up_inside = steps.warm_up_count > 0;
  Judge judge(trace, steps, timeline, facts);
  judge.Input();
  judge.Links();
  judge.StepsSeen();
  std::stable_sort(
      facts.reasons.begin(), facts.reasons.end(),
      [](const TrustReason& a, const TrustReason& b) { return a.lowers_to > b.lowers_to; });
  return facts;
}

}  // namespace hone::analyze
