// SPDX-License-Identifier: Apache-2.0
// What a runtime or driver call does, and which calls made the host wait for the device.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace hone::analyze {

enum class ApiClass : std::uint8_t {
  kOther,
  kLaunch,
  kGraphLaunch,
  kCopy,
  kBlockingCopy,
  kSync,
  kAllocate,
  kFree,
  kEvent
};
// By name: cuda*, cu*, hip*, and the main calls of SYCL's unified runtime (ur*). Version suffixes
// ("_v2", "_v11060", "_ptsz") do not matter.
ApiClass ClassifyApi(std::string_view name);

// Waits for everything on the device, not for one stream or event.
bool IsDeviceWideSync(std::string_view name);

// Class of every API call of a trace; decided once per distinct name, then by what the device did.
class ApiCalls {
 public:
  explicit ApiCalls(const trace::Trace& trace);  // O(host + device rows)

  // kOther for slices that are no API calls. A copy is kBlockingCopy when the call waits by
  // definition (cudaMemcpy), or was found to: an asynchronous copy of pageable memory during which
  // the host sat in the call. A device-to-device copy that outlives its call is kCopy.
  ApiClass operator[](trace::RowId host_row) const { return classes_[host_row]; }
  bool Blocks(trace::RowId host_row) const {
    return classes_[host_row] == ApiClass::kSync || classes_[host_row] == ApiClass::kBlockingCopy;
  }
  bool any() const { return any_; }  // the trace has API calls

 private:
  std::vector<ApiClass> classes_;  // one a row of Trace::host
  bool any_ = false;
};

}  // namespace hone::analyze
