// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_api.h"

#include <cstdio>
#include <initializer_list>

#include "collect/names.h"

namespace hone::collect {
namespace {

bool Starts(std::string_view text, std::initializer_list<std::string_view> starts) {
  for (const std::string_view start : starts) {
    if (text.starts_with(start)) return true;
  }
  return false;
}

void Drop(std::string_view& text, std::string_view end) {
  if (text.ends_with(end)) text.remove_suffix(end.size());
}

// "_v7000" and the like, which CUPTI adds to the runtime's names. "_v2" is part of the driver's.
void DropVersion(std::string_view& name) {
  const std::size_t at = name.rfind("_v");
  if (at == std::string_view::npos || name.size() - at < 2 + 4) return;
  for (const char c : name.substr(at + 2)) {
    if (c < '0' || c > '9') return;
  }
  name.remove_suffix(name.size() - at);
}

}  // namespace

std::string_view FunctionName(std::uint32_t domain, std::string_view callback_name) noexcept {
  std::string_view name = callback_name;
  if (domain == gpu::kRuntimeDomain) DropVersion(name);
  // Per-thread default streams: another entry of the same function.
  Drop(name, "_ptsz");
  Drop(name, "_ptds");
  if (name.starts_with("__cuda")) name.remove_prefix(2);
  return name;
}

CudaUse UseOfFunction(std::uint32_t domain, std::string_view name) noexcept {
  const bool runtime = domain == gpu::kRuntimeDomain;
  const std::string_view prefix = runtime ? "cuda" : "cu";
  if (!name.starts_with(prefix)) return CudaUse::kNone;
  std::string_view stem = name.substr(prefix.size());
  if (!runtime) Drop(stem, "_v2");
  if (stem.starts_with("Launch") || stem == "GraphLaunch") return CudaUse::kLaunch;
  if (Starts(stem, {"Memcpy", "Memset", "MemPrefetch"})) return CudaUse::kCopy;
  if (stem.ends_with("Synchronize")) return CudaUse::kSync;
  if (Starts(stem, {"EventRecord", "StreamWaitEvent"})) return CudaUse::kEvent;
  if (Starts(stem, {"GraphInstantiate", "GraphExecUpdate", "StreamBeginCapture", "StreamEndCapture",
                    "ModuleLoad", "ModuleUnload", "LibraryLoad", "LibraryUnload"})) {
    return CudaUse::kRare;
  }
  const bool memory =
      runtime
          ? Starts(stem, {"Malloc", "Free", "HostAlloc", "HostRegister", "HostUnregister"})
          : Starts(stem, {"MemAlloc", "MemFree", "MemHostAlloc", "MemHostRegister",
                          "MemHostUnregister", "MemCreate", "MemMap", "MemUnmap", "MemRelease"});
  return memory ? CudaUse::kMemory : CudaUse::kNone;
}

void CudaApi::Load(const gpu::Cupti& cupti) noexcept {
  if (cupti.callback_name == nullptr) return;
  for (const std::uint32_t domain : {gpu::kDriverDomain, gpu::kRuntimeDomain}) {
    for (std::uint32_t cbid = 1; cbid < kMost; ++cbid) {
      const char* name = nullptr;
      if (cupti.callback_name(domain, cbid, &name) != gpu::kCuptiOk || name == nullptr) break;
      Function& function = functions_[Index(domain)][cbid];
      function.name = name;
      function.use = UseOfFunction(domain, FunctionName(domain, name));
      counts_[Index(domain)] = cbid;
    }
  }
}

bool CudaApi::Wanted(std::uint32_t domain, std::uint32_t cbid, CudaTuning::Api level,
                     bool events) const noexcept {
  if (level == CudaTuning::Api::kNone || cbid >= kMost) return false;
  if (level == CudaTuning::Api::kAll) return true;
  const CudaUse use = functions_[Index(domain)][cbid].use;
  if (use == CudaUse::kEvent) return events;
  if (use == CudaUse::kLaunch || use == CudaUse::kCopy) return true;
  return level == CudaTuning::Api::kSome && use != CudaUse::kNone;
}

std::uint32_t CudaApi::NameOf(std::uint32_t domain, std::uint32_t cbid) noexcept {
  const char* kind = domain == gpu::kRuntimeDomain ? "runtime" : "driver";
  char unnamed[48];
  if (cbid >= kMost || functions_[Index(domain)][cbid].name == nullptr) {
    std::snprintf(unnamed, sizeof unnamed, "CUDA %s function %u", kind, cbid);
    return InternName(unnamed);
  }
  Function& function = functions_[Index(domain)][cbid];
  if (function.id == kUnnamed) function.id = InternName(FunctionName(domain, function.name));
  return function.id;
}

}  // namespace hone::collect
