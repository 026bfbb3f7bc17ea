// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/waits.h"

#include <algorithm>

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// The last copy to the device that the same thread launched before the call, inside the same
// operator: aten::copy_ copies and then waits.
RowId CopyBefore(const Model& model, RowId call) {
  const trace::HostSlices& host = model.trace().host;
  const RowId op = model.lineage().op[call];
  if (op == kNoRow) return kNoRow;
  // The slices of an operator stand behind it; a copy has few.
  for (RowId i = call; i-- > op;) {
    if (host.kind[i] != trace::SliceKind::kApi) continue;
    const TaskId task = model.graph().of_host[i];
    if (task == kNoTask) continue;
    const analyze::ApiClass what = model.calls()[i];
    if (what == analyze::ApiClass::kCopy || what == analyze::ApiClass::kBlockingCopy) return i;
    return kNoRow;
  }
  return kNoRow;
}

}  // namespace

WaitReason ReasonOf(const Model& model, const Task& task) {
  if (task.row == kNoRow) return WaitReason::kNone;
  const analyze::ApiClass what = model.calls()[task.row];
  if (task.kind == TaskKind::kAllocate && what == analyze::ApiClass::kFree) {
    return WaitReason::kFree;
  }
  if (task.kind != TaskKind::kWait) return WaitReason::kNone;
  RowId copy = kNoRow;
  if (what == analyze::ApiClass::kBlockingCopy) {
    copy = task.row;
  } else if (what == analyze::ApiClass::kSync) {
    copy = CopyBefore(model, task.row);
  } else {
    return WaitReason::kNone;
  }
  if (copy == kNoRow) return WaitReason::kResult;
  const RowId work = model.WorkOf(copy);
  if (work == kNoRow ||
      model.trace().device.direction[work] != trace::CopyDirection::kHostToDevice) {
    return WaitReason::kResult;
  }
  return model.trace().device.source[work] == trace::MemoryKind::kPinned
             ? WaitReason::kPinnedCopy
             : WaitReason::kPageableCopy;
}

}  // namespace hone::replay
