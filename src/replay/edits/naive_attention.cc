// SPDX-License-Identifier: Apache-2.0
// naive-attention: scaled_dot_product_attention instead of matmul, softmax, matmul.
#include <fmt/format.h>

#include "replay/edits/attention.h"
#include "replay/edits/chains.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

// The same attention, spelled out against fused, on an H200: GPT-2 in fp32 2.1 (49 to 23 ms a
// step), GPT-2 in bf16 10, a bf16 transformer of 2,048 tokens 12.
constexpr Range3 kGainFp32 = {1.5, 2.1, 3.0};
constexpr Range3 kGainHalf = {5, 10, 14};

class NaiveAttention : public Edit {
 public:
  explicit NaiveAttention(std::vector<Attention> found) : found_(std::move(found)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    for (const Attention& attention : found_) {
      const bool half =
          attention.half || (!attention.forward.empty() &&
                             plan.MatrixOf(attention.forward.front()) == MatrixMode::kHalf);
      const Range3& gain = half ? kGainHalf : kGainFp32;
      for (const std::vector<TaskId>* work : {&attention.forward, &attention.backward}) {
        if (work->empty()) continue;
        const double fused = PlannedTime(*work, plan) / gain.At(guess);
        ReplaceByOne(model, *work, static_cast<Nanos>(fused), kDispatchShare, plan);
        plan.SetMatrix(work->front(), MatrixMode::kFused);
      }
    }
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
