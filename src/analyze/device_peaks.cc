// SPDX-License-Identifier: Apache-2.0
#include "analyze/device_peaks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/lower_case.h"

namespace hone::analyze {
namespace {

// PCIe x16, one direction, after encoding (PCI-SIG): gen3 8 GT/s, gen4 16, gen5 32.
constexpr double kGen3 = 15.75, kGen4 = 31.5, kGen5 = 63;
constexpr double kNvlinkC2c = 450;  // Grace to GPU, NVIDIA GH200/GB200 data sheets

struct Row {
  std::string_view words;  // all must occur as words of the name; a trailing '*' matches any ending
  std::string_view name;
  double fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8;  // TFLOP/s, dense
  double memory, link;                                  // GB/s
  bool measured = false;
};

// First match wins: variants stand before the plain name. From the vendors' data sheets of each
// product; where a sheet lists only figures with sparsity, half of them. GeForce 16- and 8-bit
// figures are those with fp32 accumulation (architecture white papers), which frameworks use.
constexpr auto kRows = std::to_array<Row>({
    // words, name, fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8, memory, link
    // Volta, Turing
    {"v100s", "Tesla V100S PCIe", 8.2, 16.4, 0, 130, 0, 0, 0, 0, 1134, kGen3},
    {"v100 pcie", "Tesla V100 PCIe", 7, 14, 0, 112, 0, 0, 0, 0, 900, kGen3},
    {"v100 sxm*", "Tesla V100 SXM", 7.8, 15.7, 0, 125, 0, 0, 0, 0, 900, kGen3},
    {"v100", "Tesla V100", 7.8, 15.7, 0, 125, 0, 0, 0, 0, 900, kGen3},
    {"t4", "Tesla T4", 0.25, 8.1, 0, 65, 0, 0, 0, 130, 320, kGen3},
    // Ampere. PG509-200 is the board of the SXM4 40 GB module.
    {"a100 80gb pcie", "A100 PCIe 80GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 1935, kGen4},
    {"a100 pcie", "A100 PCIe 40GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 1555, kGen4},
    {"a100 80gb", "A100 SXM 80GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 2039, kGen4},
    {"a100", "A100 40GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 1555, kGen4},
    {"a800 80gb pcie", "A800 PCIe 80GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 1935, kGen4},
    {"a800", "A800 SXM 80GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 2039, kGen4},
    {"a30", "A30", 10.3, 10.3, 82, 165, 165, 0, 0, 330, 933, kGen4},
    {"a10", "A10", 0.49, 31.2, 62.5, 125, 125, 0, 0, 250, 600, kGen4},
    {"a10g", "A10G", 0.55, 35, 35, 70, 70, 0, 0, 140, 600, kGen4},
    {"a40", "A40", 0.58, 37.4, 74.8, 149.7, 149.7, 0, 0, 299.3, 696, kGen4},
    {"rtx a6000", "RTX A6000", 0.6, 38.7, 77.4, 154.8, 154.8, 0, 0, 309.7, 768, kGen4},
    {"rtx 3090", "GeForce RTX 3090", 0.56, 35.6, 35.6, 71, 71, 0, 0, 284, 936, kGen4},
    // Ada
    {"l4", "L4", 0.47, 30.3, 60, 121, 121, 242.5, 0, 242.5, 300, kGen4},
    {"l40s", "L40S", 1.43, 91.6, 183, 362, 362, 733, 0, 733, 864, kGen4},
    {"l40", "L40", 1.41, 90.5, 90.5, 181, 181, 362, 0, 362, 864, kGen4},
    {"rtx 6000 ada", "RTX 6000 Ada", 1.42, 91.1, 182.1, 364.2, 364.2, 728.5, 0, 728.5, 960, kGen4},
    {"rtx 4090", "GeForce RTX 4090", 1.29, 82.6, 82.6, 165.2, 165.2, 330.3, 0, 660.6, 1008, kGen4},
    // Hopper
    {"h100 pcie", "H100 PCIe", 51, 51, 378, 756, 756, 1513, 0, 1513, 2039, kGen5},
    {"h100 nvl", "H100 NVL", 60, 60, 417.5, 835, 835, 1670, 0, 1670, 3938, kGen5},
    {"h100", "H100 SXM", 67, 67, 494.7, 989.4, 989.4, 1978.9, 0, 1978.9, 3352, kGen5},
    {"h800 pcie", "H800 PCIe", 0.8, 51, 378, 756, 756, 1513, 0, 1513, 2039, kGen5},
    {"h800", "H800 SXM", 1, 67, 494.7, 989.4, 989.4, 1978.9, 0, 1978.9, 3352, kGen5},
    {"h20 3e", "H20 141GB", 1, 44, 74, 148, 148, 296, 0, 296, 4800, kGen5},
    {"h20", "H20", 1, 44, 74, 148, 148, 296, 0, 296, 4000, kGen5},
    {"h200 nvl", "H200 NVL", 60, 60, 417.5, 835, 835, 1670, 0, 1670, 4800, kGen5},
    // Reached on an H200 SXM under its power limit with cuBLAS and random data (data sheet: bf16
    // 989, memory 4,800): bf16 790 and memory 4,300 over many runs; the others in one run of square
    // products (torch 2.11, CUDA 13.0) in which bf16 gave 770, scaled by 790/770. int8 takes fp8's
    // figure: the units run both at one rate, and torch's int8 kernel (sm80 code, 945) is no peak.
    // The link is a pinned copy of 1 GiB.
    {"h200", "H200 SXM", 62.5, 52, 400, 760, 790, 1395, 0, 1395, 4300, 55.5, true},
    {"gh200 144g*", "GH200 144GB", 67, 67, 494.7, 989.4, 989.4, 1978.9, 0, 1978.9, 4900,
     kNvlinkC2c},
    {"gh200", "GH200", 67, 67, 494.7, 989.4, 989.4, 1978.9, 0, 1978.9, 4000, kNvlinkC2c},
    // Blackwell. GB200 and GB300 are one GPU of the superchip.
    {"gb300", "GB300", 1.3, 80, 1250, 2500, 2500, 5000, 15000, 330, 8000, kNvlinkC2c},
    {"gb200", "GB200", 40, 80, 1250, 2500, 2500, 5000, 10000, 5000, 8000, kNvlinkC2c},
    {"b300", "B300", 1.25, 75, 1125, 2250, 2250, 4500, 13500, 300, 8000, kGen5},
    {"b200", "B200", 37, 75, 1125, 2250, 2250, 4500, 9000, 4500, 7700, kGen5},
    {"b100", "B100", 30, 60, 900, 1750, 1750, 3500, 7000, 3500, 8000, kGen5},
    {"rtx 5090", "GeForce RTX 5090", 1.64, 104.8, 104.8, 209.5, 209.5, 419, 1676, 838, 1792, kGen5},
    // AMD Instinct. MI250 and MI250X show each of their two dies as a device: figures of one die.
    {"mi355x", "Instinct MI355X", 78.6, 157.3, 0, 2516.6, 2516.6, 5033.2, 10066.3, 5033.2, 8000,
     kGen5},
    {"mi350x", "Instinct MI350X", 72.1, 144.2, 0, 2306.9, 2306.9, 4613.7, 9227.5, 4613.7, 8000,
     kGen5},
    {"mi325x", "Instinct MI325X", 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 0, 2614.9, 6000,
     kGen5},
    {"mi300x", "Instinct MI300X", 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 0, 2614.9, 5300,
     kGen5},
    {"mi250x", "Instinct MI250X (one die)", 47.9, 47.9, 0, 191.5, 191.5, 0, 0, 191.5, 1638, kGen4},
    {"mi250", "Instinct MI250 (one die)", 45.3, 45.3, 0, 181, 181, 0, 0, 181, 1638, kGen4},
    {"mi210", "Instinct MI210", 45.3, 45.3, 0, 181, 181, 0, 0, 181, 1638, kGen4},
});

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char raw : text) {
    const auto c = static_cast<unsigned char>(raw);
    const bool part = std::isalnum(c) != 0 || raw == '*';
    if (part && !inside) words.emplace_back();
    if (part) words.back().push_back(LowerCase(raw));
    inside = part;
  }
  return words;
}

bool Contains(const std::vector<std::string>& words, std::string_view wanted) {
  const bool prefix = wanted.ends_with('*');
  if (prefix) wanted.remove_suffix(1);
  return std::ranges::any_of(words, [&](const std::string& word) {
    return prefix ? word.starts_with(wanted) : word == wanted;
  });
}

}  // namespace

double DevicePeaks::Tflops(Precision precision) const {
  switch (precision) {
    case Precision::kFp64: return fp64;
    case Precision::kFp32: return fp32;
    case Precision::kTf32: return tf32;
    case Precision::kFp16: return fp16;
    case Precision::kBf16: return bf16;
    case Precision::kFp8: return fp8;
    case Precision::kFp4: return fp4;
    case Precision::kInt8: return int8;
    case Precision::kUnknown:
    case Precision::kInt:
    case Precision::kMixed: return 0;
  }
  return 0;
}

Known<DevicePeaks> FindDevicePeaks(std::string_view device_name) {
  if (device_name.empty()) return Known<DevicePeaks>::Absent("the trace does not name its device");
  const std::vector<std::string> words = WordsOf(device_name.substr(0, 256));
  // A part of a device, or another product that shares the number.
  const bool relative = std::ranges::any_of(
      std::to_array<std::string_view>({"mig", "ti", "super", "laptop", "d", "max", "mobile"}),
      [&](std::string_view word) { return Contains(words, word); });
  for (const Row& row : kRows) {
    const std::vector<std::string> wanted = WordsOf(row.words);
    if (relative || !std::ranges::all_of(
                        wanted, [&](const std::string& word) { return Contains(words, word); })) {
      continue;
    }
    DevicePeaks peaks;
    peaks.name = row.name;
    peaks.measured = row.measured;
    peaks.fp64 = row.fp64;
    peaks.fp32 = row.fp32;
    peaks.tf32 = row.tf32;
    peaks.fp16 = row.fp16;
    peaks.bf16 = row.bf16;
    peaks.fp8 = row.fp8;
    peaks.fp4 = row.fp4;
    peaks.int8 = row.int8;
    peaks.memory_gbytes_per_s = row.memory;
    peaks.host_link_gbytes_per_s = row.link;
    return peaks;
  }
  return Known<DevicePeaks>::Absent("no peaks are known for \"" + std::string(device_name) + "\"");
}

}  // namespace hone::analyze
