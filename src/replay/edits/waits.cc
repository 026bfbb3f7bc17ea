// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/waits.h"

#include <algorithm>
#include <cmath>

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Of the link's peak. Pinned copies of 38 MB reach 55.3 GB/s of a data sheet's 63 on an H200; where
// the table holds what was reached, nearly all of it.
constexpr double kOfDataSheet = 0.85, kOfMeasured = 0.97;

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
  // Rows of device tasks name device work.
  if (task.kind != TaskKind::kWait && task.kind != TaskKind::kAllocate) return WaitReason::kNone;
  const analyze::ApiClass what = model.calls()[task.row];
  if (task.kind == TaskKind::kAllocate) {
    return what == analyze::ApiClass::kFree ? WaitReason::kFree : WaitReason::kNone;
  }
  if (model.ByProfiler(task.row)) return WaitReason::kNone;
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
  return IsPageableInput(model.trace().device, work) ? WaitReason::kPageableCopy
                                                     : WaitReason::kPinnedCopy;
}

Known<Nanos> PinnedCopyNs(const Model& model, Bytes bytes, Guess guess) {
  if (!model.peaks()) return Known<Nanos>::Absent(model.peaks().why_not());
  const double peak = model.peaks()->host_link_gbytes_per_s;
  if (peak <= 0) return Known<Nanos>::Absent("the link of this device is not known");
  const double reached = model.peaks()->measured ? kOfMeasured : kOfDataSheet;
  const double rate = guess == Guess::kMost ? peak : reached * peak;  // bytes a nanosecond
  return Known<Nanos>(std::llround(static_cast<double>(std::max<Bytes>(0, bytes)) / rate));
}

bool IsPageableInput(const trace::DeviceWork& device, RowId work) {
  return device.kind[work] == trace::WorkKind::kCopy &&
         device.direction[work] == trace::CopyDirection::kHostToDevice &&
         device.source[work] == trace::MemoryKind::kPageable;
}

bool IsPageableResult(const trace::DeviceWork& device, RowId work) {
  return device.kind[work] == trace::WorkKind::kCopy &&
         device.direction[work] == trace::CopyDirection::kDeviceToHost &&
         device.target[work] == trace::MemoryKind::kPageable && device.bytes[work] > kStagedAtOnce;
}

}  // namespace hone::replay
