// SPDX-License-Identifier: Apache-2.0
#include "analyze/kernel_precision.h"

#include <array>
#include <cctype>
#include <cstddef>

namespace hone::analyze {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view Until(std::string_view text, char stop) { return text.substr(0, text.find(stop)); }

struct Token {
  std::string_view text;
  Precision precision;
};

// First match wins, narrowest input format first: a kernel that reads fp8 and writes bf16 names
// both. "tf32" stands before "f32", "bf16" before "f16".
constexpr auto kLibraryTokens = std::to_array<Token>({
    {"e2m1", Precision::kFp4},
    {"float4_t", Precision::kFp4},
    {"nvfp4", Precision::kFp4},
    {"mxfp4", Precision::kFp4},
    {"fp4gemm", Precision::kFp4},
    {"f4gemm", Precision::kFp4},
    {"e4m3", Precision::kFp8},
    {"e5m2", Precision::kFp8},
    {"fp8", Precision::kFp8},
    {"float8", Precision::kFp8},
    {"i16832", Precision::kInt8},
    {"i8816", Precision::kInt8},
    {"i8832", Precision::kInt8},
    {"i8i8", Precision::kInt8},
    {"i8i32", Precision::kInt8},
    {"gemm_s8", Precision::kInt8},
    {"imma", Precision::kInt8},
    {"int8", Precision::kInt8},
    {"tf32", Precision::kTf32},
    {"tfloat32", Precision::kTf32},
    {"fastf32", Precision::kTf32},
    {"bf16", Precision::kBf16},
    {"bfloat16", Precision::kBf16},
    {"df16b", Precision::kBf16},
    {"h884", Precision::kFp16},
    {"h1688", Precision::kFp16},
    {"h16816", Precision::kFp16},
    {"fp16", Precision::kFp16},
    {"f16", Precision::kFp16},
    {"half", Precision::kFp16},
    {"hgemm", Precision::kFp16},
    {"hcudnn", Precision::kFp16},
    {"d884", Precision::kFp64},
    {"f64", Precision::kFp64},
    {"dgemm", Precision::kFp64},
    {"zgemm", Precision::kFp64},
    {"double", Precision::kFp64},
    // s884/s1688/s16816: fp32 results. Without a format word, 884 reads fp16 (Volta has nothing
    // else) and 1688 reads tf32.
    {"s884", Precision::kFp16},
    {"s1688", Precision::kTf32},
    {"sgemm", Precision::kFp32},
    {"cgemm", Precision::kFp32},
    {"scudnn", Precision::kFp32},
    {"f32", Precision::kFp32},
    {"fp32", Precision::kFp32},
    {"float", Precision::kFp32},
});

Precision FirstToken(std::string_view name) {
  for (const Token& token : kLibraryTokens) {
    if (Has(name, token.text)) return token.precision;
  }
  return Precision::kUnknown;
}

// cuBLAS on Hopper and Blackwell: nvjet_[sm90_]LETTERS_tile_…. Three letters are input, compute,
// output (hsh, tst, hss); five are A, B, C, compute, D (qqtst). Read off by running each format on
// an H200: t bf16, h fp16, q e4m3, r e5m2, s fp32 (on these kernels: tf32), o e2m1 on Blackwell.
Precision NvjetPrecision(std::string_view name) {
  std::string_view rest = name.substr(name.find("nvjet_") + 6);
  if (rest.starts_with("sm")) {
    const std::size_t end = rest.find('_');
    if (end == std::string_view::npos) return Precision::kUnknown;
    rest = rest.substr(end + 1);
  }
  const std::string_view letters = Until(rest, '_');
  if (letters.size() != 3 && letters.size() != 5) return Precision::kUnknown;
  const auto one = [](char c) {
    switch (c) {
      case 't': return Precision::kBf16;
      case 'h': return Precision::kFp16;
      case 'q':
      case 'r': return Precision::kFp8;
      case 'o': return Precision::kFp4;
      case 's': return Precision::kTf32;
      case 'd': return Precision::kFp64;
      default: return Precision::kUnknown;
    }
  };
  const Precision a = one(letters[0]);
  if (letters.size() == 3) return a;
  const Precision b = one(letters[1]);
  return a == b ? a : Precision::kMixed;
}

// Tensile (rocBLAS, hipBLASLt): Cijk_Alik_Bljk_TYPES_…; the first letters of TYPES are the input
// format: S single, H half, B bfloat16, F8/B8 fp8, F4, I8, D double, C and Z complex.
Precision TensilePrecision(std::string_view name) {
  std::string_view rest = name.substr(name.find("cijk_") + 5);
  for (int group = 0; group < 2; ++group) {
    const std::size_t end = rest.find('_');
    if (end == std::string_view::npos) return Precision::kUnknown;
    rest = rest.substr(end + 1);
  }
  if (rest.starts_with("f8") || rest.starts_with("b8")) return Precision::kFp8;
  if (rest.starts_with("f4")) return Precision::kFp4;
  if (rest.starts_with("i8") || rest.starts_with("4xi8")) return Precision::kInt8;
  if (rest.empty()) return Precision::kUnknown;
  switch (rest.front()) {
    case 's':
    case 'c': return Precision::kFp32;
    case 'h': return Precision::kFp16;
    case 'b': return Precision::kBf16;
    case 'd':
    case 'z': return Precision::kFp64;
    default: return Precision::kUnknown;
  }
}

// TensorRT-LLM: bmm_OUTPUT_INPUTS_… and fmhaSm100…QkvINPUT O OUTPUT….
Precision TrtllmPrecision(std::string_view inputs) {
  const bool fp4 = Has(inputs, "e2m1"), fp8 = Has(inputs, "e4m3") || Has(inputs, "e5m2"),
             wide = Has(inputs, "bfloat16") || Has(inputs, "fp16");
  if (fp4 + fp8 + wide > 1) return Precision::kMixed;
  return FirstToken(inputs);
}

// C++ templates (PyTorch, Apex, cub): the first type named is the type of the data; those after it
// are accumulators and indices.
Precision TemplatePrecision(std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && IsWord(name[i - 1])) continue;
    const std::string_view rest = name.substr(i);
    if (rest.starts_with("bfloat16") || rest.starts_with("__nv_bfloat16")) return Precision::kBf16;
    if (rest.starts_with("half") || rest.starts_with("__half") || rest.starts_with("float16")) {
      return Precision::kFp16;
    }
    if (rest.starts_with("float8")) return Precision::kFp8;
    if (rest.starts_with("float")) return Precision::kFp32;
    // Further in, a double is a scalar argument (optional<double>, momentum), whatever the data.
    if (rest.starts_with("double") && i > 0 && (name[i - 1] == '<' || name[i - 1] == '(') &&
        !name.substr(0, i).ends_with("optional<")) {
      return Precision::kFp64;
    }
  }
  const bool integer = Has(name, "<long") || Has(name, "<int") || Has(name, "<bool") ||
                       Has(name, "(long)") || Has(name, "(bool)") || Has(name, "<unsigned char");
  return integer ? Precision::kInt : Precision::kUnknown;
}

}  // namespace

Precision PrecisionOfName(std::string_view name) {
  if (Has(name, "nvjet_")) return NvjetPrecision(name);
  if (Has(name, "cijk_")) return TensilePrecision(name);
  if (name.starts_with("bmm_")) {
    const std::string_view rest = name.substr(4);
    const std::size_t inputs = rest.find('_');
    return inputs == std::string_view::npos ? Precision::kUnknown
                                            : TrtllmPrecision(Until(rest.substr(inputs + 1), '_'));
  }
  if (const std::size_t q = name.find("kernel_q"); Has(name, "fmhasm1") && q != name.npos) {
    // "…kernel_qkvbfloat16obfloat16h128…": the output format follows the inputs.
    std::string_view inputs = name.substr(q + 8);
    for (const std::string_view output : {"obfloat16", "ofp16", "oe4m3", "oe2m1"}) {
      if (const std::size_t end = inputs.find(output); end != inputs.npos) {
        return TrtllmPrecision(inputs.substr(0, end));
      }
    }
    return Precision::kUnknown;
  }
  // cuDNN writes f16 into the names of its bf16 attention kernels too.
  if (Has(name, "sdpa") && Has(name, "_f16_")) return Precision::kUnknown;
  // Weight-only quantization: two formats meet in one kernel.
  if (Has(name, "marlin") || Has(name, "awq_") || Has(name, "gptq")) return Precision::kMixed;
  if (name.starts_with("triton_")) return Precision::kUnknown;
  const bool library = Has(name, "gemm") || Has(name, "cutlass") || Has(name, "xmma") ||
                       Has(name, "cudnn_") || Has(name, "fmha") || Has(name, "_zn") ||
                       Has(name, "mma_") || Has(name, "fmoe") || Has(name, "matmul") ||
                       Has(name, "asmconv") || Has(name, "flash");
  // gemv kernels are templates although they come from a library.
  return library && !Has(name, "cublasgemv") ? FirstToken(name) : TemplatePrecision(name);
}

int ElementBytes(Precision precision) {
  switch (precision) {
    case Precision::kFp64: return 8;
    case Precision::kFp32:
    case Precision::kTf32: return 4;
    case Precision::kFp16:
    case Precision::kBf16: return 2;
    case Precision::kFp8:
    case Precision::kInt8:
    case Precision::kFp4: return 1;
    case Precision::kUnknown:
    case Precision::kInt:
    case Precision::kMixed: return 0;
  }
  return 0;
}

}  // namespace hone::analyze
