/* SPDX-License-Identifier: MIT */
/*
 * Compares cupti_trace/core/cupti_abi.h with NVIDIA's headers, if they are installed.
 *
 * Values, sizes, offsets and signatures are compared while compiling: with a CUDA Toolkit (-isystem
 * its include folder) a mistake does not build. Without one the test is skipped. This file is also
 * compiled, not run, with the headers of each other version that scripts/get_cupti has fetched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../cupti_trace/core/cupti_abi.h"

#if defined(__has_include) && __has_include(<cupti.h>) && __has_include(<cuda.h>)
#include <cupti.h>
#include <cupti_pcsampling.h>
#define HAVE_CUPTI 1
/* the stand-ins' records of this version */
#define FAKE_CUPTI_VERSION CUPTI_API_VERSION
#include "../fake_cuda/layouts.h"
#endif

#ifdef HAVE_CUPTI

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)

/* CUptiResult */
SAME(CUPTI_ABI_SUCCESS, CUPTI_SUCCESS);
SAME(CUPTI_ABI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME(CUPTI_ABI_ERROR_INVALID_DEVICE, CUPTI_ERROR_INVALID_DEVICE);
SAME(CUPTI_ABI_ERROR_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
SAME(CUPTI_ABI_ERROR_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
SAME(CUPTI_ABI_ERROR_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME(CUPTI_ABI_ERROR_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(CUPTI_ABI_ERROR_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME(CUPTI_ABI_ERROR_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
SAME(CUPTI_ABI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
     CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME(CUPTI_ABI_ERROR_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(CUPTI_ABI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
     CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(CUPTI_ABI_ERROR_UNKNOWN, CUPTI_ERROR_UNKNOWN);

/* Kinds, flags, attributes, domains, sites */
SAME(CUPTI_ABI_ACTIVITY_KIND_INVALID, CUPTI_ACTIVITY_KIND_INVALID);
SAME(CUPTI_ABI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME(CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(CUPTI_ABI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
SAME(CUPTI_ABI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
SAME(CUPTI_ABI_COMPUTE_API_CUDA, CUPTI_ACTIVITY_COMPUTE_API_CUDA);
SAME(CUPTI_ABI_COMPUTE_API_CUDA_MPS, CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS);
SAME(CUPTI_ABI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(CUPTI_ABI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(CUPTI_ABI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(CUPTI_ABI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
SAME(CUPTI_ABI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2);
SAME(CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
SAME(CUPTI_ABI_POOL_LOCAL, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
SAME(CUPTI_ABI_POOL_CREATED, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
SAME(CUPTI_ABI_POOL_DESTROYED, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
SAME(CUPTI_ABI_POOL_TRIMMED, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
SAME(CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
#define COPY(name) SAME(CUPTI_ABI_MEMCPY_##name, CUPTI_ACTIVITY_MEMCPY_KIND_##name)
COPY(HTOD);
COPY(DTOH);
COPY(HTOA);
COPY(ATOH);
COPY(ATOA);
COPY(ATOD);
COPY(DTOA);
COPY(DTOD);
COPY(HTOH);
COPY(PTOP);
#define MEMORY(name) SAME(CUPTI_ABI_MEMORY_##name, CUPTI_ACTIVITY_MEMORY_KIND_##name)
MEMORY(PAGEABLE);
MEMORY(PINNED);
MEMORY(DEVICE);
MEMORY(ARRAY);
MEMORY(MANAGED);
MEMORY(DEVICE_STATIC);
MEMORY(MANAGED_STATIC);
SAME(CUPTI_ABI_MEMORY_ALLOCATION, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
SAME(CUPTI_ABI_MEMORY_RELEASE, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
#define UVM(ours, theirs) SAME(CUPTI_ABI_UVM_##ours, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_##theirs)
UVM(BYTES_HTOD, KIND_BYTES_TRANSFER_HTOD);
UVM(BYTES_DTOH, KIND_BYTES_TRANSFER_DTOH);
UVM(CPU_PAGE_FAULTS, KIND_CPU_PAGE_FAULT_COUNT);
UVM(GPU_PAGE_FAULTS, KIND_GPU_PAGE_FAULT);
UVM(THRASHING, KIND_THRASHING);
UVM(THROTTLING, KIND_THROTTLING);
UVM(REMOTE_MAP, KIND_REMOTE_MAP);
UVM(BYTES_DTOD, KIND_BYTES_TRANSFER_DTOD);
UVM(SCOPE_PROCESS_SINGLE_DEVICE, SCOPE_PROCESS_SINGLE_DEVICE);
SAME(CUPTI_ABI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(CUPTI_ABI_ATTR_DEVICE_BUFFER_SIZE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
SAME(CUPTI_ABI_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CUPTI_ABI_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME(CUPTI_ABI_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME(CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME(CUPTI_ABI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME(CUPTI_ABI_RESOURCE_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
SAME(CUPTI_ABI_RESOURCE_GRAPH_CREATED, CUPTI_CBID_RESOURCE_GRAPH_CREATED);
SAME(CUPTI_ABI_RESOURCE_GRAPH_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING);
SAME(CUPTI_ABI_RESOURCE_GRAPHNODE_CREATE_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING);
SAME(CUPTI_ABI_RESOURCE_GRAPHEXEC_CREATE_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING);
SAME(CUPTI_ABI_RESOURCE_GRAPHEXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
SAME(CUPTI_ABI_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME(CUPTI_ABI_RESOURCE_GRAPHNODE_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING);
SAME(CUPTI_ABI_RESOURCE_GRAPHEXEC_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
SAME(CUPTI_ABI_RESOURCE_GRAPHNODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
SAME(CUPTI_ABI_API_ENTER, CUPTI_API_ENTER);
SAME(CUPTI_ABI_API_EXIT, CUPTI_API_EXIT);

SAME(CUPTI_ABI_RT_cudaDeviceReset, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020);

/* A field of ours lies where theirs does and is as large. */
#define FIELD(type, ours, their_type, theirs)                            \
	SAME(offsetof(struct type, ours), offsetof(their_type, theirs)); \
	SAME(sizeof(((struct type *)0)->ours), sizeof(((their_type *)0)->theirs))

SAME(sizeof(struct cupti_abi_activity), sizeof(CUpti_Activity));
SAME(_Alignof(struct cupti_abi_activity), _Alignof(CUpti_Activity));
FIELD(cupti_abi_activity, kind, CUpti_Activity, kind);

/* The kernel record: against the newest, which starts with all older ones from 8 on. */
#define KERNEL_FIELDS_OF(X, record)                                             \
	X(kind, record, kind)                                                   \
	X(cache_config, record, cacheConfig)                                    \
	X(shared_memory_config, record, sharedMemoryConfig)                     \
	X(registers_per_thread, record, registersPerThread)                     \
	X(partitioned_cache_requested, record, partitionedGlobalCacheRequested) \
	X(partitioned_cache_executed, record, partitionedGlobalCacheExecuted)   \
	X(start, record, start)                                                 \
	X(end, record, end)                                                     \
	X(completed, record, completed)                                         \
	X(device_id, record, deviceId)                                          \
	X(context_id, record, contextId)                                        \
	X(stream_id, record, streamId)                                          \
	X(grid_x, record, gridX)                                                \
	X(grid_y, record, gridY)                                                \
	X(grid_z, record, gridZ)                                                \
	X(block_x, record, blockX)                                              \
	X(block_y, record, blockY)                                              \
	X(block_z, record, blockZ)                                              \
	X(static_shared_memory, record, staticSharedMemory)                     \
	X(dynamic_shared_memory, record, dynamicSharedMemory)                   \
	X(local_memory_per_thread, record, localMemoryPerThread)                \
	X(local_memory_total, record, localMemoryTotal)                         \
	X(correlation_id, record, correlationId)                                \
	X(grid_id, record, gridId)                                              \
	X(name, record, name)                                                   \
	X(reserved0, record, reserved0)                                         \
	X(queued, record, queued)                                               \
	X(submitted, record, submitted)                                         \
	X(launch_type, record, launchType)                                      \
	X(carveout_requested, record, isSharedMemoryCarveoutRequested)          \
	X(carveout, record, sharedMemoryCarveoutRequested)                      \
	X(padding, record, padding)                                             \
	X(shared_memory_executed, record, sharedMemoryExecuted)                 \
	X(graph_node_id, record, graphNodeId)                                   \
	X(shmem_limit_config, record, shmemLimitConfig)                         \
	X(graph_id, record, graphId)
#define KERNEL_FIELD(ours, record, theirs) FIELD(cupti_abi_kernel, ours, record, theirs);
#define KERNEL_PREFIX(record)                                                          \
	KERNEL_FIELDS_OF(KERNEL_FIELD, record)                                         \
	_Static_assert(sizeof(struct cupti_abi_kernel) <= sizeof(record), "a prefix"); \
	SAME(_Alignof(struct cupti_abi_kernel), _Alignof(record))

#if CUPTI_API_VERSION >= 21
#include <cupti_activity_deprecated.h>
#endif

/* Checks that this version's records are as large as those of its stand-in. */
#if CUPTI_API_VERSION <= 130001
#define WRITTEN(stand_in, record) SAME(sizeof(stand_in), sizeof(record))
#else
#define WRITTEN(stand_in, record) \
	_Static_assert(sizeof(stand_in) > sizeof(record), "the future's are larger")
#endif

/* CUDA 13 writes record 10, CUDA 12 record 9, CUDA 11.8 record 8. */
KERNEL_PREFIX(CUpti_ActivityKernel8);
#if CUPTI_API_VERSION >= 130000
KERNEL_PREFIX(CUpti_ActivityKernel9);
KERNEL_PREFIX(CUpti_ActivityKernel10);
WRITTEN(struct kernel_record, CUpti_ActivityKernel10);
#elif CUPTI_API_VERSION >= 19
KERNEL_PREFIX(CUpti_ActivityKernel9);
WRITTEN(struct kernel_record, CUpti_ActivityKernel9);
#else
WRITTEN(struct kernel_record, CUpti_ActivityKernel8);
#endif

/* The other records: ours is a prefix of each version that a supported CUPTI writes. */
#define PREFIX(type, record)                                                           \
	_Static_assert(sizeof(struct type) <= sizeof(record), "a prefix of " #record); \
	SAME(_Alignof(struct type), _Alignof(record))
#define MEMCPY_FIELDS(record)                                                          \
	FIELD(cupti_abi_memcpy, copy_kind, record, copyKind);                          \
	FIELD(cupti_abi_memcpy, source_kind, record, srcKind);                         \
	FIELD(cupti_abi_memcpy, destination_kind, record, dstKind);                    \
	FIELD(cupti_abi_memcpy, flags, record, flags);                                 \
	FIELD(cupti_abi_memcpy, bytes, record, bytes);                                 \
	FIELD(cupti_abi_memcpy, start, record, start);                                 \
	FIELD(cupti_abi_memcpy, end, record, end);                                     \
	FIELD(cupti_abi_memcpy, device_id, record, deviceId);                          \
	FIELD(cupti_abi_memcpy, context_id, record, contextId);                        \
	FIELD(cupti_abi_memcpy, stream_id, record, streamId);                          \
	FIELD(cupti_abi_memcpy, correlation_id, record, correlationId);                \
	FIELD(cupti_abi_memcpy, runtime_correlation_id, record, runtimeCorrelationId); \
	FIELD(cupti_abi_memcpy, graph_node_id, record, graphNodeId);                   \
	FIELD(cupti_abi_memcpy, graph_id, record, graphId);                            \
	PREFIX(cupti_abi_memcpy, record)
#define PEER_FIELDS(record)                                                         \
	FIELD(cupti_abi_memcpy_peer, copy_kind, record, copyKind);                  \
	FIELD(cupti_abi_memcpy_peer, source_kind, record, srcKind);                 \
	FIELD(cupti_abi_memcpy_peer, destination_kind, record, dstKind);            \
	FIELD(cupti_abi_memcpy_peer, bytes, record, bytes);                         \
	FIELD(cupti_abi_memcpy_peer, start, record, start);                         \
	FIELD(cupti_abi_memcpy_peer, end, record, end);                             \
	FIELD(cupti_abi_memcpy_peer, device_id, record, deviceId);                  \
	FIELD(cupti_abi_memcpy_peer, context_id, record, contextId);                \
	FIELD(cupti_abi_memcpy_peer, stream_id, record, streamId);                  \
	FIELD(cupti_abi_memcpy_peer, source_device_id, record, srcDeviceId);        \
	FIELD(cupti_abi_memcpy_peer, source_context_id, record, srcContextId);      \
	FIELD(cupti_abi_memcpy_peer, destination_device_id, record, dstDeviceId);   \
	FIELD(cupti_abi_memcpy_peer, destination_context_id, record, dstContextId); \
	FIELD(cupti_abi_memcpy_peer, correlation_id, record, correlationId);        \
	FIELD(cupti_abi_memcpy_peer, graph_node_id, record, graphNodeId);           \
	FIELD(cupti_abi_memcpy_peer, graph_id, record, graphId);                    \
	PREFIX(cupti_abi_memcpy_peer, record)
#define MEMSET_FIELDS(record)                                           \
	FIELD(cupti_abi_memset, value, record, value);                  \
	FIELD(cupti_abi_memset, bytes, record, bytes);                  \
	FIELD(cupti_abi_memset, start, record, start);                  \
	FIELD(cupti_abi_memset, end, record, end);                      \
	FIELD(cupti_abi_memset, device_id, record, deviceId);           \
	FIELD(cupti_abi_memset, context_id, record, contextId);         \
	FIELD(cupti_abi_memset, stream_id, record, streamId);           \
	FIELD(cupti_abi_memset, correlation_id, record, correlationId); \
	FIELD(cupti_abi_memset, memory_kind, record, memoryKind);       \
	FIELD(cupti_abi_memset, graph_node_id, record, graphNodeId);    \
	FIELD(cupti_abi_memset, graph_id, record, graphId);             \
	PREFIX(cupti_abi_memset, record)
#define MEMORY_FIELDS(record)                                                        \
	FIELD(cupti_abi_memory, operation, record, memoryOperationType);             \
	FIELD(cupti_abi_memory, memory_kind, record, memoryKind);                    \
	FIELD(cupti_abi_memory, correlation_id, record, correlationId);              \
	FIELD(cupti_abi_memory, address, record, address);                           \
	FIELD(cupti_abi_memory, bytes, record, bytes);                               \
	FIELD(cupti_abi_memory, timestamp, record, timestamp);                       \
	FIELD(cupti_abi_memory, process_id, record, processId);                      \
	FIELD(cupti_abi_memory, device_id, record, deviceId);                        \
	FIELD(cupti_abi_memory, context_id, record, contextId);                      \
	FIELD(cupti_abi_memory, stream_id, record, streamId);                        \
	FIELD(cupti_abi_memory, is_async, record, isAsync);                          \
	FIELD(cupti_abi_memory, pool_type, record, memoryPoolConfig.memoryPoolType); \
	FIELD(cupti_abi_memory, pool_address, record, memoryPoolConfig.address);     \
	FIELD(cupti_abi_memory, pool_release_threshold, record,                      \
	      memoryPoolConfig.releaseThreshold);                                    \
	FIELD(cupti_abi_memory, pool_size, record, memoryPoolConfig.pool.size);      \
	FIELD(cupti_abi_memory, pool_used, record, memoryPoolConfig.utilizedSize);   \
	PREFIX(cupti_abi_memory, record)
#define POOL_FIELDS(record)                                                        \
	FIELD(cupti_abi_memory_pool, operation, record, memoryPoolOperationType);  \
	FIELD(cupti_abi_memory_pool, type, record, memoryPoolType);                \
	FIELD(cupti_abi_memory_pool, correlation_id, record, correlationId);       \
	FIELD(cupti_abi_memory_pool, process_id, record, processId);               \
	FIELD(cupti_abi_memory_pool, device_id, record, deviceId);                 \
	FIELD(cupti_abi_memory_pool, min_bytes_to_keep, record, minBytesToKeep);   \
	FIELD(cupti_abi_memory_pool, address, record, address);                    \
	FIELD(cupti_abi_memory_pool, size, record, size);                          \
	FIELD(cupti_abi_memory_pool, release_threshold, record, releaseThreshold); \
	FIELD(cupti_abi_memory_pool, timestamp, record, timestamp);                \
	FIELD(cupti_abi_memory_pool, used, record, utilizedSize);                  \
	PREFIX(cupti_abi_memory_pool, record)
#define UVM_FIELDS(record)                                       \
	FIELD(cupti_abi_uvm, counter_kind, record, counterKind); \
	FIELD(cupti_abi_uvm, value, record, value);              \
	FIELD(cupti_abi_uvm, start, record, start);              \
	FIELD(cupti_abi_uvm, end, record, end);                  \
	FIELD(cupti_abi_uvm, address, record, address);          \
	FIELD(cupti_abi_uvm, source_id, record, srcId);          \
	FIELD(cupti_abi_uvm, destination_id, record, dstId);     \
	FIELD(cupti_abi_uvm, stream_id, record, streamId);       \
	FIELD(cupti_abi_uvm, process_id, record, processId);     \
	FIELD(cupti_abi_uvm, flags, record, flags);              \
	PREFIX(cupti_abi_uvm, record)
#define GRAPH_FIELDS(record)                                                 \
	FIELD(cupti_abi_graph_trace, correlation_id, record, correlationId); \
	FIELD(cupti_abi_graph_trace, start, record, start);                  \
	FIELD(cupti_abi_graph_trace, end, record, end);                      \
	FIELD(cupti_abi_graph_trace, device_id, record, deviceId);           \
	FIELD(cupti_abi_graph_trace, graph_id, record, graphId);             \
	FIELD(cupti_abi_graph_trace, context_id, record, contextId);         \
	FIELD(cupti_abi_graph_trace, stream_id, record, streamId);           \
	PREFIX(cupti_abi_graph_trace, record)
#define DEVICE_FIELDS(record)                                                                 \
	FIELD(cupti_abi_device, flags, record, flags);                                        \
	FIELD(cupti_abi_device, memory_bandwidth, record, globalMemoryBandwidth);             \
	FIELD(cupti_abi_device, memory_size, record, globalMemorySize);                       \
	FIELD(cupti_abi_device, constant_memory_size, record, constantMemorySize);            \
	FIELD(cupti_abi_device, l2_cache_size, record, l2CacheSize);                          \
	FIELD(cupti_abi_device, threads_per_warp, record, numThreadsPerWarp);                 \
	FIELD(cupti_abi_device, core_clock_rate, record, coreClockRate);                      \
	FIELD(cupti_abi_device, memcpy_engines, record, numMemcpyEngines);                    \
	FIELD(cupti_abi_device, multiprocessors, record, numMultiprocessors);                 \
	FIELD(cupti_abi_device, max_ipc, record, maxIPC);                                     \
	FIELD(cupti_abi_device, max_warps, record, maxWarpsPerMultiprocessor);                \
	FIELD(cupti_abi_device, max_blocks, record, maxBlocksPerMultiprocessor);              \
	FIELD(cupti_abi_device, max_shared_memory, record, maxSharedMemoryPerMultiprocessor); \
	FIELD(cupti_abi_device, max_registers, record, maxRegistersPerMultiprocessor);        \
	FIELD(cupti_abi_device, max_block_registers, record, maxRegistersPerBlock);           \
	FIELD(cupti_abi_device, max_block_shared_memory, record, maxSharedMemoryPerBlock);    \
	FIELD(cupti_abi_device, max_block_threads, record, maxThreadsPerBlock);               \
	FIELD(cupti_abi_device, max_block_x, record, maxBlockDimX);                           \
	FIELD(cupti_abi_device, max_block_y, record, maxBlockDimY);                           \
	FIELD(cupti_abi_device, max_block_z, record, maxBlockDimZ);                           \
	FIELD(cupti_abi_device, max_grid_x, record, maxGridDimX);                             \
	FIELD(cupti_abi_device, max_grid_y, record, maxGridDimY);                             \
	FIELD(cupti_abi_device, max_grid_z, record, maxGridDimZ);                             \
	FIELD(cupti_abi_device, compute_capability_major, record, computeCapabilityMajor);    \
	FIELD(cupti_abi_device, compute_capability_minor, record, computeCapabilityMinor);    \
	FIELD(cupti_abi_device, id, record, id);                                              \
	FIELD(cupti_abi_device, ecc_enabled, record, eccEnabled);                             \
	FIELD(cupti_abi_device, uuid, record, uuid);                                          \
	FIELD(cupti_abi_device, name, record, name);                                          \
	FIELD(cupti_abi_device, is_cuda_visible, record, isCudaVisible);                      \
	FIELD(cupti_abi_device, is_mig_enabled, record, isMigEnabled);                        \
	FIELD(cupti_abi_device, gpu_instance_id, record, gpuInstanceId);                      \
	FIELD(cupti_abi_device, compute_instance_id, record, computeInstanceId);              \
	FIELD(cupti_abi_device, mig_uuid, record, migUuid);                                   \
	PREFIX(cupti_abi_device, record)
#define CONTEXT_FIELDS(record)                                          \
	FIELD(cupti_abi_context, context_id, record, contextId);        \
	FIELD(cupti_abi_context, device_id, record, deviceId);          \
	FIELD(cupti_abi_context, compute_api, record, computeApiKind);  \
	FIELD(cupti_abi_context, null_stream_id, record, nullStreamId); \
	PREFIX(cupti_abi_context, record)
MEMCPY_FIELDS(CUpti_ActivityMemcpy5);
PEER_FIELDS(CUpti_ActivityMemcpyPtoP4);
MEMSET_FIELDS(CUpti_ActivityMemset4);
POOL_FIELDS(CUpti_ActivityMemoryPool2);
MEMORY_FIELDS(CUpti_ActivityMemory3);
UVM_FIELDS(CUpti_ActivityUnifiedMemoryCounter2);
GRAPH_FIELDS(CUpti_ActivityGraphTrace);
DEVICE_FIELDS(CUpti_ActivityDevice4);
CONTEXT_FIELDS(CUpti_ActivityContext);
WRITTEN(union peer_record, CUpti_ActivityMemcpyPtoP4);
WRITTEN(union memset_record, CUpti_ActivityMemset4);
#if CUPTI_API_VERSION >= 26
MEMCPY_FIELDS(CUpti_ActivityMemcpy6);
UVM_FIELDS(CUpti_ActivityUnifiedMemoryCounter3);
WRITTEN(union memcpy_record, CUpti_ActivityMemcpy6);
#else
WRITTEN(union memcpy_record, CUpti_ActivityMemcpy5);
#endif
#if CUPTI_API_VERSION >= 26
SAME(CUPTI_ABI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE);
SAME(CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS, CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS);
#define DEVICE_GRAPH(ours, theirs) \
	FIELD(cupti_abi_device_graph_trace, ours, CUpti_ActivityDeviceGraphTrace, theirs)
DEVICE_GRAPH(device_id, deviceId);
DEVICE_GRAPH(start, start);
DEVICE_GRAPH(end, end);
DEVICE_GRAPH(graph_id, graphId);
DEVICE_GRAPH(launcher_graph_id, launcherGraphId);
DEVICE_GRAPH(launch_mode, deviceLaunchMode);
DEVICE_GRAPH(context_id, contextId);
DEVICE_GRAPH(stream_id, streamId);
PREFIX(cupti_abi_device_graph_trace, CUpti_ActivityDeviceGraphTrace);
#define DECOMPRESS(ours, theirs) \
	FIELD(cupti_abi_decompress, ours, CUpti_ActivityMemDecompress, theirs)
DECOMPRESS(device_id, deviceId);
DECOMPRESS(context_id, contextId);
DECOMPRESS(stream_id, streamId);
DECOMPRESS(channel_id, channelID);
DECOMPRESS(channel_type, channelType);
DECOMPRESS(correlation_id, correlationId);
DECOMPRESS(operations, numberOfOperations);
DECOMPRESS(source_bytes, sourceBytes);
DECOMPRESS(start, start);
DECOMPRESS(end, end);
PREFIX(cupti_abi_decompress, CUpti_ActivityMemDecompress);
WRITTEN(struct decompress_record, CUpti_ActivityMemDecompress);
#endif
#if CUPTI_API_VERSION >= 130000
POOL_FIELDS(CUpti_ActivityMemoryPool3);
WRITTEN(struct pool_record, CUpti_ActivityMemoryPool3);
#else
WRITTEN(struct pool_record, CUpti_ActivityMemoryPool2);
#endif
#if CUPTI_API_VERSION >= 24
MEMORY_FIELDS(CUpti_ActivityMemory4);
WRITTEN(struct memory_record, CUpti_ActivityMemory4);
#else
WRITTEN(struct memory_record, CUpti_ActivityMemory3);
#endif
#if CUPTI_API_VERSION >= 21
GRAPH_FIELDS(CUpti_ActivityGraphTrace2);
WRITTEN(struct graph_record, CUpti_ActivityGraphTrace2);
#else
WRITTEN(struct graph_record, CUpti_ActivityGraphTrace);
#endif
#if CUPTI_API_VERSION >= 22
DEVICE_FIELDS(CUpti_ActivityDevice5);
CONTEXT_FIELDS(CUpti_ActivityContext2);
WRITTEN(struct device_record, CUpti_ActivityDevice5);
#else
WRITTEN(struct device_record, CUpti_ActivityDevice4);
WRITTEN(union context_record, CUpti_ActivityContext);
#endif
#if CUPTI_API_VERSION >= 23
CONTEXT_FIELDS(CUpti_ActivityContext3);
WRITTEN(union context_record, CUpti_ActivityContext3);
#elif CUPTI_API_VERSION >= 22
WRITTEN(union context_record, CUpti_ActivityContext2);
#endif
#define CONFIG(ours, theirs) \
	FIELD(cupti_abi_uvm_config, ours, CUpti_ActivityUnifiedMemoryCounterConfig, theirs)
CONFIG(scope, scope);
CONFIG(kind, kind);
CONFIG(device_id, deviceId);
CONFIG(enable, enable);
SAME(sizeof(struct cupti_abi_uvm_config), sizeof(CUpti_ActivityUnifiedMemoryCounterConfig));
#define MODULE(ours, theirs) FIELD(cupti_abi_module_data, ours, CUpti_ModuleResourceData, theirs)
MODULE(module_id, moduleId);
MODULE(cubin_size, cubinSize);
MODULE(cubin, pCubin);
SAME(sizeof(struct cupti_abi_module_data), sizeof(CUpti_ModuleResourceData));
#define GRAPH(ours, theirs) FIELD(cupti_abi_graph_data, ours, CUpti_GraphData, theirs)
GRAPH(graph, graph);
GRAPH(original_graph, originalGraph);
GRAPH(node, node);
GRAPH(original_node, originalNode);
GRAPH(node_type, nodeType);
GRAPH(dependency, dependency);
GRAPH(graph_exec, graphExec);
SAME(sizeof(struct cupti_abi_graph_data), sizeof(CUpti_GraphData));

SAME(CUPTI_ABI_NODE_CONDITIONAL, CU_GRAPH_NODE_TYPE_CONDITIONAL);

#if CUPTI_API_VERSION >= 130000
#define PARAMS(ours, theirs) \
	FIELD(cupti_abi_subscriber_params, ours, CUpti_SubscriberParams, theirs)
PARAMS(struct_size, structSize);
PARAMS(subscriber_name, subscriberName);
PARAMS(old_subscriber_name, oldSubscriberName);
PARAMS(old_subscriber_size, oldSubscriberSize);
SAME(sizeof(struct cupti_abi_subscriber_params), sizeof(CUpti_SubscriberParams));
_Static_assert(CUPTI_ABI_OLD_SUBSCRIBER_NAME_SIZE > CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN,
	       "room for it");
#endif
#define DATA(ours, theirs) FIELD(cupti_abi_callback_data, ours, CUpti_CallbackData, theirs)
DATA(callback_site, callbackSite);
DATA(function_name, functionName);
DATA(function_params, functionParams);
DATA(function_return_value, functionReturnValue);
DATA(symbol_name, symbolName);
DATA(context, context);
DATA(context_uid, contextUid);
DATA(correlation_data, correlationData);
DATA(correlation_id, correlationId);
SAME(sizeof(struct cupti_abi_callback_data), sizeof(CUpti_CallbackData));

#define RESOURCE(ours, theirs) FIELD(cupti_abi_resource_data, ours, CUpti_ResourceData, theirs)
RESOURCE(context, context);
RESOURCE(stream, resourceHandle.stream);
RESOURCE(descriptor, resourceDescriptor);
SAME(sizeof(struct cupti_abi_resource_data), sizeof(CUpti_ResourceData));

/* PC sampling. */
SAME(CUPTI_ABI_PC_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
SAME(CUPTI_ABI_PC_KERNEL_SERIALIZED, CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED);
SAME(CUPTI_ABI_PC_PARSED, CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED);
#define PC_ATTR(ours, theirs) \
	SAME(CUPTI_ABI_PC_ATTR_##ours, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##theirs)
PC_ATTR(PERIOD, SAMPLING_PERIOD);
PC_ATTR(STALL_REASONS, STALL_REASON);
PC_ATTR(SCRATCH_BYTES, SCRATCH_BUFFER_SIZE);
PC_ATTR(HARDWARE_BYTES, HARDWARE_BUFFER_SIZE);
PC_ATTR(COLLECTION_MODE, COLLECTION_MODE);
PC_ATTR(OUTPUT_FORMAT, OUTPUT_DATA_FORMAT);
PC_ATTR(SAMPLING_BUFFER, SAMPLING_DATA_BUFFER);
#define PC_STALL(ours, theirs) FIELD(cupti_abi_pc_stall, ours, CUpti_PCSamplingStallReason, theirs)
PC_STALL(reason, pcSamplingStallReasonIndex);
PC_STALL(samples, samples);
SAME(sizeof(struct cupti_abi_pc_stall), sizeof(CUpti_PCSamplingStallReason));
#define PC_RECORD(ours, theirs) FIELD(cupti_abi_pc_record, ours, CUpti_PCSamplingPCData, theirs)
PC_RECORD(size, size);
PC_RECORD(cubin_crc, cubinCrc);
PC_RECORD(pc_offset, pcOffset);
PC_RECORD(function_index, functionIndex);
PC_RECORD(pad, pad);
PC_RECORD(function_name, functionName);
PC_RECORD(stall_count, stallReasonCount);
PC_RECORD(stalls, stallReason);
#if CUPTI_API_VERSION >= CUPTI_ABI_SAMPLES_PCS
PC_RECORD(correlation_id, correlationId);
SAME(sizeof(struct cupti_abi_pc_record), sizeof(CUpti_PCSamplingPCData));
#endif
#define PC_DATA(ours, theirs) FIELD(cupti_abi_pc_data, ours, CUpti_PCSamplingData, theirs)
PC_DATA(size, size);
PC_DATA(capacity, collectNumPcs);
PC_DATA(total_samples, totalSamples);
PC_DATA(dropped_samples, droppedSamples);
PC_DATA(count, totalNumPcs);
PC_DATA(remaining, remainingNumPcs);
PC_DATA(range_id, rangeId);
PC_DATA(records, pPcData);
PC_DATA(other_samples, nonUsrKernelsTotalSamples);
#if CUPTI_API_VERSION >= CUPTI_ABI_SAMPLES_PCS
PC_DATA(hardware_buffer_full, hardwareBufferFull);
SAME(sizeof(struct cupti_abi_pc_data), sizeof(CUpti_PCSamplingData));
#endif
#define PC_INFO(ours, theirs) \
	FIELD(cupti_abi_pc_attribute, ours, CUpti_PCSamplingConfigurationInfo, theirs)
PC_INFO(type, attributeType);
PC_INFO(status, attributeStatus);
PC_INFO(data, attributeData.invalidData.data);
PC_INFO(number, attributeData.samplingPeriodData.samplingPeriod);
PC_INFO(number, attributeData.collectionModeData.collectionMode);
PC_INFO(number, attributeData.outputDataFormatData.outputDataFormat);
PC_INFO(bytes, attributeData.scratchBufferSizeData.scratchBufferSize);
PC_INFO(bytes, attributeData.hardwareBufferSizeData.hardwareBufferSize);
PC_INFO(reasons.count, attributeData.stallReasonData.stallReasonCount);
PC_INFO(reasons.indexes, attributeData.stallReasonData.pStallReasonIndex);
PC_INFO(buffer, attributeData.samplingDataBufferData.samplingDataBuffer);
SAME(sizeof(struct cupti_abi_pc_attribute), sizeof(CUpti_PCSamplingConfigurationInfo));
#define PC_SIZE(ours, last, theirs) SAME(CUPTI_ABI_SIZE_TO(ours, last), theirs)
PC_SIZE(cupti_abi_pc_configuration, attributes, CUpti_PCSamplingConfigurationInfoParamsSize);
PC_SIZE(cupti_abi_pc_context, context, CUpti_PCSamplingEnableParamsSize);
PC_SIZE(cupti_abi_pc_context, context, CUpti_PCSamplingDisableParamsSize);
PC_SIZE(cupti_abi_pc_fetch, data, CUpti_PCSamplingGetDataParamsSize);
PC_SIZE(cupti_abi_pc_reason_count, count, CUpti_PCSamplingGetNumStallReasonsParamsSize);
PC_SIZE(cupti_abi_pc_reasons, names, CUpti_PCSamplingGetStallReasonsParamsSize);
PC_SIZE(cupti_abi_cubin_crc, crc, CUpti_GetCubinCrcParamsSize);
SAME(CUPTI_ABI_PC_REASON_BYTES, CUPTI_STALL_REASON_STRING_SIZE);
FIELD(cupti_abi_pc_configuration, context, CUpti_PCSamplingConfigurationInfoParams, ctx);
FIELD(cupti_abi_pc_configuration, count, CUpti_PCSamplingConfigurationInfoParams, numAttributes);
FIELD(cupti_abi_pc_configuration, attributes, CUpti_PCSamplingConfigurationInfoParams,
      pPCSamplingConfigurationInfo);
FIELD(cupti_abi_pc_context, reserved, CUpti_PCSamplingEnableParams, pPriv);
FIELD(cupti_abi_pc_context, context, CUpti_PCSamplingEnableParams, ctx);
FIELD(cupti_abi_pc_context, context, CUpti_PCSamplingDisableParams, ctx);
FIELD(cupti_abi_pc_fetch, context, CUpti_PCSamplingGetDataParams, ctx);
FIELD(cupti_abi_pc_fetch, data, CUpti_PCSamplingGetDataParams, pcSamplingData);
FIELD(cupti_abi_pc_reason_count, context, CUpti_PCSamplingGetNumStallReasonsParams, ctx);
FIELD(cupti_abi_pc_reason_count, count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
FIELD(cupti_abi_pc_reasons, context, CUpti_PCSamplingGetStallReasonsParams, ctx);
FIELD(cupti_abi_pc_reasons, count, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
FIELD(cupti_abi_pc_reasons, indexes, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
FIELD(cupti_abi_pc_reasons, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
FIELD(cupti_abi_cubin_crc, cubin_size, CUpti_GetCubinCrcParams, cubinSize);
FIELD(cupti_abi_cubin_crc, cubin, CUpti_GetCubinCrcParams, cubin);
FIELD(cupti_abi_cubin_crc, crc, CUpti_GetCubinCrcParams, cubinCrc);

/*
 * Signatures. NVIDIA's enums are uint32_t here; its struct pointers are void pointers or structures
 * of another name. So types cannot be compared directly. The test compares the number of parameters
 * and the size of each. Integers, pointers and enums must match in kind.
 */
#define ENUM_SIZE(type) SAME(sizeof(type), sizeof(uint32_t))
ENUM_SIZE(CUptiResult);
ENUM_SIZE(CUpti_ActivityKind);
ENUM_SIZE(CUpti_ActivityAttribute);
ENUM_SIZE(CUpti_CallbackDomain);
ENUM_SIZE(CUpti_CallbackId);
SAME(sizeof(cupti_abi_subscriber), sizeof(CUpti_SubscriberHandle));

/* Their function is exactly of the type written here in their own names ... */
#define THEIRS(name, ...)                                                                    \
	_Static_assert(                                                                      \
		__builtin_types_compatible_p(__typeof__(&name), CUptiResult(*) __VA_ARGS__), \
		#name " in CUPTI's headers")
/* ... and the function here has that type, with enums as uint32_t and handles as void pointers. */
#define X(name, required, parameters) typedef int ours_##name parameters;
CUPTI_ABI_FUNCTIONS(X)
#undef X
#define OURS(name, ...)                                                                 \
	_Static_assert(__builtin_types_compatible_p(ours_##name *, int(*) __VA_ARGS__), \
		       #name " in cupti_abi.h");                                        \
	enum { checked_##name }

THEIRS(cuptiGetVersion, (uint32_t *));
OURS(cuptiGetVersion, (uint32_t *));
THEIRS(cuptiGetTimestamp, (uint64_t *));
OURS(cuptiGetTimestamp, (uint64_t *));
THEIRS(cuptiGetResultString, (CUptiResult, const char **));
OURS(cuptiGetResultString, (uint32_t, const char **));
#if CUPTI_API_VERSION >= 130000
THEIRS(cuptiSubscribe_v2,
       (CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *, CUpti_SubscriberParams *));
#endif
OURS(cuptiSubscribe_v2,
     (void **, cupti_abi_callback, void *, struct cupti_abi_subscriber_params *));
THEIRS(cuptiGetCallbackName, (CUpti_CallbackDomain, uint32_t, const char **));
OURS(cuptiGetCallbackName, (uint32_t, uint32_t, const char **));
THEIRS(cuptiSubscribe, (CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *));
OURS(cuptiSubscribe, (void **, cupti_abi_callback, void *));
THEIRS(cuptiUnsubscribe, (CUpti_SubscriberHandle));
OURS(cuptiUnsubscribe, (void *));
THEIRS(cuptiEnableCallback,
       (uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId));
OURS(cuptiEnableCallback, (uint32_t, void *, uint32_t, uint32_t));
THEIRS(cuptiActivityRegisterCallbacks,
       (CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc));
OURS(cuptiActivityRegisterCallbacks, (cupti_abi_buffer_requested, cupti_abi_buffer_completed));
THEIRS(cuptiActivityEnable, (CUpti_ActivityKind));
OURS(cuptiActivityEnable, (uint32_t));
THEIRS(cuptiActivityEnableAndDump, (CUpti_ActivityKind));
OURS(cuptiActivityEnableAndDump, (uint32_t));
THEIRS(cuptiActivityDisable, (CUpti_ActivityKind));
OURS(cuptiActivityDisable, (uint32_t));
THEIRS(cuptiActivityFlushAll, (uint32_t));
OURS(cuptiActivityFlushAll, (uint32_t));
THEIRS(cuptiActivityGetNextRecord, (uint8_t *, size_t, CUpti_Activity **));
OURS(cuptiActivityGetNextRecord, (uint8_t *, size_t, struct cupti_abi_activity **));
THEIRS(cuptiActivityGetNumDroppedRecords, (CUcontext, uint32_t, size_t *));
OURS(cuptiActivityGetNumDroppedRecords, (void *, uint32_t, size_t *));
THEIRS(cuptiActivitySetAttribute, (CUpti_ActivityAttribute, size_t *, void *));
OURS(cuptiActivitySetAttribute, (uint32_t, size_t *, void *));
THEIRS(cuptiGetGraphNodeId, (CUgraphNode, uint64_t *));
OURS(cuptiGetGraphNodeId, (void *, uint64_t *));
#if CUPTI_API_VERSION >= 21
THEIRS(cuptiActivityEnableDeviceGraph, (uint8_t));
#endif
OURS(cuptiActivityEnableDeviceGraph, (uint8_t));
THEIRS(cuptiGetGraphId, (CUgraph, uint32_t *));
OURS(cuptiGetGraphId, (void *, uint32_t *));
#if CUPTI_API_VERSION >= 21
THEIRS(cuptiGetGraphExecId, (CUgraphExec, uint32_t *));
#endif
OURS(cuptiGetGraphExecId, (void *, uint32_t *));
THEIRS(cuptiGetContextId, (CUcontext, uint32_t *));
OURS(cuptiGetContextId, (void *, uint32_t *));
THEIRS(cuptiGetDeviceId, (CUcontext, uint32_t *));
OURS(cuptiGetDeviceId, (void *, uint32_t *));
THEIRS(cuptiGetStreamIdEx, (CUcontext, CUstream, uint8_t, uint32_t *));
OURS(cuptiGetStreamIdEx, (void *, void *, uint8_t, uint32_t *));
THEIRS(cuptiActivityConfigureUnifiedMemoryCounter,
       (CUpti_ActivityUnifiedMemoryCounterConfig *, uint32_t));
OURS(cuptiActivityConfigureUnifiedMemoryCounter, (struct cupti_abi_uvm_config *, uint32_t));
THEIRS(cuptiPCSamplingEnable, (CUpti_PCSamplingEnableParams *));
OURS(cuptiPCSamplingEnable, (struct cupti_abi_pc_context *));
THEIRS(cuptiPCSamplingDisable, (CUpti_PCSamplingDisableParams *));
OURS(cuptiPCSamplingDisable, (struct cupti_abi_pc_context *));
THEIRS(cuptiPCSamplingSetConfigurationAttribute, (CUpti_PCSamplingConfigurationInfoParams *));
OURS(cuptiPCSamplingSetConfigurationAttribute, (struct cupti_abi_pc_configuration *));
THEIRS(cuptiPCSamplingGetNumStallReasons, (CUpti_PCSamplingGetNumStallReasonsParams *));
OURS(cuptiPCSamplingGetNumStallReasons, (struct cupti_abi_pc_reason_count *));
THEIRS(cuptiPCSamplingGetStallReasons, (CUpti_PCSamplingGetStallReasonsParams *));
OURS(cuptiPCSamplingGetStallReasons, (struct cupti_abi_pc_reasons *));
THEIRS(cuptiPCSamplingGetData, (CUpti_PCSamplingGetDataParams *));
OURS(cuptiPCSamplingGetData, (struct cupti_abi_pc_fetch *));
THEIRS(cuptiGetCubinCrc, (CUpti_GetCubinCrcParams *));
OURS(cuptiGetCubinCrc, (struct cupti_abi_cubin_crc *));

/* A function that is added to the list must be added here. */
#define X(name, required, parameters) SAME(checked_##name, 0);
CUPTI_ABI_FUNCTIONS(X)
#undef X

/* The callbacks' types. */
_Static_assert(__builtin_types_compatible_p(cupti_abi_buffer_requested,
					    CUpti_BuffersCallbackRequestFunc),
	       "CUpti_BuffersCallbackRequestFunc");
_Static_assert(__builtin_types_compatible_p(CUpti_BuffersCallbackCompleteFunc,
					    void (*)(CUcontext, uint32_t, uint8_t *, size_t,
						     size_t)),
	       "CUpti_BuffersCallbackCompleteFunc");
_Static_assert(__builtin_types_compatible_p(cupti_abi_buffer_completed,
					    void (*)(void *, uint32_t, uint8_t *, size_t, size_t)),
	       "cupti_abi_buffer_completed");
_Static_assert(__builtin_types_compatible_p(CUpti_CallbackFunc,
					    void (*)(void *, CUpti_CallbackDomain, CUpti_CallbackId,
						     const void *)),
	       "CUpti_CallbackFunc");
_Static_assert(__builtin_types_compatible_p(cupti_abi_callback,
					    void (*)(void *, uint32_t, uint32_t, const void *)),
	       "cupti_abi_callback");

#endif

static void same_as_the_headers(void **state)
{
	(void)state;
#ifdef HAVE_CUPTI
	print_message("compared with CUPTI API version %d while compiling\n", CUPTI_API_VERSION);
#else
	print_message("SKIP: built without CUPTI's headers (cupti.h, cuda.h): nothing to compare "
		      "cupti_abi.h with\n");
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_the_headers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
