// SPDX-License-Identifier: Apache-2.0
// unfused-elementwise: neighbouring kernels that only move data become one (torch.compile).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "analyze/roofline.h"
#include "replay/edits/chains.h"
#include "replay/edits/edits.h"
#include "replay/edits/optimizer_kernels.h"

namespace hone::replay {
namespace {

using analyze::KernelFamily;
using trace::kNoRow;
using trace::RowId;

// A fused chain moves what its largest kernel moves, and this share of what the others moved:
// inputs that come from elsewhere and values kept for the backward pass. Fitted to GPT-2 and a
// hand-written chain under torch.compile on an H200 (docs/user/whatif.md has both).
constexpr Range3 kOthersLeft = {0.6, 0.15, 0.02};

// Eager's kernel for operands that are broadcast, transposed or strided works element by element:
// it takes 1.6 to 3.5 times as long as the vectorized one for as many elements (an MLP-mixer in
// bfloat16 on an H200). A compiler makes such operands part of its own loop.
constexpr std::string_view kStrided = "at::native::elementwise_kernel<";
constexpr Range3 kStridedLeft = {1.0, 0.5, 0.35};

// Compiled code calls no operator for what it fused. A decoder whose device then binds it tells no
// more than that at least half goes.
constexpr Range3 kDispatchGone = {0, 0.5, 0.9};

// Inductor writes running sums and reads by index (flip, gather, select) into its own loops;
// sorting, and sums that are scattered, stay a library's.
constexpr std::string_view kScan = "at::native::tensor_kernel_scan_";
constexpr std::array<std::string_view, 3> kIndexed = {
    "at::native::index_elementwise_kernel<", "at::native::vectorized_gather_kernel<",
    "at::native::(anonymous namespace)::indexSelect"};

bool Fuses(KernelFamily family, std::string_view name) {
  // All parameters in one launch: gradients that are clipped, averages that run along. That is
  // outside of the model that is compiled, and fused already.
  if (ServesManyParameters(name)) return false;
  switch (family) {
    case KernelFamily::kSortScan: return name.find(kScan) != std::string_view::npos;
    case KernelFamily::kEmbedding:
      return std::ranges::any_of(kIndexed, [&](std::string_view part) {
        return name.find(part) != std::string_view::npos;
      });
    case KernelFamily::kNorm:
    case KernelFamily::kSoftmax:
    case KernelFamily::kElementwise:
    case KernelFamily::kReduction:
    case KernelFamily::kCopyCast:
    case KernelFamily::kLoss:
    case KernelFamily::kRandom: return true;
    default: return false;
  }
}

// Operators that multiply matrices, too (a recurrent layer, a product that adds up its parts):
// their kernels are a library's, and no compiler sees between them.
class Opaque {
 public:
  explicit Opaque(const Model& model) : model_(model), of_library_(model.trace().host.size(), 0) {
    for (const Task& task : model.graph().tasks) {
      if (task.kind != TaskKind::kKernel) continue;
      const RowId op = OpOf(task.row);
      if (op != kNoRow && analyze::IsMatrixFamily(model.Traits(task.row).family)) {
        of_library_[op] = 1;
      }
    }
  }
  bool operator()(RowId work) const {
    const RowId op = OpOf(work);
    return op != kNoRow && of_library_[op] != 0;
  }

 private:
  // All of a graph is launched by one call, whatever it was made of.
  RowId OpOf(RowId work) const {
    return model_.trace().device.graph[work] != 0 ? kNoRow : model_.trace().device.op[work];
  }

  const Model& model_;
  std::vector<std::uint8_t> of_library_;  // by row of Trace::host
};

class UnfusedElementwise : public Edit {
 public:
  explicit UnfusedElementwise(std::vector<std::vector<TaskId>> chains)
      : chains_(std::move(chains)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    std::vector<TaskId> left;
    for (const std::vector<TaskId>& chain : chains_) {
      left.clear();  // another edit may have removed some
      double largest = 0, sum = 0;
      for (const TaskId task : chain) {
        if (plan.duration_ns[task] <= 0) continue;
        left.push_back(task);
        const std::string_view name = model.trace().DeviceName(model.graph().tasks[task].row);
        const bool strided = name.find(kStrided) != std::string_view::npos;
        const double moved =
            static_cast<double>(plan.duration_ns[task]) * (strided ? kStridedLeft.At(guess) : 1);
        largest = std::max(largest, moved);
        sum += moved;
      }
      if (left.size() < 2) continue;
      const double fused = largest + kOthersLeft.At(guess) * (sum - largest);
      ReplaceByOne(model, left, static_cast<Nanos>(fused), kDispatchGone.At(guess), plan);
    }
  }

  std::string Scope(const Model& model) const override {
    std::size_t kernels = 0;
    for (const std::vector<TaskId>& chain : chains_) kernels += chain.size();
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format("{:.0f} kernels a step become {:.0f}", static_cast<double>(kernels) / steps,
                       static_cast<double>(chains_.size()) / steps);
  }

 private:
  const std::vector<std::vector<TaskId>> chains_;
};

}  // namespace

FoundEdit FindUnfusedElementwise(const Model& model) {
  const Graph& graph = model.graph();
  const Opaque opaque(model);
  std::vector<std::vector<TaskId>> open(graph.lanes.size()), chains;
  const auto close = [&](std::vector<TaskId>& chain) {
    if (chain.size() >= 2) chains.push_back(std::move(chain));
    chain.clear();
  };
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (graph.lanes[task.lane].kind != LaneKind::kStream) continue;
    std::vector<TaskId>& chain = open[task.lane];
    const bool set = model.trace().device.kind[task.row] == trace::WorkKind::kSet;
    if (set) continue;  // zeroes a buffer for one of them
    const bool fuses = task.kind == TaskKind::kKernel && !model.InOptimizer(task.row) &&
                       Fuses(model.Traits(task.row).family, model.trace().DeviceName(task.row)) &&
                       !opaque(task.row);
    if (fuses) {
      chain.push_back(t);
    } else {
      close(chain);
    }
  }
  for (std::vector<TaskId>& chain : open) close(chain);
  if (chains.empty()) {
    return FoundEdit::Absent("no two neighbouring kernels in the steps could be one");
  }
  return FoundEdit(std::make_unique<UnfusedElementwise>(std::move(chains)));
}

}  // namespace hone::replay
