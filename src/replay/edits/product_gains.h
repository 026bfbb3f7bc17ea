// SPDX-License-Identifier: Apache-2.0
// ProductGains: how many times faster each matrix product would run on matrix units, by its own
// roofline: FLOPs, bytes and alignment from the shapes of its call where they were recorded, else
// FLOPs from what the kernel must have reached as it ran.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "analyze/modelled_calls.h"
#include "replay/model.h"

namespace hone::replay {

// A format that matrix units multiply, and what they reach with it.
struct MatrixFormat {
  double tflops = 0;          // that the best products reach
  double flops_scale = 1;     // a product of so many FLOPs fills the units as one of 1 in TF32
  double bytes_scale = 1;     // of the bytes of the recorded call
  double misaligned = 0;      // of the peak, where a size is no multiple of `multiple`
  std::int64_t multiple = 1;  // of elements: what one access of 16 bytes holds
  bool by_operands = false;   // how operands lie in memory matters
  static MatrixFormat Tf32(const analyze::DevicePeaks& peaks);
  static MatrixFormat Half(const analyze::DevicePeaks& peaks);
};

class ProductGains {
 public:
  // The model must outlive it and have peaks. Linear in host slices where there are shapes.
  ProductGains(const Model& model, const MatrixFormat& format);

  bool has_shapes() const { return calls_ != nullptr; }
  const analyze::ModelledCalls* calls() const { return calls_.get(); }  // null: no shapes
  // Of a matmul kernel in fp32 or TF32; never below 1.
  double Of(const Task& task);
  // Elements of the smaller matrix of its call: the weight, where one is; 0: not known.
  double SmallerMatrix(trace::RowId op) const;
  // Elements of the first tensor with two dimensions or more that any operator was given; 0: not
  // known. Of a backward one that is the gradient.
  double FirstTensor(trace::RowId op) const;
  double Channels(trace::RowId op) const;  // its second dimension
  // Of a kernel of fused attention in fp32, one of `kernels` of its call: nanoseconds in half
  // precision, never more than recorded.
  double FusedAttentionInHalf(const Task& task, std::size_t kernels) const;

 private:
  enum : std::uint8_t { kUnseen, kNo, kYes };

  trace::RowId OwnerOf(trace::RowId op) const;
  std::vector<std::int64_t> FirstDims(trace::RowId op) const;
  bool IsAligned(std::uint32_t entry);
  bool IsOfHeads(const Task& task, trace::RowId owner) const;
  double Reached(const Task& task, double flops) const;
  double FlopsAsRun(const Task& task, bool of_heads) const;

  const Model& model_;
  const analyze::DevicePeaks& peaks_;
  const MatrixFormat format_;
  std::unique_ptr<analyze::ModelledCalls> calls_;  // null: no shapes
  std::vector<std::uint8_t> aligned_;              // by entry
  std::vector<Nanos> time_ns_;                     // by owner: of all its kernels
  std::vector<std::uint8_t> attention_;            // by row of Trace::device, without shapes
};

// Of their peak, what matrix units reach with a layer's product of so many FLOPs in TF32; in
// another format, of so many as take as long at its peak.
double ReachedByUnits(double flops);
// How the operands of a product lie, as its kernel's name says it.
enum class Operands : std::uint8_t {
  kUnknown,
  kInnerTogether,  // tn: the inner size side by side in both; a layer's forward product
  kOneTogether,    // nn: in one of them; its input's gradient
  kInnerApart,     // nt: in none; its weight's gradient
};
Operands OperandsOf(std::string_view kernel);
// Of their peak, what matrix units reach with TF32, which they load with the inner size together.
double ReachedWithTf32(double flops, Operands operands);
// Of batched products that have a head's size.
inline constexpr double kReachedBatched = 0.30;
// Of a peak of the device, what the best products reach.
double ReachedPeak(const analyze::DevicePeaks& peaks, double tflops);
// Of a device's bandwidth, bytes a nanosecond that large kernels reach.
double ReachedBandwidth(const analyze::DevicePeaks& peaks);

// Convolutions with all that their call launches, fp32 on plain cores against UnitsTflops (TF32),
// by the device's peaks; 1: those are no more than fp32's.
double ConvolutionGain(const analyze::DevicePeaks& peaks);

}  // namespace hone::replay
