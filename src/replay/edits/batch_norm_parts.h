// SPDX-License-Identifier: Apache-2.0
// What PyTorch's own batch norms take in either layout.
#pragma once

#include <algorithm>
#include <string_view>

namespace hone::replay {

// The kernels for NCHW give each channel one block, however few there are; those for channels last
// spread over the device. What the latter take: passes over the tensor at a share of the reached
// bandwidth. From ResNet-50's on an H200 in bfloat16: 13.7 ms forward for 5.7 GB of input, 12.1
// backward. The kernel in NCHW stands for all of its part of the call.
struct NormPart {
  std::string_view kernel;  // in NCHW
  double tensors = 0;       // that the model of its call counts bytes for
  double passes = 0;
  double reached = 0;
  double latency_ns = 0;

  // `tensor_bytes`: of one tensor; `bandwidth`: bytes a nanosecond.
  double LastNs(double tensor_bytes, double bandwidth) const {
    return latency_ns + passes * tensor_bytes / (reached * bandwidth);
  }
};
inline constexpr NormPart kNormStatistics{"batch_norm_collect_statistics", 2, 1, 0.16, 4'000};
inline constexpr NormPart kNormTransform{"batch_norm_transform_input", 2, 2, 0.65, 1'500};
inline constexpr NormPart kNormBackward{"batch_norm_backward_kernel", 3, 5, 0.59, 4'000};

// In NCHW: passes over the tensor at the reached bandwidth. Each channel has one block, so that few
// channels leave the device empty. From a ResNeXt, a ResNet-34 and a U-Net in bfloat16 on an H200:
// statistics 4.8 to 27 passes, 27 with 64 channels and 13 to 16 with 128; backward 10 to 67, 58
// with 64 and 29 to 34 with 128; the transform 3.5 to 5.7, more for images of 7 x 7.
inline constexpr double kTransformPasses = 4.8, kLeastStatisticsPasses = 5.3;
inline double FirstForwardPasses(double channels) {
  return kTransformPasses + std::max(5.8, 1'800 / std::max(1.0, channels));
}
inline double FirstBackwardPasses(double channels) {
  return std::max(13.7, 3'900 / std::max(1.0, channels));
}
// Bytes of the tensor, from what its kernels in NCHW took.
inline double NormedBytes(double statistics_ns, double transform_ns, double bandwidth) {
  return bandwidth *
         std::min(statistics_ns / kLeastStatisticsPasses, transform_ns / kTransformPasses);
}

// By a kernel's name; null: it is none of them, or one for channels last.
inline const NormPart* NormPartOf(std::string_view name) {
  if (name.find("channels_last") != std::string_view::npos) return nullptr;
  for (const NormPart* part : {&kNormStatistics, &kNormTransform, &kNormBackward}) {
    if (name.find(part->kernel) != std::string_view::npos) return part;
  }
  return nullptr;
}

}  // namespace hone::replay
