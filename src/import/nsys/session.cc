// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/session.h"

namespace hone::importer::nsys {

bool Session::ReadTime(const Row& row, int column, Nanos& time) {
  if (row.Has(column)) {
    time = row.Int(column);
    if (time > -trace::Builder::kLatest && time < trace::Builder::kLatest) return true;
  }
  builder.trace().losses.Add(LossKind::kBadTime);
  return false;
}

bool Session::ReadSpan(const Row& row, int start_column, int end_column, Span& span) {
  Nanos end = 0;
  if (!ReadTime(row, start_column, span.start_ns) || !ReadTime(row, end_column, end)) return false;
  span.duration_ns = end - span.start_ns;
  return builder.Admit(span.start_ns, span.duration_ns, {});
}

std::uint16_t Session::ThreadOf(const Row& row, int global_tid_column, int global_pid_column) {
  if (row.Has(global_tid_column)) {
    const std::int64_t id = row.Int(global_tid_column);
    return builder.ThreadFor(PidOf(id), TidOf(id));
  }
  if (global_pid_column >= 0 && row.Has(global_pid_column)) {
    return builder.ThreadFor(PidOf(row.Int(global_pid_column)), -1);
  }
  return builder.ThreadFor(-1, -1);
}

trace::RowId Session::ProcessOf(const Row& row, int global_pid_column) {
  if (!joins_by_process || !row.Has(global_pid_column)) return trace::kNoRow;
  return builder.ProcessFor(PidOf(row.Int(global_pid_column)));
}

void Session::MapGpu(std::int64_t pid, std::int64_t cuda_device, std::int64_t gpu) {
  gpus_.insert_or_assign(Key(pid, cuda_device), gpu);
}
std::int64_t Session::GpuOf(std::int64_t pid, std::int64_t cuda_device) const {
  const auto found = gpus_.find(Key(pid, cuda_device));
  return found == gpus_.end() ? cuda_device : found->second;
}

void Session::MapContext(trace::RowId process, std::int64_t context, std::int64_t gpu) {
  contexts_.insert_or_assign(Key(process, context), gpu);
}
std::int64_t Session::GpuOfContext(trace::RowId process, std::int64_t context,
                                   std::int64_t fallback) const {
  const auto found = contexts_.find(Key(process, context));
  return found == contexts_.end() ? fallback : found->second;
}

std::uint16_t Session::StreamOf(const Row& row, const PlaceColumns& columns) {
  const Place place{row.Int(columns.global_pid, INT64_MIN), row.Int(columns.device, -1),
                    row.Int(columns.context, -1), row.Int(columns.stream, -1)};
  if (has_last_place_ && place == last_place_) return last_stream_;
  const bool known_device = place.device >= 0 && place.device < INT32_MAX;
  std::int64_t gpu = known_device ? place.device : -1;
  if (known_device && row.Has(columns.global_pid)) gpu = GpuOf(PidOf(place.global_pid), gpu);
  const trace::RowId process = ProcessOf(row, columns.global_pid);
  if (row.Has(columns.context)) MapContext(process, place.context, gpu);
  last_place_ = place;
  has_last_place_ = true;
  last_stream_ = builder.StreamFor(gpu, place.stream, process);
  return last_stream_;
}

}  // namespace hone::importer::nsys
