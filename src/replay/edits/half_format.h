// SPDX-License-Identifier: Apache-2.0
// HalfFormat: the 16 bits that torch.autocast would take on a device, and what hangs on which.
#pragma once

#include <string_view>

#include "analyze/device_peaks.h"
#include "base/known.h"

namespace hone::replay {

struct HalfFormat {
  std::string_view fix;    // a word of AllEdits()
  std::string_view dtype;  // torch's word
  analyze::Precision precision;
  // Gradients leave its range unless the loss is scaled: a GradScaler goes over all of them, and
  // asks the device once a step.
  bool scaled = false;
  // torch asks cuDNN for batch norms in it, as in fp32 (ATen/native/Normalization.cpp).
  bool cudnn_norms = false;
  // Of the ranges of matrix work on an H200, where all shares of peaks were measured. Devices that
  // take float16 and no bfloat16 are two and three generations older, and nothing was fitted to
  // them.
  double spread = 1;

  double Tflops(const analyze::DevicePeaks& peaks) const { return peaks.Tflops(precision); }
};
inline constexpr HalfFormat kBfloat16{"bf16-autocast", "bfloat16", analyze::Precision::kBf16};
inline constexpr HalfFormat kFloat16{
    "fp16-autocast", "float16", analyze::Precision::kFp16, true, true, 1.5};

// bfloat16 wherever there is any, since it has fp32's range. Null: the device's matrix units, if it
// has any, take neither.
inline const HalfFormat* HalfFormatOf(const analyze::DevicePeaks& peaks) {
  for (const HalfFormat* format : {&kBfloat16, &kFloat16}) {
    if (format->Tflops(peaks) > 0) return format;
  }
  return nullptr;
}
inline double HalfTflops(const analyze::DevicePeaks& peaks) {
  const HalfFormat* format = HalfFormatOf(peaks);
  return format == nullptr ? 0 : format->Tflops(peaks);
}
// Volta and Turing: without autocast the matrix units have nothing to do for fp32. Devices of AMD's
// without TF32 are not meant, because they multiply fp32 on their matrix units as it is.
inline bool TakesFloat16Only(const analyze::DevicePeaks& peaks) {
  return peaks.tf32 <= 0 && HalfFormatOf(peaks) == &kFloat16;
}
// TFLOP/s of the matrix units at products that are fp32's otherwise: TF32, or half of float16,
// since that is TF32's rate on every device that has both. 0: fp32's own peak is theirs.
inline double UnitsTflops(const analyze::DevicePeaks& peaks) {
  return TakesFloat16Only(peaks) ? peaks.fp16 / 2 : peaks.tf32;
}

}  // namespace hone::replay
