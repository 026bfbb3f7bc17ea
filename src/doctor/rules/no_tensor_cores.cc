// SPDX-License-Identifier: Apache-2.0
// no-tensor-cores: matrix work on plain cores, or on tensor cores that the shapes hold back.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/half_precision.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"

namespace hone::doctor {
namespace {

using analyze::KernelFamily;
using analyze::Precision;

// The kernel that costs most among those that are off, and whether alignment is what is wrong.
struct Largest {
  trace::RowId work = trace::kNoRow;
  double off_ns = 0, misaligned_ns = 0, convolution_ns = 0;
  bool IsConvolution() const { return convolution_ns > off_ns / 2; }
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

constexpr std::string_view kOnPlainCores = "fp32 matrix kernels on plain cores";

// TF32 takes the work to the tensor cores as it is.
void NameTf32(const replay::WhatIf& whatif, const Largest& largest, Finding& finding) {
  finding.fix = {"no-tensor-cores"};
  // Either switch leaves the other's kernels as they are.
  finding.needed = largest.IsConvolution()
                       ? "torch.backends.cudnn.allow_tf32 = True\n"
                         "torch.set_float32_matmul_precision(\"high\")\n"
                       : "torch.set_float32_matmul_precision(\"high\")   # TF32\n";
  finding.remedy = finding.needed;
  OfferBfloat16(whatif, finding);
}

// No format of 32 bits does, and half precision is what the tensor cores are for. How much of their
// peaks these devices reach was not measured.
void NameFloat16(bool trains, Finding& finding) {
  finding.fix = {std::string(replay::kFloat16.fix)};
  finding.confidence = Confidence::kMedium;
  if (trains) finding.effort = Effort::kFewLines;
  finding.needed =
      AutocastCode(replay::kFloat16, trains, "this device has no TF32 and no bfloat16");
  finding.remedy = finding.needed;
  finding.evidence.push_back(
      "of all formats for training the tensor cores of this device take float16 alone");
}

void NameAlignment(Finding& finding) {
  finding.fix = {"no-tensor-cores"};
  finding.title = "half-precision products have sizes that tensor cores take badly";
  finding.remedy =
      "# make the inner sizes multiples of 8: pad vocabulary, classes and hidden sizes, e.g.\n"
      "vocab_size = 8 * ((vocab_size + 7) // 8)\n";
  finding.effort = Effort::kFewLines;
}

Place PlaceOf(const trace::Trace& trace, trace::RowId work) {
  Place place;
  place.kernel = std::string(trace.DeviceName(work));
  const trace::RowId op = trace.device.op[work];
  if (op != trace::kNoRow) place.op = std::string(trace.HostName(op));
  place.start_ns = trace.device.start_ns[work];
  place.duration_ns = trace.device.duration_ns[work];
  return place;
}

std::string TimeOf(const replay::Model& model, double time_ns, std::string_view what) {
  const auto steps = static_cast<double>(model.graph().steps);
  return fmt::format("{:.1f} ms of a {:.1f} ms step are {}", time_ns / steps / 1e6,
                     model.graph().measured_step_ns() / 1e6, what);
}

// Whether any format is faster there nobody knows; what is known is said.
std::string WhyNotChecked(const replay::Model& model) {
  const double off_ns = FindLargest(model).off_ns;
  if (off_ns <= 0) return model.peaks().why_not();
  return model.peaks().why_not() + "; " + TimeOf(model, off_ns, kOnPlainCores) +
         ": try torch.set_float32_matmul_precision(\"high\") or torch.autocast";
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
  const replay::WhatIf& whatif = *the_case.whatif;
  const replay::Model& model = whatif.model();
  if (!model.peaks()) return Judgement::Missing(WhyNotChecked(model));
  const bool in_half = replay::TakesFloat16Only(*model.peaks());
  const Largest largest = FindLargest(model);
  const bool off = largest.off_ns >= largest.misaligned_ns;

  Finding finding;
  finding.id = "no-tensor-cores";
  finding.title = fmt::format("{} run in fp32 without tensor cores",
                              largest.IsConvolution() ? "convolutions" : "matrix products");
  finding.evidence.push_back(off ? TimeOf(model, largest.off_ns, kOnPlainCores)
                                 : TimeOf(model, largest.misaligned_ns,
                                          "kernels that load one or two elements at a time"));
  const auto& edit = whatif.Find(off && in_half ? replay::kFloat16.fix : "no-tensor-cores");
  if (!edit || (in_half && largest.work == trace::kNoRow)) return Judgement::Quiet();
  finding.evidence.push_back((*edit)->Scope(model));
  if (!off) {
    NameAlignment(finding);
  } else if (in_half) {
    NameFloat16(Trains(the_case), finding);
  } else {
    NameTf32(whatif, largest, finding);
  }
  if (largest.work != trace::kNoRow) finding.where.push_back(PlaceOf(the_case.trace, largest.work));
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
