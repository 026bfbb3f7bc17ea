// SPDX-License-Identifier: Apache-2.0
#include "analyze/loader.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyze/grouping.h"
#include "analyze/source_frame.h"
#include "trace/interval.h"

namespace hone::analyze {
namespace {

using trace::Interval;
using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// Word sequences that mean "fetching a batch". Names are compared in lower case with everything
// but letters and digits as a separator, so that "get_batch" does not match "target_batch".
// Documented in docs/user/loader.md: keep both lists the same.
constexpr std::array<std::string_view, 17> kPhrases = {
    "data load",  "data loading",  "dataloading",   "load data",   "loading data",   "data fetch",
    "fetch data", "wait for data", "data time",     "get batch",   "next batch",     "fetch batch",
    "load batch", "batch load",    "batch loading", "batch fetch", "batch generator"};

// " words of the name ", one blank between words and at both ends.
std::string Words(std::string_view name) {
  std::string out = " ";
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      out += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.back() != ' ') out += ' ';
  return out;
}

// DataLoader, train_dataloader_next, data_loader: also inside longer words.
bool NamesDataLoader(std::string_view name) {
  const std::string words = Words(name);
  return words.find("dataloader") != std::string::npos ||
         words.find(" data loader") != std::string::npos;
}

bool NamesBatchFetch(std::string_view name) {
  const std::string words = Words(name);
  if (words == " data ") return true;
  // Lightning: "[_EvaluationLoop].val_next", "[pl][profile][_TrainingEpochLoop].train_next"
  if (name.find("Loop].") != std::string_view::npos && name.ends_with("_next")) return true;
  return std::any_of(kPhrases.begin(), kPhrases.end(), [&](std::string_view phrase) {
    return words.find(" " + std::string(phrase) + " ") != std::string::npos;
  });
}

// The iterator's own method in torch.utils.data; its callers and callees are not counted.
bool IsLoaderFrame(std::string_view name) {
  const SourceFrame frame = ParseFrame(name);
  return frame.function == "__next__" && frame.file.ends_with("torch/utils/data/dataloader.py");
}

// Marks of our own recorder inside the fetch, in whatever process it runs: a worker's fetch is not
// the step's wait, and the main process's stands inside PyTorch's own annotation.
bool IsRecordersMark(std::string_view name) {
  return name == "DataLoader.fetch" || name == "DataLoader.collate";
}

// How plainly a slice says that it fetches a batch. A weaker kind counts only where there is
// nothing better, since the names that users give may hold more than the fetch.
enum Evidence : std::uint8_t { kUnseen, kNone, kFrame, kPhrase, kDataLoader };

Evidence Judge(SliceKind kind, std::string_view name) {
  switch (kind) {
    case SliceKind::kAnnotation:
      return NamesDataLoader(name) ? kDataLoader : NamesBatchFetch(name) ? kPhrase : kNone;
    case SliceKind::kPython: return IsLoaderFrame(name) ? kFrame : kNone;
    default: return kNone;
  }
}

// Decided once per distinct name and kind.
class Evidences {
 public:
  explicit Evidences(const trace::Trace& trace) : trace_(trace) {
    for (auto& names : by_name_) names.assign(trace.strings.size(), kUnseen);
  }
  Evidence Of(RowId i) {
    const SliceKind kind = trace_.host.kind[i];
    if (kind != SliceKind::kAnnotation && kind != SliceKind::kPython) return kNone;
    const std::size_t table = kind == SliceKind::kAnnotation ? 0 : 1;
    std::uint8_t& seen = by_name_[table][static_cast<std::uint32_t>(trace_.host.name[i])];
    if (seen == kUnseen) {
      const std::string_view name = trace_.HostName(i);
      const bool own = trace_.info.format == trace::Format::kHone && IsRecordersMark(name);
      seen = own ? kNone : Judge(kind, name);
    }
    return static_cast<Evidence>(seen);
  }

 private:
  const trace::Trace& trace_;
  std::array<std::vector<std::uint8_t>, 2> by_name_;
};

LoaderMode ModeOf(const trace::Trace& trace, std::string_view iterator) {
  if (iterator.find("_SingleProcess") != std::string_view::npos) return LoaderMode::kInProcess;
  if (iterator.find("_MultiProcessing") != std::string_view::npos) return LoaderMode::kWorkers;
  // Without PyTorch's annotation the Python frames below tell: an iterator with workers takes
  // batches from a queue, one without calls the data set.
  if (!IsLoaderFrame(iterator)) return LoaderMode::kUnknown;
  bool in_process = false;
  for (std::uint32_t s = 0; s < trace.strings.size(); ++s) {
    const std::string_view text = trace.strings[static_cast<StringId>(s)];
    if (text.find("torch/utils/data/") == std::string_view::npos) continue;
    const SourceFrame frame = ParseFrame(text);
    if (frame.function == "_try_get_data") return LoaderMode::kWorkers;
    if (frame.function == "fetch" && frame.file.ends_with("fetch.py")) in_process = true;
  }
  return in_process ? LoaderMode::kInProcess : LoaderMode::kUnknown;
}

trace::IntervalSet SteadySteps(const Steps& steps) {
  std::vector<Interval> spans;
  for (const Step& step : steps.steps) {
    if (!step.warm_up) spans.push_back(step.host_span);
  }
  return trace::IntervalSet::Union(std::move(spans));
}

}  // namespace

std::vector<RowId> FindLoaderSlices(const trace::Trace& trace) {
  const trace::HostSlices& host = trace.host;
  Evidences evidences(trace);
  Evidence best = kNone;
  for (RowId i = 0; i < host.size(); ++i) best = std::max(best, evidences.Of(i));
  std::vector<RowId> rows;
  if (best == kNone) return rows;
  std::vector<std::uint8_t> inside(host.size(), 0);
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.parent[i] != kNoRow && inside[host.parent[i]] != 0) {
      inside[i] = 1;
    } else if (evidences.Of(i) == best) {
      inside[i] = 1;
      rows.push_back(i);
    }
  }
  return rows;
}

Known<LoaderFacts> MeasureLoader(const trace::Trace& trace, const Steps& steps,
                                 const Known<IdleFacts>& idle) {
  const std::vector<RowId> rows = FindLoaderSlices(trace);
  if (rows.empty()) {
    return Known<LoaderFacts>::Absent("nothing in this trace is named like a data loader");
  }
  LoaderFacts facts;
  facts.fetches = rows.size();
  std::vector<Nanos> by_name(trace.strings.size(), 0), durations;
  std::vector<Interval> spans;
  for (const RowId row : rows) {
    const Nanos duration = trace.host.duration_ns[row];
    facts.total_ns = SaturatingAdd(facts.total_ns, duration);
    facts.max_ns = std::max(facts.max_ns, duration);
    Nanos& named = by_name[static_cast<std::uint32_t>(trace.host.name[row])];
    named = SaturatingAdd(named, duration);
    const Nanos most = by_name[static_cast<std::uint32_t>(facts.iterator)];
    if (facts.iterator == StringId::kEmpty || named > most) facts.iterator = trace.host.name[row];
    durations.push_back(duration);
    spans.push_back({trace.host.start_ns[row], trace.host.end_ns(row)});
  }
  facts.mean_ns = facts.total_ns / static_cast<Nanos>(rows.size());
  facts.p95_ns = Percentile(durations, 0.95);
  facts.mode = ModeOf(trace, trace.Name(facts.iterator));

  if (steps.steady_count() == 0) {
    facts.per_step_ns = Known<double>::Absent("no steady steps in this trace");
    facts.step_share = Known<double>::Absent("no steady steps in this trace");
  } else {
    // A union: two loaders at once make the step wait once.
    const Nanos inside =
        trace::IntersectLength(trace::IntervalSet::Union(std::move(spans)), SteadySteps(steps));
    facts.per_step_ns = static_cast<double>(inside) / static_cast<double>(steps.steady_count());
    if (steps.stats && steps.stats->mean_ns > 0) {
      facts.step_share = *facts.per_step_ns / static_cast<double>(steps.stats->mean_ns);
    } else {
      facts.step_share = Known<double>::Absent("no step duration in this trace");
    }
  }
  facts.device_idle_ns =
      idle ? Known<Nanos>(idle->steady_ns[static_cast<std::size_t>(IdleCause::kLoader)])
           : Known<Nanos>::Absent(idle.why_not());
  return facts;
}

}  // namespace hone::analyze
