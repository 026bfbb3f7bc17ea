// SPDX-License-Identifier: Apache-2.0
// python-hotspot: the Python function that takes most of the step takes no time.
// Five ways to find it: frames (self_time.h), samples (sampled_pauses.h), pauses that nobody names
// (host_pauses.h), loops of operators (operator_loop.h) and what operators compute beside the model
// (user_operators.h). They are weighed against each other here.
#include "replay/edits/python_hotspot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "analyze/slice_activity.h"
#include "analyze/source_frame.h"
#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_pauses.h"
#include "replay/edits/operator_loop.h"
#include "replay/edits/sampled_pauses.h"
#include "replay/edits/self_time.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// Of any kernel or copy, what does not depend on its size (as in small-batch).
constexpr Nanos kKernelLatency = 1'500;

// How far what a loop of operators costs may be off, as an error of samples is.
constexpr double kLoopError = 0.02, kCellError = 0.25;

// Of what a loop of operators takes, what code between them must take to be the reason.
constexpr double kExplainsALoop = 0.8;

// Of the time of operators that were called in a loop, what the one that takes their place needs:
// three programs on a CPU kept a tenth to a third of it.
constexpr double kStillComputed = 0.25;

// Code of a framework that takes longer than this at a time is not dispatch (launch-bound's
// figure); nobody can edit it, so it must take more to be worth a sentence.
constexpr Nanos kOwnCode = 200 * kMicrosecond;
constexpr double kFrameworkShare = 0.05;

// Of what a function takes, what the operators of a loop in it must take for the loop to be what is
// wrong with it; and of its operators, those that must be of that loop.
constexpr double kLoopIsTheReason = 1.0 / 3, kMostOfItsOperators = 0.5;

// Of what code takes that goes over a list, what the calls of a list that grows must take.
constexpr double kGrowthExplains = 0.5;

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
                         std::min(piece.span.end_ns, pauses[q].span.end_ns)},
                        piece.wait});
    }
  }
  return inside;
}

// What a piece counts for: the function that runs, or the one that it waits in.
StringId KeyOf(const Piece& piece) {
  return piece.wait == StringId::kEmpty ? piece.name : piece.wait;
}

// By StringId. Waiting for another thread (backward passes) is in no task, so only tasks' time
// counts.
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
    total[static_cast<std::uint32_t>(KeyOf(pieces[at]))] += cut.host_ns()[s];
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
    if (KindOfFrame(model.trace().HostName(row)) == FrameKind::kUser) return row;
  }
  return kNoRow;
}

void SetCut(const Model& model, std::vector<HostSpan> spans, Hotspot& hotspot) {
  hotspot.cut = HostCut(model.graph(), std::move(spans));
  const Computation computation = ComputationIn(model, hotspot.cut);
  hotspot.computation = computation.row;
  hotspot.computed_ns = computation.all_ns;
}

// A framework's code that dispatching explains runs the model; some of it has rules of its own
// (backward passes, optimizers, collectives, compiling, checkpoints).
bool IsFrameworksOwnWork(const Model& model, const Piece& piece) {
  constexpr std::string_view kNobodys[] = {
      "torch/autograd/", "torch/_",           "torch/optim/",           "torch/distributed/",
      "torch/fx/",       "torch/utils/data/", "torch/serialization.py", "torch/profiler/"};
  if (piece.span.length() <= kOwnCode) return false;
  const std::string_view file = analyze::ParseFrame(model.trace().Name(piece.name)).file;
  return !file.empty() &&
         std::none_of(std::begin(kNobodys), std::end(kNobodys), [&](std::string_view part) {
           return file.find(part) != std::string_view::npos;
         });
}

// Which function it is, by the time of each. kEmpty: none takes enough.
StringId ChooseFrame(const Model& model, const SelfTime& self, const std::vector<Piece>& pieces,
                     const std::vector<Nanos>& total) {
  enum : std::uint8_t { kUsers, kLibraries, kFrameworks, kWaits, kBests };
  const auto time = [&](StringId name) { return total[static_cast<std::uint32_t>(name)]; };
  StringId best[kBests] = {};
  const auto take = [&](StringId name, StringId& of) {
    if (of == StringId::kEmpty || time(name) > time(of)) of = name;
  };
  for (const Piece& piece : pieces) {
    if (piece.wait != StringId::kEmpty) {
      take(piece.wait, best[kWaits]);
      continue;
    }
    const FrameKind kind = self.KindOf(piece.name);
    if (kind == FrameKind::kUser) take(piece.name, best[kUsers]);
    if (kind == FrameKind::kLibrary) take(piece.name, best[kLibraries]);
    if (kind == FrameKind::kFramework) take(piece.name, best[kFrameworks]);
  }
  const auto spent = [&](StringId name) { return name == StringId::kEmpty ? 0 : time(name); };
  // The user's own code first: that is what they can change. Then what they call.
  StringId chosen =
      2 * spent(best[kUsers]) >= spent(best[kLibraries]) ? best[kUsers] : best[kLibraries];
  const auto enough = [&](StringId name, double share) {
    return static_cast<double>(spent(name)) >=
           share * static_cast<double>(model.graph().measured_ns);
  };
  if (enough(best[kFrameworks], kFrameworkShare) && spent(best[kFrameworks]) > 2 * spent(chosen)) {
    chosen = best[kFrameworks];
  }
  if (spent(best[kWaits]) > spent(chosen)) chosen = best[kWaits];
  return enough(chosen, kHotspotShare) ? chosen : StringId::kEmpty;
}

Known<Hotspot> ByFrames(const Model& model) {
  const Graph& graph = model.graph();
  SelfTime self(model);
  std::vector<Piece> pieces =
      Inside(self.Collect(), CollectPauses(model, analyze::kDispatchPause, {}));
  std::erase_if(pieces, [&](const Piece& piece) {
    return self.KindOf(piece.name) == FrameKind::kFramework && !IsFrameworksOwnWork(model, piece);
  });
  const StringId key =
      ChooseFrame(model, self, pieces, HostTimeOf(graph, pieces, model.trace().strings.size()));
  if (key == StringId::kEmpty) {
    return Known<Hotspot>::Absent("no Python function outside operators takes 2 % of a step");
  }
  std::erase_if(pieces, [&](const Piece& piece) { return KeyOf(piece) != key; });
  const Piece& longest = *std::max_element(
      pieces.begin(), pieces.end(),
      [](const Piece& a, const Piece& b) { return a.span.length() < b.span.length(); });
  Hotspot hotspot;
  hotspot.wait = longest.wait;
  hotspot.frame = self.Longest(key);
  hotspot.function = longest.name;
  hotspot.user = self.KindOf(longest.name) == FrameKind::kUser;
  hotspot.framework = self.KindOf(longest.name) == FrameKind::kFramework;
  if (!hotspot.user || longest.wait != StringId::kEmpty) {
    hotspot.caller = CallerInStep(model, hotspot.frame);
  }
  hotspot.library = longest.wait == StringId::kEmpty ? self.LibraryOf(key) : kNoRow;
  hotspot.times = self.Calls(key);
  std::vector<HostSpan> spans;
  for (const Piece& piece : pieces) spans.push_back({0, piece.span, 0});
  SetCut(model, std::move(spans), hotspot);
  return hotspot;
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
  SetCut(model, std::move(spans), hotspot);
  return hotspot;
}

// How far lengths lie from their median on average, as a share of it.
double Irregularity(const std::vector<Pause>& pauses) {
  std::vector<Nanos> lengths;
  for (const Pause& pause : pauses) lengths.push_back(pause.span.length());
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  const Nanos median = *middle;
  double sum = 0;
  for (const Nanos length : lengths) sum += std::abs(static_cast<double>(length - median));
  return sum / static_cast<double>(lengths.size()) /
         static_cast<double>(std::max<Nanos>(median, 1));
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
  hotspot.irregular = Irregularity(its);
  SetCut(model, std::move(spans), hotspot);
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

// Operators that the user's code calls beside the model.
Known<Hotspot> ByOperators(const Model& model) {
  Known<UserOperators> beside = FindUserOperators(model);
  if (!beside) return Known<Hotspot>::Absent(beside.why_not());
  Hotspot hotspot;
  hotspot.cut = beside->cut;
  hotspot.beside = std::move(*beside);
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

  // Least: half of it is work that must be done somewhere; what operators compute beside the model
  // may be needed as it is. Most: all of it goes, and samples found it less often than it runs.
  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const double strength = guess == Guess::kLeast  ? (hotspot_.beside ? 0.0 : 0.5)
                            : guess == Guess::kMost ? 1.0 + 2 * hotspot_.error
                                                    : 1.0;
    hotspot_.cut.Apply(model.graph(), strength, plan);
    if (hotspot_.loop && guess != Guess::kLeast) MakeOne(hotspot_.loop->work, plan);
  }

  std::string Scope(const Model& model) const override {
    return fmt::format(
        "{} ms a step of {}",
        ThreeDigits(static_cast<double>(hotspot_.cut.gone_ns()) / 1e6 /
                    static_cast<double>(model.graph().steps)),
        hotspot_.loop
            ? fmt::format("{} called {:.0f} times a step",
                          Count(hotspot_.loop->once.size(), "operator"), hotspot_.loop->times)
        : hotspot_.beside
            ? fmt::format("{} at {}",
                          Count(hotspot_.beside->rows.size() / model.graph().steps, "operator"),
                          analyze::SourceText(hotspot_.beside->place))
        : hotspot_.frame != kNoRow ? std::string(model.trace().HostName(hotspot_.frame))
        : hotspot_.line != StringId::kEmpty
            ? analyze::SourceText(model.trace().Name(hotspot_.line))
            : fmt::format("code between {} and {}", model.trace().HostName(hotspot_.before),
                          model.trace().HostName(hotspot_.after)));
  }

 private:
  // What a loop launches piece by piece becomes a part of one kernel: its bytes stay, and what a
  // kernel takes over few elements goes.
  static void MakeOne(const std::vector<TaskId>& work, Plan& plan) {
    for (const TaskId task : work) {
      plan.duration_ns[task] = std::max<Nanos>(plan.duration_ns[task] - kKernelLatency, 0);
      plan.lag_ns[task] = 0;
      plan.held[task] = Held::kByNone;
    }
  }

  const Hotspot hotspot_;
};

// Whether what takes the function's time is calling the operators of this loop: then both are one
// cause told twice, and which of the two estimates of it is larger is chance.
bool IsLoopOf(const Model& model, const Hotspot& function, const Hotspot& loop) {
  if (static_cast<double>(function.looped_ns) <
      kLoopIsTheReason * static_cast<double>(function.cut.gone_ns())) {
    return false;
  }
  std::uint64_t inside = 0;
  for (const RowId row : loop.loop->rows) {
    inside += function.cut.Contains(0, model.trace().host.start_ns[row]) ? 1 : 0;
  }
  return static_cast<double>(inside) >= kMostOfItsOperators * static_cast<double>(function.looped);
}

// Code between operators, or calling them in a loop.
Known<Hotspot> BetweenOrLoop(const Model& model) {
  Known<Hotspot> between = BetweenOperators(model), loop = ByLoops(model);
  const auto gone = [](const Known<Hotspot>& one) {
    return one ? static_cast<double>(one->cut.gone_ns()) : 0;
  };
  if (between && loop && IsLoopOf(model, *between, *loop)) return loop;
  // A function whose own code takes the time is what is wrong with a loop around it; a list that
  // grows is what is wrong with who goes over it.
  const bool by_itself = between && 10 * between->looped_ns <= between->cut.gone_ns();
  const double least = by_itself                        ? kExplainsALoop * gone(loop)
                       : loop && loop->loop->growth > 0 ? gone(loop) / kGrowthExplains
                                                        : gone(loop);
  return gone(between) >= least ? std::move(between) : std::move(loop);
}

// Operators of a loop: that it calls them one by one is what is wrong with it, whatever it takes.
bool IsCalledBy(const Model& model, const UserOperators& beside, const Hotspot& loop) {
  std::size_t inside = 0;
  for (const RowId row : beside.rows) {
    inside += loop.cut.Contains(0, model.trace().host.start_ns[row]) ? 1 : 0;
  }
  return static_cast<double>(inside) >=
         kMostOfItsOperators * static_cast<double>(beside.rows.size());
}

}  // namespace

Known<Hotspot> FindHotspot(const Model& model) {
  if (model.graph().lanes[0].row >= model.trace().threads.size()) {
    return Known<Hotspot>::Absent("no host activity in this trace");
  }
  Known<Hotspot> beside = ByOperators(model), other = BetweenOrLoop(model);
  const auto gone = [](const Known<Hotspot>& one) { return one ? one->cut.gone_ns() : 0; };
  if (beside && other && IsCalledBy(model, *beside->beside, *other)) return other;
  return beside && gone(beside) > gone(other) ? std::move(beside) : std::move(other);
}

FoundEdit FindPythonHotspot(const Model& model) {
  Known<Hotspot> hotspot = FindHotspot(model);
  if (!hotspot) return FoundEdit::Absent(hotspot.why_not());
  return FoundEdit(std::make_unique<PythonHotspot>(std::move(*hotspot)));
}

}  // namespace hone::replay
