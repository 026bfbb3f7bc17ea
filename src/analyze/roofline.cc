// SPDX-License-Identifier: Apache-2.0
#include "analyze/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include "analyze/flops.h"
#include "analyze/modelled_calls.h"

namespace hone::analyze {
namespace {

constexpr std::size_t kPrecisionCount = static_cast<std::size_t>(Precision::kMixed) + 1;

// Where less of the matrix kernels' time than this has known shapes, FLOPs a second would be off by
// more than a tenth: absent is the better answer.
constexpr double kLeastCoverage = 0.9;

struct RowSums {
  RooflineRow row;
  ModelKind kind = ModelKind::kNone;
  double window_flops = 0;
  Nanos matrix_unit_ns = 0;
  bool unsized = false;  // some call moved elements of a size nobody tells
  std::array<Nanos, kPrecisionCount> by_precision{};
};

using RowKey = std::tuple<StringId, StringId, StringId>;
struct RowKeyHash {
  std::size_t operator()(const RowKey& key) const {
    const auto mix = [](std::uint64_t hash, StringId id) {
      return (hash ^ static_cast<std::uint32_t>(id)) * 0x9E3779B97F4A7C15ULL;
    };
    const std::uint64_t hash =
        mix(mix(mix(0, std::get<0>(key)), std::get<1>(key)), std::get<2>(key));
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};

struct Totals {
  Nanos op_ns = 0;                                  // of kernels that an operator launched
  Nanos window_matrix_ns = 0, window_known_ns = 0;  // matrix kernels; those under a product model
};

class RowBuilder {
 public:
  RowBuilder(const trace::Trace& trace, const ModelledCalls& calls)
      : trace_(trace),
        calls_(calls),
        row_of_entry_(calls.entries().size(), UINT32_MAX),
        counted_(trace.host.size(), false) {}

  // `in_window`: the kernel starts inside the steady window.
  void Add(trace::RowId owner, const KernelTraits& traits, Nanos duration_ns, bool in_window) {
    const ModelledCalls::Entry& entry = calls_.entries()[calls_.EntryOf(owner)];
    RowSums& sums = RowFor(calls_.EntryOf(owner));
    sums.row.device_ns += duration_ns;
    // Casts and reductions beside a product must not decide what it was computed in.
    if (entry.kind != ModelKind::kProduct || traits.matrix_unit != MatrixUnit::kNotApplicable) {
      sums.by_precision[static_cast<std::size_t>(traits.precision)] += duration_ns;
      if (traits.matrix_unit == MatrixUnit::kYes) sums.matrix_unit_ns += duration_ns;
    }
    if (counted_[owner]) return;
    counted_[owner] = true;
    sums.row.calls += 1;
    sums.row.flops += entry.work.flops;
    sums.row.bytes += entry.work.bytes + entry.work.unsized_elements * traits.element_bytes;
    if (entry.work.unsized_elements > 0 && traits.element_bytes == 0) sums.unsized = true;
    if (in_window) sums.window_flops += entry.work.flops;
  }

  std::vector<RowSums>& rows() { return rows_; }

 private:
  RowSums& RowFor(std::uint32_t entry_index) {
    std::uint32_t& index = row_of_entry_[entry_index];
    if (index != UINT32_MAX) return rows_[index];
    const ModelledCalls::Entry& entry = calls_.entries()[entry_index];
    const trace::OpDetail& detail = trace_.op_details[entry.detail];
    const auto [found, added] = by_key_.try_emplace(RowKey{entry.op, detail.dims, detail.types},
                                                    static_cast<std::uint32_t>(rows_.size()));
    if (added) {
      RowSums& sums = rows_.emplace_back();
      sums.row.op = entry.op;
      sums.row.dims = detail.dims;
      sums.row.types = detail.types;
      sums.kind = entry.kind;
    }
    index = found->second;
    return rows_[index];
  }

  const trace::Trace& trace_;
  const ModelledCalls& calls_;
  std::vector<std::uint32_t> row_of_entry_;
  std::vector<bool> counted_;  // by host row: the call's work is in its row
  std::vector<RowSums> rows_;
  std::unordered_map<RowKey, std::uint32_t, RowKeyHash> by_key_;
};

// By the kernels that ran; where their names do not tell, by the first tensor's dtype.
Precision RowPrecision(const trace::Trace& trace, const RowSums& sums) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < kPrecisionCount; ++i) {
    if (sums.by_precision[i] > (best == 0 ? 0 : sums.by_precision[best])) best = i;
  }
  if (best != 0) return static_cast<Precision>(best);
  const std::string_view dims = trace.Name(sums.row.dims), types = trace.Name(sums.row.types);
  for (const ArgumentShape& argument : ParseArguments(dims, types, {})) {
    const Precision precision = TypePrecision(argument.type);
    if (precision == Precision::kUnknown) continue;
    const bool on_matrix_units = 2 * sums.matrix_unit_ns > sums.row.device_ns;
    return precision == Precision::kFp32 && on_matrix_units ? Precision::kTf32 : precision;
  }
  return Precision::kUnknown;
}

// Products are held against the matrix units' peak of their format; everything else computes on
// the plain cores, whose rate is the fp32 (or fp64) figure whatever the format.
double PeakFor(const DevicePeaks& peaks, ModelKind kind, Precision precision) {
  if (kind == ModelKind::kProduct) return peaks.Tflops(precision);
  return precision == Precision::kFp64 ? peaks.fp64 : peaks.fp32;
}

void Rate(const Known<DevicePeaks>& peaks, RowSums& sums) {
  RooflineRow& row = sums.row;
  const auto absent = [&](std::string why) {
    row.roofline_share = Known<double>::Absent(std::move(why));
  };
  if (row.device_ns <= 0) return absent("its kernels took no time");
  const auto ns = static_cast<double>(row.device_ns);
  row.tflops_per_s = row.flops / ns / 1e3;
  row.gbytes_per_s = row.bytes / ns;
  if (!peaks) return absent(peaks.why_not());
  const double peak = PeakFor(*peaks, sums.kind, row.precision);
  if (peak <= 0) {
    return absent(
        fmt::format("no {} peak is known for {}", PrecisionName(row.precision), peaks->name));
  }
  const double compute_ns = row.flops / peak / 1e3;
  const double memory_ns = row.bytes / peaks->memory_gbytes_per_s;
  row.memory_bound = memory_ns > compute_ns;
  row.roofline_share = std::max(compute_ns, memory_ns) / ns;
}

void MeasureUtilization(const std::vector<RowSums>& rows, const Totals& totals,
                        const trace::IntervalSet& window, std::size_t device_count,
                        EfficiencyFacts& facts) {
  const auto absent = [&](const std::string& why) {
    facts.tflops_per_s = facts.model_flops_utilization = Known<double>::Absent(why);
  };
  if (window.length() <= 0) return absent("the steady window has no length");
  const double coverage = totals.window_matrix_ns > 0
                              ? static_cast<double>(totals.window_known_ns) /
                                    static_cast<double>(totals.window_matrix_ns)
                              : 1;
  if (coverage < kLeastCoverage) {
    return absent(fmt::format("only {:.0f} % of the time in matrix kernels has known shapes",
                              100 * coverage));
  }
  double flops = 0;
  std::array<double, kPrecisionCount> by_precision{};
  for (const RowSums& sums : rows) {
    flops += sums.window_flops;
    if (sums.kind != ModelKind::kProduct) continue;
    by_precision[static_cast<std::size_t>(sums.row.precision)] += sums.window_flops;
  }
  if (flops <= 0) return absent("no modelled operator runs in the steady window");
  facts.tflops_per_s = flops / static_cast<double>(window.length()) / 1e3;

  const auto dominant = std::ranges::max_element(by_precision);
  const auto precision = static_cast<Precision>(dominant - by_precision.begin());
  const auto no_utilization = [&](std::string why) {
    facts.model_flops_utilization = Known<double>::Absent(std::move(why));
  };
  if (*dominant <= 0) return no_utilization("no matrix products in the steady window");
  if (!facts.peaks) return no_utilization(facts.peaks.why_not());
  const double peak = facts.peaks->Tflops(precision);
  if (peak <= 0) {
    return no_utilization(
        fmt::format("no {} peak is known for {}", PrecisionName(precision), facts.peaks->name));
  }
  facts.model_flops_utilization =
      *facts.tflops_per_s / (peak * static_cast<double>(std::max<std::size_t>(device_count, 1)));
}

}  // namespace

void MeasureRoofline(const trace::Trace& trace, const WorkClasses& classes,
                     const ClassifiedKernels& kernels, const trace::IntervalSet& steady_window,
                     std::size_t device_count, EfficiencyFacts& facts) {
  const ModelledCalls calls(trace);
  if (!calls.any_shapes()) {
    const char* why = trace.info.format == trace::Format::kNsys
                          ? "no shapes in this export; record under emit_nvtx(record_shapes=True)"
                      : trace.info.record_shapes == 1 ? "no operator in the trace has shapes"
                                                      : "record_shapes was off";
    facts.roofline = Known<std::vector<RooflineRow>>::Absent(why);
    facts.modelled_share = facts.tflops_per_s = facts.model_flops_utilization =
        Known<double>::Absent(why);
    return;
  }
  RowBuilder builder(trace, calls);
  Totals totals;
  const trace::DeviceWork& device = trace.device;
  for (trace::RowId i = 0; i < device.size(); ++i) {
    if (device.kind[i] != trace::WorkKind::kKernel || classes[i] != WorkClass::kCompute) continue;
    const KernelTraits& traits = kernels[device.name[i]];
    const Nanos duration_ns = device.duration_ns[i];
    const bool in_window = steady_window.Holds(device.start_ns[i]);
    const bool matrix =
        IsMatrixFamily(traits.family) && traits.matrix_unit != MatrixUnit::kNotApplicable;
    if (matrix && in_window) totals.window_matrix_ns += duration_ns;
    const trace::RowId op = device.op[i];
    if (op == trace::kNoRow) continue;
    totals.op_ns += duration_ns;
    const trace::RowId owner = calls.OwnerOf(op);
    if (owner == trace::kNoRow) continue;
    builder.Add(owner, traits, duration_ns, in_window);
    const bool product = calls.entries()[calls.EntryOf(owner)].kind == ModelKind::kProduct;
    if (matrix && in_window && product) totals.window_known_ns += duration_ns;
  }

  std::vector<RowSums>& rows = builder.rows();
  std::erase_if(rows, [](const RowSums& sums) { return sums.unsized; });
  std::vector<RooflineRow> finished;
  Nanos modelled_ns = 0;
  for (RowSums& sums : rows) {
    sums.row.precision = RowPrecision(trace, sums);
    Rate(facts.peaks, sums);
    modelled_ns += sums.row.device_ns;
    finished.push_back(sums.row);
  }
  std::ranges::stable_sort(finished, std::ranges::greater{}, &RooflineRow::device_ns);
  facts.roofline = std::move(finished);
  facts.modelled_share =
      totals.op_ns > 0
          ? Known<double>(static_cast<double>(modelled_ns) / static_cast<double>(totals.op_ns))
          : Known<double>::Absent("no kernel is linked to an operator");
  MeasureUtilization(rows, totals, steady_window, device_count, facts);
}

}  // namespace hone::analyze
