// SPDX-License-Identifier: Apache-2.0
// worker-restart: the first fetch of an epoch is like any other.
#include "replay/edits/worker_restart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/grouping.h"
#include "analyze/source_frame.h"
#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// From the last fetch of an epoch to the first of the next: ending eight workers, forking eight new
// ones and making a batch took 140 ms on the host of an H200, fetches in between 0.02 to 0.05 ms.
constexpr Nanos kManyTimes = 10;
constexpr Nanos kLeastLength = 20 * kMillisecond;
// Forking a process that has torch loaded takes 8 ms each there.
constexpr Nanos kLeastPause = 5 * kMillisecond;
// With fewer fetches nobody can say which is the rule and which the exception.
constexpr std::size_t kLeastFetches = 3;
// Making an iterator draws seeds and a permutation: some operators on CPU tensors, no calls.
constexpr std::uint32_t kIteratorOps = 16;

struct Fetch {
  RowId row = kNoRow;
  RowId before = kNoRow;  // the fetch before it, when no step lies between; else kNoRow
  trace::Interval pause;  // since that fetch, or since the last operator or call
};

// Fetches of the step thread.
std::vector<Fetch> CollectFetches(const Model& model, trace::Interval span) {
  const trace::Trace& trace = model.trace();
  std::vector<std::uint8_t> is_fetch(trace.host.size(), 0);
  for (const RowId row : analyze::FindLoaderSlices(trace)) is_fetch[row] = 1;
  const trace::Thread& thread = trace.threads[model.graph().lanes[0].row];
  std::vector<Fetch> fetches;
  RowId before = kNoRow;
  std::uint32_t ops = 0;  // since that fetch
  Nanos busy_until = span.begin_ns, fetched = span.begin_ns;
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    const Nanos start = trace.host.start_ns[i], end = trace.host.end_ns(i);
    if (start < span.begin_ns || start >= span.end_ns) continue;
    const bool inside_fetch = is_fetch[i] == 0 && start < fetched;
    const SliceKind kind = trace.host.kind[i];
    if (inside_fetch || (is_fetch[i] == 0 && kind != SliceKind::kOp && kind != SliceKind::kApi)) {
      continue;
    }
    if (is_fetch[i] != 0) {
      const Nanos since = before == kNoRow ? busy_until : fetched;
      fetches.push_back({i, before, {std::min(since, start), start}});
      before = i;
      fetched = end;
      ops = 0;
    } else if (kind == SliceKind::kOp) {
      if (model.lineage().top_op[i] == i && ++ops > kIteratorOps) before = kNoRow;
    } else {
      before = kNoRow;
    }
    busy_until = std::max(busy_until, end);
  }
  return fetches;
}

// The frame of torch.utils.data that starts processes, for each of them.
std::vector<RowId> StartingFrames(const Model& model, trace::Interval span) {
  const trace::Trace& trace = model.trace();
  enum : std::uint8_t { kUnseen, kOther, kIterator, kStart };
  std::vector<std::uint8_t> names(trace.strings.size(), kUnseen);
  std::vector<RowId> iterator(trace.host.size(), kNoRow), frames;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (trace.host.parent[i] != kNoRow) iterator[i] = iterator[trace.host.parent[i]];
    if (trace.host.kind[i] != SliceKind::kPython) continue;
    std::uint8_t& name = names[static_cast<std::uint32_t>(trace.host.name[i])];
    if (name == kUnseen) {
      const analyze::SourceFrame frame = analyze::ParseFrame(trace.HostName(i));
      const bool loader = frame.file.ends_with("torch/utils/data/dataloader.py");
      name = kOther;
      if (loader && (frame.function == "__iter__" || frame.function == "_get_iterator" ||
                     frame.function == "__init__")) {
        name = kIterator;
      } else if (frame.file.ends_with("multiprocessing/process.py") && frame.function == "start") {
        name = kStart;
      }
    }
    if (name == kIterator && iterator[i] == kNoRow) iterator[i] = i;
    if (name != kStart || iterator[i] == kNoRow || model.LaneOf(i) != 0) continue;
    const Nanos start = trace.host.start_ns[iterator[i]];
    if (start < span.begin_ns || start >= span.end_ns) continue;
    if (frames.empty() || frames.back() != iterator[i]) frames.push_back(iterator[i]);
  }
  return frames;
}

// Operators of the step thread between one fetch and the next.
struct Between {
  std::vector<RowId> operators;  // outermost
  Nanos sum_ns = 0;
};

std::vector<Between> CollectBetween(const Model& model, const std::vector<Fetch>& fetches) {
  const trace::HostSlices& host = model.trace().host;
  const trace::Thread& thread = model.trace().threads[model.graph().lanes[0].row];
  std::vector<Between> found(fetches.size());
  std::size_t next = 0;  // the first fetch behind row i
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    while (next < fetches.size() && host.end_ns(fetches[next].row) <= host.start_ns[i]) ++next;
    const bool inside =
        next < fetches.size() && host.start_ns[fetches[next].row] <= host.start_ns[i];
    if (next == 0 || inside || host.kind[i] != SliceKind::kOp || !model.InWindow(i)) continue;
    if (model.lineage().top_op[i] != i) continue;
    found[next - 1].operators.push_back(i);
    found[next - 1].sum_ns += host.duration_ns[i];
  }
  return found;
}

// Behind a restart the step's operators are slow: after a fork each page that is written is copied,
// and the new workers want the cores. They would take as long as behind other fetches, where they
// are as many; of other numbers of operators nothing is known.
std::vector<HostSpan> SlowBehind(const Model& model, const WorkerRestarts& found) {
  // Beside a device operators may take longer for its sake; there it was not measured.
  if (model.trace().device.size() > 0) return {};
  const trace::HostSlices& host = model.trace().host;
  const std::vector<Fetch> fetches = CollectFetches(model, model.graph().window);
  const std::vector<Between> between = CollectBetween(model, fetches);
  std::vector<std::uint8_t> restarts(host.size(), 0);
  for (const WorkerRestart& restart : found.restarts) {
    if (restart.fetch != kNoRow) restarts[restart.fetch] = 1;
  }
  std::map<std::size_t, std::vector<Nanos>> usual;  // by number of operators
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    if (restarts[fetches[i].row] == 0) {
      usual[between[i].operators.size()].push_back(between[i].sum_ns);
    }
  }
  std::map<std::size_t, Nanos> middle;
  for (auto& [count, sums] : usual) {
    if (sums.size() >= kLeastFetches) middle[count] = analyze::Percentile(sums, 0.5);
  }
  std::vector<HostSpan> spans;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const auto like = middle.find(between[i].operators.size());
    if (restarts[fetches[i].row] == 0 || like == middle.end()) continue;
    if (between[i].sum_ns <= like->second) continue;
    const double left = static_cast<double>(like->second) / static_cast<double>(between[i].sum_ns);
    for (const RowId row : between[i].operators) {
      spans.push_back({0, {host.start_ns[row], host.end_ns(row)}, 0, left});
    }
  }
  return spans;
}

class PersistentWorkers : public Edit {
 public:
  // `rows`: the fetches around the restarts, sorted.
  PersistentWorkers(HostCut cut, HostCut behind, std::vector<RowId> rows, std::size_t restarts)
      : cut_(std::move(cut)),
        behind_(std::move(behind)),
        rows_(std::move(rows)),
        restarts_(restarts) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    cut_.Apply(graph, 1.0, plan);
    if (guess != Guess::kLeast) behind_.Apply(graph, 1.0, plan);
    // Where the workers have a lane of their own, the batch came late, not the fetch.
    std::vector<Nanos> batches;
    std::vector<TaskId> late;
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      if (graph.lanes[graph.tasks[t].lane].kind != LaneKind::kWorkers) continue;
      if (std::binary_search(rows_.begin(), rows_.end(), graph.tasks[t].row)) {
        late.push_back(t);
      } else {
        batches.push_back(graph.tasks[t].duration_ns);
      }
    }
    if (late.empty() || batches.empty()) return;
    const Nanos usual = analyze::Percentile(batches, 0.5);
    for (const TaskId t : late) plan.duration_ns[t] = std::min(plan.duration_ns[t], usual);
  }

  std::string Scope(const Model& model) const override {
    return fmt::format("{} in {}", Count(restarts_, "start of workers", "starts of workers"),
                       Count(model.graph().steps, "step"));
  }

 private:
  const HostCut cut_, behind_;
  const std::vector<RowId> rows_;
  const std::size_t restarts_;
};

}  // namespace

std::vector<trace::Interval> WorkerSpans(const Model& model) {
  const trace::Trace& trace = model.trace();
  const std::uint32_t steps = model.graph().lanes[0].row;
  if (trace.info.format != trace::Format::kHone || steps >= trace.threads.size()) return {};
  std::map<std::uint32_t, trace::Interval> seen;  // by process
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (trace.host.kind[i] != SliceKind::kAnnotation) continue;
    const std::uint32_t process = trace.threads[trace.host.thread[i]].process;
    if (process == trace.threads[steps].process || trace.HostName(i) != "DataLoader.fetch")
      continue;
    const trace::Interval fetch{trace.host.start_ns[i], trace.host.end_ns(i)};
    trace::Interval& span = seen.try_emplace(process, fetch).first->second;
    span.begin_ns = std::min(span.begin_ns, fetch.begin_ns);
    span.end_ns = std::max(span.end_ns, fetch.end_ns);
  }
  std::vector<trace::Interval> spans;
  for (const auto& entry : seen) spans.push_back(entry.second);
  std::sort(spans.begin(), spans.end(), [](const trace::Interval& a, const trace::Interval& b) {
    return a.begin_ns < b.begin_ns;
  });
  return spans;
}

Nanos LengthOf(const Model& model, const WorkerRestart& restart) {
  Nanos sum = restart.pause.length();
  for (const RowId row : {restart.closing, restart.fetch}) {
    if (row != kNoRow) sum += model.trace().host.duration_ns[row];
  }
  return sum;
}

WorkerRestarts FindRestarts(const Model& model, trace::Interval span) {
  WorkerRestarts found;
  if (!model.facts().loader || model.graph().lanes[0].row >= model.trace().threads.size()) {
    return found;
  }
  const trace::HostSlices& host = model.trace().host;
  const std::vector<Fetch> fetches = CollectFetches(model, span);
  std::vector<Nanos> lengths;
  for (const Fetch& fetch : fetches) lengths.push_back(host.duration_ns[fetch.row]);
  found.median_fetch_ns = analyze::Percentile(lengths, 0.5);
  if (model.facts().trust.present.python > 0) {
    for (const RowId frame : StartingFrames(model, span)) {
      WorkerRestart restart;
      restart.frame = frame;
      restart.pause = {host.start_ns[frame], host.end_ns(frame)};
      const auto next = std::lower_bound(
          fetches.begin(), fetches.end(), restart.pause.end_ns,
          [&](const Fetch& fetch, Nanos time) { return host.end_ns(fetch.row) < time; });
      if (next != fetches.end()) {
        restart.fetch = next->row;
        restart.closing = next->before;
      }
      found.restarts.push_back(restart);
    }
    return found;
  }
  if (model.facts().loader->mode != analyze::LoaderMode::kWorkers) return found;
  if (fetches.size() < kLeastFetches) return found;
  const Nanos least = std::max(kLeastLength, kManyTimes * found.median_fetch_ns);
  const std::vector<trace::Interval> workers = WorkerSpans(model);
  for (const Fetch& fetch : fetches) {
    // Where workers are followed, a slow batch of old ones is no start of new ones.
    const bool fresh = std::any_of(workers.begin(), workers.end(), [&](const auto& worker) {
      return worker.begin_ns >= fetch.pause.begin_ns && worker.begin_ns <= host.end_ns(fetch.row);
    });
    if (!workers.empty() && !fresh) continue;
    if (fetch.pause.length() < kLeastPause) continue;
    // Without the fetch that ended the old workers only a long one of the new tells.
    if (fetch.before == kNoRow && host.duration_ns[fetch.row] < least) continue;
    const WorkerRestart restart{fetch.row, fetch.before, kNoRow, fetch.pause};
    if (LengthOf(model, restart) >= least) found.restarts.push_back(restart);
  }
  return found;
}

FoundEdit FindWorkerRestart(const Model& model) {
  const WorkerRestarts found = FindRestarts(model, model.graph().window);
  if (found.restarts.empty()) {
    return FoundEdit::Absent("no workers of a loader are started inside the steps");
  }
  const trace::HostSlices& host = model.trace().host;
  std::vector<HostSpan> spans;
  std::vector<RowId> rows;
  for (const WorkerRestart& restart : found.restarts) {
    spans.push_back({0, restart.pause, 0});
    for (const RowId row : {restart.closing, restart.fetch}) {
      if (row == kNoRow) continue;
      rows.push_back(row);
      spans.push_back({0, {host.start_ns[row], host.end_ns(row)}, found.median_fetch_ns});
    }
  }
  std::sort(rows.begin(), rows.end());
  return FoundEdit(std::make_unique<PersistentWorkers>(
      HostCut(model.graph(), std::move(spans)), HostCut(model.graph(), SlowBehind(model, found)),
      std::move(rows), found.restarts.size()));
}

}  // namespace hone::replay
