// SPDX-License-Identifier: Apache-2.0
#include "trace/record_again.h"

#include "base/check.h"

namespace hone::trace {
namespace {

const char* WithHone(Lacking what) {
  switch (what) {
    case Lacking::kDevice: return "the program called no CUDA while hone run recorded it";
    case Lacking::kOperators: return "the program ran no PyTorch while hone run recorded it";
    case Lacking::kShapes:
      return "record two seconds of work or more with hone run, without --collect";
    case Lacking::kStacks: return "record with hone run --stack-hz 100";
    case Lacking::kMemory: return "record with hone run --collect memory,ops,cuda,python";
    case Lacking::kSteps: return "call hone.step() once an iteration";
    case Lacking::kGrids: return "record with hone run without CUDA graphs";
    case Lacking::kCalls: return "record with hone run, without --collect";
    case Lacking::kWarmUp: return "record more steps, so that these count as warm-up";
    case Lacking::kStall: return "hone run --stack-hz 100 shows where";
  }
  HONE_CHECK(false);
}

const char* WithNsys(Lacking what) {
  switch (what) {
    case Lacking::kDevice: return "record with nsys profile --trace=cuda,nvtx";
    case Lacking::kOperators: return "run the steps under torch.autograd.profiler.emit_nvtx()";
    case Lacking::kShapes:
      return "run the steps under torch.autograd.profiler.emit_nvtx(record_shapes=True)";
    case Lacking::kStacks: return "Nsight Systems has none of it; record with hone run";
    case Lacking::kMemory: return "Nsight Systems has none of it; record with hone run";
    case Lacking::kSteps: return "put torch.cuda.nvtx.range(\"step N\") around an iteration";
    case Lacking::kGrids: return "record with nsys profile --cuda-graph-trace=node";
    case Lacking::kCalls: return "record with nsys profile --trace=cuda,nvtx";
    case Lacking::kWarmUp: return "record later, with nsys profile --delay";
    case Lacking::kStall: return "Nsight Systems does not say where, hone run does";
  }
  HONE_CHECK(false);
}

const char* WithTorch(Lacking what) {
  switch (what) {
    case Lacking::kDevice:
    case Lacking::kOperators:
    case Lacking::kCalls:
      return "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]";
    case Lacking::kShapes: return "record with record_shapes=True";
    case Lacking::kStacks: return "record with with_stack=True";
    case Lacking::kMemory: return "record with profile_memory=True";
    case Lacking::kSteps: return "call prof.step() once an iteration";
    case Lacking::kGrids: return "record with ProfilerActivity.CUDA";
    case Lacking::kWarmUp: return "record with schedule(wait=2, warmup=2, active=4)";
    case Lacking::kStall: return "with_stack=True shows where";
  }
  HONE_CHECK(false);
}

}  // namespace

const char* RecordAgain(const TraceInfo& info, Lacking what) {
  switch (info.format) {
    case Format::kHone: return WithHone(what);
    case Format::kNsys: return WithNsys(what);
    case Format::kKineto: return WithTorch(what);
  }
  HONE_CHECK(false);
}

const char* LossHelp(const TraceInfo& info, LossKind kind) {
  const bool torch = info.format == Format::kKineto;
  const bool nsys = info.format == Format::kNsys;
  switch (kind) {
    case LossKind::kUnreadableEvent:
      if (torch) return "the writer produced invalid JSON; a newer PyTorch fixes most causes";
      break;
    case LossKind::kUnlinkedDeviceWork:
      if (torch)
        return "add a warm-up to the profiler schedule, or synchronize before recording starts, "
               "where "
               "work was queued before it";
      break;
    case LossKind::kGraphOpaque:
      if (nsys) return "record with nsys profile --cuda-graph-trace=node to see their kernels";
      break;
    default: break;
  }
  return Describe(kind).help;
}

std::string RecordSteps(const TraceInfo& info, std::uint64_t steps) {
  const std::string count = std::to_string(steps);
  switch (info.format) {
    case Format::kHone: return "record more with hone run --steps " + count;
    case Format::kNsys: return "record " + count + " steps and more with nsys profile";
    case Format::kKineto: return "record more with schedule(..., active=" + count + ")";
  }
  HONE_CHECK(false);
}

const char* RecordEpochEnd(const TraceInfo& info) {
  switch (info.format) {
    case Format::kHone: return "record an epoch's end with hone run --all";
    case Format::kNsys: return "record an epoch's end with nsys profile";
    case Format::kKineto: return "record an epoch's end with torch.profiler";
  }
  HONE_CHECK(false);
}

}  // namespace hone::trace
