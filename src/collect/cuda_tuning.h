// SPDX-License-Identifier: Apache-2.0
// CudaTuning: everything about CUPTI that has more than one reasonable answer. The defaults are
// what the benchmark chose; HONE_CUPTI_TUNE="key=value,key=value" changes them for experiments and
// is no promise to users.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::collect {

struct CudaTuning {
  // --- Activity buffers (host memory, ours)
  std::size_t buffer_bytes = 1u << 20;  // buffer: a launch takes about 256 bytes
  std::size_t ready = 4;                // ready: zeroed, resident buffers kept at hand
  int per_thread = -1;                  // perthread: 0/1; -1: as CUPTI does by itself
  int zeroed = 1;                       // zeroed: 0: CUPTI clears buffers, on the program's threads
  // --- Device buffers (CUPTI's, on the GPU; 0: as CUPTI does by itself)
  std::size_t device_bytes = 0;  // devbuf
  std::size_t device_pool = 20;  // devpool: most buffers a context (64 MB; CUPTI's 250 is 800 MB
                                 // of the program's memory; Kineto takes 20, too)
  std::size_t device_ready = 0;  // devready: allocated before they are needed
  int pinned = -1;               // pinned: 0/1: in pinned host memory instead
  // --- What is recorded
  bool kernels = true;  // kernel
  bool copies = true;   // copy
  bool sets = true;     // set
  // CUPTI's own records of synchronization made a launch-bound loop on an H200 (CUDA 13.0) 1.3
  // to 1.5 times as long, and it stayed so after they were off; the calls themselves say as much.
  bool syncs = false;        // sync
  bool overhead = true;      // overhead
  bool memory = true;        // memory
  bool graph_trace = false;  // graph: 1: CUDA graphs as one piece, not node by node
  bool all_syncs = false;    // queries: 1: also polls of events that are not done
  enum class Api : std::uint8_t { kNone, kLaunches, kSome, kAll };
  Api runtime_api = Api::kSome;  // runtime: none, launch, some, all
  Api driver_api = Api::kSome;   // driver: none, launch, some, all
  bool event_calls = false;      // events: 1: cudaEventRecord, cudaStreamWaitEvent too
  // --- Clocks and flushes
  bool own_clock = true;             // clock: 0: CUPTI's own (CLOCK_REALTIME), converted later
  std::uint32_t flush_ms = 1000;     // flush: FlushAll from the writer; 0: only at the end
  std::uint32_t cupti_flush_ms = 0;  // period: cuptiActivityFlushPeriod; 0: not set
  // --- Start and end
  bool hardware_trace = false;  // hes: Blackwell's hardware timestamps
};

// Reads `text` over the defaults; unknown keys and bad values are counted, not obeyed.
CudaTuning ParseCudaTuning(const char* text, unsigned& unknown) noexcept;

}  // namespace hone::collect
