// SPDX-License-Identifier: Apache-2.0
// What a piece of device work is for. Decided once per distinct name, not per row.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace hone::analyze {

enum class WorkClass : std::uint8_t { kCompute, kCommunication, kCopy };

// Communication: NCCL, RCCL, NVSHMEM, DeepEP, custom all-reduce and their kin, by name, and any
// kernel that carries collective metadata. Copy: copy records, and the kernels that ROCm writes for
// copies. Sets count as compute, as TraceLens does.
class WorkClasses {
 public:
  explicit WorkClasses(const trace::Trace& trace);
  WorkClass operator[](trace::RowId work) const { return classes_[work]; }
  bool IsCommunication(trace::RowId work) const {
    return classes_[work] == WorkClass::kCommunication;
  }

 private:
  std::vector<WorkClass> classes_;  // one a row of Trace::device
};

bool IsCommunicationName(std::string_view kernel_name);

}  // namespace hone::analyze
