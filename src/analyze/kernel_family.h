// SPDX-License-Identifier: Apache-2.0
// What a kernel's name tells: its family, its precision, and whether it uses the matrix units
// (tensor cores, MFMA). "Unknown" is an honest answer; a guess is not.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::analyze {

enum class KernelFamily : std::uint8_t {
  kMatmul,
  kConvolution,
  kAttention,
  kNorm,
  kSoftmax,
  kElementwise,
  kReduction,
  kEmbedding,
  kOptimizer,
  kCopyCast,
  kPooling,
  kLoss,
  kSortScan,
  kRandom,
  kTriton,
  kCommunication,
  kOther,
};
enum class Precision : std::uint8_t {
  kUnknown,
  kFp64,
  kFp32,
  kTf32,
  kFp16,
  kBf16,
  kFp8,
  kFp4,
  kInt8,
  kInt,
  kMixed,
};
enum class MatrixUnit : std::uint8_t { kUnknown, kYes, kNo, kNotApplicable };

struct KernelTraits {
  KernelFamily family = KernelFamily::kOther;
  Precision precision = Precision::kUnknown;      // of the inputs of the arithmetic
  MatrixUnit matrix_unit = MatrixUnit::kUnknown;  // kNotApplicable: no matrix arithmetic
  int element_bytes = 0;  // of the tensors it reads, where the name tells; 0: it does not
};

// Names of cuBLAS (nvjet_*, sm90_xmma_*, ampere_sgemm, cublasLt), CUTLASS, cuDNN, flash attention,
// PyTorch native, Triton/Inductor, rocBLAS/hipBLASLt (Cijk_*), from Volta to Blackwell. Costs a few
// hundred substring searches: call it once per distinct name.
KernelTraits ClassifyKernel(std::string_view name);

const char* FamilyName(KernelFamily family);
const char* PrecisionName(Precision precision);
const char* MatrixUnitName(MatrixUnit unit);

}  // namespace hone::analyze
