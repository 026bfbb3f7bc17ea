// SPDX-License-Identifier: Apache-2.0
// Our declarations against the vendor's header, where it is installed; compiled is tested.
#if __has_include(<cupti.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cupti.h>

#include <cstddef>

#include "gpu/cupti.h"

namespace hone::gpu {
namespace {

#define SAME(ours, our_member, theirs, their_member)                            \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) && \
                sizeof(ours::our_member) == sizeof(theirs::their_member))

using Kernel = CUpti_ActivityKernel9;
SAME(KernelRecord, start, Kernel, start);
SAME(KernelRecord, end, Kernel, end);
SAME(KernelRecord, registers, Kernel, registersPerThread);
SAME(KernelRecord, device, Kernel, deviceId);
SAME(KernelRecord, context, Kernel, contextId);
SAME(KernelRecord, stream, Kernel, streamId);
static_assert(offsetof(KernelRecord, grid) == offsetof(Kernel, gridX));
static_assert(offsetof(KernelRecord, block) == offsetof(Kernel, blockX));
SAME(KernelRecord, static_shared, Kernel, staticSharedMemory);
SAME(KernelRecord, dynamic_shared, Kernel, dynamicSharedMemory);
SAME(KernelRecord, correlation, Kernel, correlationId);
SAME(KernelRecord, name, Kernel, name);
SAME(KernelRecord, graph_node, Kernel, graphNodeId);
SAME(KernelRecord, graph, Kernel, graphId);

using Memcpy = CUpti_ActivityMemcpy5;
SAME(MemcpyRecord, copy_kind, Memcpy, copyKind);
SAME(MemcpyRecord, source_kind, Memcpy, srcKind);
SAME(MemcpyRecord, target_kind, Memcpy, dstKind);
SAME(MemcpyRecord, bytes, Memcpy, bytes);
SAME(MemcpyRecord, start, Memcpy, start);
SAME(MemcpyRecord, end, Memcpy, end);
SAME(MemcpyRecord, device, Memcpy, deviceId);
SAME(MemcpyRecord, stream, Memcpy, streamId);
SAME(MemcpyRecord, correlation, Memcpy, correlationId);
SAME(MemcpyRecord, graph_node, Memcpy, graphNodeId);
SAME(MemcpyRecord, graph, Memcpy, graphId);

using Peer = CUpti_ActivityMemcpyPtoP4;
SAME(MemcpyPeerRecord, bytes, Peer, bytes);
SAME(MemcpyPeerRecord, start, Peer, start);
SAME(MemcpyPeerRecord, stream, Peer, streamId);
SAME(MemcpyPeerRecord, source_device, Peer, srcDeviceId);
SAME(MemcpyPeerRecord, target_device, Peer, dstDeviceId);
SAME(MemcpyPeerRecord, correlation, Peer, correlationId);
SAME(MemcpyPeerRecord, graph_node, Peer, graphNodeId);
SAME(MemcpyPeerRecord, graph, Peer, graphId);

using Memset = CUpti_ActivityMemset4;
SAME(MemsetRecord, bytes, Memset, bytes);
SAME(MemsetRecord, start, Memset, start);
SAME(MemsetRecord, end, Memset, end);
SAME(MemsetRecord, stream, Memset, streamId);
SAME(MemsetRecord, correlation, Memset, correlationId);
SAME(MemsetRecord, memory_kind, Memset, memoryKind);
SAME(MemsetRecord, graph_node, Memset, graphNodeId);
SAME(MemsetRecord, graph, Memset, graphId);

SAME(ApiRecord, cbid, CUpti_ActivityAPI, cbid);
SAME(ApiRecord, start, CUpti_ActivityAPI, start);
SAME(ApiRecord, end, CUpti_ActivityAPI, end);
SAME(ApiRecord, thread, CUpti_ActivityAPI, threadId);
SAME(ApiRecord, correlation, CUpti_ActivityAPI, correlationId);
SAME(ApiRecord, result, CUpti_ActivityAPI, returnValue);
static_assert(sizeof(ApiRecord) == sizeof(CUpti_ActivityAPI));

using Synchronization = CUpti_ActivitySynchronization;
SAME(SynchronizationRecord, type, Synchronization, type);
SAME(SynchronizationRecord, start, Synchronization, start);
SAME(SynchronizationRecord, end, Synchronization, end);
SAME(SynchronizationRecord, correlation, Synchronization, correlationId);
SAME(SynchronizationRecord, context, Synchronization, contextId);
SAME(SynchronizationRecord, stream, Synchronization, streamId);
SAME(SynchronizationRecord, event, Synchronization, cudaEventId);

using Overhead = CUpti_ActivityOverhead2;
SAME(OverheadRecord, overhead_kind, Overhead, overheadKind);
SAME(OverheadRecord, object_kind, Overhead, objectKind);
static_assert(offsetof(OverheadRecord, process) == offsetof(Overhead, objectId));
static_assert(offsetof(OverheadRecord, thread) ==
              offsetof(Overhead, objectId) + offsetof(CUpti_ActivityObjectKindId, pt.threadId));
SAME(OverheadRecord, start, Overhead, start);
SAME(OverheadRecord, end, Overhead, end);

using Memory = CUpti_ActivityMemory4;
SAME(MemoryRecord, operation, Memory, memoryOperationType);
SAME(MemoryRecord, memory_kind, Memory, memoryKind);
SAME(MemoryRecord, correlation, Memory, correlationId);
SAME(MemoryRecord, address, Memory, address);
SAME(MemoryRecord, bytes, Memory, bytes);
SAME(MemoryRecord, time, Memory, timestamp);
SAME(MemoryRecord, process, Memory, processId);
SAME(MemoryRecord, device, Memory, deviceId);

using GraphTrace = CUpti_ActivityGraphTrace2;
SAME(GraphTraceRecord, correlation, GraphTrace, correlationId);
SAME(GraphTraceRecord, start, GraphTrace, start);
SAME(GraphTraceRecord, end, GraphTrace, end);
SAME(GraphTraceRecord, device, GraphTrace, deviceId);
SAME(GraphTraceRecord, graph, GraphTrace, graphId);
SAME(GraphTraceRecord, stream, GraphTrace, streamId);
#undef SAME

#define EQUAL(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
EQUAL(ActivityKind::kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
EQUAL(ActivityKind::kMemset, CUPTI_ACTIVITY_KIND_MEMSET);
EQUAL(ActivityKind::kDriver, CUPTI_ACTIVITY_KIND_DRIVER);
EQUAL(ActivityKind::kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME);
EQUAL(ActivityKind::kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
EQUAL(ActivityKind::kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD);
EQUAL(ActivityKind::kMemcpyPeer, CUPTI_ACTIVITY_KIND_MEMCPY2);
EQUAL(ActivityKind::kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
EQUAL(ActivityKind::kInternalLaunch, CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API);
EQUAL(ActivityKind::kMemory2, CUPTI_ACTIVITY_KIND_MEMORY2);
EQUAL(ActivityKind::kGraphTrace, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
EQUAL(ActivityAttribute::kDeviceBufferSize, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
EQUAL(ActivityAttribute::kDeviceBufferPoolLimit, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
EQUAL(ActivityAttribute::kZeroedBuffers, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
EQUAL(ActivityAttribute::kDeviceBufferPreAllocate,
      CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
EQUAL(ActivityAttribute::kHostPinned, CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED);
EQUAL(ActivityAttribute::kPerThreadBuffers, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
EQUAL(kDriverDomain, CUPTI_CB_DOMAIN_DRIVER_API);
EQUAL(kRuntimeDomain, CUPTI_CB_DOMAIN_RUNTIME_API);
EQUAL(kFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
EQUAL(kThreadIdSystem, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
EQUAL(kMemoryAllocated, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
EQUAL(kMemoryReleased, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
EQUAL(kObjectThread, CUPTI_ACTIVITY_OBJECT_THREAD);
EQUAL(kCuptiNotInitialized, CUPTI_ERROR_NOT_INITIALIZED);
EQUAL(kCuptiMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
EQUAL(kCuptiInvalidKind, CUPTI_ERROR_INVALID_KIND);
EQUAL(kCuptiMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
EQUAL(kCuptiUnknown, CUPTI_ERROR_UNKNOWN);
#undef EQUAL

#if CUPTI_API_VERSION >= 130000
static_assert(sizeof(SubscriberParams) == sizeof(CUpti_SubscriberParams));
static_assert(offsetof(SubscriberParams, name) == offsetof(CUpti_SubscriberParams, subscriberName));
static_assert(offsetof(SubscriberParams, holder) ==
              offsetof(CUpti_SubscriberParams, oldSubscriberName));
static_assert(offsetof(SubscriberParams, holder_size) ==
              offsetof(CUpti_SubscriberParams, oldSubscriberSize));
#endif

}  // namespace
}  // namespace hone::gpu
#endif
