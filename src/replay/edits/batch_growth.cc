// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/batch_growth.h"

#include <algorithm>
#include <cmath>

#include "analyze/roofline.h"
#include "replay/edits/half_format.h"
#include "replay/edits/product_gains.h"

namespace hone::replay {
namespace {

using trace::RowId;

// Of any kernel or copy, what does not depend on its size: a kernel over one small tensor takes 1.5
// us on an H200, and of a short one some of the time is work all the same.
constexpr double kLatencyNs = 1'500, kLatencyShare = 0.7;
// A full device does this much more for each block of a product than one that is partly filled:
// tiles of a small batch are partly empty and their loops short. From one program (3x3 convolutions
// of 64 blocks on 132 multiprocessors took 4.9 times as long with 16 times the batch, and 7.5 by
// blocks alone). It fades towards a full device, where kernels may have chosen one block for each
// multiprocessor and work through many tiles in it.
constexpr double kTileGain = 0.35, kMostTileGain = 0.8, kTileFade = 0.25;
// How sharply time turns from "as long as one block" to "as long as all blocks in turn". Waves are
// steps; blocks of different kernels, of different lengths and side by side round them off.
constexpr double kTurn = 3;
// A call that copies from pageable memory takes this long apart from the bytes that it stages.
constexpr double kCallNs = 10'000;

// Times as long, of a device that is filled so far; a full one does everything in turn.
double GrowthAt(double fill, double times) {
  if (fill >= 1) return times;
  return std::pow(1 - std::pow(fill, kTurn) + std::pow(times * fill, kTurn), 1 / kTurn);
}

double WithoutTileGain(double fill, double gain) {
  return fill / (1 + gain * std::clamp((1 - fill) / kTileFade, 0.0, 1.0));
}

// Blocks of this launch that one multiprocessor holds at once; 1 where nobody says.
double ResidentBlocks(const trace::Device& device, const trace::LaunchConfig& launch) {
  const double threads = static_cast<double>(launch.block[0]) * launch.block[1] * launch.block[2];
  if (threads <= 0 || device.max_threads_per_sm <= 0) return 1;
  constexpr double kMostBlocks = 32;  // of every NVIDIA device since Maxwell, but two
  double blocks = std::min(kMostBlocks, std::floor(device.max_threads_per_sm / threads));
  if (launch.registers_per_thread > 0 && device.registers_per_sm > 0) {
    blocks = std::min(blocks, std::floor(static_cast<double>(device.registers_per_sm) /
                                         (launch.registers_per_thread * threads)));
  }
  if (launch.shared_memory_bytes > 0 && device.shared_memory_per_sm > 0) {
    blocks = std::min(blocks, std::floor(static_cast<double>(device.shared_memory_per_sm) /
                                         static_cast<double>(launch.shared_memory_bytes)));
  }
  return std::max(blocks, 1.0);
}

double SideBySide(const Model& model, RowId device, double all_ns, trace::Interval window) {
  if (!model.facts().timeline) return 1;
  for (const analyze::DeviceTimeline& one : model.facts().timeline->devices) {
    if (one.device != device) continue;
    const auto busy = static_cast<double>(one.compute.LengthWithin(window));
    return busy > 0 ? std::max(all_ns / busy, 1.0) : 1;
  }
  return 1;
}

double Latency(double ns) { return std::min(kLatencyNs, kLatencyShare * ns); }

Nanos Times(Nanos ns, double times) { return std::llround(static_cast<double>(ns) * times); }

}  // namespace

BatchGrowth::BatchGrowth(const Model& model)
    : model_(model), work_(ReadBatchWork(model)), fill_(model.graph().tasks.size()) {
  const trace::Trace& trace = model.trace();
  const std::vector<Task>& tasks = model.graph().tasks;
  // Kernels that run side by side fill the device together.
  std::vector<double> time(trace.devices.size(), 0);
  trace::Interval window = {INT64_MAX, INT64_MIN};
  for (const Task& task : tasks) {
    if (task.kind != TaskKind::kKernel) continue;
    time[trace.streams[trace.device.stream[task.row]].device] +=
        static_cast<double>(task.duration_ns);
    window.begin_ns = std::min(window.begin_ns, trace.device.start_ns[task.row]);
    window.end_ns = std::max(window.end_ns, trace.device.end_ns(task.row));
  }
  std::vector<double> side_by_side(trace.devices.size(), 1);
  for (RowId d = 0; d < trace.devices.size(); ++d) {
    if (time[d] > 0) side_by_side[d] = SideBySide(model, d, time[d], window);
  }
  double all = 0, recorded = 0;
  for (TaskId t = 0; t < tasks.size(); ++t) {
    if (tasks[t].kind != TaskKind::kKernel) continue;
    fill_[t] =
        FillOf(tasks[t].row, side_by_side[trace.streams[trace.device.stream[tasks[t].row]].device]);
    // More blocks do not come with more samples; as if the device were full.
    if (work_[t].role == BatchRole::kOverBatch) fill_[t].likely = fill_[t].least = 1;
    if (work_[t].role == BatchRole::kParameters) continue;
    all += static_cast<double>(tasks[t].duration_ns);
    if (fill_[t].recorded) recorded += static_cast<double>(tasks[t].duration_ns);
  }
  known_ = all > 0 ? recorded / all : 0;
}

BatchGrowth::Fill BatchGrowth::FillOf(RowId work, double side_by_side) const {
  const trace::Trace& trace = model_.trace();
  const trace::Device& device = trace.devices[trace.streams[trace.device.stream[work]].device];
  const trace::LaunchConfig& launch = trace.launches[trace.device.launch[work]];
  Fill fill;
  const double blocks = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  double per_sm = 0;
  if (blocks > 0 && device.sm_count > 0) {
    per_sm = blocks / device.sm_count;
  } else if (launch.blocks_per_sm > 0 && std::isfinite(launch.blocks_per_sm)) {
    per_sm = launch.blocks_per_sm;
  }
  if (per_sm <= 0 || trace.device.kind[work] != trace::WorkKind::kKernel) return fill;
  fill.recorded = true;
  const double filled = per_sm * side_by_side;
  fill.likely = fill.least = filled / ResidentBlocks(device, launch);
  if (analyze::IsMatrixFamily(model_.Traits(work).family)) {
    // A block of a product keeps a multiprocessor's units busy by itself.
    fill.likely = WithoutTileGain(filled, kTileGain);
    fill.least = std::min(fill.least, WithoutTileGain(filled, kMostTileGain));
  }
  return fill;
}

double BatchGrowth::ByBlocks(double ns, const Fill& fill, double times) const {
  const double latency = Latency(ns);
  return latency + (ns - latency) * GrowthAt(fill.likely, times);
}

// What the call takes on a device that has as much to do as it can; 0: not known.
double BatchGrowth::RooflineNs(const BatchWork& work, double times) const {
  if (!work.modelled || !model_.peaks()) return 0;
  const analyze::DevicePeaks& peaks = *model_.peaks();
  double compute = 0;
  if (work.product) {
    const double tflops = peaks.Tflops(work.precision), flops = times * work.flops / work.turns;
    if (tflops <= 0 || flops <= 0) return 0;
    const double units = UnitsTflops(peaks);
    double reached = ReachedByUnits(units > 0 ? flops * units / tflops : flops);
    if (work.batched) reached = std::min(reached, kReachedBatched);
    compute = flops / (reached * tflops * 1e3);  // TFLOP/s are 1,000 FLOP a nanosecond
  }
  const double bandwidth = ReachedBandwidth(peaks);
  if (bandwidth <= 0) return 0;
  const double bytes = work.kept_bytes + times * std::max(0.0, work.bytes - work.kept_bytes);
  return work.turns * (kLatencyNs + std::max(compute, bytes / work.turns / bandwidth));
}

// Two bounds from above: more blocks like those that ran, and the efficiency that it has now, as
// far as it depends on size. One from below: the device's own limits.
double BatchGrowth::Likely(TaskId task, double times) const {
  const Task& kernel = model_.graph().tasks[task];
  const auto ns = static_cast<double>(kernel.duration_ns);
  const BatchWork& work = work_[task];
  double growth = ByBlocks(ns, fill_[task], times) / ns;
  const double now = RooflineNs(work, 1), then = RooflineNs(work, times);
  if (now > 0) {
    growth = std::min(growth, then / now);
    growth = std::max(growth, std::min(1.0, work.call_ns / now) * then / work.call_ns);
  }
  return std::clamp(growth, 1.0, times);
}

// No growth until every block is resident, or the device reaches its limits.
double BatchGrowth::Most(TaskId task, double times) const {
  const BatchWork& work = work_[task];
  const double fill = fill_[task].least;
  double growth = std::max(1.0, times * fill) / std::max(1.0, fill);
  const double now = RooflineNs(work, 1);
  if (now > 0) {
    growth =
        std::max(1.0, std::min(1.0, work.call_ns / now) * RooflineNs(work, times) / work.call_ns);
  }
  return std::min(growth, Likely(task, times));
}

// Half way, by factors, to a device that is full with the first doubling, and to reductions over
// the batch that nobody splits.
double BatchGrowth::Least(TaskId task, double times) const {
  const double likely = Likely(task, times);
  const bool reduction = work_[task].role == BatchRole::kWeightGradient;
  const double full = reduction || times <= 2 ? times : Likely(task, 2) * times / 2;
  return std::sqrt(likely * std::clamp(full, likely, times));
}

double BatchGrowth::Of(TaskId task, Guess guess, double times) const {
  const Task& kernel = model_.graph().tasks[task];
  if (kernel.kind != TaskKind::kKernel || kernel.duration_ns <= 0 ||
      work_[task].role == BatchRole::kParameters) {
    return 1;
  }
  switch (guess) {
    case Guess::kLeast: return Least(task, times);
    case Guess::kMost: return Most(task, times);
    case Guess::kLikely: break;
  }
  return Likely(task, times);
}

void BatchGrowth::GrowCopy(const Task& task, TaskId id, double times, Plan& plan) const {
  const trace::Trace& trace = model_.trace();
  const auto ns = static_cast<double>(plan.duration_ns[id]);
  plan.duration_ns[id] += std::llround(std::max(0.0, ns - kLatencyNs) * (times - 1));
  const RowId call = trace.device.api[task.row];
  if (call == trace::kNoRow || trace.device.source[task.row] != trace::MemoryKind::kPageable) {
    return;
  }
  const TaskId staged = model_.graph().of_host[call];
  if (staged == kNoTask) return;
  const auto host_ns = static_cast<double>(plan.duration_ns[staged]);
  plan.duration_ns[staged] += std::llround(std::max(0.0, host_ns - kCallNs) * (times - 1));
}

void BatchGrowth::Apply(Guess guess, double times, Plan& plan) const {
  const Graph& graph = model_.graph();
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    switch (task.kind) {
      case TaskKind::kKernel:
        plan.duration_ns[t] = Times(plan.duration_ns[t], Of(t, guess, times));
        break;
      case TaskKind::kCopy:
        if (work_[t].role != BatchRole::kParameters) GrowCopy(task, t, times, plan);
        break;
      case TaskKind::kInput:
      case TaskKind::kHost:
      case TaskKind::kLaunch:
      case TaskKind::kAllocate:
      case TaskKind::kWait:
      case TaskKind::kCollective: break;
    }
  }
  GrowInput(graph, times, plan);
  plan.samples *= times;
}

}  // namespace hone::replay
