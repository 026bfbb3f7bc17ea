// SPDX-License-Identifier: Apache-2.0
#include "analyze/api_class.h"

#include <algorithm>
#include <array>

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;

// Drops what versions and per-thread default streams add: "_v2", "_v11060", "_ptsz", "_ptds",
// "_spt". They stack: cuMemcpyHtoDAsync_v2_ptsz.
std::string_view WithoutSuffix(std::string_view name) {
  for (;;) {
    const std::size_t bar = name.rfind('_');
    if (bar == std::string_view::npos || bar + 1 == name.size()) return name;
    const std::string_view tail = name.substr(bar + 1);
    const bool version =
        tail.size() > 1 && tail[0] == 'v' &&
        std::all_of(tail.begin() + 1, tail.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!version && tail != "ptsz" && tail != "ptds" && tail != "spt") return name;
    name = name.substr(0, bar);
  }
}

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

// "MemcpyAsync" of cudaMemcpyAsync, cuMemcpyAsync, hipMemcpyAsync, urEnqueue…; empty: no such call.
std::string_view Stem(std::string_view name) {
  for (const std::string_view vendor : {"cuda", "cu", "hip", "ur"}) {
    if (name.starts_with(vendor) && name.size() > vendor.size() && IsUpper(name[vendor.size()])) {
      return WithoutSuffix(name.substr(vendor.size()));
    }
  }
  return {};
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <std::size_t N>
bool StartsWithAny(std::string_view text, const std::array<std::string_view, N>& heads) {
  return std::any_of(heads.begin(), heads.end(),
                     [&](std::string_view head) { return text.starts_with(head); });
}

// Physical and virtual memory management counts: PyTorch's expandable segments grow through
// MemCreate, MemMap and MemSetAccess where they used to call Malloc.
constexpr std::array<std::string_view, 13> kAllocateHeads = {
    "Malloc",       "HostAlloc",       "HostMalloc",   "ExtMalloc",         "MemAlloc",
    "MemHostAlloc", "MemCreate",       "MemMap",       "MemAddressReserve", "MemSetAccess",
    "HostRegister", "MemHostRegister", "MemPoolCreate"};
constexpr std::array<std::string_view, 9> kFreeHeads = {
    "Free",       "HostFree",       "MemFree",        "MemHostFree",      "MemUnmap",
    "MemRelease", "MemAddressFree", "HostUnregister", "MemHostUnregister"};

// An asynchronous copy blocked its caller when the host spent at least half of the copy inside the
// call. Half, because the driver stages pageable memory through its own buffer and returns before
// the last chunk lands (6 µs before the end of a 5.9 ms copy on an H200).
bool CallCovers(const trace::Trace& trace, RowId call, RowId work) {
  const Nanos begin = std::max(trace.host.start_ns[call], trace.device.start_ns[work]);
  const Nanos end = std::min(trace.host.end_ns(call), trace.device.end_ns(work));
  const Nanos length = trace.device.duration_ns[work];
  return length > 0 && end - begin >= length - length / 2;
}

}  // namespace

ApiClass ClassifyApi(std::string_view name) {
  const std::string_view stem = Stem(name);
  if (stem.empty()) return ApiClass::kOther;
  if (stem.ends_with("Synchronize") || stem == "QueueFinish" || stem == "EventWait") {
    return ApiClass::kSync;
  }
  if (stem.starts_with("GraphLaunch")) return ApiClass::kGraphLaunch;
  if (Has(stem, "LaunchKernel") || Has(stem, "LaunchCooperativeKernel") || stem == "Launch" ||
      stem == "LaunchGrid" || stem == "LaunchGridAsync" || stem == "LaunchByPtr" ||
      stem.starts_with("Memset") || stem.starts_with("EnqueueKernelLaunch") ||
      Has(stem, "EnqueueUSMFill")) {
    return ApiClass::kLaunch;
  }
  if (stem.starts_with("Memcpy")) {
    // cuMemcpyBatchAsync, hipMemcpyDtoHAsync: the word stands anywhere. hipMemcpyWithStream waits.
    return Has(stem, "Async") ? ApiClass::kCopy : ApiClass::kBlockingCopy;
  }
  if (stem.starts_with("MemPrefetch") || Has(stem, "EnqueueUSMMemcpy")) return ApiClass::kCopy;
  if (StartsWithAny(stem, kAllocateHeads) || (stem.starts_with("USM") && Has(stem, "Alloc"))) {
    return ApiClass::kAllocate;
  }
  if (StartsWithAny(stem, kFreeHeads) || stem == "USMFree") return ApiClass::kFree;
  if (stem.starts_with("Event") || stem.starts_with("StreamWaitEvent")) return ApiClass::kEvent;
  return ApiClass::kOther;
}

bool IsDeviceWideSync(std::string_view name) {
  const std::string_view stem = Stem(name);
  return stem == "DeviceSynchronize" || stem == "CtxSynchronize" || stem == "ThreadSynchronize";
}

ApiCalls::ApiCalls(const trace::Trace& trace) : classes_(trace.host.size(), ApiClass::kOther) {
  constexpr std::uint8_t kUnseen = UINT8_MAX;
  std::vector<std::uint8_t> by_name(trace.strings.size(), kUnseen);
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (trace.host.kind[i] != trace::SliceKind::kApi) continue;
    any_ = true;
    std::uint8_t& seen = by_name[static_cast<std::uint32_t>(trace.host.name[i])];
    if (seen == kUnseen) seen = static_cast<std::uint8_t>(ClassifyApi(trace.HostName(i)));
    classes_[i] = static_cast<ApiClass>(seen);
  }
  const trace::DeviceWork& device = trace.device;
  for (RowId w = 0; w < device.size(); ++w) {
    const RowId call = device.api[w];
    if (device.kind[w] != trace::WorkKind::kCopy || call == kNoRow) continue;
    const bool pageable = device.source[w] == trace::MemoryKind::kPageable ||
                          device.target[w] == trace::MemoryKind::kPageable;
    if (classes_[call] == ApiClass::kCopy && pageable && CallCovers(trace, call, w)) {
      classes_[call] = ApiClass::kBlockingCopy;
    } else if (classes_[call] == ApiClass::kBlockingCopy &&
               device.direction[w] == trace::CopyDirection::kDeviceToDevice &&
               trace.host.end_ns(call) < device.end_ns(w)) {
      classes_[call] = ApiClass::kCopy;
    }
  }
}

}  // namespace hone::analyze
