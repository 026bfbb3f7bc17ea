// SPDX-License-Identifier: Apache-2.0
// no-tensor-cores: matrix work on plain cores, or on tensor cores that the shapes hold back.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

using analyze::KernelFamily;
using analyze::Precision;

// The kernel that costs most among those that are off, and whether alignment is what is wrong.
struct Largest {
  trace::RowId work = trace::kNoRow;
  double off_ns = 0, misaligned_ns = 0, convolution_ns = 0;
};

Largest FindLargest(const replay::Model& model) {
  Largest found;
  Nanos longest = 0;
  for (const replay::Task& task : model.graph().tasks) {
    if (task.kind != replay::TaskKind::kKernel) continue;
    const analyze::KernelTraits& traits = model.Traits(task.row);
    const bool half = traits.precision == Precision::kBf16 || traits.precision == Precision::kFp16;
    const std::string_view name = model.trace().DeviceName(task.row);
    const bool misaligned = half && traits.family == KernelFamily::kMatmul &&
                            (name.find("align1") != std::string_view::npos ||
                             name.find("align2") != std::string_view::npos);
    const bool off =
        traits.matrix_unit == analyze::MatrixUnit::kNo && traits.precision == Precision::kFp32;
    if (!off && !misaligned) continue;
    const auto duration = static_cast<double>(task.duration_ns);
    (misaligned ? found.misaligned_ns : found.off_ns) += duration;
    if (off && traits.family == KernelFamily::kConvolution) found.convolution_ns += duration;
    if (task.duration_ns > longest) {
      longest = task.duration_ns;
      found.work = task.row;
    }
  }
  return found;
}

// Less than this above TF32, and bfloat16 is not worth its rounding.
constexpr double kWorthMore = 1.05;

// The other remedy, with its own prediction: half the bytes, twice the rate, and a cast of every
// weight, which a program that waits for its host pays for.
void OfferBfloat16(const replay::WhatIf& whatif, Finding& finding) {
  if (!whatif.Find("bf16-autocast")) {
    finding.remedy += "# or, for more: with torch.autocast(\"cuda\", torch.bfloat16):\n";
    return;
  }
  const double bare = whatif.bare().likely_ns;
  const replay::Prediction half = whatif.Predict({"bf16-autocast"});
  const double tf32_ns = whatif.Predict({"no-tensor-cores"}).likely_ns;
  if (half.likely_ns <= 0 || tf32_ns <= 0) return;
  const double gain = bare / half.likely_ns, tf32 = bare / tf32_ns;
  finding.instead.push_back({"bf16-autocast", half, gain});
  finding.evidence.push_back(
      fmt::format("predicted {:.2f}x with TF32, {:.2f}x under bfloat16 autocast", tf32, gain));
  finding.remedy +=
      gain > kWorthMore * tf32
          ? fmt::format("# or, for {:.1f}x: with torch.autocast(\"cuda\", torch.bfloat16):\n", gain)
          : fmt::format("# torch.autocast(\"cuda\", torch.bfloat16) gives no more here: {:.2f}x\n",
                        gain);
}

}  // namespace

Judgement JudgeNoTensorCores(const Case& the_case) {
  if (!the_case.facts.efficiency) {
    // A program without a device has no tensor cores to leave unused.
    return the_case.trace.device.size() == 0
               ? Judgement::Quiet()
               : Judgement::Missing(the_case.facts.efficiency.why_not());
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const replay::Model& model = the_case.whatif->model();
  if (!model.peaks()) return Judgement::Missing(model.peaks().why_not());
  const auto& edit = the_case.whatif->Find("no-tensor-cores");
  if (!edit) return Judgement::Quiet();
  const Largest largest = FindLargest(model);
  const auto steps = static_cast<double>(model.graph().steps);

  Finding finding;
  finding.id = "no-tensor-cores";
  finding.fix = {"no-tensor-cores"};
  const double step = model.graph().measured_step_ns();
  const auto evidence = [&](double time_ns, const char* what) {
    finding.evidence.push_back(fmt::format("{:.1f} ms of a {:.1f} ms step are {}",
                                           time_ns / steps / 1e6, step / 1e6, what));
  };
  if (largest.off_ns >= largest.misaligned_ns) {
    const bool convolutions = largest.convolution_ns > largest.off_ns / 2;
    finding.title = fmt::format("{} run in fp32 without tensor cores",
                                convolutions ? "convolutions" : "matrix products");
    evidence(largest.off_ns, "fp32 matrix kernels on plain cores");
    // Either switch leaves the other's kernels as they are.
    finding.needed = convolutions ? "torch.backends.cudnn.allow_tf32 = True\n"
                                    "torch.set_float32_matmul_precision(\"high\")\n"
                                  : "torch.set_float32_matmul_precision(\"high\")   # TF32\n";
    finding.remedy = finding.needed;
  } else {
    finding.title = "half-precision products have sizes that tensor cores take badly";
    evidence(largest.misaligned_ns, "kernels that load one or two elements at a time");
    finding.remedy =
        "# make the inner sizes multiples of 8: pad vocabulary, classes and hidden sizes, e.g.\n"
        "vocab_size = 8 * ((vocab_size + 7) // 8)\n";
    finding.effort = Effort::kFewLines;
  }
  finding.evidence.push_back((*edit)->Scope(model));
  if (largest.off_ns >= largest.misaligned_ns) OfferBfloat16(*the_case.whatif, finding);
  if (largest.work != trace::kNoRow) {
    Place place;
    place.kernel = std::string(the_case.trace.DeviceName(largest.work));
    const trace::RowId op = the_case.trace.device.op[largest.work];
    if (op != trace::kNoRow) place.op = std::string(the_case.trace.HostName(op));
    place.start_ns = the_case.trace.device.start_ns[largest.work];
    place.duration_ns = the_case.trace.device.duration_ns[largest.work];
    finding.where.push_back(place);
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
