// SPDX-License-Identifier: Apache-2.0
// naive-attention: scaled_dot_product_attention instead of matmul, softmax, matmul.
#include <fmt/format.h>

#include <algorithm>

#include "replay/edits/attention.h"
#include "replay/edits/chains.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

// In fp32 the fused kernels compute what the products did on plain cores, and once more in the
// backward pass, whatever TF32 does for products: of the products' own time, on an H200, 1.06
// forward and 1.35 backward without a mask (ALBERT, 512 tokens), 0.96 of both with a causal one
// (GPT-2, which leaves half of the scores out, 49 ms of attention to 23).
constexpr Range3 kMaskedForwardFp32 = {1.2, 0.9, 0.6}, kMaskedBackwardFp32 = {1.4, 1.0, 0.7};
constexpr Range3 kOpenForwardFp32 = {1.4, 1.06, 0.7}, kOpenBackwardFp32 = {1.7, 1.35, 0.9};
// What products of heads take on plain cores, against TF32: 36 to 44 TFLOP/s there, 119 with it.
constexpr double kPlainAgainstTf32 = 3.0;
// Where no kernel is known for a product's (GPT-2).
constexpr Range3 kGainFp32 = {1.5, 2.1, 3.0};
// In half precision the fused kernels move next to nothing and compute what the products did, the
// hidden half of the scores left out where they are masked. Of the products' own time, on an H200
// with 2,048 tokens and heads of 64: 0.35 forward and 0.46 backward in one decoder, 0.43 of both in
// another, whose whole attention took 22 and 13 times as long spelled out. Without a mask twice as
// much is computed, at a higher rate.
constexpr Range3 kMaskedForward = {0.55, 0.35, 0.25}, kMaskedBackward = {0.7, 0.46, 0.35};
constexpr Range3 kOpenForward = {0.9, 0.55, 0.35}, kOpenBackward = {1.1, 0.75, 0.5};
// Where no kernel is known for a product's.
constexpr Range3 kGainHalf = {5, 13, 22};

// Of the host time of its operators and the Python between them, what one fused call and one
// backward node take. Written out (BERT) it took 5.3 times a linear layer's call forward and 3.0
// times such a layer's node backward; fused in fp32 (ViT-B) 1.0 and 1.6 times, since its node
// copies and sums as well. In bfloat16 (GPT-2) the fused node took what the call took.
constexpr Range3 kHostForward = {0.4, 0.2, 0.1};
constexpr Range3 kHostBackwardFp32 = {0.9, 0.6, 0.3};
constexpr Range3 kHostBackwardHalf = {0.5, 0.25, 0.15};

// Without a device the fused operator goes over the scores in blocks that stay in the caches: of
// the products' own time, over heads of 16 to 64 numbers and 64 to 512 tokens, on one core and on
// two that others wanted too (docs/user/rules/naive-attention.md has the table).
constexpr Range3 kOnHostForward = {1.3, 0.9, 0.45}, kOnHostBackward = {2.5, 1.6, 1.0};
// What one call takes however little it has to do, and one node.
constexpr Range3 kOnHostCallNs = {80'000, 40'000, 20'000};

const Range3& ShareOf(const Attention& attention, bool forward, bool half) {
  if (half && forward) return attention.masked ? kMaskedForward : kOpenForward;
  if (half) return attention.masked ? kMaskedBackward : kOpenBackward;
  if (forward) return attention.masked ? kMaskedForwardFp32 : kOpenForwardFp32;
  return attention.masked ? kMaskedBackwardFp32 : kOpenBackwardFp32;
}

std::vector<TaskId> ProductsOf(const Model& model, const std::vector<TaskId>& work) {
  std::vector<TaskId> products;
  for (const TaskId task : work) {
    const trace::RowId row = model.graph().tasks[task].row;
    if (model.Traits(row).family == analyze::KernelFamily::kMatmul) products.push_back(task);
  }
  return products;
}

// Nanoseconds of one fused call in fp32; `share`: of the time of the products it replaces, as they
// were recorded.
double FusedFp32(const Model& model, const std::vector<TaskId>& work, const Range3& share,
                 Guess guess, const Plan& plan) {
  double products = 0;
  for (const TaskId task : ProductsOf(model, work)) {
    const Task& product = model.graph().tasks[task];
    const bool on_units = model.Traits(product.row).matrix_unit == analyze::MatrixUnit::kYes;
    products += static_cast<double>(product.duration_ns) * (on_units ? kPlainAgainstTf32 : 1);
  }
  if (products <= 0) return PlannedTime(work, plan) / kGainFp32.At(guess);
  return products * share.At(guess);
}

// Nanoseconds of one fused call in half precision; `share`: of the time of the products it
// replaces.
double FusedHalf(const Model& model, const std::vector<TaskId>& work, const Range3& share,
                 Guess guess, const Plan& plan) {
  const std::vector<TaskId> products = ProductsOf(model, work);
  const double whole = PlannedTime(work, plan);
  if (products.empty()) return whole / kGainHalf.At(guess);
  return std::min(whole, PlannedTime(products, plan) * share.At(guess));
}

// The passes over the scores go; of the products stays a share, where they are.
void CutOnHost(const std::vector<Attention::Stretch>& stretches, double share, Guess guess,
               std::vector<HostSpan>& host) {
  double call = kOnHostCallNs.At(guess);  // once, however many stretches
  for (const Attention::Stretch& stretch : stretches) {
    const double keep = call + share * static_cast<double>(stretch.products_ns);
    host.push_back({stretch.lane, stretch.span, static_cast<Nanos>(keep), 0});
    call = 0;
  }
}

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
      if (attention.on_host) {
        CutOnHost(attention.forward_host, kOnHostForward.At(guess), guess, host);
        CutOnHost(attention.backward_host, kOnHostBackward.At(guess), guess, host);
        continue;
      }
      const bool half =
          attention.half || (!attention.forward.empty() &&
                             plan.MatrixOf(attention.forward.front()) == MatrixMode::kHalf);
      for (const std::vector<TaskId>* work : {&attention.forward, &attention.backward}) {
        if (work->empty() || PlannedTime(*work, plan) <= 0) continue;  // or gone by another edit
        const Range3& share = ShareOf(attention, work == &attention.forward, half);
        const double fused = half ? FusedHalf(model, *work, share, guess, plan)
                                  : FusedFp32(model, *work, share, guess, plan);
        ReplaceByOne(model, *work, static_cast<Nanos>(fused), 0, plan);
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
      if (attention.on_host) {
        for (const auto* stretches : {&attention.forward_host, &attention.backward_host}) {
          for (const Attention::Stretch& stretch : *stretches) {
            time += static_cast<double>(stretch.span.length());
          }
        }
      }
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
  if (model.facts().trust.present.ops == 0) return FoundEdit::Absent("no operators in this trace");
  std::vector<Attention> found = FindAttention(model);
  // scaled_dot_product_attention spells itself out on the CPU where it is to drop weights.
  const auto fusible = [](const Attention& one) { return !one.on_host || !one.dropout; };
  if (!found.empty() && std::none_of(found.begin(), found.end(), fusible)) {
    return FoundEdit::Absent("attention with dropout has no fused operator on the CPU");
  }
  std::erase_if(found, [&](const Attention& one) { return !fusible(one); });
  if (found.empty()) {
    return FoundEdit::Absent(
        "no softmax between two batched matmuls in the steps, fused attention aside");
  }
  return FoundEdit(std::make_unique<NaiveAttention>(std::move(found)));
}

}  // namespace hone::replay
