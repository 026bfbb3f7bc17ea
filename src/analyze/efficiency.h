// SPDX-License-Identifier: Apache-2.0
// Precision and efficiency: matrix units, FLOPs, bytes, roofline. docs/user/efficiency.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/device_peaks.h"
#include "analyze/kernel_family.h"
#include "analyze/lineage.h"
#include "analyze/steps.h"
#include "analyze/work_class.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

struct FamilyRow {  // kernels of one family and precision
  KernelFamily family = KernelFamily::kOther;
  Precision precision = Precision::kUnknown;
  MatrixUnit matrix_unit = MatrixUnit::kUnknown;
  std::uint64_t count = 0;
  Nanos total_ns = 0;
  double share = 0;  // of compute kernel time
};

struct RooflineRow {  // one op, one shape, one dtype
  StringId op = StringId::kEmpty, dims = StringId::kEmpty, types = StringId::kEmpty;
  std::uint64_t calls = 0;
  Nanos device_ns = 0;          // of the kernels of these calls, summed
  double flops = 0, bytes = 0;  // of all calls, from shapes
  Precision precision = Precision::kUnknown;
  double tflops_per_s = 0, gbytes_per_s = 0;
  Known<double> roofline_share;  // max(flops / peak, bytes / bandwidth) / device time
  bool memory_bound = false;     // which of the two is the larger
};

struct EfficiencyFacts {
  std::string device_name;
  Known<DevicePeaks> peaks;         // absent: name not in the table
  std::vector<FamilyRow> families;  // by time
  // Of the time in matrix kernels (matmul, convolution, attention): on matrix units, not, unknown.
  Nanos matrix_on_ns = 0, matrix_off_ns = 0, matrix_unknown_ns = 0;
  Known<std::vector<RooflineRow>> roofline;  // by device time; absent: no shapes in the trace
  Known<double> modelled_share;              // device op time covered by the roofline rows
  Known<double> tflops_per_s;                // modelled FLOPs / steady wall time
  Known<double> model_flops_utilization;     // tflops_per_s / peak of the dominant matrix precision
  Known<double> occupancy_pct;               // time-weighted, as recorded
  Known<double> sm_share_pct;                // Σ min(blocks / SMs, 1) · time / Σ time
};

Known<EfficiencyFacts> MeasureEfficiency(const trace::Trace& trace, const WorkClasses& classes,
                                         const Lineage& lineage, const Steps& steps);

}  // namespace hone::analyze
