// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/host_optimizer.h"

#include <fmt/format.h>

#include <utility>

#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

using trace::RowId;

// Fewer operators than this in an optimizer's step are not worth a word.
constexpr std::size_t kFewOperators = 20;
// Of a step's time, what a fused one takes. torch 2.13 on one core, 20 to 362 parameters of 24 x 24
// to 512 x 512: AdamW 0.15 to 0.32, SGD with momentum 0.2 to 0.3 for small ones, 0.55 and 0.69 for
// large ones, whose bytes take the time.
constexpr Range3 kAdamLeft = {0.35, 0.2, 0.15}, kSgdLeft = {0.7, 0.3, 0.2};

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

class HostOptimizer : public Edit {
 public:
  HostOptimizer(HostCut host, Range3 left, std::size_t operators)
      : host_(std::move(host)), left_(left), operators_(operators) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    host_.Apply(model.graph(), (1 - left_.At(guess)) / (1 - left_.most), plan);
  }
  std::string Scope(const Model& /*model*/) const override {
    return fmt::format("{} operators an optimizer step become one", operators_);
  }

 private:
  const HostCut host_;  // as much as may go
  const Range3 left_;
  const std::size_t operators_;
};

}  // namespace

FoundEdit FindHostOptimizer(const Model& model) {
  const std::vector<OptimizerStep>& steps = model.optimizer_steps();
  const trace::Trace& trace = model.trace();
  const trace::HostSlices& host = trace.host;
  const std::string_view name = trace.HostName(steps.front().row);
  const bool adam = Has(name, "Adam");
  if (!adam && !Has(name, "SGD") && !Has(name, "Adagrad")) {
    return FoundEdit::Absent("PyTorch has no fused form of this optimizer for the CPU");
  }
  const Range3 left = adam ? kAdamLeft : kSgdLeft;
  std::size_t operators = 0;
  std::vector<HostSpan> spans;
  for (const auto& [row, begin_ns] : steps) {
    const auto last = trace.threads[host.thread[row]].last_slice;
    for (RowId i = row; i < last && host.start_ns[i] < host.end_ns(row); ++i) {
      if (host.kind[i] != trace::SliceKind::kOp || model.lineage().top_op[i] != i) continue;
      if (host.start_ns[i] < begin_ns) continue;
      if (Has(trace.HostName(i), "_fused_")) {
        return FoundEdit::Absent("the optimizer is fused already");
      }
      ++operators;
    }
    spans.push_back({model.LaneOf(row), {begin_ns, host.end_ns(row)}, 0, left.most});
  }
  operators /= steps.size();
  if (operators < kFewOperators) {
    return FoundEdit::Absent(
        fmt::format("no optimizer step calls {} operators or more", kFewOperators));
  }
  return FoundEdit(
      std::make_unique<HostOptimizer>(HostCut(model.graph(), std::move(spans)), left, operators));
}

}  // namespace hone::replay
