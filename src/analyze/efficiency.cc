// SPDX-License-Identifier: Apache-2.0
#include "analyze/efficiency.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyze/roofline.h"

namespace hone::analyze {
namespace {

constexpr std::size_t kFamilyCount = static_cast<std::size_t>(KernelFamily::kOther) + 1;
constexpr std::size_t kPrecisionCount = static_cast<std::size_t>(Precision::kMixed) + 1;
constexpr std::size_t kUnitCount = static_cast<std::size_t>(MatrixUnit::kNotApplicable) + 1;

bool IsComputeKernel(const trace::Trace& trace, const WorkClasses& classes, trace::RowId work) {
  return trace.device.kind[work] == trace::WorkKind::kKernel &&
         classes[work] == WorkClass::kCompute;
}

ClassifiedKernels Classify(const trace::Trace& trace, const WorkClasses& classes) {
  ClassifiedKernels kernels;
  kernels.of_name.assign(trace.strings.size(), UINT32_MAX);
  for (trace::RowId i = 0; i < trace.device.size(); ++i) {
    if (!IsComputeKernel(trace, classes, i)) continue;
    std::uint32_t& index = kernels.of_name[static_cast<std::uint32_t>(trace.device.name[i])];
    if (index != UINT32_MAX) continue;
    index = static_cast<std::uint32_t>(kernels.traits.size());
    kernels.traits.push_back(ClassifyKernel(trace.DeviceName(i)));
  }
  return kernels;
}

struct DeviceUse {
  std::size_t count = 0;  // devices that ran compute kernels
  trace::RowId busiest = trace::kNoRow;
};

DeviceUse FindDevices(const trace::Trace& trace, const WorkClasses& classes) {
  std::vector<Nanos> time(trace.devices.size(), -1);
  for (trace::RowId i = 0; i < trace.device.size(); ++i) {
    if (!IsComputeKernel(trace, classes, i)) continue;
    const std::uint16_t stream = trace.device.stream[i];
    if (stream >= trace.streams.size()) continue;
    const trace::RowId device = trace.streams[stream].device;
    if (device < time.size())
      time[device] = std::max<Nanos>(time[device], 0) + trace.device.duration_ns[i];
  }
  DeviceUse use;
  for (trace::RowId i = 0; i < time.size(); ++i) {
    if (time[i] < 0) continue;
    ++use.count;
    if (use.busiest == trace::kNoRow || time[i] > time[use.busiest]) use.busiest = i;
  }
  return use;
}

void SumFamilies(const trace::Trace& trace, const WorkClasses& classes,
                 const ClassifiedKernels& kernels, EfficiencyFacts& facts) {
  std::array<FamilyRow, kFamilyCount * kPrecisionCount * kUnitCount> rows{};
  Nanos total_ns = 0;
  for (trace::RowId i = 0; i < trace.device.size(); ++i) {
    if (!IsComputeKernel(trace, classes, i)) continue;
    const KernelTraits& traits = kernels[trace.device.name[i]];
    const std::size_t index = (static_cast<std::size_t>(traits.family) * kPrecisionCount +
                               static_cast<std::size_t>(traits.precision)) *
                                  kUnitCount +
                              static_cast<std::size_t>(traits.matrix_unit);
    FamilyRow& row = rows[index];
    row.family = traits.family;
    row.precision = traits.precision;
    row.matrix_unit = traits.matrix_unit;
    ++row.count;
    row.total_ns += trace.device.duration_ns[i];
    total_ns += trace.device.duration_ns[i];
  }
  for (FamilyRow& row : rows) {
    if (row.count == 0) continue;
    if (total_ns > 0) row.share = static_cast<double>(row.total_ns) / static_cast<double>(total_ns);
    if (IsMatrixFamily(row.family)) {
      if (row.matrix_unit == MatrixUnit::kYes) facts.matrix_on_ns += row.total_ns;
      if (row.matrix_unit == MatrixUnit::kNo) facts.matrix_off_ns += row.total_ns;
      if (row.matrix_unit == MatrixUnit::kUnknown) facts.matrix_unknown_ns += row.total_ns;
    }
    facts.families.push_back(row);
  }
  std::ranges::stable_sort(facts.families, std::ranges::greater{}, &FamilyRow::total_ns);
}

// Blocks of the launch over multiprocessors; negative: not recorded.
double BlocksPerSm(const trace::Trace& trace, trace::RowId work,
                   const trace::LaunchConfig& launch) {
  const std::uint16_t stream = trace.device.stream[work];
  const trace::RowId device =
      stream < trace.streams.size() ? trace.streams[stream].device : trace::kNoRow;
  const int sm_count = device < trace.devices.size() ? trace.devices[device].sm_count : -1;
  const double blocks = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (sm_count > 0 && blocks > 0) return blocks / sm_count;
  return std::isfinite(launch.blocks_per_sm) ? launch.blocks_per_sm : -1;
}

void MeasureOccupancy(const trace::Trace& trace, const WorkClasses& classes,
                      EfficiencyFacts& facts) {
  double occupied = 0, occupancy_ns = 0, covered = 0, covered_ns = 0;
  for (trace::RowId i = 0; i < trace.device.size(); ++i) {
    if (!IsComputeKernel(trace, classes, i)) continue;
    const std::uint32_t row = trace.device.launch[i];
    if (row == 0 || row >= trace.launches.size()) continue;
    const trace::LaunchConfig& launch = trace.launches[row];
    const auto ns = static_cast<double>(trace.device.duration_ns[i]);
    if (launch.occupancy_pct >= 0 && std::isfinite(launch.occupancy_pct)) {
      occupied += launch.occupancy_pct * ns;
      occupancy_ns += ns;
    }
    if (const double per_sm = BlocksPerSm(trace, i, launch); per_sm >= 0) {
      covered += std::min(per_sm, 1.0) * ns;
      covered_ns += ns;
    }
  }
  facts.occupancy_pct = occupancy_ns > 0 ? Known<double>(occupied / occupancy_ns)
                                         : Known<double>::Absent("the trace records no occupancy");
  facts.sm_share_pct =
      covered_ns > 0 ? Known<double>(100 * covered / covered_ns)
                     : Known<double>::Absent("the trace records no grids or multiprocessor count");
}

}  // namespace

bool IsMatrixFamily(KernelFamily family) {
  return family == KernelFamily::kMatmul || family == KernelFamily::kConvolution ||
         family == KernelFamily::kAttention;
}

Known<EfficiencyFacts> MeasureEfficiency(const trace::Trace& trace, const WorkClasses& classes,
                                         const Lineage&, const Steps& steps) {
  const DeviceUse devices = FindDevices(trace, classes);
  const ClassifiedKernels kernels = Classify(trace, classes);
  if (kernels.traits.empty()) {
    return Known<EfficiencyFacts>::Absent("the trace has no compute kernels");
  }
  EfficiencyFacts facts;
  if (devices.busiest != trace::kNoRow) facts.device_name = trace.devices[devices.busiest].name;
  facts.peaks = FindDevicePeaks(facts.device_name);
  SumFamilies(trace, classes, kernels, facts);
  MeasureOccupancy(trace, classes, facts);
  MeasureRoofline(trace, classes, kernels, steps.steady_window, devices.count, facts);
  return facts;
}

}  // namespace hone::analyze
