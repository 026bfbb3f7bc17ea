// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_session.h"

#include <cstdio>
#include <initializer_list>

#include "collect/fork_section.h"

namespace hone::collect {
namespace {

void Nothing(void*, std::uint32_t, std::uint32_t, const void*) {}

}  // namespace

template <typename Value>
void CudaSession::Attribute(gpu::ActivityAttribute attribute, Value value) noexcept {
  std::size_t size = sizeof value;
  if (cupti_.set_attribute == nullptr) return;
  cupti_.set_attribute(static_cast<std::int32_t>(attribute), &size, &value);
}

void CudaSession::Register(gpu::BufferRequested requested, gpu::BufferCompleted completed,
                           std::uint64_t (*clock)()) noexcept {
  const ForkSection section;
  using A = gpu::ActivityAttribute;
  if (cupti_.set_thread_id_type == nullptr ||
      cupti_.set_thread_id_type(gpu::kThreadIdSystem) != gpu::kCuptiOk) {
    notes_ |= kForeignThreadIds;
  }
  own_clock_ = tuning_.own_clock && cupti_.register_timestamp != nullptr &&
               cupti_.register_timestamp(clock) == gpu::kCuptiOk;
  if (tuning_.device_bytes != 0) Attribute(A::kDeviceBufferSize, tuning_.device_bytes);
  if (tuning_.device_pool != 0) Attribute(A::kDeviceBufferPoolLimit, tuning_.device_pool);
  if (tuning_.device_ready != 0) Attribute(A::kDeviceBufferPreAllocate, tuning_.device_ready);
  if (tuning_.pinned >= 0) Attribute(A::kHostPinned, static_cast<std::uint8_t>(tuning_.pinned));
  if (tuning_.per_thread >= 0) {
    Attribute(A::kPerThreadBuffers, static_cast<std::uint8_t>(tuning_.per_thread));
  }
  Attribute(A::kZeroedBuffers, static_cast<std::uint8_t>(tuning_.zeroed != 0));
  if (tuning_.cupti_flush_ms != 0 && cupti_.flush_period != nullptr) {
    cupti_.flush_period(tuning_.cupti_flush_ms);
  }
  if (cupti_.all_sync_records != nullptr) cupti_.all_sync_records(tuning_.all_syncs ? 1 : 0);
  if (tuning_.hardware_trace && cupti_.hardware_trace != nullptr) cupti_.hardware_trace(1);
  cupti_.register_callbacks(requested, completed);
  registered_ = true;
}

bool CudaSession::EnableKind(gpu::ActivityKind kind) noexcept {
  last_ = cupti_.activity_enable(static_cast<std::int32_t>(kind));
  if (last_ != gpu::kCuptiOk) return false;
  kinds_ |= std::uint64_t{1} << static_cast<unsigned>(kind);
  return true;
}

void CudaSession::EnableFunctions(std::uint32_t domain, CudaTuning::Api level) noexcept {
  const bool runtime = domain == gpu::kRuntimeDomain;
  const auto enable = runtime ? cupti_.enable_runtime_api : cupti_.enable_driver_api;
  const auto kind = runtime ? gpu::ActivityKind::kRuntime : gpu::ActivityKind::kDriver;
  if (level == CudaTuning::Api::kNone) return;
  if (level != CudaTuning::Api::kAll && enable != nullptr && api_.count(domain) != 0) {
    bool any = false;
    for (std::uint32_t cbid = 1; cbid <= api_.count(domain); ++cbid) {
      if (!api_.Wanted(domain, cbid, level, tuning_.event_calls)) continue;
      any |= enable(cbid, 1) == gpu::kCuptiOk;
    }
    functions_[domain] = any;
    if (any) return;
  }
  // The driver's kind is a flood where functions cannot be chosen; but without it launches of
  // Triton and Inductor would have no calls.
  EnableKind(kind);
  if (level != CudaTuning::Api::kAll) notes_ |= kAllRuntimeCalls;
}

void CudaSession::DisableFunctions(std::uint32_t domain, CudaTuning::Api level) noexcept {
  const auto enable =
      domain == gpu::kRuntimeDomain ? cupti_.enable_runtime_api : cupti_.enable_driver_api;
  if (!functions_[domain] || enable == nullptr) return;
  functions_[domain] = false;
  for (std::uint32_t cbid = 1; cbid <= api_.count(domain); ++cbid) {
    if (api_.Wanted(domain, cbid, level, tuning_.event_calls)) enable(cbid, 0);
  }
}

void CudaSession::Explain(gpu::CuptiResult result) noexcept {
  char holder[128] = "";
  // Only now: to subscribe is the one way to learn who has it, and would be in others' way.
  if (cupti_.subscribe_v2 != nullptr && cupti_.unsubscribe != nullptr) {
    void* subscriber = nullptr;
    gpu::SubscriberParams params{sizeof params, "hone", holder, sizeof holder};
    if (cupti_.subscribe_v2(&subscriber, Nothing, nullptr, &params) == gpu::kCuptiOk) {
      cupti_.unsubscribe(subscriber);
      holder[0] = '\0';
    }
    holder[sizeof holder - 1] = '\0';
  }
  if (holder[0] != '\0' || result == gpu::kCuptiMultipleSubscribers) {
    std::snprintf(why_, sizeof why_,
                  "CUPTI is held by %s; CUDA is not recorded while it is; run without that tool to "
                  "see kernels",
                  holder[0] != '\0' ? holder : "another tool (nsys, ncu, cuda-gdb or a profiler)");
    return;
  }
  std::snprintf(why_, sizeof why_,
                "CUPTI refused to record kernels with %s (%d), libcupti %u at %.200s; it must fit "
                "the driver: see nvidia-smi, or name another by HONE_CUPTI",
                gpu::ResultName(cupti_, result), result, cupti_.version, cupti_.path);
}

bool CudaSession::Enable() noexcept {
  const ForkSection section;
  using K = gpu::ActivityKind;
  why_[0] = '\0';
  notes_ &= kForeignThreadIds;
  enabled_ = true;
  if (tuning_.kernels && !EnableKind(K::kConcurrentKernel)) {
    const gpu::CuptiResult result = last_;
    Disable();
    Explain(result);
    return false;
  }
  if (tuning_.copies && (!EnableKind(K::kMemcpy) | !EnableKind(K::kMemcpyPeer))) {
    notes_ |= kNoCopies;
  }
  if (tuning_.sets && !EnableKind(K::kMemset)) notes_ |= kNoCopies;
  if (tuning_.syncs && !EnableKind(K::kSynchronization)) notes_ |= kNoSyncs;
  if (tuning_.overhead && !EnableKind(K::kOverhead)) notes_ |= kNoOverhead;
  if (tuning_.memory && !EnableKind(K::kMemory2)) notes_ |= kNoMemory;
  if (tuning_.graph_trace) EnableKind(K::kGraphTrace);
  EnableFunctions(gpu::kRuntimeDomain, tuning_.runtime_api);
  EnableFunctions(gpu::kDriverDomain, tuning_.driver_api);
  return true;
}

void CudaSession::Flush(bool forced) noexcept {
  const ForkSection section;
  cupti_.flush_all(forced ? gpu::kFlushForced : 0);
}

void CudaSession::Disable() noexcept {
  const ForkSection section;
  DisableFunctions(gpu::kRuntimeDomain, tuning_.runtime_api);
  DisableFunctions(gpu::kDriverDomain, tuning_.driver_api);
  for (std::int32_t kind = 0; kind < 64; ++kind) {
    if ((kinds_ >> kind & 1) != 0) cupti_.activity_disable(kind);
  }
  kinds_ = 0;
  enabled_ = false;
}

}  // namespace hone::collect
