// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/message_trains.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "analyze/collective_kind.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Operators tell numbers of elements; most gradients are float32.
constexpr double kElementBytes = 4;

enum class Between : std::uint8_t { kUnseen, kMessage, kPasses, kBreaks };

// An operator that scales, copies or views needs no result of the messages around it but its own.
// Products, layers, item() and engines of backward passes end a train.
Between Judge(std::string_view name) {
  if (name.starts_with("c10d::")) {
    const analyze::CollectiveKind kind = analyze::KindFromName(name);
    const bool joins = kind == analyze::CollectiveKind::kAllReduce ||
                       kind == analyze::CollectiveKind::kReduce ||
                       kind == analyze::CollectiveKind::kBroadcast;
    return joins ? Between::kMessage : Between::kBreaks;
  }
  if (!name.starts_with("aten::")) return Between::kBreaks;
  name.remove_prefix(6);
  constexpr std::string_view kPlain[] = {"div", "mul", "true_divide", "to", "_to_copy", "copy",
                                         "clone", "contiguous", "view", "reshape", "detach",
                                         "alias", "flatten", "ravel", "select", "slice", "squeeze",
                                         "unsqueeze", "empty", "empty_like", "zeros_like",
                                         // `p.grad.data /= n` assigns to `data`
                                         "_has_compatible_shallow_copy_type", "set_data"};
  const bool plain = name.ends_with('_') ||
                     std::find(std::begin(kPlain), std::end(kPlain), name) != std::end(kPlain);
  return plain ? Between::kPasses : Between::kBreaks;
}

// Elements of "[[[64, 64], []], [], …]", the shapes that a call is given: of its first tensor or
// list of tensors. -1: not recorded.
double ElementsOf(std::string_view dims) {
  constexpr int kTensorOfList = 3, kTensor = 2;
  double all = 0, one = 1, value = -1;
  bool any = false;
  int depth = 0;
  for (const char c : dims) {
    if (c >= '0' && c <= '9') {
      value = std::max(0.0, value) * 10 + (c - '0');
      continue;
    }
    if (value >= 0) one *= value;
    any = any || value >= 0;
    value = -1;
    if (c == '[') ++depth;
    if (c != ']') continue;
    if (depth == kTensorOfList || (depth == kTensor && any)) all += std::exchange(one, 1);
    any = false;
    if (--depth < kTensor) break;  // the first argument is complete
  }
  return all > 0 ? all : -1;
}

struct Call {
  RowId row;
  double bytes;  // -1: not recorded
};

// Walks the step's thread and collects what follows one another.
class TrainFinder {
 public:
  explicit TrainFinder(const Model& model) : model_(model) {}

  struct Open {
    MessageTrain train;
    std::vector<Call> calls;
    Nanos until_ns = 0;  // the next thing that is no part of it
  };

  std::vector<Open> Find() {
    const trace::Trace& trace = model_.trace();
    const trace::Thread& thread = trace.threads[model_.graph().lanes[0].row];
    std::vector<Between> judged(trace.strings.size(), Between::kUnseen);
    const std::vector<analyze::Step>& steps = model_.facts().steps.steps;
    std::size_t step = 0;
    for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
      if (trace.host.kind[i] != trace::SliceKind::kOp || model_.lineage().top_op[i] != i ||
          !model_.InWindow(i)) {
        continue;
      }
      const Nanos start = trace.host.start_ns[i];
      while (step < steps.size() && steps[step].host_span.end_ns <= start) {
        Close(steps[step++].host_span.end_ns);
      }
      Between& name = judged[static_cast<std::uint32_t>(trace.host.name[i])];
      if (name == Between::kUnseen) name = Judge(trace.HostName(i));
      if (name == Between::kMessage) {
        Add(i);
      } else if (name == Between::kPasses) {
        pending_ns_ += trace.host.duration_ns[i];
      } else {
        Close(start);
      }
    }
    Close(model_.graph().window.end_ns);
    return std::move(found_);
  }

 private:
  void Add(RowId row) {
    const trace::Trace& trace = model_.trace();
    const std::string kind =
        analyze::CollectiveKindName(analyze::KindFromName(trace.HostName(row)));
    if (!open_.calls.empty() && open_.train.kind != kind) Close(trace.host.start_ns[row]);
    if (open_.calls.empty()) {
      open_.train.first = row;
      open_.train.kind = kind;
      open_.train.span.begin_ns = trace.host.start_ns[row];
      pending_ns_ = 0;
    }
    open_.train.span.end_ns = trace.host.end_ns(row);
    open_.train.beside_ns += std::exchange(pending_ns_, 0);
    const double elements = ElementsOf(trace.Name(trace.op_details[trace.host.detail[row]].dims));
    open_.calls.push_back({row, elements < 0 ? -1 : elements * kElementBytes});
  }
  void Close(Nanos time) {
    open_.until_ns = time;
    if (open_.calls.size() >= kLeastMessages) found_.push_back(std::move(open_));
    open_ = {};
    pending_ns_ = 0;
  }

  const Model& model_;
  Open open_;
  Nanos pending_ns_ = 0;  // in operators since the last message
  std::vector<Open> found_;
};

// Gives the trains their runs: by the call that launched them, or where they ran on the host, by
// time: a train's messages begin behind its first call and before what comes next.
void Attach(const Model& model, std::vector<TrainFinder::Open>& trains) {
  const analyze::CommFacts& comm = *model.facts().comm;
  const trace::Trace& trace = model.trace();
  const analyze::RankSkew* skew = model.own_skew();
  const bool waits = skew != nullptr && skew->waits.size() == comm.runs.size();
  for (std::size_t r = 0; r < comm.runs.size(); ++r) {
    const analyze::CollectiveRun& run = comm.runs[r];
    Nanos at = run.start_ns - trace.info.base_time_ns;
    if (run.work != kNoRow) {
      const RowId api = trace.device.api[run.work];
      if (api == kNoRow || model.graph().of_device[run.work] == kNoTask) continue;
      at = trace.host.start_ns[api];
    }
    auto after = std::upper_bound(
        trains.begin(), trains.end(), at,
        [](Nanos time, const TrainFinder::Open& open) { return time < open.train.span.begin_ns; });
    if (after == trains.begin()) continue;
    TrainFinder::Open& open = *std::prev(after);
    if (at >= open.until_ns || run.kind != open.train.kind) continue;
    const Nanos waited = waits ? std::clamp<Nanos>(skew->waits[r], 0, run.duration_ns) : 0;
    open.train.runs.push_back(r);
    open.train.waited_ns += waited;
    open.train.taken_ns += run.duration_ns - waited;
    if (run.message_bytes) open.train.bytes.push_back(*run.message_bytes);
    if (run.work == kNoRow) {
      open.train.span.end_ns = std::max(open.train.span.end_ns, at + run.duration_ns);
    }
  }
  for (TrainFinder::Open& open : trains) {
    std::vector<double>& bytes = open.train.bytes;
    open.train.span.end_ns = std::min(open.train.span.end_ns, open.until_ns);
    if (bytes.size() == open.train.runs.size()) continue;
    bytes.clear();
    const bool told = open.calls.size() == open.train.runs.size() &&
                      std::all_of(open.calls.begin(), open.calls.end(),
                                  [](const Call& call) { return call.bytes >= 0; });
    if (!told) continue;
    for (const Call& call : open.calls) bytes.push_back(call.bytes);
  }
}

}  // namespace

std::vector<MessageTrain> FindMessageTrains(const Model& model) {
  std::vector<TrainFinder::Open> open = TrainFinder(model).Find();
  Attach(model, open);
  std::vector<MessageTrain> trains;
  for (TrainFinder::Open& one : open) {
    if (one.train.runs.size() >= kLeastMessages) trains.push_back(std::move(one.train));
  }
  return trains;
}

}  // namespace hone::replay
