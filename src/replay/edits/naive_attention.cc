// SPDX-License-Identifier: Apache-2.0
// naive-attention: scaled_dot_product_attention instead of matmul, softmax, matmul.
#include <fmt/format.h>

#include "replay/edits/attention.h"
#include "replay/edits/chains.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

// The same attention, spelled out against fused, on an H200: GPT-2 in fp32 2.1 (49 to 23 ms a
// step), GPT-2 in bf16 10, a bf16 transformer of 2,048 tokens 12.
constexpr Range3 kGainFp32 = {1.5, 2.1, 3.0};
constexpr Range3 kGainHalf = {5, 10, 14};

// Of the host time of its operators and the Python between them, what one fused call and one
// backward node take. Written out (BERT) it took 5.3 times a linear layer's call forward and 3.0
// times such a layer's node backward; fused in fp32 (ViT-B) 1.0 and 1.6 times, since its node
// copies and sums as well. In bfloat16 (GPT-2) the fused node took what the call took.
constexpr Range3 kHostForward = {0.4, 0.2, 0.1};
constexpr Range3 kHostBackwardFp32 = {0.9, 0.6, 0.3};
constexpr Range3 kHostBackwardHalf = {0.5, 0.25, 0.15};

class NaiveAttention : public Edit {
 public:
  explicit NaiveAttention(std::vector<Attention> found) : found_(std::move(found)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    std::vector<HostSpan> host;
    const auto shorten = [&](const std::vector<Attention::Stretch>& stretches, const Range3& keep) {
      for (const Attention::Stretch& stretch : stretches) {
        host.push_back({stretch.lane, stretch.span, 0, keep.At(guess)});
      }
    };
    for (const Attention& attention : found_) {
      const bool half =
          attention.half || (!attention.forward.empty() &&
                             plan.MatrixOf(attention.forward.front()) == MatrixMode::kHalf);
      const Range3& gain = half ? kGainHalf : kGainFp32;
      for (const std::vector<TaskId>* work : {&attention.forward, &attention.backward}) {
        if (work->empty()) continue;
        const double fused = PlannedTime(*work, plan) / gain.At(guess);
        ReplaceByOne(model, *work, static_cast<Nanos>(fused), plan);
        plan.SetMatrix(work->front(), MatrixMode::kFused);
      }
      shorten(attention.forward_host, kHostForward);
      shorten(attention.backward_host, half ? kHostBackwardHalf : kHostBackwardFp32);
    }
    HostCut(model.graph(), std::move(host)).Apply(model.graph(), 1, plan);
  }

  std::string Scope(const Model& model) const override {
    double time = 0;
    for (const Attention& attention : found_) {
      for (const TaskId task : attention.forward) {
        time += static_cast<double>(model.graph().tasks[task].duration_ns);
      }
      for (const TaskId task : attention.backward) {
        time += static_cast<double>(model.graph().tasks[task].duration_ns);
      }
    }
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format("attention called {:.0f}x a step, {:.2f} ms",
                       static_cast<double>(found_.size()) / steps, time / 1e6 / steps);
  }

 private:
  const std::vector<Attention> found_;
};

}  // namespace

FoundEdit FindNaiveAttention(const Model& model) {
  std::vector<Attention> found = FindAttention(model);
  if (found.empty()) {
    return FoundEdit::Absent("no softmax between two batched matmuls in the steps");
  }
  return FoundEdit(std::make_unique<NaiveAttention>(std::move(found)));
}

}  // namespace hone::replay
