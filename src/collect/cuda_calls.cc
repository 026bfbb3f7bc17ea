// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_calls.h"

#include "collect/clock.h"
#include "collect/cuda_records.h"
#include "collect/python_frames.h"
#include "collect/thread_log.h"
#include "collect/thread_state.h"

namespace hone::collect {
namespace {

struct Call {
  std::uint64_t start, end;
  std::uint32_t correlation, cbid, frame;
  std::int32_t result;
  std::uint8_t domain;
};
ThreadLog<Call> g_calls;
const CudaApi* g_api = nullptr;

// Gives its chain back when the thread ends.
struct Mine {
  ThreadLog<Call>::Chain* chain = nullptr;
  ~Mine() { g_calls.Release(chain); }
};
thread_local Mine t_mine;

void Called(void*, std::uint32_t domain, std::uint32_t cbid, const gpu::CallbackData* info) {
  if (info == nullptr || info->shared == nullptr) return;
  if (info->site == 0) {
    *info->shared = Ticks();
    return;
  }
  const std::uint64_t end = Ticks();
  ThreadState* const state = GetThreadState();
  if (state == nullptr || state->busy || *info->shared == 0) return;
  if (t_mine.chain == nullptr) t_mine.chain = g_calls.Claim(state->tid);
  Call* const call = g_calls.Place(t_mine.chain, state->tid);
  if (call == nullptr) return;
  const bool waits = g_api->UseOf(domain, cbid) == CudaUse::kSync;
  *call = {*info->shared,
           end,
           info->correlation,
           cbid,
           waits ? FrameHere() : 0,
           info->result == nullptr ? 0 : *static_cast<const std::int32_t*>(info->result),
           static_cast<std::uint8_t>(domain)};
  g_calls.Commit(t_mine.chain);
}

}  // namespace

bool CudaCalls::Start(const gpu::Cupti& cupti, const CudaApi& api,
                      const CudaTuning& tuning) noexcept {
  if (cupti.subscribe == nullptr || cupti.unsubscribe == nullptr ||
      cupti.enable_callback == nullptr) {
    return false;
  }
  g_api = &api;
  if (cupti.subscribe(&subscriber_, Called, nullptr) != gpu::kCuptiOk) {
    subscriber_ = nullptr;
    return false;
  }
  const struct {
    std::uint32_t domain;
    CudaTuning::Api level;
  } kDomains[] = {{gpu::kRuntimeDomain, tuning.runtime_api},
                  {gpu::kDriverDomain, tuning.driver_api}};
  for (const auto& [domain, level] : kDomains) {
    for (std::uint32_t cbid = 1; cbid <= api.count(domain); ++cbid) {
      if (!api.Wanted(domain, cbid, level, tuning.event_calls)) continue;
      cupti.enable_callback(1, subscriber_, domain, cbid);
    }
  }
  return true;
}

void CudaCalls::Stop(const gpu::Cupti& cupti) noexcept {
  if (subscriber_ == nullptr) return;
  cupti.unsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void CudaCalls::Drain(Output& output, CudaApi& api, CudaRecords& records) noexcept {
  g_calls.Drain([&](std::uint32_t tid, const Call& call) {
    output.Row(wire::Table::kApi, tid, call.start, call.end - call.start, call.domain, call.cbid,
               api.NameOf(call.domain, call.cbid), records.Correlation(call.correlation),
               call.result, call.frame);
  });
  if (const std::uint64_t lost = g_calls.TakeLost()) {
    output.Loss("cuda calls", lost, "the recorder's memory was full; allow it more (--memory)");
  }
}

void CudaCalls::Forked() noexcept { g_calls.Forked(); }

}  // namespace hone::collect
