// SPDX-License-Identifier: Apache-2.0
// python-hotspot: the Python function that takes most of the step takes no time.
//
// Longer than most files: four ways to find it (frames, samples, pauses, loops of operators) that
// share what a pause is and are weighed against each other at the end. SelfTime could stand alone.
#include "replay/edits/python_hotspot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/collective_source.h"
#include "analyze/grouping.h"
#include "analyze/loader.h"
#include "analyze/slice_activity.h"
#include "analyze/source_frame.h"
#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/operator_loop.h"
#include "replay/edits/recompile.h"
#include "replay/edits/sampled_pauses.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// What is other rules' business: fetching batches and compiling.
std::vector<std::uint8_t> OthersBusiness(const Model& model) {
  std::vector<std::uint8_t> others(model.trace().host.size(), 0);
  for (const RowId row : analyze::FindLoaderSlices(model.trace())) others[row] = 1;
  for (const RowId row : FindCompiles(model)) others[row] = 1;
  return others;
}

// An operator that makes no call and takes this long computes on the host (ten times what
// dispatching one costs): drawing random numbers, casting or augmenting CPU tensors.
constexpr Nanos kHostComputation = 10 * analyze::kDispatchPause;

// Rows of such operators, and all rows inside them: code like the Python around it.
std::vector<std::uint8_t> HostComputations(const Model& model) {
  const trace::Trace& trace = model.trace();
  const std::size_t rows = trace.host.size();
  std::vector<std::uint8_t> computes(rows, 0), calls(rows, 0);
  if (!model.calls().any()) return computes;
  for (RowId i = 0; i < rows; ++i) {
    const RowId top = model.lineage().top_op[i];
    if (trace.host.kind[i] == SliceKind::kApi && top != kNoRow) calls[top] = 1;
  }
  for (RowId i = 0; i < rows; ++i) {
    const RowId top = model.lineage().top_op[i];
    if (top == kNoRow || calls[top] != 0) continue;
    computes[i] = trace.host.duration_ns[top] >= kHostComputation ? 1 : 0;
  }
  return computes;
}

// Of the operators inside the cut that compute on the host, one of the name with most time.
RowId LargestComputation(const Model& model, const HostCut& cut) {
  const trace::Trace& trace = model.trace();
  const std::vector<std::uint8_t> computes = HostComputations(model);
  std::vector<Nanos> total(trace.strings.size(), 0);
  RowId largest = kNoRow;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (computes[i] == 0 || model.lineage().top_op[i] != i) continue;
    if (model.LaneOf(i) != 0 || !cut.Contains(0, trace.host.start_ns[i])) continue;
    Nanos& sum = total[static_cast<std::uint32_t>(trace.host.name[i])];
    sum = analyze::SaturatingAdd(sum, trace.host.duration_ns[i]);
    const auto most = [&] { return total[static_cast<std::uint32_t>(trace.host.name[largest])]; };
    if (largest == kNoRow || sum > most()) largest = i;
  }
  return largest;
}

// Frames of frameworks (dispatch, modules, optimizers) are launch-bound's business: nobody can edit
// them. Built-ins belong to the function that calls them.
enum Kind : std::uint8_t { kUnseen, kBuiltin, kFramework, kLibrary, kUser };

Kind KindOf(std::string_view name) {
  const analyze::SourceFrame frame = analyze::ParseFrame(name);
  if (frame.file.empty()) return name.starts_with("nn.Module: ") ? kFramework : kBuiltin;
  if (analyze::IsFrameworkFrame(frame)) return kFramework;
  return analyze::IsUserFrame(frame) ? kUser : kLibrary;
}

struct Piece {
  StringId name;
  trace::Interval span;
};

// Pieces of the step thread in which the innermost thing that runs is a Python function.
class SelfTime {
 public:
  explicit SelfTime(const Model& model)
      : model_(model),
        host_(model.trace().host),
        others_(OthersBusiness(model)),
        computes_(HostComputations(model)),
        names_(model.trace().strings.size(), kUnseen),
        longest_(names_.size(), kNoRow),
        calls_(names_.size(), 0) {}

  // By time, not by parents: steps and other annotations cross the frames that begin and end them.
  std::vector<Piece> Collect() {
    const trace::Thread& thread = model_.trace().threads[model_.graph().lanes[0].row];
    for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
      if (!Counts(i)) continue;
      while (!open_.empty() && open_.back().end_ns <= host_.start_ns[i]) Pop();
      const std::size_t around = open_.empty() ? kNobody : open_.back().owner;
      const std::size_t owner = Owner(i, around);
      // A built-in goes on with its caller's time; all else interrupts it.
      if (owner != around && around != kNobody) {
        Open& caller = open_[around];
        Close(caller, host_.start_ns[i]);
        caller.at_ns = std::max(caller.at_ns, host_.end_ns(i));
      }
      open_.push_back({i, owner, host_.start_ns[i], host_.end_ns(i)});
    }
    while (!open_.empty()) Pop();
    return std::move(pieces_);
  }
  Kind KindOfName(StringId name) const {
    return static_cast<Kind>(names_[static_cast<std::uint32_t>(name)]);
  }
  // The library's function that this one calls and that takes most of its time; kNoRow: none.
  RowId LibraryOf(StringId name) const {
    const auto of = libraries_.find(name);
    if (of == libraries_.end()) return kNoRow;
    const auto most = std::max_element(
        of->second.begin(), of->second.end(),
        [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
    return most->second.first;
  }
  RowId Longest(StringId name) const { return longest_[static_cast<std::uint32_t>(name)]; }
  std::uint64_t Calls(StringId name) const { return calls_[static_cast<std::uint32_t>(name)]; }

 private:
  static constexpr std::size_t kNobody = SIZE_MAX;
  struct Open {
    RowId row;
    std::size_t owner;  // place in open_ of the function that the time inside belongs to
    Nanos at_ns;        // of a function: from where its time is open
    Nanos end_ns;
  };

  bool Counts(RowId i) const {
    if (others_[i] != 0) return true;
    if (computes_[i] != 0) return false;
    const SliceKind kind = host_.kind[i];
    return kind != SliceKind::kAnnotation && kind != SliceKind::kOther &&
           kind != SliceKind::kGraphNode;
  }
  std::size_t Owner(RowId i, std::size_t around) {
    if (others_[i] != 0 || host_.kind[i] != SliceKind::kPython) return kNobody;
    const auto name = static_cast<std::uint32_t>(host_.name[i]);
    if (names_[name] == kUnseen) names_[name] = KindOf(model_.trace().HostName(i));
    if (names_[name] == kBuiltin) return around;
    // A library works for who called it: that is the line that the user can change. Not so who
    // began before the step: that is the loop of the steps, or the program that called a library's.
    if (names_[name] == kLibrary && around != kNobody && KindOfOpen(around) == kUser &&
        BeganInStep(open_[around].row, i)) {
      if (open_.back().owner == around && model_.InWindow(i)) NoteLibrary(open_[around].row, i);
      return around;
    }
    if (model_.InWindow(i)) ++calls_[name];
    if (longest_[name] == kNoRow || host_.duration_ns[i] > host_.duration_ns[longest_[name]]) {
      longest_[name] = i;
    }
    return open_.size();
  }
  bool BeganInStep(RowId function, RowId inside) {
    const std::vector<analyze::Step>& steps = model_.facts().steps.steps;
    const auto begin = [&](std::size_t step) { return steps[step].host_span.begin_ns; };
    while (step_ + 1 < steps.size() && begin(step_ + 1) <= host_.start_ns[inside]) ++step_;
    return steps.empty() || host_.start_ns[function] >= begin(step_);
  }
  Kind KindOfOpen(std::size_t at) const { return KindOfName(host_.name[open_[at].row]); }
  void NoteLibrary(RowId caller, RowId function) {
    auto& [row, time] =
        libraries_[host_.name[caller]].try_emplace(host_.name[function], function, 0).first->second;
    time = analyze::SaturatingAdd(time, host_.duration_ns[function]);
  }
  void Pop() {
    const Open& last = open_.back();
    if (last.owner == open_.size() - 1) Close(last, last.end_ns);
    open_.pop_back();
  }
  void Close(const Open& function, Nanos end) {
    const trace::Interval& window = model_.graph().window;
    const Nanos begin = std::max(function.at_ns, window.begin_ns);
    end = std::min({end, window.end_ns, function.end_ns});
    if (begin < end) pieces_.push_back({host_.name[function.row], {begin, end}});
  }

  const Model& model_;
  const trace::HostSlices& host_;
  const std::vector<std::uint8_t> others_, computes_;
  std::vector<std::uint8_t> names_;   // by StringId
  std::vector<RowId> longest_;        // by StringId
  std::vector<std::uint64_t> calls_;  // by StringId
  // By caller, then by function: one of its slices, and the time of all, what it calls included.
  std::map<StringId, std::map<StringId, std::pair<RowId, Nanos>>> libraries_;
  std::size_t step_ = 0;
  std::vector<Open> open_;  // what runs, outermost first
  std::vector<Piece> pieces_;
};

// What other launching threads do: a pause that they fill is waiting for them (backward passes run
// on threads of their own).
trace::IntervalSet OtherThreads(const Model& model) {
  const trace::Trace& trace = model.trace();
  std::vector<trace::Interval> busy;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (model.LaneOf(i) == 0 || !model.InWindow(i)) continue;
    const RowId top = model.lineage().top_op[i];
    if (top == i || (top == kNoRow && trace.host.kind[i] == SliceKind::kApi)) {
      busy.push_back({trace.host.start_ns[i], trace.host.end_ns(i)});
    }
  }
  return trace::IntervalSet::Union(std::move(busy));
}

// Collectives of back ends that run on the host, on threads of their own.
trace::IntervalSet HostCollectives(const Model& model) {
  const analyze::CollectiveSource source(model.trace());
  std::vector<trace::Interval> spans;
  for (const RowId row : source.HostCollectives()) {
    spans.push_back({model.trace().host.start_ns[row], model.trace().host.end_ns(row)});
  }
  return trace::IntervalSet::Union(std::move(spans));
}

// A pause that something else fills for the most part is waiting for it.
void DropFilled(const trace::IntervalSet& elsewhere, std::vector<Pause>& pauses) {
  std::erase_if(pauses, [&](const Pause& pause) {
    return 2 * elsewhere.LengthWithin(pause.span) > pause.span.length();
  });
}

// How far what a loop of operators costs may be off, as an error of samples is.
constexpr double kLoopError = 0.02, kCellError = 0.25;

// Of what a loop of operators takes, what code between them must take to be the reason.
constexpr double kExplainsALoop = 0.8;

// Of what code takes that goes over a list, what the calls of a list that grows must take.
constexpr double kGrowthExplains = 0.5;

// A line that calls so many small operators a step does in a loop what one operator could do. No
// model has as many layers as that.
constexpr double kLoopCalls = 200;

// Of the time of operators that were called in a loop, what the one that takes their place needs:
// three programs on a CPU kept a tenth to a third of it.
constexpr double kStillComputed = 0.25;

// Rows of such operators, and all rows inside them: by their own account they compute, but what
// they take is being called. Only where calls are known by their line, and nothing is launched.
using InLoop = std::vector<std::uint8_t>;  // by host row; empty: not asked for
InLoop CalledInLoops(const Model& model) {
  const trace::Trace& trace = model.trace();
  InLoop in_loop(trace.host.size(), 0);
  if (trace.device.size() > 0) return in_loop;
  const analyze::CallSites sites(trace, model.lineage());
  std::unordered_map<std::string_view, std::uint64_t> lines;  // calls
  const auto counts = [&](RowId i) {
    return model.lineage().top_op[i] == i && model.LaneOf(i) == 0 && model.InWindow(i);
  };
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (counts(i) && trace.host.duration_ns[i] <= analyze::kDispatchPause) ++lines[sites.Of(i)];
  }
  const double least = kLoopCalls * static_cast<double>(model.graph().steps);
  for (RowId i = 0; i < trace.host.size(); ++i) {
    const RowId top = model.lineage().top_op[i];
    if (top == i && counts(i)) {
      // The few that took long were interrupted.
      const std::string_view line = sites.Of(i);
      in_loop[i] = !line.empty() && static_cast<double>(lines[line]) >= least ? 1 : 0;
    } else if (top != kNoRow && top < i) {
      in_loop[i] = in_loop[top];
    }
  }
  return in_loop;
}

// Of the step thread: stretches longer than `least` that no operator, call or fetch covers. Those
// that dispatching explains are the cost of getting to the next operator, unless samples tell; then
// operators that are called in loops are part of them too.
std::vector<Pause> CollectPauses(const Model& model, Nanos least, const InLoop& in_loop) {
  const trace::Trace& trace = model.trace();
  const std::vector<std::uint8_t> others = OthersBusiness(model);
  const std::vector<std::uint8_t> computes = HostComputations(model);
  const trace::Thread& thread = trace.threads[model.graph().lanes[0].row];
  std::vector<Pause> pauses;
  RowId first = kNoRow, before = kNoRow, loop = kNoRow;
  Nanos busy_until = model.graph().window.begin_ns, looped_ns = 0;
  std::uint64_t looped = 0;
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    const SliceKind kind = trace.host.kind[i];
    const bool busy = others[i] != 0 || kind == SliceKind::kOp || kind == SliceKind::kApi ||
                      kind == SliceKind::kOverhead || kind == SliceKind::kOs;
    if (!busy || computes[i] != 0 || !model.InWindow(i)) continue;
    if (!in_loop.empty() && in_loop[i] != 0) {
      if (loop == kNoRow) loop = i;
      looped += model.lineage().top_op[i] == i ? 1 : 0;
      looped_ns += model.lineage().top_op[i] == i ? trace.host.duration_ns[i] : 0;
      continue;
    }
    if (first == kNoRow) first = i;
    const Nanos start = trace.host.start_ns[i];
    if (start - busy_until > least) {
      pauses.push_back({before, i, {busy_until, start}, looped_ns, looped});
    }
    looped_ns = 0;
    looped = 0;
    if (trace.host.end_ns(i) > busy_until) {
      if (start >= busy_until) before = i;
      busy_until = trace.host.end_ns(i);
    }
  }
  // After the last step comes the first operator of the next; of a loop where there is no other.
  if (first == kNoRow) first = loop;
  const Nanos end = model.graph().window.end_ns;
  if (first != kNoRow && end - busy_until > least) {
    pauses.push_back({before, first, {busy_until, end}, looped_ns, looped});
  }
  DropFilled(OtherThreads(model), pauses);
  return pauses;
}

// What of the pieces lies in pauses. Both are disjoint; pieces come out in time order.
std::vector<Piece> Inside(std::vector<Piece> pieces, const std::vector<Pause>& pauses) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.span.begin_ns < b.span.begin_ns; });
  std::vector<Piece> inside;
  std::size_t p = 0;
  for (const Piece& piece : pieces) {
    while (p < pauses.size() && pauses[p].span.end_ns <= piece.span.begin_ns) ++p;
    for (std::size_t q = p; q < pauses.size() && pauses[q].span.begin_ns < piece.span.end_ns; ++q) {
      inside.push_back({piece.name,
                        {std::max(piece.span.begin_ns, pauses[q].span.begin_ns),
                         std::min(piece.span.end_ns, pauses[q].span.end_ns)}});
    }
  }
  return inside;
}

// Waiting for another thread (backward passes) is in no task, so only tasks' time counts.
std::vector<Nanos> HostTimeOf(const Graph& graph, const std::vector<Piece>& pieces,
                              std::size_t names) {
  std::vector<HostSpan> spans;
  for (const Piece& piece : pieces) spans.push_back({0, piece.span, 0});
  const HostCut cut(graph, std::move(spans));
  std::vector<Nanos> total(names, 0);
  std::size_t at = 0;
  for (std::size_t s = 0; s < cut.spans().size(); ++s) {
    while (at < pieces.size() && pieces[at].span.end_ns < cut.spans()[s].span.end_ns) ++at;
    if (at == pieces.size()) break;
    total[static_cast<std::uint32_t>(pieces[at].name)] += cut.host_ns()[s];
  }
  return total;
}

// The user's function around a library's that began in the same step; for one row, so up its
// parents.
RowId CallerInStep(const Model& model, RowId function) {
  const trace::HostSlices& host = model.trace().host;
  const std::vector<analyze::Step>& steps = model.facts().steps.steps;
  const auto after = std::upper_bound(
      steps.begin(), steps.end(), host.start_ns[function],
      [](Nanos time, const analyze::Step& step) { return time < step.host_span.begin_ns; });
  const Nanos begin = after == steps.begin() ? INT64_MIN : std::prev(after)->host_span.begin_ns;
  for (RowId row = host.parent[function]; row != kNoRow; row = host.parent[row]) {
    if (host.start_ns[row] < begin) break;
    if (host.kind[row] != SliceKind::kPython) continue;
    if (KindOf(model.trace().HostName(row)) == kUser) return row;
  }
  return kNoRow;
}

Known<Hotspot> ByFrames(const Model& model) {
  const Graph& graph = model.graph();
  SelfTime self(model);
  const std::vector<Piece> pieces =
      Inside(self.Collect(), CollectPauses(model, analyze::kDispatchPause, {}));
  const std::vector<Nanos> total = HostTimeOf(graph, pieces, model.trace().strings.size());
  StringId best[2] = {StringId::kEmpty, StringId::kEmpty};  // libraries, users
  const auto time = [&](StringId name) {
    return name == StringId::kEmpty ? 0 : total[static_cast<std::uint32_t>(name)];
  };
  for (const Piece& piece : pieces) {
    const Kind kind = self.KindOfName(piece.name);
    if (kind != kLibrary && kind != kUser) continue;
    StringId& of = best[kind == kUser ? 1 : 0];
    if (time(piece.name) > time(of)) of = piece.name;
  }
  // The user's own code first: that is what they can change.
  const StringId name = 2 * time(best[1]) >= time(best[0]) ? best[1] : best[0];
  const double least = kHotspotShare * static_cast<double>(graph.measured_ns);
  if (name == StringId::kEmpty || static_cast<double>(time(name)) < least) {
    return Known<Hotspot>::Absent("no Python function outside operators takes 2 % of a step");
  }
  Hotspot hotspot;
  hotspot.frame = self.Longest(name);
  hotspot.user = self.KindOfName(name) == kUser;
  if (!hotspot.user) hotspot.caller = CallerInStep(model, hotspot.frame);
  hotspot.library = self.LibraryOf(name);
  hotspot.times = self.Calls(name);
  std::vector<HostSpan> spans;
  for (const Piece& piece : pieces) {
    if (piece.name == name) spans.push_back({0, piece.span, 0});
  }
  hotspot.cut = HostCut(graph, std::move(spans));
  hotspot.computation = LargestComputation(model, hotspot.cut);
  return hotspot;
}

// Without frames. Collectives are exposed-comm's and straggler's business; frames would show code
// that runs beside one.
std::vector<Pause> PausesWithoutFrames(const Model& model, Nanos least, const InLoop& in_loop) {
  std::vector<Pause> pauses = CollectPauses(model, least, in_loop);
  DropFilled(HostCollectives(model), pauses);
  return pauses;
}

// The pause with most time to gain is the one to look at.
void PutLongest(const std::vector<Pause>& pauses, const std::vector<double>& gains,
                Hotspot& hotspot) {
  double longest = -1;
  for (std::size_t p = 0; p < pauses.size(); ++p) {
    if (gains[p] <= longest) continue;
    // The first pause of the window does not know what came before it.
    if (pauses[p].before == kNoRow && hotspot.after != kNoRow) continue;
    if (pauses[p].before != kNoRow) longest = gains[p];
    hotspot.before = pauses[p].before;
    hotspot.after = pauses[p].after;
  }
}

// The function that samples of stacks find between operators, in pauses however short.
Known<Hotspot> BySamples(const Model& model) {
  const auto none = [] {
    return Known<Hotspot>::Absent("no function stands out in the samples between operators");
  };
  if (model.trace().samples.size() == 0) return none();
  const std::vector<Pause> pauses = PausesWithoutFrames(model, 0, CalledInLoops(model));
  const SampledPauses sampled(model, pauses);
  Hotspot hotspot;
  if (!sampled.Choose(hotspot)) return none();
  std::map<StringId, double> shares;
  std::vector<Pause> its;
  std::vector<HostSpan> spans;
  std::vector<double> gains;
  for (const Pause& pause : pauses) {
    const StringId after = model.trace().host.name[pause.after];
    const auto [share, fresh] = shares.try_emplace(after, 0);
    if (fresh) share->second = sampled.Share(hotspot, after);
    if (share->second == 0) continue;
    its.push_back(pause);
    const auto length = static_cast<double>(pause.span.length());
    const double computing = kStillComputed * static_cast<double>(pause.looped_ns) / length;
    const double gone = share->second * (1 - computing);
    spans.push_back({0, pause.span, 0, 1 - gone});
    gains.push_back(gone * length);
    hotspot.looped += pause.looped;
    hotspot.looped_ns += pause.looped_ns;
  }
  PutLongest(its, gains, hotspot);
  hotspot.cut = HostCut(model.graph(), std::move(spans));
  hotspot.computation = LargestComputation(model, hotspot.cut);
  return hotspot;
}

// Nobody's name: the code between two operators, where samples do not tell what it is.
Known<Hotspot> ByPauses(const Model& model) {
  std::vector<Pause> pauses = PausesWithoutFrames(model, analyze::kDispatchPause, {});
  const auto after = [&](const Pause& pause) { return model.trace().host.name[pause.after]; };
  const SampledPauses sampled(model, pauses);
  std::erase_if(pauses, [&](const Pause& pause) { return sampled.Tells(after(pause)); });
  std::vector<HostSpan> all;
  for (const Pause& pause : pauses) all.push_back({0, pause.span, analyze::kDispatchPause});
  const HostCut cut(model.graph(), all);  // one span a pause, in the same order
  // By what follows: the first pause of the window does not know what came before it.
  std::map<StringId, Nanos> total;
  for (std::size_t p = 0; p < pauses.size(); ++p) total[after(pauses[p])] += cut.host_ns()[p];
  StringId most = StringId::kEmpty;
  Nanos most_ns = 0;
  for (const auto& [name, ns] : total) {
    if (ns <= most_ns) continue;
    most = name;
    most_ns = ns;
  }
  if (most_ns == 0) return Known<Hotspot>::Absent("no pauses between operators");
  Hotspot hotspot;
  std::vector<Pause> its;
  std::vector<HostSpan> spans;
  std::vector<double> gains;
  for (std::size_t p = 0; p < pauses.size(); ++p) {
    if (after(pauses[p]) != most) continue;
    its.push_back(pauses[p]);
    spans.push_back(all[p]);
    gains.push_back(static_cast<double>(cut.host_ns()[p]));
  }
  PutLongest(its, gains, hotspot);
  hotspot.times = its.size();
  hotspot.cut = HostCut(model.graph(), std::move(spans));
  hotspot.computation = LargestComputation(model, hotspot.cut);
  return hotspot;
}

// A name is worth more than a pause of nobody's, unless that takes longer.
Known<Hotspot> WithoutFrames(const Model& model) {
  Known<Hotspot> named = BySamples(model), pause = ByPauses(model);
  const auto gone = [](const Known<Hotspot>& one) { return one ? one->cut.gone_ns() : 0; };
  Known<Hotspot>& larger = gone(named) >= gone(pause) ? named : pause;
  if (!larger || static_cast<double>(gone(larger)) <
                     kHotspotShare * static_cast<double>(model.graph().measured_ns)) {
    return Known<Hotspot>::Absent(
        "no place in the code has pauses between operators that add up to 2 % of a step");
  }
  return std::move(larger);
}

// The same operators over and over, whatever lies between them.
Known<Hotspot> ByLoops(const Model& model) {
  Known<OperatorLoop> loop = FindOperatorLoop(model);
  if (!loop) return Known<Hotspot>::Absent(loop.why_not());
  if (static_cast<double>(loop->cut.gone_ns()) <
      kHotspotShare * static_cast<double>(model.graph().measured_ns)) {
    return Known<Hotspot>::Absent("calling operators in a loop takes less than 2 % of a step");
  }
  Hotspot hotspot;
  hotspot.cut = loop->cut;
  const bool cell = loop->kind == LoopKind::kGru || loop->kind == LoopKind::kLstm;
  hotspot.error = cell ? kCellError : kLoopError;
  hotspot.loop = std::move(*loop);
  return hotspot;
}

// What lies between operators: frames tell, or samples, or nobody.
Known<Hotspot> BetweenOperators(const Model& model) {
  if (model.facts().trust.present.python > 0) return ByFrames(model);
  // Threads without recorded calls may launch work in any pause.
  if (model.trace().device.size() > 0 && !model.calls().any()) {
    return Known<Hotspot>::Absent("no API calls in this trace to tell a pause from a launch");
  }
  return WithoutFrames(model);
}

class PythonHotspot : public Edit {
 public:
  explicit PythonHotspot(Hotspot hotspot) : hotspot_(std::move(hotspot)) {}

  // Least: half of it is work that must be done somewhere. Most: all of it goes, and samples found
  // it less often than it runs.
  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const double strength = guess == Guess::kLeast  ? 0.5
                            : guess == Guess::kMost ? 1.0 + 2 * hotspot_.error
                                                    : 1.0;
    hotspot_.cut.Apply(model.graph(), strength, plan);
  }

  std::string Scope(const Model& model) const override {
    return fmt::format(
        "{} ms a step of {}",
        ThreeDigits(static_cast<double>(hotspot_.cut.gone_ns()) / 1e6 /
                    static_cast<double>(model.graph().steps)),
        hotspot_.loop
            ? fmt::format("{} called {:.0f} times a step",
                          Count(hotspot_.loop->once.size(), "operator"), hotspot_.loop->times)
        : hotspot_.frame != kNoRow ? std::string(model.trace().HostName(hotspot_.frame))
        : hotspot_.line != StringId::kEmpty
            ? analyze::SourceText(model.trace().Name(hotspot_.line))
            : fmt::format("code between {} and {}", model.trace().HostName(hotspot_.before),
                          model.trace().HostName(hotspot_.after)));
  }

 private:
  const Hotspot hotspot_;
};

}  // namespace

Known<Hotspot> FindHotspot(const Model& model) {
  if (model.graph().lanes[0].row >= model.trace().threads.size()) {
    return Known<Hotspot>::Absent("no host activity in this trace");
  }
  Known<Hotspot> between = BetweenOperators(model), loop = ByLoops(model);
  const auto gone = [](const Known<Hotspot>& one) {
    return one ? static_cast<double>(one->cut.gone_ns()) : 0;
  };
  // A function whose own code takes the time is what is wrong with a loop around it; a list that
  // grows is what is wrong with who goes over it.
  const bool by_itself = between && 10 * between->looped_ns <= between->cut.gone_ns();
  const double least = by_itself                        ? kExplainsALoop * gone(loop)
                       : loop && loop->loop->growth > 0 ? gone(loop) / kGrowthExplains
                                                        : gone(loop);
  return gone(between) >= least ? std::move(between) : std::move(loop);
}

FoundEdit FindPythonHotspot(const Model& model) {
  Known<Hotspot> hotspot = FindHotspot(model);
  if (!hotspot) return FoundEdit::Absent(hotspot.why_not());
  return FoundEdit(std::make_unique<PythonHotspot>(std::move(*hotspot)));
}

}  // namespace hone::replay
