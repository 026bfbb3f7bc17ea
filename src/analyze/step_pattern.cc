// SPDX-License-Identifier: Apache-2.0
// Steps found in the work itself: a sequence of names that repeats.
//
// An anchor is a name that occurs at a regular distance. The sequence from one anchor to the next
// is a repeat when it holds nearly the same names as the middle one. Several anchors may work: a
// layer repeats inside a step, and something rare (logging, evaluation) repeats over several. A
// layer's repeats break at every step boundary, where other work stands between; a step's do not.
// So the shortest period whose repeats all match wins; if none is that regular, the longest one
// with most repeats matching. Each name is looked at once and at most kMaxTries anchors are
// compared in full, so the cost stays linear. Suffix arrays were not needed: names are few and
// anchors plenty.
#include <algorithm>
#include <numeric>

#include "analyze/step_source.h"

namespace hone::analyze {
namespace {

using trace::RowId;

constexpr std::size_t kMinRepeats = 3;
constexpr std::size_t kMinLength = 4;  // a repeat of fewer pieces is a loop, not a step
constexpr double kSameNames = 0.9;     // share of names that two repeats must have in common
constexpr double kMinCoverage = 0.6;   // of all time; below, the pattern is not the program
constexpr double kMostMatch = 0.8;     // share of repeats that must match in the second attempt
constexpr std::size_t kMaxTries = 32;

struct Sequence {
  std::vector<StringId> names;
  std::vector<trace::Interval> spans;
  std::size_t name_count = 0;  // ids are below this
  std::vector<RowId> calls;    // what launched each piece, as far as known; may be empty

  std::size_t size() const { return names.size(); }
};

struct Repeats {
  std::vector<std::pair<std::size_t, std::size_t>> matched;  // [first, last) in the sequence
  std::size_t all = 0;
  double time = 0;  // of the pieces that the matched repeats have in common
};

// Compares bags of names: insertions and swaps between streams cost one name each.
class Bag {
 public:
  explicit Bag(std::size_t name_count) : wanted_(name_count, 0), seen_(name_count, 0) {}

  void SetReference(const Sequence& sequence, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) ++wanted_[Index(sequence, i)];
    length_ = last - first;
  }
  void ClearReference(const Sequence& sequence, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) wanted_[Index(sequence, i)] = 0;
  }
  // Adds the time of the common pieces to `time` when it matches.
  bool Matches(const Sequence& sequence, std::size_t first, std::size_t last, double& time) {
    std::size_t common = 0;
    double common_time = 0;
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t name = Index(sequence, i);
      if (seen_[name]++ >= wanted_[name]) continue;
      ++common;
      common_time += static_cast<double>(sequence.spans[i].length());
    }
    for (std::size_t i = first; i < last; ++i) seen_[Index(sequence, i)] = 0;
    const std::size_t longer = std::max(length_, last - first);
    if (static_cast<double>(common) < kSameNames * static_cast<double>(longer)) return false;
    time += common_time;
    return true;
  }

 private:
  static std::size_t Index(const Sequence& sequence, std::size_t i) {
    return static_cast<std::uint32_t>(sequence.names[i]);
  }
  std::vector<std::uint32_t> wanted_, seen_;
  std::size_t length_ = 0;
};

// Positions of each name, names with most positions first; bucketed, O(n).
struct Positions {
  std::vector<std::uint32_t> begin;  // by name, into `at`
  std::vector<std::uint32_t> at;
};

Positions IndexNames(const Sequence& sequence) {
  Positions positions;
  positions.begin.assign(sequence.name_count + 1, 0);
  for (const StringId name : sequence.names) {
    ++positions.begin[static_cast<std::uint32_t>(name) + 1];
  }
  std::partial_sum(positions.begin.begin(), positions.begin.end(), positions.begin.begin());
  std::vector<std::uint32_t> next(positions.begin.begin(), positions.begin.end() - 1);
  positions.at.resize(sequence.size());
  for (std::uint32_t i = 0; i < sequence.size(); ++i) {
    positions.at[next[static_cast<std::uint32_t>(sequence.names[i])]++] = i;
  }
  return positions;
}

struct Anchor {
  const std::uint32_t* first;
  std::size_t count;
  std::size_t distance;  // median
};

// Names whose distances are regular: four of five within a tenth of the median.
std::vector<Anchor> FindAnchors(const Sequence& sequence, const Positions& positions) {
  std::vector<Anchor> anchors;
  std::vector<std::size_t> gaps;
  for (std::size_t name = 0; name < sequence.name_count; ++name) {
    const std::size_t count = positions.begin[name + 1] - positions.begin[name];
    if (count < kMinRepeats) continue;
    const std::uint32_t* at = positions.at.data() + positions.begin[name];
    gaps.clear();
    for (std::size_t i = 1; i < count; ++i) gaps.push_back(at[i] - at[i - 1]);
    std::nth_element(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2),
                     gaps.end());
    const std::size_t median = gaps[gaps.size() / 2];
    if (median < kMinLength) continue;
    const std::size_t slack = std::max<std::size_t>(median / 10, 1);
    const auto regular = std::count_if(gaps.begin(), gaps.end(), [&](std::size_t gap) {
      return gap + slack >= median && gap <= median + slack;
    });
    if (5 * static_cast<std::size_t>(regular) >= 4 * gaps.size()) {
      anchors.push_back({at, count, median});
    }
  }
  return anchors;
}

// The repeats of one anchor: from each occurrence to the next; the rest after the last counts when
// it is a whole repeat, cut to the usual length.
Repeats Compare(const Sequence& sequence, const Anchor& anchor, Bag& bag) {
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  for (std::size_t i = 1; i < anchor.count; ++i) {
    parts.emplace_back(anchor.first[i - 1], anchor.first[i]);
  }
  const std::size_t tail = anchor.first[anchor.count - 1];
  const bool has_tail = sequence.size() - tail >= anchor.distance - anchor.distance / 10;
  if (has_tail) parts.emplace_back(tail, std::min(tail + anchor.distance, sequence.size()));

  // The reference is the middle part of the usual length: neither warm-up nor cut.
  std::size_t reference = parts.size() / 2;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t at = (parts.size() / 2 + i) % parts.size();
    if (parts[at].second - parts[at].first == anchor.distance) {
      reference = at;
      break;
    }
  }
  bag.SetReference(sequence, parts[reference].first, parts[reference].second);
  Repeats repeats;
  repeats.all = parts.size();
  for (const auto& [first, last] : parts) {
    if (bag.Matches(sequence, first, last, repeats.time)) repeats.matched.emplace_back(first, last);
  }
  bag.ClearReference(sequence, parts[reference].first, parts[reference].second);
  // The rest may be the beginning of a repeat that the window cut: not a mismatch.
  if (has_tail && (repeats.matched.empty() || repeats.matched.back().first != tail)) --repeats.all;
  return repeats;
}

double TimeOf(const Sequence& sequence) {
  double all = 0;
  for (const trace::Interval& span : sequence.spans) all += static_cast<double>(span.length());
  return all;
}

// Repeats inside one call of a model or one CUDA graph are its layers, not steps.
bool AreLayers(const Sequence& sequence, const Anchor& anchor) {
  if (sequence.calls.empty()) return false;
  std::size_t shared = 0;
  for (std::size_t i = 1; i < anchor.count; ++i) {
    const RowId call = sequence.calls[anchor.first[i]];
    if (call != trace::kNoRow && call == sequence.calls[anchor.first[i - 1]]) ++shared;
  }
  return 2 * shared > anchor.count;
}

// Anchors of one distance mark the same repeats: two of each will do.
std::vector<Anchor> Thin(std::vector<Anchor> anchors, bool shortest_first) {
  std::stable_sort(anchors.begin(), anchors.end(), [&](const Anchor& a, const Anchor& b) {
    return shortest_first ? a.distance < b.distance : a.distance > b.distance;
  });
  std::vector<Anchor> few;
  for (const Anchor& anchor : anchors) {
    const std::size_t n = few.size();
    if (n >= 2 && few[n - 1].distance == anchor.distance &&
        few[n - 2].distance == anchor.distance) {
      continue;
    }
    few.push_back(anchor);
  }
  if (few.size() > kMaxTries) few.resize(kMaxTries);
  return few;
}

Repeats FindRepeats(const Sequence& sequence) {
  if (sequence.size() < kMinRepeats * kMinLength || sequence.size() >= UINT32_MAX) return {};
  const Positions positions = IndexNames(sequence);
  const std::vector<Anchor> anchors = FindAnchors(sequence, positions);
  Bag bag(sequence.name_count);
  const double all_time = TimeOf(sequence);
  for (const bool strict : {true, false}) {
    for (const Anchor& anchor : Thin(anchors, strict)) {
      if (AreLayers(sequence, anchor)) continue;
      Repeats repeats = Compare(sequence, anchor, bag);
      const std::size_t matched = repeats.matched.size();
      // The first repeat may differ (lazy initialization) without spoiling the rest.
      const bool regular =
          strict ? matched + 1 >= repeats.all
                 : static_cast<double>(matched) >= kMostMatch * static_cast<double>(repeats.all);
      if (matched >= kMinRepeats && regular && repeats.time >= kMinCoverage * all_time) {
        return repeats;
      }
    }
  }
  return {};
}

// A repeat lasts until the next begins, so that the gap before the next belongs to it; the last of
// a run, until its own work ends.
std::vector<Step> ToSteps(const Sequence& sequence, const Repeats& repeats) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < repeats.matched.size(); ++i) {
    const auto [first, last] = repeats.matched[i];
    trace::Interval span{sequence.spans[first].begin_ns, sequence.spans[first].end_ns};
    if (i + 1 < repeats.matched.size() && repeats.matched[i + 1].first == last) {
      span.end_ns = sequence.spans[last].begin_ns;
    } else {
      for (std::size_t k = first; k < last; ++k) {
        span.end_ns = std::max(span.end_ns, sequence.spans[k].end_ns);
      }
      if (last < sequence.size())
        span.end_ns = std::min(span.end_ns, sequence.spans[last].begin_ns);
    }
    if (span.end_ns <= span.begin_ns) continue;
    const auto ordinal = static_cast<std::int64_t>(steps.size() + 1);
    steps.push_back({"step " + std::to_string(ordinal), ordinal, span, span, false});
  }
  return steps;
}

}  // namespace

namespace {

// Outermost nn.Module call around each host slice; empty when the trace has no Python.
std::vector<RowId> OutermostModules(const trace::Trace& trace) {
  const trace::HostSlices& host = trace.host;
  const auto python = trace::SliceKind::kPython;
  if (std::find(host.kind.begin(), host.kind.end(), python) == host.kind.end()) return {};
  std::vector<std::uint8_t> is_module(trace.strings.size(), 0);  // 0 unseen, 1 no, 2 yes
  std::vector<RowId> module(host.size(), trace::kNoRow);
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.parent[i] != trace::kNoRow) module[i] = module[host.parent[i]];
    if (host.kind[i] != python || module[i] != trace::kNoRow) continue;
    std::uint8_t& known = is_module[static_cast<std::uint32_t>(host.name[i])];
    if (known == 0) known = trace.HostName(i).starts_with("nn.Module: ") ? 2 : 1;
    if (known == 2) module[i] = i;
  }
  return module;
}

// What holds the launch of each piece of work together: its CUDA graph launch, else the outermost
// nn.Module call around it, as a host row; kNoRow: nothing known.
std::vector<RowId> EnclosingCalls(const trace::Trace& trace, const std::vector<RowId>& rows) {
  const std::vector<RowId> module = OutermostModules(trace);
  std::vector<std::uint8_t> is_graph_launch(trace.strings.size(), 0);  // 0 unseen, 1 no, 2 yes
  std::vector<RowId> calls(rows.size(), trace::kNoRow);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const RowId api = trace.device.api[rows[k]];
    if (api == trace::kNoRow) continue;
    std::uint8_t& known = is_graph_launch[static_cast<std::uint32_t>(trace.host.name[api])];
    if (known == 0) {
      known = trace.HostName(api).find("GraphLaunch") != std::string_view::npos ? 2 : 1;
    }
    calls[k] = known == 2 ? api : module.empty() ? trace::kNoRow : module[api];
  }
  return calls;
}

}  // namespace

std::vector<Step> StepsFromDevicePattern(const trace::Trace& trace) {
  const trace::DeviceWork& device = trace.device;
  std::vector<double> stream_time(trace.streams.size(), 0);
  double all_time = 0;
  for (RowId i = 0; i < device.size(); ++i) {
    const auto time = static_cast<double>(device.duration_ns[i]);
    stream_time[device.stream[i]] += time;
  }
  const auto busiest = std::max_element(stream_time.begin(), stream_time.end());
  if (busiest == stream_time.end()) return {};
  const auto stream = static_cast<std::uint16_t>(busiest - stream_time.begin());
  for (std::size_t i = 0; i < stream_time.size(); ++i) {
    if (trace.streams[i].device == trace.streams[stream].device) all_time += stream_time[i];
  }

  Sequence sequence;
  std::vector<RowId> rows;
  sequence.name_count = trace.strings.size();
  const auto count =
      static_cast<std::size_t>(std::count(device.stream.begin(), device.stream.end(), stream));
  rows.reserve(count);
  sequence.names.reserve(count);
  sequence.spans.reserve(count);
  for (RowId i = 0; i < device.size(); ++i) {
    if (device.stream[i] != stream) continue;
    rows.push_back(i);
    sequence.names.push_back(device.name[i]);
    sequence.spans.push_back({device.start_ns[i], device.end_ns(i)});
  }
  sequence.calls = EnclosingCalls(trace, rows);
  const Repeats repeats = FindRepeats(sequence);
  std::vector<Step> steps = ToSteps(sequence, repeats);

  // The other streams of the device may hold most of its time: what starts inside a step counts.
  double inside = repeats.time;
  std::size_t at = 0;
  for (RowId i = 0; i < device.size() && at < steps.size(); ++i) {
    if (device.stream[i] == stream ||
        trace.streams[device.stream[i]].device != trace.streams[stream].device) {
      continue;
    }
    while (at < steps.size() && steps[at].span.end_ns <= device.start_ns[i]) ++at;
    if (at < steps.size() && steps[at].span.begin_ns <= device.start_ns[i]) {
      inside += static_cast<double>(device.duration_ns[i]);
    }
  }
  if (inside < kMinCoverage * all_time) steps.clear();
  return steps;
}

std::vector<Step> StepsFromOpPattern(const trace::Trace& trace) {
  const trace::HostSlices& host = trace.host;
  // Outermost operators: no operator around them.
  std::vector<std::uint8_t> under_op(host.size(), 0);
  std::vector<double> thread_time(trace.threads.size(), 0);
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    if (parent != trace::kNoRow) {
      under_op[i] = under_op[parent] | (host.kind[parent] == trace::SliceKind::kOp ? 1 : 0);
    }
    if (host.kind[i] == trace::SliceKind::kOp && under_op[i] == 0) {
      thread_time[host.thread[i]] += static_cast<double>(host.duration_ns[i]);
    }
  }
  const auto busiest = std::max_element(thread_time.begin(), thread_time.end());
  if (busiest == thread_time.end()) return {};
  const trace::Thread& thread =
      trace.threads[static_cast<std::size_t>(busiest - thread_time.begin())];
  Sequence sequence;
  sequence.name_count = trace.strings.size();
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    if (host.kind[i] != trace::SliceKind::kOp || under_op[i] != 0) continue;
    sequence.names.push_back(host.name[i]);
    sequence.spans.push_back({host.start_ns[i], host.end_ns(i)});
  }
  return ToSteps(sequence, FindRepeats(sequence));
}

}  // namespace hone::analyze
