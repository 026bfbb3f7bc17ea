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
constexpr double kGen4x8 = kGen4 / 2, kGen5x8 = kGen5 / 2;  // of boards with eight lanes
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
    // Pascal and Turing without matrix units (GTX 16): fp16 that plain cores multiply is not in it,
    // since torch accumulates in fp32, which they do at fp32's rate.
    {"p100 pcie 12gb", "Tesla P100 PCIe 12GB", 4.7, 9.3, 0, 0, 0, 0, 0, 0, 549, kGen3},
    {"p100 pcie", "Tesla P100 PCIe", 4.7, 9.3, 0, 0, 0, 0, 0, 0, 732, kGen3},
    {"p100 sxm*", "Tesla P100 SXM", 5.3, 10.6, 0, 0, 0, 0, 0, 0, 732, kGen3},
    {"p40", "Tesla P40", 0.37, 12, 0, 0, 0, 0, 0, 47, 346, kGen3},
    {"p4", "Tesla P4", 0.17, 5.5, 0, 0, 0, 0, 0, 22, 192, kGen3},
    {"titan xp", "TITAN Xp", 0.38, 12.1, 0, 0, 0, 0, 0, 0, 547.7, kGen3},
    {"titan x pascal", "TITAN X (Pascal)", 0.34, 11, 0, 0, 0, 0, 0, 0, 480, kGen3},
    {"gtx 1080 ti", "GeForce GTX 1080 Ti", 0.35, 11.3, 0, 0, 0, 0, 0, 0, 484, kGen3},
    {"gtx 1080", "GeForce GTX 1080", 0.28, 8.9, 0, 0, 0, 0, 0, 0, 320, kGen3},
    {"gtx 1070 ti", "GeForce GTX 1070 Ti", 0.26, 8.2, 0, 0, 0, 0, 0, 0, 256, kGen3},
    {"gtx 1070", "GeForce GTX 1070", 0.2, 6.5, 0, 0, 0, 0, 0, 0, 256, kGen3},
    {"gtx 1660 ti", "GeForce GTX 1660 Ti", 0.17, 5.4, 0, 0, 0, 0, 0, 0, 288, kGen3},
    {"gtx 1660 super", "GeForce GTX 1660 SUPER", 0.16, 5, 0, 0, 0, 0, 0, 0, 336, kGen3},
    {"gtx 1660", "GeForce GTX 1660", 0.16, 5, 0, 0, 0, 0, 0, 0, 192, kGen3},
    {"gtx 1650 super", "GeForce GTX 1650 SUPER", 0.14, 4.4, 0, 0, 0, 0, 0, 0, 192, kGen3},
    // Volta, Turing. GeForce at the clocks of the reference boards; notebooks that say nothing else
    // of themselves are taken for these.
    {"v100s", "Tesla V100S PCIe", 8.2, 16.4, 0, 130, 0, 0, 0, 0, 1134, kGen3},
    {"v100 pcie", "Tesla V100 PCIe", 7, 14, 0, 112, 0, 0, 0, 0, 900, kGen3},
    {"v100 sxm*", "Tesla V100 SXM", 7.8, 15.7, 0, 125, 0, 0, 0, 0, 900, kGen3},
    {"v100", "Tesla V100", 7.8, 15.7, 0, 125, 0, 0, 0, 0, 900, kGen3},
    {"titan v", "TITAN V", 6.9, 13.8, 0, 110, 0, 0, 0, 0, 653, kGen3},
    {"t4", "Tesla T4", 0.25, 8.1, 0, 65, 0, 0, 0, 130, 320, kGen3},
    {"titan rtx", "TITAN RTX", 0.51, 16.3, 0, 130.5, 0, 0, 0, 261, 672, kGen3},
    {"quadro rtx 8000", "Quadro RTX 8000", 0.51, 16.3, 0, 130.5, 0, 0, 0, 261, 672, kGen3},
    {"quadro rtx 6000", "Quadro RTX 6000", 0.51, 16.3, 0, 130.5, 0, 0, 0, 261, 672, kGen3},
    {"quadro rtx 5000", "Quadro RTX 5000", 0.35, 11.2, 0, 89.2, 0, 0, 0, 178.4, 448, kGen3},
    {"quadro rtx 4000", "Quadro RTX 4000", 0.22, 7.1, 0, 57, 0, 0, 0, 114, 416, kGen3},
    {"rtx 2080 ti", "GeForce RTX 2080 Ti", 0.42, 13.4, 0, 53.8, 0, 0, 0, 215.2, 616, kGen3},
    {"rtx 2080 super", "GeForce RTX 2080 SUPER", 0.35, 11.2, 0, 44.6, 0, 0, 0, 178.4, 496, kGen3},
    {"rtx 2080", "GeForce RTX 2080", 0.31, 10.1, 0, 40.3, 0, 0, 0, 161.1, 448, kGen3},
    {"rtx 2070 super", "GeForce RTX 2070 SUPER", 0.28, 9.1, 0, 36.3, 0, 0, 0, 145, 448, kGen3},
    {"rtx 2070", "GeForce RTX 2070", 0.23, 7.5, 0, 29.9, 0, 0, 0, 119.4, 448, kGen3},
    {"rtx 2060 super", "GeForce RTX 2060 SUPER", 0.22, 7.2, 0, 28.7, 0, 0, 0, 114.8, 448, kGen3},
    {"rtx 2060", "GeForce RTX 2060", 0.2, 6.5, 0, 25.8, 0, 0, 0, 103.2, 336, kGen3},
    // Ampere. PG509-200 is the board of the SXM4 40 GB module.
    {"a100 80gb pcie", "A100 PCIe 80GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 1935, kGen4},
    {"a100 pcie", "A100 PCIe 40GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 1555, kGen4},
    {"a100 80gb", "A100 SXM 80GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 2039, kGen4},
    {"a100", "A100 40GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 1555, kGen4},
    {"a800 80gb pcie", "A800 PCIe 80GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 1935, kGen4},
    {"a800 40gb", "A800 40GB Active", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 1555, kGen4},
    {"a800", "A800 SXM 80GB", 19.5, 19.5, 156, 312, 312, 0, 0, 624, 2039, kGen4},
    {"a30", "A30", 10.3, 10.3, 82, 165, 165, 0, 0, 330, 933, kGen4},
    {"a2", "A2", 0.07, 4.5, 9, 18, 18, 0, 0, 36, 200, kGen4x8},
    {"a10", "A10", 0.49, 31.2, 62.5, 125, 125, 0, 0, 250, 600, kGen4},
    {"a10g", "A10G", 0.55, 35, 35, 70, 70, 0, 0, 140, 600, kGen4},
    {"a40", "A40", 0.58, 37.4, 74.8, 149.7, 149.7, 0, 0, 299.3, 696, kGen4},
    {"rtx a6000", "RTX A6000", 0.6, 38.7, 77.4, 154.8, 154.8, 0, 0, 309.7, 768, kGen4},
    {"rtx a5500", "RTX A5500", 0.53, 34.1, 68.2, 136.4, 136.4, 0, 0, 272.8, 768, kGen4},
    {"rtx a5000", "RTX A5000", 0.43, 27.8, 55.55, 111.1, 111.1, 0, 0, 222.2, 768, kGen4},
    {"rtx a4500", "RTX A4500", 0.37, 23.7, 47.3, 94.6, 94.6, 0, 0, 189.2, 640, kGen4},
    {"rtx a4000", "RTX A4000", 0.3, 19.2, 38.35, 76.7, 76.7, 0, 0, 153.4, 448, kGen4},
    {"rtx a2000", "RTX A2000", 0.12, 8, 15.97, 31.95, 31.95, 0, 0, 63.9, 288, kGen4},
    {"rtx 3090 ti", "GeForce RTX 3090 Ti", 0.62, 40, 40, 80, 80, 0, 0, 320, 1008, kGen4},
    {"rtx 3090", "GeForce RTX 3090", 0.56, 35.6, 35.6, 71, 71, 0, 0, 284, 936, kGen4},
    {"rtx 3080 ti", "GeForce RTX 3080 Ti", 0.53, 34.1, 34.1, 68.2, 68.2, 0, 0, 273, 912, kGen4},
    // The one of 10 GB; that of 12 GB has 30.6 TFLOP/s and 912 GB/s and the same name.
    {"rtx 3080", "GeForce RTX 3080", 0.47, 29.8, 29.8, 59.5, 59.5, 0, 0, 238, 760, kGen4},
    {"rtx 3070 ti", "GeForce RTX 3070 Ti", 0.34, 21.7, 21.7, 43.5, 43.5, 0, 0, 174, 608, kGen4},
    {"rtx 3070", "GeForce RTX 3070", 0.32, 20.3, 20.3, 40.6, 40.6, 0, 0, 162.6, 448, kGen4},
    {"rtx 3060 ti", "GeForce RTX 3060 Ti", 0.25, 16.2, 16.2, 32.4, 32.4, 0, 0, 129.6, 448, kGen4},
    {"rtx 3060", "GeForce RTX 3060", 0.2, 12.7, 12.7, 25.5, 25.5, 0, 0, 101.9, 360, kGen4},
    // Ada
    {"l4", "L4", 0.47, 30.3, 60, 121, 121, 242.5, 0, 242.5, 300, kGen4},
    {"l40s", "L40S", 1.43, 91.6, 183, 362, 362, 733, 0, 733, 864, kGen4},
    {"l40", "L40", 1.41, 90.5, 90.5, 181, 181, 362, 0, 362, 864, kGen4},
    {"l20", "L20", 0.93, 59.8, 59.8, 119.5, 119.5, 239, 0, 239, 864, kGen4},
    {"rtx 6000 ada", "RTX 6000 Ada", 1.42, 91.1, 182.1, 364.2, 364.2, 728.5, 0, 728.5, 960, kGen4},
    {"rtx 5000 ada", "RTX 5000 Ada", 1.02, 65.3, 130.6, 261.1, 261.1, 522.2, 0, 522.2, 576, kGen4},
    {"rtx 4500 ada", "RTX 4500 Ada", 0.62, 39.6, 79.25, 158.5, 158.5, 317, 0, 317, 432, kGen4},
    {"rtx 4000 sff ada", "RTX 4000 SFF Ada", 0.3, 19.2, 38.35, 76.7, 76.7, 153.4, 0, 153.4, 280,
     kGen4},
    {"rtx 4000 ada", "RTX 4000 Ada", 0.42, 26.7, 53.45, 106.9, 106.9, 213.8, 0, 213.8, 360, kGen4},
    {"rtx 2000 ada", "RTX 2000 Ada", 0.19, 12, 23.99, 47.98, 47.98, 96, 0, 96, 224, kGen4x8},
    {"rtx 4090", "GeForce RTX 4090", 1.29, 82.6, 82.6, 165.2, 165.2, 330.3, 0, 660.6, 1008, kGen4},
    {"rtx 4080 super", "GeForce RTX 4080 SUPER", 0.82, 52.2, 52.2, 104.4, 104.4, 208.9, 0, 417.8,
     736, kGen4},
    {"rtx 4080", "GeForce RTX 4080", 0.76, 48.7, 48.7, 97.5, 97.5, 195, 0, 389.9, 716.8, kGen4},
    {"rtx 4070 ti super", "GeForce RTX 4070 Ti SUPER", 0.69, 44.1, 44.1, 88.2, 88.2, 176.4, 0,
     352.8, 672, kGen4},
    {"rtx 4070 ti", "GeForce RTX 4070 Ti", 0.63, 40.1, 40.1, 80.2, 80.2, 160.4, 0, 320.7, 504,
     kGen4},
    {"rtx 4070 super", "GeForce RTX 4070 SUPER", 0.55, 35.5, 35.5, 71, 71, 141.9, 0, 283.8, 504,
     kGen4},
    {"rtx 4070", "GeForce RTX 4070", 0.46, 29.1, 29.1, 58.3, 58.3, 116.6, 0, 233.2, 504, kGen4},
    {"rtx 4060 ti", "GeForce RTX 4060 Ti", 0.34, 22.1, 22.1, 44.1, 44.1, 88.2, 0, 176.5, 288,
     kGen4x8},
    {"rtx 4060", "GeForce RTX 4060", 0.24, 15.1, 15.1, 30.2, 30.2, 60.4, 0, 120.9, 272, kGen4x8},
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
    {"rtx 5080", "GeForce RTX 5080", 0.88, 56.3, 56.3, 112.6, 112.6, 225.1, 900.5, 450.2, 960,
     kGen5},
    {"rtx 5070 ti", "GeForce RTX 5070 Ti", 0.69, 43.9, 43.9, 87.9, 87.9, 175.8, 703, 351.5, 896,
     kGen5},
    {"rtx 5070", "GeForce RTX 5070", 0.48, 30.9, 30.9, 61.7, 61.7, 123.5, 493.9, 247, 672, kGen5},
    {"rtx 5060 ti", "GeForce RTX 5060 Ti", 0.37, 23.7, 23.7, 47.4, 47.4, 94.8, 379.2, 189.6, 448,
     kGen5x8},
    {"rtx 5060", "GeForce RTX 5060", 0.3, 19.2, 19.2, 38.4, 38.4, 76.7, 306.9, 153.4, 448, kGen5x8},
    // "Max-Q", a board of half the power.
    {"rtx pro 6000 max workstation", "RTX PRO 6000 Blackwell Max-Q", 1.72, 110, 219.4, 438.9, 438.9,
     877.8, 1755.5, 877.8, 1792, kGen5},
    {"rtx pro 6000 workstation", "RTX PRO 6000 Blackwell", 1.97, 126, 251.9, 503.8, 503.8, 1007.6,
     2015.2, 1007.6, 1792, kGen5},
    // AMD Instinct. MI250 and MI250X show each of their two dies as a device: figures of one die.
    {"mi355x", "Instinct MI355X", 78.6, 157.3, 0, 2516.6, 2516.6, 5033.2, 10066.3, 5033.2, 8000,
     kGen5},
    {"mi350x", "Instinct MI350X", 72.1, 144.2, 0, 2306.9, 2306.9, 4613.7, 9227.5, 4613.7, 8000,
     kGen5},
    {"mi325x", "Instinct MI325X", 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 0, 2614.9, 6000,
     kGen5},
    {"mi300a", "Instinct MI300A", 122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 0, 1961.2, 5300, 0},
    {"mi300x", "Instinct MI300X", 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 0, 2614.9, 5300,
     kGen5},
    {"mi250x", "Instinct MI250X (one die)", 47.9, 47.9, 0, 191.5, 191.5, 0, 0, 191.5, 1638, kGen4},
    {"mi250", "Instinct MI250 (one die)", 45.3, 45.3, 0, 181, 181, 0, 0, 181, 1638, kGen4},
    {"mi210", "Instinct MI210", 45.3, 45.3, 0, 181, 181, 0, 0, 181, 1638, kGen4},
    {"mi100", "Instinct MI100", 11.5, 46.1, 0, 184.6, 92.3, 0, 0, 184.6, 1229, kGen4},
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

// Words that make another product of the same number, or a part of it: they must be the row's own.
constexpr auto kRelatives =
    std::to_array<std::string_view>({"mig", "ti", "super", "laptop", "d", "max", "mobile", "sff"});

bool IsMeant(const std::vector<std::string>& words, const std::vector<std::string>& row) {
  const auto is_relative = [&](std::string_view word) {
    return std::ranges::find(kRelatives, word) != kRelatives.end();
  };
  return std::ranges::all_of(row, [&](const std::string& word) { return Contains(words, word); }) &&
         std::ranges::all_of(words, [&](const std::string& word) {
           return !is_relative(word) || std::ranges::find(row, word) != row.end();
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
  for (const Row& row : kRows) {
    if (!IsMeant(words, WordsOf(row.words))) continue;
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
