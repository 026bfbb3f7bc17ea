// SPDX-License-Identifier: Apache-2.0
// Steps that the program or its profiler marked on a host thread.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyze/autograd_engine.h"
#include "analyze/step_source.h"
#include "base/lower_case.h"
#include "base/torch_scope.h"

namespace hone::analyze {
namespace {

using trace::RowId;
using trace::SliceKind;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

bool EndsWithNoCase(std::string_view text, std::string_view lower_suffix) {
  if (text.size() < lower_suffix.size()) return false;
  text.remove_prefix(text.size() - lower_suffix.size());
  return std::equal(text.begin(), text.end(), lower_suffix.begin(),
                    [](char a, char b) { return LowerCase(a) == b; });
}

// "train_step", "TrainStep", "step": the last word says that a step is meant. Micro-batches are
// parts of a step.
bool NamesAStep(std::string_view prefix) {
  for (const std::string_view word : {"step", "iteration", "iter", "batch"}) {
    if (!EndsWithNoCase(prefix, word)) continue;
    const std::string_view before = prefix.substr(0, prefix.size() - word.size());
    if (EndsWithNoCase(before, "micro") || EndsWithNoCase(before, "micro_") ||
        EndsWithNoCase(before, "micro-") || EndsWithNoCase(before, "micro ")) {
      return false;
    }
    // A word begins at a separator, or with a capital ("TrainStep").
    return before.empty() || !IsLetter(before.back()) || IsUpper(prefix[before.size()]);
  }
  return false;
}

struct Mark {
  std::uint32_t family;  // 0: ProfilerStep
  std::uint16_t thread;
  std::int64_t number;
  RowId row;
};

// Every step label of the trace, parsed once per distinct name.
std::vector<Mark> CollectMarks(const trace::Trace& trace) {
  constexpr std::int32_t kUnseen = -2, kNoLabel = -1;
  std::vector<std::int32_t> label_of(trace.strings.size(), kUnseen);
  std::vector<std::pair<std::uint32_t, std::int64_t>> labels;
  std::unordered_map<std::string_view, std::uint32_t> families{{kProfilerStep, 0}};
  std::vector<Mark> marks;
  const trace::HostSlices& host = trace.host;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != SliceKind::kAnnotation) continue;
    std::int32_t& label = label_of[static_cast<std::uint32_t>(host.name[i])];
    if (label == kUnseen) {
      StepLabel parsed;
      label = kNoLabel;
      if (ParseStepLabel(trace.HostName(i), parsed)) {
        const auto family = static_cast<std::uint32_t>(families.size());
        label = static_cast<std::int32_t>(labels.size());
        labels.emplace_back(families.emplace(parsed.family, family).first->second, parsed.number);
      }
    }
    if (label == kNoLabel) continue;
    const auto [family, number] = labels[static_cast<std::size_t>(label)];
    marks.push_back({family, host.thread[i], number, i});
  }
  return marks;
}

// Which of the marks, in time order, hold others that are neither copies nor parts of them. Steps
// of torch.profiler have no parts. Of labels one that holds several others is a wrong one; where
// more do, those inside are parts.
std::vector<bool> Enclosing(const trace::Trace& trace, const Mark* first, const Mark* last) {
  const auto count = static_cast<std::size_t>(last - first);
  std::vector<std::size_t> inside(count, 0), open;
  for (std::size_t i = 0; i < count; ++i) {
    const Nanos end = trace.host.end_ns(first[i].row);
    while (!open.empty() && trace.host.end_ns(first[open.back()].row) < end) open.pop_back();
    if (!open.empty() && first[open.back()].number != first[i].number &&
        trace.host.duration_ns[first[i].row] > 0) {
      ++inside[open.back()];
    }
    open.push_back(i);
  }
  const bool parts = first->family != 0 &&
                     std::count_if(inside.begin(), inside.end(), [](auto n) { return n > 0; }) != 1;
  std::vector<bool> encloses(count, false);
  for (std::size_t i = 0; i < count && !parts; ++i) {
    encloses[i] = inside[i] >= (first->family == 0 ? 1U : 2U);
  }
  return encloses;
}

// Steps of one thread's marks, which stand in time order. A mark inside the one before it is a
// copy or a part and is dropped; one that begins before the last one ends cuts it short, and so
// does the first inside one that encloses others, where it is the next by its number.
std::vector<Step> Disjoint(const trace::Trace& trace, const Mark* first, const Mark* last,
                           EnclosingMarks& enclosing) {
  const std::vector<bool> encloses = Enclosing(trace, first, last);
  enclosing.of = static_cast<std::size_t>(last - first);
  std::vector<Step> steps;
  for (const Mark* mark = first; mark != last; ++mark) {
    trace::Interval span{trace.host.start_ns[mark->row], trace.host.end_ns(mark->row)};
    if (span.end_ns <= span.begin_ns) continue;
    if (encloses[static_cast<std::size_t>(mark - first)]) {
      ++enclosing.count;
      if (span.length() > enclosing.length_ns) {
        enclosing.length_ns = span.length();
        enclosing.name = trace.HostName(mark->row);
      }
      if (mark[1].number != mark->number + 1) continue;
      span.end_ns = trace.host.start_ns[mark[1].row];
      if (span.end_ns <= span.begin_ns) continue;
    }
    if (!steps.empty()) {
      trace::Interval& before = steps.back().span;
      if (span.end_ns <= before.end_ns || span.begin_ns <= before.begin_ns) continue;
      before.end_ns = std::min(before.end_ns, span.begin_ns);
    }
    steps.push_back({std::string(trace.HostName(mark->row)), mark->number, span, span, false});
  }
  return steps;
}

// A first or last step that is less than half as long as the median of the others and holds less
// than half as many events was cut by the recorded window: torch.profiler without a schedule ends
// with such a stub. A step that is merely fast keeps its events and stays. With fewer than four
// steps one of the others may be a long first one (compilation), so only a twentieth counts as cut.
void DropCutSteps(const trace::Trace& trace, const trace::Thread& thread,
                  std::vector<Step>& steps) {
  const trace::HostSlices& host = trace.host;
  const auto events = [&](const Step& step) {
    const auto begin = host.start_ns.begin() + thread.first_slice;
    const auto end = host.start_ns.begin() + thread.last_slice;
    return std::lower_bound(begin, end, step.span.end_ns) -
           std::lower_bound(begin, end, step.span.begin_ns);
  };
  const auto is_cut = [&](std::size_t candidate) {
    std::vector<Nanos> lengths;
    std::vector<std::ptrdiff_t> counts;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i == candidate) continue;
      lengths.push_back(steps[i].span.length());
      counts.push_back(events(steps[i]));
    }
    const auto middle = static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), lengths.begin() + middle, lengths.end());
    std::nth_element(counts.begin(), counts.begin() + middle, counts.end());
    const int part = steps.size() >= 4 ? 2 : 20;
    return steps[candidate].span.length() < lengths[lengths.size() / 2] / part &&
           events(steps[candidate]) < counts[counts.size() / 2] / part;
  };
  if (steps.size() >= 2 && is_cut(steps.size() - 1)) steps.pop_back();
  if (steps.size() >= 2 && is_cut(0)) steps.erase(steps.begin());
}

bool Increasing(const std::vector<Step>& steps) {
  return std::is_sorted(steps.begin(), steps.end(),
                        [](const Step& a, const Step& b) { return a.number <= b.number; });
}

// The rows of optimizer steps of one thread, outermost only (wrappers nest the real one), in time
// order.
std::vector<RowId> OptimizerRows(const trace::Trace& trace) {
  std::vector<std::uint8_t> is_optimizer(trace.strings.size(), 0);  // 0 unseen, 1 no, 2 yes
  std::vector<std::vector<RowId>> by_thread(trace.threads.size());
  const trace::HostSlices& host = trace.host;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != SliceKind::kAnnotation) continue;
    std::uint8_t& known = is_optimizer[static_cast<std::uint32_t>(host.name[i])];
    if (known == 0) {
      const std::string_view name = trace.HostName(i);
      known = name.starts_with(kOptimizerStep) && name.ends_with(".step") ? 2 : 1;
    }
    if (known == 1) continue;
    std::vector<RowId>& rows = by_thread[host.thread[i]];
    if (!rows.empty() && host.start_ns[i] < host.end_ns(rows.back())) continue;
    rows.push_back(i);
  }
  const auto most =
      std::max_element(by_thread.begin(), by_thread.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return most == by_thread.end() ? std::vector<RowId>{} : *most;
}

// Smallest p with key[i] == key[i + p] in the later half, at least two cycles long; 0: none up
// to 16. The first steps differ for reasons of their own (state is built, memory is asked of the
// driver): a period that were looked for from the second cycle on would be as long as they last.
template <typename Key>
std::size_t Period(const std::vector<Key>& keys) {
  for (std::size_t p = 1; p <= 16 && 2 * p <= keys.size(); ++p) {
    const std::size_t from =
        keys.size() >= 3 * p ? std::min(keys.size() - 2 * p, std::max(p, keys.size() / 2)) : 0;
    bool periodic = true;
    for (std::size_t i = from; i + p < keys.size() && periodic; ++i) {
      periodic = keys[i] == keys[i + p];
    }
    if (periodic) return p;
  }
  return 0;
}

// Operators of the row's thread that begin in [begin_ns, end_ns). Nothing else is counted: calls of
// the driver and the profiler's own work come and go (a buffer that fills every fifth step is no
// cycle of the program).
std::uint32_t OperatorsIn(const trace::Trace& trace, RowId row, Nanos begin_ns, Nanos end_ns) {
  const trace::HostSlices& host = trace.host;
  const trace::Thread& thread = trace.threads[host.thread[row]];
  const auto first = host.start_ns.begin() + thread.first_slice;
  const auto last = host.start_ns.begin() + thread.last_slice;
  std::uint32_t count = 0;
  for (auto i = std::lower_bound(first, last, begin_ns); i != last && *i < end_ns; ++i) {
    count += host.kind[static_cast<RowId>(i - host.start_ns.begin())] == SliceKind::kOp;
  }
  return count;
}

// Whether the steps of a longer cycle end different work: two of its phases must have clearly more
// operators before one than before the other, in every cycle of the later half. An optimizer that
// does something of its own every so often (Lookahead, Shampoo) has the same forward and backward
// pass before each of its steps.
bool PhasesDiffer(const std::vector<std::uint32_t>& before, std::size_t period) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> range(period, {UINT32_MAX, 0});
  // The first has no optimizer step in front of it that was recorded.
  const std::size_t from = std::max<std::size_t>(1, before.size() / 2 / period * period);
  for (std::size_t i = from; i < before.size(); ++i) {
    auto& [least, most] = range[i % period];
    least = std::min(least, before[i]);
    most = std::max(most, before[i]);
  }
  std::uint32_t highest_least = 0, lowest_most = UINT32_MAX;
  for (const auto& [least, most] : range) {
    if (least > most) continue;
    highest_least = std::max(highest_least, least);
    lowest_most = std::min(lowest_most, most);
  }
  return highest_least > lowest_most && highest_least - lowest_most > highest_least / 10;
}

bool InEngine(const trace::Trace& trace, RowId row) {
  for (RowId i = trace.host.parent[row]; i != trace::kNoRow; i = trace.host.parent[i]) {
    if (IsEngineSlice(trace.HostName(i))) return true;
  }
  return false;
}

// Begins of outermost operators that made a node for a later backward pass, in time order.
std::vector<Nanos> ForwardBegins(const trace::Trace& trace) {
  const trace::HostSlices& host = trace.host;
  std::vector<Nanos> begins;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != SliceKind::kOp || host.link[i] < 0 ||
        trace.op_details[host.detail[i]].fwd_thread > 0 ||
        trace.HostName(i).find("Backward") != std::string_view::npos) {
      continue;
    }
    RowId parent = host.parent[i];
    while (parent != trace::kNoRow && host.kind[parent] != SliceKind::kOp) {
      parent = host.parent[parent];
    }
    if (parent == trace::kNoRow) begins.push_back(host.start_ns[i]);
  }
  std::sort(begins.begin(), begins.end());
  return begins;
}

// Of rows between which nothing of `parts` begins the last one; both in time order.
std::vector<RowId> LastOfEach(const trace::Trace& trace, const std::vector<RowId>& rows,
                              const std::vector<Nanos>& parts) {
  std::vector<RowId> chosen;
  std::vector<std::size_t> optimizers;  // of each that is chosen
  for (const RowId row : rows) {
    const bool fresh = chosen.empty() || [&] {
      const auto next =
          std::lower_bound(parts.begin(), parts.end(), trace.host.start_ns[chosen.back()]);
      return next != parts.end() && *next < trace.host.start_ns[row];
    }();
    if (fresh) {
      chosen.push_back(row);
      optimizers.push_back(1);
    } else {
      chosen.back() = row;
      ++optimizers.back();
    }
  }
  // A recording that ends between two of them: its last iteration is not whole.
  const std::size_t count = chosen.size();
  if (count >= 2 && optimizers[count - 1] < optimizers[count - 2]) chosen.pop_back();
  return chosen;
}

// Optimizers that step inside of the backward pass, each when the gradient of its parameter is
// there: the last of each pass. Empty: the optimizers wait for the end of the pass.
std::vector<RowId> OnePerPass(const trace::Trace& trace, const std::vector<RowId>& rows) {
  std::vector<RowId> inside;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(inside),
               [&](RowId row) { return InEngine(trace, row); });
  if (inside.empty() || 2 * inside.size() < rows.size()) return {};
  return LastOfEach(trace, inside, ForwardBegins(trace));
}

// Optimizers that step one after the other end one iteration, however many there are: the last of
// them. Each iteration has a backward pass of its own, before the step or inside of it (LBFGS). A
// program without autograd has none, and every step stands for itself.
std::vector<RowId> OnePerBackward(const trace::Trace& trace, const std::vector<RowId>& rows) {
  std::vector<RowId> of_passes = OnePerPass(trace, rows);
  if (!of_passes.empty()) return of_passes;
  const trace::HostSlices& host = trace.host;
  std::vector<std::uint8_t> is_backward(trace.strings.size(), 0);  // 0 unseen, 1 no, 2 yes
  std::vector<Nanos> backward;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != SliceKind::kOp) continue;
    std::uint8_t& known = is_backward[static_cast<std::uint32_t>(host.name[i])];
    if (known == 0) known = trace.HostName(i).find("Backward") != std::string_view::npos ? 2 : 1;
    if (known == 2) backward.push_back(host.start_ns[i]);
  }
  if (backward.empty()) return rows;
  std::sort(backward.begin(), backward.end());
  return LastOfEach(trace, rows, backward);
}

// One optimizer row per iteration. A program with several optimizers (a GAN) steps each in turn:
// the first of every cycle marks the iteration. Two optimizers of one class share a name; they are
// told apart by the number of operators inside, which follows their parameters, or in front of
// them. Two that alternate are two; of more in a cycle the work between them must differ as well.
std::vector<RowId> OnePerIteration(const trace::Trace& trace, const std::vector<RowId>& rows) {
  const trace::HostSlices& host = trace.host;
  std::vector<StringId> names;
  for (const RowId row : rows) names.push_back(host.name[row]);
  std::size_t period = Period(names);
  std::vector<RowId> chosen;
  if (period == 0) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (names[i] == names[0] && (i == 0 || names[i - 1] != names[0])) chosen.push_back(rows[i]);
    }
    return chosen;
  }
  if (period == 1) {
    std::vector<std::uint32_t> inside, before;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const RowId row = rows[i];
      inside.push_back(OperatorsIn(trace, row, host.start_ns[row], host.end_ns(row)));
      const Nanos last_end = i == 0 ? host.start_ns[row] : host.end_ns(rows[i - 1]);
      before.push_back(OperatorsIn(trace, row, last_end, host.start_ns[row]));
    }
    // Two with equally many parameters (an actor and its critic) differ in the work before them.
    std::size_t cycle = Period(inside);
    if (cycle == 1 && PhasesDiffer(before, 2)) cycle = 2;
    if (cycle == 2 || (cycle > 2 && PhasesDiffer(before, cycle))) period = cycle;
  }
  for (std::size_t i = 0; i < rows.size(); i += period) chosen.push_back(rows[i]);
  return chosen;
}

}  // namespace

bool ParseStepLabel(std::string_view name, StepLabel& label) {
  const std::size_t slash = name.find('/');  // "step 12/100"
  if (slash != std::string_view::npos && slash > 0 && IsDigit(name[slash - 1])) {
    name = name.substr(0, slash);
  }
  while (!name.empty() && (name.back() == ']' || name.back() == ')')) name.remove_suffix(1);
  std::size_t digits = name.size();
  while (digits > 0 && IsDigit(name[digits - 1])) --digits;
  if (digits == name.size() || name.size() - digits > 18) return false;
  std::size_t prefix = digits;
  while (prefix > 0 &&
         std::string_view(" _#:-=.[(").find(name[prefix - 1]) != std::string_view::npos) {
    --prefix;
  }
  if (!NamesAStep(name.substr(0, prefix))) return false;
  label.family = name.substr(0, digits);
  label.number = 0;
  for (const char c : name.substr(digits)) label.number = label.number * 10 + (c - '0');
  return true;
}

std::vector<Step> StepsFromMarks(const trace::Trace& trace) {
  constexpr std::string_view kMark = "hone.step#";
  struct At {
    Nanos time_ns;
    std::int64_t number;
  };
  std::vector<At> marks;
  for (std::size_t i = 0; i < trace.instants.size(); ++i) {
    std::string_view name = trace.Name(trace.instants.name[i]);
    if (!name.starts_with(kMark)) continue;
    name.remove_prefix(kMark.size());
    At mark{trace.instants.time_ns[i], -1};
    std::from_chars(name.data(), name.data() + name.size(), mark.number);
    marks.push_back(mark);
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const At& a, const At& b) { return a.time_ns < b.time_ns; });
  std::vector<Step> steps;
  // Calls are numbered: between two whose numbers do not follow each other lie others.
  std::int64_t stride = INT64_MAX;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    const std::int64_t apart = marks[i].number - marks[i - 1].number;
    if (apart > 0) stride = std::min(stride, apart);
  }
  for (std::size_t i = 1; i < marks.size(); ++i) {
    const trace::Interval span{marks[i - 1].time_ns, marks[i].time_ns};
    if (span.length() <= 0) continue;
    const bool follows = marks[i].number - marks[i - 1].number == stride;
    if (!follows && marks.size() > 2 && stride != INT64_MAX) continue;
    steps.push_back(
        {"step " + std::to_string(marks[i].number), marks[i].number, span, span, false});
  }
  return steps;
}

std::vector<Step> StepsFromLabels(const trace::Trace& trace, EnclosingMarks& enclosing) {
  std::vector<Mark> marks = CollectMarks(trace);
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return a.family != b.family ? a.family < b.family : a.thread < b.thread;
  });
  std::vector<Step> best;
  std::uint32_t best_family = 0;
  for (std::size_t i = 0, end = 0; i < marks.size(); i = end) {
    const Mark first = marks[i];
    while (end < marks.size() && marks[end].family == first.family &&
           marks[end].thread == first.thread) {
      ++end;
    }
    if (first.family != 0 && best_family == 0 && !best.empty()) break;  // ProfilerStep wins
    EnclosingMarks found;
    std::vector<Step> steps = Disjoint(trace, marks.data() + i, marks.data() + end, found);
    if (first.family != 0 && (steps.size() < 2 || !Increasing(steps))) continue;
    DropCutSteps(trace, trace.threads[first.thread], steps);
    if (steps.size() > best.size()) {
      best = std::move(steps);
      best_family = first.family;
      enclosing = std::move(found);
    }
  }
  return best;
}

std::vector<Step> StepsFromOptimizer(const trace::Trace& trace) {
  const std::vector<RowId> all = OnePerBackward(trace, OptimizerRows(trace));
  if (all.size() < 2) return {};
  const std::vector<RowId> rows = OnePerIteration(trace, all);
  std::vector<Step> steps;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const trace::Interval span{trace.host.end_ns(rows[i - 1]), trace.host.end_ns(rows[i])};
    const auto ordinal = static_cast<std::int64_t>(i);
    steps.push_back({"step " + std::to_string(ordinal), ordinal, span, span, false});
  }
  return steps;
}

}  // namespace hone::analyze
