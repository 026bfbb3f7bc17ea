// SPDX-License-Identifier: Apache-2.0
#include "trace/record_again.h"

#include "base/check.h"

namespace hone::trace {
namespace {

const char* WithHone(Lacking what) {
  switch (what) {
    case Lacking::kDevice: return "the program called no CUDA while hone run recorded it";
    case Lacking::kOperators: return "the program ran no PyTorch while hone run recorded it";
    case Lacking::kShapes: return "record with hone run --collect ops,shapes,cuda,memory,python";
    case Lacking::kStacks: return "record with hone run --stack-hz 100";
    case Lacking::kMemory: return "record with hone run --collect memory,ops,cuda,python";
    case Lacking::kSteps: return "call hone.step() once an iteration";
  }
  HONE_CHECK(false);
}

}  // namespace

const char* RecordAgain(const TraceInfo& info, Lacking what) {
  if (info.format == Format::kHone) return WithHone(what);
  switch (what) {
    case Lacking::kDevice:
    case Lacking::kOperators:
      return "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]";
    case Lacking::kShapes: return "record with record_shapes=True";
    case Lacking::kStacks: return "record with with_stack=True";
    case Lacking::kMemory: return "record with profile_memory=True";
    case Lacking::kSteps: return "call prof.step() once an iteration";
  }
  HONE_CHECK(false);
}

}  // namespace hone::trace
