// SPDX-License-Identifier: Apache-2.0
// CUPTI: the one place that knows the vendor's tracing library: its functions, numbers and record
// layouts, in our own words, so that building hone needs no CUDA. gpu/cupti_test.cc checks all of
// it against the vendor's header where that is installed.
//
// Records only grow at their end from version to version (checked for CUDA 11 to 13), so one
// prefix of each serves them all; `RecordSize` says how much of a record is really there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::gpu {

using CuptiResult = int;
inline constexpr CuptiResult kCuptiOk = 0, kCuptiInvalidParameter = 1, kCuptiNotInitialized = 15,
                             kCuptiMaxLimitReached = 12, kCuptiInvalidKind = 21,
                             kCuptiMultipleSubscribers = 39, kCuptiUnknown = 999;

enum class ActivityKind : std::int32_t {
  kMemcpy = 1,
  kMemset = 2,
  kDriver = 4,
  kRuntime = 5,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kMemcpyPeer = 22,
  kSynchronization = 38,
  kInternalLaunch = 48,
  kMemory2 = 49,
  kGraphTrace = 51,
};

enum class ActivityAttribute : std::int32_t {
  kDeviceBufferSize = 0,         // size_t
  kDeviceBufferPoolLimit = 2,    // size_t
  kZeroedBuffers = 5,            // uint8_t: we hand over zeroed buffers
  kDeviceBufferPreAllocate = 6,  // size_t
  kHostPinned = 8,               // uint8_t
  kPerThreadBuffers = 9,         // uint8_t
};

inline constexpr std::uint32_t kDriverDomain = 1, kRuntimeDomain = 2;
inline constexpr std::uint32_t kFlushForced = 1, kThreadIdSystem = 1;
inline constexpr std::uint32_t kMemoryAllocated = 1, kMemoryReleased = 2;
// From this version on a request for a buffer may be answered with none (before, it crashed).
inline constexpr std::uint32_t kVersionNullBuffers = 27;

// --- Records: prefixes, as they lie in the buffers -----------------------------------------------

struct KernelRecord {
  ActivityKind kind;
  std::uint8_t cache_config, shared_config;
  std::uint16_t registers;
  std::uint32_t unused_carveout[2];
  std::uint64_t start, end, completed;
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3];
  std::int32_t static_shared, dynamic_shared;
  std::uint32_t local_per_thread, local_total;
  std::uint32_t correlation;
  std::int64_t grid_id;
  const char* name;
  std::uint8_t unused[32];
  std::uint64_t graph_node;  // from CUDA 11.0
  std::uint32_t shared_executed;
  std::uint32_t graph;  // from CUDA 11.1
};

struct MemcpyRecord {
  ActivityKind kind;
  std::uint8_t copy_kind, source_kind, target_kind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation;
  std::uint32_t runtime_correlation, pad;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};

struct MemcpyPeerRecord {
  ActivityKind kind;
  std::uint8_t copy_kind, source_kind, target_kind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream;
  std::uint32_t source_device, source_context, target_device, target_context;
  std::uint32_t correlation;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};

struct MemsetRecord {
  ActivityKind kind;
  std::uint32_t value;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation;
  std::uint16_t flags, memory_kind;
  std::uint32_t pad;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};

struct ApiRecord {  // of the driver and the runtime
  ActivityKind kind;
  std::uint32_t cbid;
  std::uint64_t start, end;
  std::uint32_t process, thread, correlation, result;
};

struct SynchronizationRecord {
  ActivityKind kind;
  std::uint32_t type;
  std::uint64_t start, end;
  std::uint32_t correlation, context, stream, event;  // stream, event: 2^32-1 for none
};

struct OverheadRecord {
  ActivityKind kind;
  std::uint32_t overhead_kind, object_kind;
  std::uint32_t process, thread, object_pad;  // of the object, when it is a thread
  std::uint64_t start, end;
};
inline constexpr std::uint32_t kObjectThread = 2;

struct MemoryRecord {
  ActivityKind kind;
  std::uint32_t operation, memory_kind, correlation;
  std::uint64_t address, bytes, time, pc;
  std::uint32_t process, device, context, stream;
};

struct GraphTraceRecord {
  ActivityKind kind;
  std::uint32_t correlation;
  std::uint64_t start, end;
  std::uint32_t device, graph, context, stream;
};

// --- Functions -----------------------------------------------------------------------------------

struct SubscriberParams {  // of cuptiSubscribe_v2
  std::size_t size;
  const char* name;
  char* holder;
  std::size_t holder_size;
};

using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                 std::size_t size, std::size_t valid);
// Never called: nobody subscribes but to learn who did.
using Callback = void (*)(void* data, std::uint32_t domain, std::uint32_t cbid, const void* info);

// Null: this libcupti does not have it. Those up to get_next_record always are there.
struct Cupti {
  CuptiResult (*activity_enable)(std::int32_t kind) = nullptr;
  CuptiResult (*activity_disable)(std::int32_t kind) = nullptr;
  CuptiResult (*register_callbacks)(BufferRequested, BufferCompleted) = nullptr;
  CuptiResult (*flush_all)(std::uint32_t flag) = nullptr;
  CuptiResult (*get_next_record)(std::uint8_t* buffer, std::size_t valid, void** record) = nullptr;
  CuptiResult (*dropped_records)(void* context, std::uint32_t stream, std::size_t* n) = nullptr;
  CuptiResult (*set_attribute)(std::int32_t, std::size_t* size, void* value) = nullptr;
  CuptiResult (*get_version)(std::uint32_t*) = nullptr;
  CuptiResult (*get_timestamp)(std::uint64_t*) = nullptr;
  CuptiResult (*set_thread_id_type)(std::int32_t) = nullptr;
  CuptiResult (*register_timestamp)(std::uint64_t (*)()) = nullptr;  // CUDA 11.6
  CuptiResult (*enable_runtime_api)(std::uint32_t cbid, std::uint8_t enable) = nullptr;
  CuptiResult (*enable_driver_api)(std::uint32_t cbid, std::uint8_t enable) = nullptr;
  CuptiResult (*callback_name)(std::uint32_t domain, std::uint32_t cbid, const char**) = nullptr;
  CuptiResult (*result_string)(CuptiResult, const char**) = nullptr;
  CuptiResult (*flush_period)(std::uint32_t milliseconds) = nullptr;
  CuptiResult (*all_sync_records)(std::uint8_t enable) = nullptr;
  CuptiResult (*hardware_trace)(std::uint8_t enable) = nullptr;  // Blackwell
  CuptiResult (*subscribe_v2)(void** subscriber, Callback, void* data, SubscriberParams*) = nullptr;
  CuptiResult (*unsubscribe)(void* subscriber) = nullptr;

  std::uint32_t version = 0;  // 0: unknown. 19 is CUDA 12.0, 130001 is 13.0
  char path[512] = "";        // where it was found, or why not: a clause for a person
};

// Finds libcupti and all its functions: the copy that the program has mapped, else one that lies
// where the program's CUDA does, else the system's. HONE_CUPTI names another. False: `cupti.path`
// says why not. Never unloaded. Call when CUDA starts; costs a dlopen (milliseconds) where the
// program had none.
bool LoadCupti(Cupti& cupti) noexcept;

// What the library calls this result: "CUPTI_ERROR_NOT_INITIALIZED".
const char* ResultName(const Cupti& cupti, CuptiResult result) noexcept;

}  // namespace hone::gpu
