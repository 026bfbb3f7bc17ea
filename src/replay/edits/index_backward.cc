// SPDX-License-Identifier: Apache-2.0
// slow-index-backward: repeats of an index are added up in parallel, not in turn.
#include "replay/edits/index_backward.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "analyze/forward_index.h"
#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/product_gains.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using Call = IndexBackward::Call;
using Way = IndexBackward::Way;

// Times longer than its bytes take. A gather of 400,000 rows out of 60,000 (H200, fp32, 128 wide)
// takes 1.0 times as long, and nothing else adds it faster; one out of five rows 290 times.
constexpr double kSlow = 5;
// And than the other way, whose parts are small kernels one after another.
constexpr double kGain = 2;
constexpr Nanos kShortest = 100 * kMicrosecond;
// Without a grid: 1.4 GB of gradient at the bandwidth of an H200, which is rare.
constexpr Nanos kLongAnyway = kMillisecond;
constexpr Range3 kLeftAnyway = {0.3, 0.05, 0.01};
// Bytes a nanosecond of a device that is not in the table: a T4 has 320.
constexpr double kUnknownBandwidth = 300;

// Each index, 64 bits, beside the place that it came from.
constexpr double kIndexBytes = 16;
// The gradient is read, rows of the table are read and written: as many at most.
constexpr double kPasses = 3;

// F.embedding on an H200 with torch 2.11, beside the sort: 237 us modelled, 231 recorded, for
// 131,072 rows of 256 out of 5; 113 and 90 for 16,384 of 768 out of 512; 73 and 95 for 4,096 of 768
// out of 2.
constexpr double kPartsNs = 60'000, kPartsOfIndexNs = 0.4, kEmbeddingPasses = 4;
constexpr Range3 kOfEmbedding = {2.5, 1, 0.5};
// Its kernels of older versions add up ten repeats at a time and those sums in turn.
constexpr double kOlderLeft = 0.07;

// index_add on an H200: 372 us for 205 MB, 400,000 rows into 60,000. Repeats wait for each other
// here too, but in the cache: 15 ns each where scatter_add adds 61,000 values into 50, against 710
// in the kernel that is replaced.
constexpr double kAtomicsNs = 10'000, kAtomicPasses = 7.6, kRepeatLeft = 0.02;
constexpr Range3 kOfAtomics = {4, 1, 0.4};

// Of the gradient, by the grid that index_put_with_sort_kernel takes: four indices a block, 128
// columns a block, and what stands before the indexed dimension.
struct Sizes {
  double indices = 0, bytes = 0;
  double before = 1;
};

bool IsOneColumn(std::string_view kernel) { return kernel.find("_stride_1") != kernel.npos; }

Sizes SizesOf(const Model& model, RowId work) {
  const trace::Trace& trace = model.trace();
  const trace::LaunchConfig& launch = trace.launches[trace.device.launch[work]];
  if (launch.grid[0] == 0 || launch.block[0] == 0) return {};
  const std::string_view name = trace.DeviceName(work);
  Sizes sizes;
  sizes.indices = 4.0 * launch.grid[0];
  // Wavefronts of 64: newer kernels for AMD take as many times more a block.
  if (launch.block[0] != 32) sizes.indices *= launch.block[0];
  sizes.before = launch.grid[2];
  const double columns = IsOneColumn(name)                         ? 1
                         : name.find("_small_stride") != name.npos ? 32
                                                                   : 128.0 * launch.grid[1];
  const int element = model.Traits(work).element_bytes;
  sizes.bytes = sizes.indices * columns * sizes.before * (element > 0 ? element : 4);
  return sizes;
}

Range3 LeftOf(Way way, const Sizes& sizes, double bandwidth, double recorded_ns) {
  if (way == Way::kEmbedding) {
    const double likely =
        kPartsNs + kPartsOfIndexNs * sizes.indices + kEmbeddingPasses * sizes.bytes / bandwidth;
    return {std::max(kOfEmbedding.least * likely, kOlderLeft * recorded_ns),
            kOfEmbedding.likely * likely, kOfEmbedding.most * likely};
  }
  const double likely =
      kAtomicsNs + kAtomicPasses * sizes.bytes / bandwidth + kRepeatLeft * recorded_ns;
  return {kOfAtomics.least * likely, kOfAtomics.likely * likely, kOfAtomics.most * likely};
}

// Operators that come here under torch.use_deterministic_algorithms(True) alone.
bool AddsByAtomics(std::string_view op) {
  constexpr std::array<std::string_view, 6> kNames = {
      "aten::index_add",      "aten::scatter_add", "aten::index_select_backward",
      "aten::scatter_reduce", "aten::put_",        "aten::gather_backward"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return op.starts_with(name); });
}

// What is around each host slice, outermost first: the operator that determinism sent on, and the
// node of the backward pass.
class Surroundings {
 public:
  explicit Surroundings(const trace::Trace& trace)
      : asked_(trace.host.size(), kNoRow), node_(trace.host.size(), kNoRow) {
    std::vector<std::uint8_t> judged(trace.strings.size(), 0);
    for (RowId i = 0; i < trace.host.size(); ++i) {
      if (const RowId parent = trace.host.parent[i]; parent != kNoRow) {
        asked_[i] = asked_[parent];
        node_[i] = node_[parent];
      }
      if (trace.host.kind[i] != trace::SliceKind::kOp) continue;
      if (analyze::IsBackward(trace, i)) node_[i] = i;
      std::uint8_t& name = judged[static_cast<std::uint32_t>(trace.host.name[i])];
      if (name == 0) name = AddsByAtomics(trace.HostName(i)) ? 2 : 1;
      if (name == 2 && asked_[i] == kNoRow) asked_[i] = i;
    }
  }
  RowId Asked(RowId op) const { return op == kNoRow ? kNoRow : asked_[op]; }
  RowId Node(RowId op) const { return op == kNoRow ? kNoRow : node_[op]; }

 private:
  std::vector<RowId> asked_, node_;  // by host row
};

std::vector<TaskId> LongCalls(const Model& model) {
  const trace::Trace& trace = model.trace();
  std::vector<std::uint8_t> judged(trace.strings.size(), 0);
  std::vector<TaskId> calls;
  for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
    const Task& task = model.graph().tasks[t];
    if (task.kind != TaskKind::kKernel || task.duration_ns < kShortest) continue;
    std::uint8_t& name = judged[static_cast<std::uint32_t>(trace.device.name[task.row])];
    if (name == 0) {
      const std::string_view text = trace.DeviceName(task.row);
      // Quantized tensors have no gradients: theirs only writes.
      const bool adds = text.find("indexing_backward_kernel") != text.npos &&
                        text.find("_quantized") == text.npos;
      name = adds ? 2 : 1;
    }
    if (name == 2) calls.push_back(t);
  }
  return calls;
}

Call Judge(const Model& model, const Surroundings& around, TaskId task, double bandwidth) {
  const RowId work = model.graph().tasks[task].row;
  const auto recorded = static_cast<double>(model.graph().tasks[task].duration_ns);
  const Sizes sizes = SizesOf(model, work);
  Call call;
  call.task = task;
  const bool rows = !IsOneColumn(model.trace().DeviceName(work)) && sizes.before == 1;
  call.way = around.Asked(model.trace().device.op[work]) != kNoRow ? Way::kNotDeterministic
             : rows                                                ? Way::kEmbedding
                                                                   : Way::kAtomics;
  if (sizes.indices == 0) {
    call.left_ns = {kLeftAnyway.least * recorded, kLeftAnyway.likely * recorded,
                    kLeftAnyway.most * recorded};
    return call;
  }
  call.gradient_bytes = sizes.bytes;
  call.least_ns = (kPasses * sizes.bytes + kIndexBytes * sizes.indices) / bandwidth;
  call.left_ns = LeftOf(call.way, sizes, bandwidth, recorded);
  return call;
}

void Explain(const Model& model, const Surroundings& around, IndexBackward& found) {
  const trace::Trace& trace = model.trace();
  // What was launched before the recording began has no operator.
  std::pair<bool, Nanos> best = {false, -1};
  for (std::size_t i = 0; i < found.calls.size(); ++i) {
    const Task& task = model.graph().tasks[found.calls[i].task];
    const RowId op = trace.device.op[task.row];
    const std::pair<bool, Nanos> one = {op != kNoRow, task.duration_ns};
    if (one <= best) continue;
    best = one;
    found.longest = i;
    found.adds = op;
    found.asked = around.Asked(op);
  }
  if (const RowId node = around.Node(found.adds); node != kNoRow) {
    found.forward = analyze::ForwardIndex(trace).Find(trace, node);
  }
}

class AddedAtOnce : public Edit {
 public:
  explicit AddedAtOnce(IndexBackward found) : found_(std::move(found)) {}

  void Apply(const Model&, Guess guess, Plan& plan) const override {
    for (const Call& call : found_.calls) {
      Nanos& planned = plan.duration_ns[call.task];
      planned = std::min(planned, static_cast<Nanos>(call.left_ns.At(guess)));
    }
  }

  std::string Scope(const Model& model) const override {
    const auto steps = static_cast<double>(model.graph().steps);
    double left = 0;
    for (const Call& call : found_.calls) left += call.left_ns.likely;
    return fmt::format("{} ms a step of adding gradients up by index become {}",
                       ThreeDigits(found_.time_ns / 1e6 / steps), ThreeDigits(left / 1e6 / steps));
  }

 private:
  const IndexBackward found_;
};

}  // namespace

IndexBackward LookAtIndexBackward(const Model& model) {
  IndexBackward found;
  const std::vector<TaskId> calls = LongCalls(model);
  if (calls.empty()) return found;
  const trace::Trace& trace = model.trace();
  const Surroundings around(trace);
  found.known_device = model.peaks().has_value();
  const double bandwidth =
      found.known_device ? ReachedBandwidth(*model.peaks()) : kUnknownBandwidth;
  for (const TaskId task : calls) {
    const Call call = Judge(model, around, task, bandwidth);
    const auto recorded = static_cast<double>(model.graph().tasks[task].duration_ns);
    const bool measured = call.gradient_bytes > 0;
    const bool slow =
        measured ? recorded >= kSlow * call.least_ns && recorded >= kGain * call.left_ns.likely
                 : recorded >= kLongAnyway;
    if (slow) {
      found.time_ns += recorded;
      found.calls.push_back(call);
    } else if (!measured) {
      found.unmeasured_ns += recorded;
    }
  }
  Explain(model, around, found);
  return found;
}

FoundEdit FindSlowIndexBackward(const Model& model) {
  IndexBackward found = LookAtIndexBackward(model);
  if (found.calls.empty()) {
    return FoundEdit::Absent(
        "no gradient in the steps is added up by index more slowly than its "
        "bytes ask for");
  }
  return FoundEdit(std::make_unique<AddedAtOnce>(std::move(found)));
}

}  // namespace hone::replay
