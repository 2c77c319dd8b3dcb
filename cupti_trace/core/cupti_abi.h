/* SPDX-License-Identifier: MIT */
/*
 * Declares the part of CUPTI's binary interface that the injection library uses.
 *
 * libcupti is found and dlopen'd in the target process. It may be any release from CUDA 11.8 to
 * 13.x, whatever toolkit (if any) this program was built with. So the functions, constants and
 * record layouts that we use have declarations and names of our own here. Building needs nothing of
 * the CUDA Toolkit.
 *
 * tests/unit/test_cupti_abi.c compares every value, offset and signature below with NVIDIA's
 * headers wherever those are installed. So a mistake here cannot survive a build with a toolkit.
 *
 * Source: CUPTI documentation and headers, cupti_activity.h, cupti_callbacks.h, cupti_result.h,
 * cupti_runtime_cbid.h, cupti_pcsampling.h (CUDA 11.8, 12.4 and 13.0). Between those releases
 * layouts only grow at the end. A field newer than CUPTI 11.8 is marked with its API version and
 * must not be read below it.
 */
#ifndef CUPTI_TRACE_CORE_CUPTI_ABI_H
#define CUPTI_TRACE_CORE_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

/* CUptiResult */
enum {
	CUPTI_ABI_SUCCESS = 0,
	CUPTI_ABI_ERROR_INVALID_PARAMETER = 1,
	CUPTI_ABI_ERROR_INVALID_DEVICE = 2,
	CUPTI_ABI_ERROR_OUT_OF_MEMORY = 8,
	CUPTI_ABI_ERROR_MAX_LIMIT_REACHED = 12,
	CUPTI_ABI_ERROR_NOT_COMPATIBLE = 14,
	CUPTI_ABI_ERROR_NOT_INITIALIZED = 15,
	CUPTI_ABI_ERROR_INVALID_KIND = 21,
	CUPTI_ABI_ERROR_NOT_SUPPORTED = 27,
	CUPTI_ABI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED = 33,
	CUPTI_ABI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
	CUPTI_ABI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40,
	CUPTI_ABI_ERROR_UNKNOWN = 999,
};

/* CUpti_ActivityKind */
enum {
	CUPTI_ABI_ACTIVITY_KIND_INVALID = 0,
	CUPTI_ABI_ACTIVITY_KIND_MEMCPY = 1,
	CUPTI_ABI_ACTIVITY_KIND_MEMSET = 2,
	CUPTI_ABI_ACTIVITY_KIND_KERNEL = 3, /* serialises kernels; we never enable it */
	CUPTI_ABI_ACTIVITY_KIND_DEVICE = 8,
	CUPTI_ABI_ACTIVITY_KIND_CONTEXT = 9,
	CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_ABI_ACTIVITY_KIND_MEMCPY2 = 22, /* between devices */
	CUPTI_ABI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER = 25,
	CUPTI_ABI_ACTIVITY_KIND_MEMORY2 = 49, /* allocation and release */
	CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL = 50,
	CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE = 51,
	CUPTI_ABI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE = 53, /* with GRAPH_TRACE, if requested */
	CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS = 54,     /* since 12.8 */
};

/* CUpti_ActivityMemcpyKind: host, device, array, peer */
enum {
	CUPTI_ABI_MEMCPY_HTOD = 1,
	CUPTI_ABI_MEMCPY_DTOH = 2,
	CUPTI_ABI_MEMCPY_HTOA = 3,
	CUPTI_ABI_MEMCPY_ATOH = 4,
	CUPTI_ABI_MEMCPY_ATOA = 5,
	CUPTI_ABI_MEMCPY_ATOD = 6,
	CUPTI_ABI_MEMCPY_DTOA = 7,
	CUPTI_ABI_MEMCPY_DTOD = 8,
	CUPTI_ABI_MEMCPY_HTOH = 9,
	CUPTI_ABI_MEMCPY_PTOP = 10,
};

/* CUpti_ActivityMemoryKind */
enum {
	CUPTI_ABI_MEMORY_PAGEABLE = 1,
	CUPTI_ABI_MEMORY_PINNED = 2,
	CUPTI_ABI_MEMORY_DEVICE = 3,
	CUPTI_ABI_MEMORY_ARRAY = 4,
	CUPTI_ABI_MEMORY_MANAGED = 5,
	CUPTI_ABI_MEMORY_DEVICE_STATIC = 6,
	CUPTI_ABI_MEMORY_MANAGED_STATIC = 7,
};

/* CUpti_ActivityMemoryOperationType */
enum { CUPTI_ABI_MEMORY_ALLOCATION = 1, CUPTI_ABI_MEMORY_RELEASE = 2 };

/* CUpti_ActivityUnifiedMemoryCounterKind */
enum {
	CUPTI_ABI_UVM_BYTES_HTOD = 1,
	CUPTI_ABI_UVM_BYTES_DTOH = 2,
	CUPTI_ABI_UVM_CPU_PAGE_FAULTS = 3, /* an instant; value: 1 */
	CUPTI_ABI_UVM_GPU_PAGE_FAULTS = 4, /* value: number of faults of one group */
	CUPTI_ABI_UVM_THRASHING = 5,
	CUPTI_ABI_UVM_THROTTLING = 6,
	CUPTI_ABI_UVM_REMOTE_MAP = 7,
	CUPTI_ABI_UVM_BYTES_DTOD = 8,
};
/* CUpti_ActivityUnifiedMemoryCounterScope */
enum { CUPTI_ABI_UVM_SCOPE_PROCESS_SINGLE_DEVICE = 1 };

/* CUpti_ActivityComputeApiKind */
enum { CUPTI_ABI_COMPUTE_API_CUDA = 1, CUPTI_ABI_COMPUTE_API_CUDA_MPS = 2 };

/* CUpti_ActivityFlag, for cuptiActivityFlushAll */
enum { CUPTI_ABI_FLUSH_FORCED = 1 };

/* CUpti_ActivityAttribute */
enum { CUPTI_ABI_ATTR_DEVICE_BUFFER_SIZE = 0 }; /* size_t, bytes */

/* CUpti_CallbackDomain */
enum {
	CUPTI_ABI_DOMAIN_DRIVER_API = 1,
	CUPTI_ABI_DOMAIN_RUNTIME_API = 2,
	CUPTI_ABI_DOMAIN_RESOURCE = 3,
};

/* CUpti_CallbackIdResource */
enum {
	CUPTI_ABI_RESOURCE_CONTEXT_CREATED = 1,
	CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
	CUPTI_ABI_RESOURCE_MODULE_LOADED = 6,
	CUPTI_ABI_RESOURCE_MODULE_UNLOAD_STARTING = 7,
	CUPTI_ABI_RESOURCE_GRAPH_CREATED = 9,
	CUPTI_ABI_RESOURCE_GRAPH_DESTROY_STARTING = 10,
	CUPTI_ABI_RESOURCE_GRAPHNODE_CREATE_STARTING = 12,
	CUPTI_ABI_RESOURCE_GRAPHNODE_CREATED = 13,
	CUPTI_ABI_RESOURCE_GRAPHNODE_DESTROY_STARTING = 14,
	CUPTI_ABI_RESOURCE_GRAPHEXEC_CREATE_STARTING = 17,
	CUPTI_ABI_RESOURCE_GRAPHEXEC_CREATED = 18,
	CUPTI_ABI_RESOURCE_GRAPHEXEC_DESTROY_STARTING = 19,
	CUPTI_ABI_RESOURCE_GRAPHNODE_CLONED = 20,
};

/* CUpti_ApiCallbackSite */
enum { CUPTI_ABI_API_ENTER = 0, CUPTI_ABI_API_EXIT = 1 };

/* CUpti_runtime_api_trace_cbid: other functions are found by their names (api_function.h). */
enum { CUPTI_ABI_RT_cudaDeviceReset = 164 };

/* Every activity record starts with its kind. */
struct cupti_abi_activity {
	uint32_t kind;
} __attribute__((packed, aligned(8)));

/*
 * CUpti_ActivityKernel8 and later (KIND_CONCURRENT_KERNEL): their common prefix. Times are in
 * CUPTI's clock, ns; 0 means "could not be collected". `name` is the mangled kernel name and is
 * valid as long as the module is loaded: see names.h.
 */
struct cupti_abi_kernel {
	uint32_t kind;
	uint8_t cache_config;
	uint8_t shared_memory_config;
	uint16_t registers_per_thread;
	uint32_t partitioned_cache_requested;
	uint32_t partitioned_cache_executed;
	uint64_t start;
	uint64_t end;
	uint64_t completed;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	int32_t grid_x, grid_y, grid_z;
	int32_t block_x, block_y, block_z;
	int32_t static_shared_memory;  /* bytes */
	int32_t dynamic_shared_memory; /* bytes */
	uint32_t local_memory_per_thread;
	uint32_t local_memory_total;
	uint32_t correlation_id;
	int64_t grid_id;
	const char *name;
	void *reserved0;
	uint64_t queued;
	uint64_t submitted;
	uint8_t launch_type;
	uint8_t carveout_requested;
	uint8_t carveout;
	uint8_t padding;
	uint32_t shared_memory_executed;
	uint64_t graph_node_id; /* 0: not part of a graph */
	uint32_t shmem_limit_config;
	uint32_t graph_id;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemcpy5 and later (KIND_MEMCPY): their common prefix. */
struct cupti_abi_memcpy {
	uint32_t kind;
	uint8_t copy_kind;   /* CUPTI_ABI_MEMCPY_* */
	uint8_t source_kind; /* CUPTI_ABI_MEMORY_* */
	uint8_t destination_kind;
	uint8_t flags;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t correlation_id;
	uint32_t runtime_correlation_id;
	uint32_t pad;
	void *reserved0;
	uint64_t graph_node_id;
	uint32_t graph_id;
} __attribute__((packed, aligned(8)));

/*
 * CUpti_ActivityMemcpyPtoP3 and later (KIND_MEMCPY2). `device_id`, `context_id` and `stream_id` are
 * those that executed the copy.
 */
struct cupti_abi_memcpy_peer {
	uint32_t kind;
	uint8_t copy_kind;
	uint8_t source_kind;
	uint8_t destination_kind;
	uint8_t flags;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t source_device_id;
	uint32_t source_context_id;
	uint32_t destination_device_id;
	uint32_t destination_context_id;
	uint32_t correlation_id;
	void *reserved0;
	uint64_t graph_node_id;
	uint32_t graph_id;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemset3 and later (KIND_MEMSET). */
struct cupti_abi_memset {
	uint32_t kind;
	uint32_t value;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t correlation_id;
	uint16_t flags;
	uint16_t memory_kind;
	uint32_t pad;
	void *reserved0;
	uint64_t graph_node_id;
	uint32_t graph_id;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemory3 and later (KIND_MEMORY2): an instant, not a span. */
struct cupti_abi_memory {
	uint32_t kind;
	uint32_t operation;   /* CUPTI_ABI_MEMORY_ALLOCATION, _RELEASE */
	uint32_t memory_kind; /* CUPTI_ABI_MEMORY_* */
	uint32_t correlation_id;
	uint64_t address;
	uint64_t bytes;
	uint64_t timestamp;
	uint64_t pc;
	uint32_t process_id;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	const char *name;
	uint32_t is_async, reserved0;
	uint32_t pool_type, reserved1; /* CUPTI_ABI_POOL_LOCAL: the members below are valid */
	uint64_t pool_address;
	uint64_t pool_release_threshold;
	uint64_t pool_size; /* bytes reserved by the pool */
	uint64_t pool_used; /* bytes of `pool_size` that are allocated */
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemoryPoolType */
enum { CUPTI_ABI_POOL_LOCAL = 1 };

/* CUpti_ActivityMemoryPoolOperationType */
enum { CUPTI_ABI_POOL_CREATED = 1, CUPTI_ABI_POOL_DESTROYED = 2, CUPTI_ABI_POOL_TRIMMED = 3 };

/* CUpti_ActivityMemoryPool2 and later: an instant. */
struct cupti_abi_memory_pool {
	uint32_t kind;
	uint32_t operation; /* CUPTI_ABI_POOL_* */
	uint32_t type;      /* CUPTI_ABI_POOL_LOCAL, or another process's */
	uint32_t correlation_id;
	uint32_t process_id;
	uint32_t device_id;
	uint64_t min_bytes_to_keep;
	uint64_t address;
	uint64_t size;
	uint64_t release_threshold;
	uint64_t timestamp;
	uint64_t used;
} __attribute__((packed, aligned(8)));

/*
 * CUpti_ActivityUnifiedMemoryCounter2 and later. These events have no launch: `start` to `end` is
 * the span of a migration or of a group of faults. Ids are devices' where they apply.
 */
struct cupti_abi_uvm {
	uint32_t kind;
	uint32_t counter_kind; /* CUPTI_ABI_UVM_* */
	uint64_t value;        /* bytes, or faults */
	uint64_t start, end;
	uint64_t address;
	uint32_t source_id;
	uint32_t destination_id;
	uint32_t stream_id;
	uint32_t process_id;
	uint32_t flags;
	uint32_t pad;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityUnifiedMemoryCounterConfig */
struct cupti_abi_uvm_config {
	uint32_t scope;
	uint32_t kind;
	uint32_t device_id;
	uint32_t enable;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityGraphTrace (KIND_GRAPH_TRACE): one launch of a graph as a whole. */
struct cupti_abi_graph_trace {
	uint32_t kind;
	uint32_t correlation_id;
	uint64_t start, end;
	uint32_t device_id;
	uint32_t graph_id;
	uint32_t context_id;
	uint32_t stream_id;
} __attribute__((packed, aligned(8)));

/*
 * CUpti_ActivityDeviceGraphTrace (KIND_DEVICE_GRAPH_TRACE): a graph that a kernel launched, as a
 * whole. About the launch it has only the graph of the launching kernel.
 */
struct cupti_abi_device_graph_trace {
	uint32_t kind;
	uint32_t device_id;
	uint64_t start, end;
	uint32_t graph_id;
	uint32_t launcher_graph_id;
	uint32_t launch_mode;
	uint32_t context_id;
	uint64_t stream_id;
	void *reserved;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemDecompress (KIND_MEM_DECOMPRESS): a batch of copies that are decompressed. */
struct cupti_abi_decompress {
	uint32_t kind;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t channel_id;
	uint32_t channel_type;
	uint32_t correlation_id;
	uint32_t operations;
	uint64_t source_bytes; /* 0: unknown */
	void *reserved0;
	uint64_t start, end;
} __attribute__((packed, aligned(8)));

/*
 * CUpti_ActivityDevice4 (since CUDA 11.6) and later (KIND_DEVICE): their common prefix. Nothing in
 * the record tells its version, and the name is a pointer. So read it only if the fields with few
 * possible values are valid.
 */
struct cupti_abi_device {
	uint32_t kind;
	uint32_t flags;
	uint64_t memory_bandwidth;
	uint64_t memory_size;
	uint32_t constant_memory_size;
	uint32_t l2_cache_size;
	uint32_t threads_per_warp;
	uint32_t core_clock_rate;
	uint32_t memcpy_engines;
	uint32_t multiprocessors;
	uint32_t max_ipc;
	uint32_t max_warps;
	uint32_t max_blocks;
	uint32_t max_shared_memory;
	uint32_t max_registers;
	uint32_t max_block_registers;
	uint32_t max_block_shared_memory;
	uint32_t max_block_threads;
	uint32_t max_block_x, max_block_y, max_block_z;
	uint32_t max_grid_x, max_grid_y, max_grid_z;
	uint32_t compute_capability_major;
	uint32_t compute_capability_minor;
	uint32_t id;
	uint32_t ecc_enabled;
	uint8_t uuid[16];
	const char *name; /* shared by all records of the device */
	uint8_t is_cuda_visible;
	uint8_t is_mig_enabled;
	uint8_t reserved[6];
	uint32_t gpu_instance_id;     /* UINT32_MAX: MIG is not enabled */
	uint32_t compute_instance_id; /* UINT32_MAX: MIG is not enabled */
	uint8_t mig_uuid[16];
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityContext and later (KIND_CONTEXT): their common prefix. */
struct cupti_abi_context {
	uint32_t kind;
	uint32_t context_id;
	uint32_t device_id;
	uint16_t compute_api; /* CUPTI_ABI_COMPUTE_API_* */
	uint16_t null_stream_id;
} __attribute__((packed, aligned(8)));

/* CUpti_CallbackData, passed to API-domain callbacks. */
struct cupti_abi_callback_data {
	uint32_t callback_site;
	const char *function_name;
	const void *function_params;
	void *function_return_value;
	const char *symbol_name;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data; /* scratch shared by a call's ENTER and EXIT */
	uint32_t correlation_id;
};

/* Returns the result of a call at its EXIT: a cudaError_t or CUresult; 0: success. */
static inline int cupti_abi_result(const struct cupti_abi_callback_data *data)
{
	const int *result = data->function_return_value;

	return result ? *result : 0;
}

/* CUpti_ResourceData, passed to resource-domain callbacks. Differs from the struct above. */
struct cupti_abi_resource_data {
	void *context;
	void *stream;
	void *descriptor;
};

/* CUpti_ModuleResourceData, the descriptor of resource callbacks about modules. */
struct cupti_abi_module_data {
	uint32_t module_id;
	size_t cubin_size;
	const char *cubin; /* an ELF file */
};

/* CUpti_GraphData, the descriptor of resource callbacks about graphs. */
struct cupti_abi_graph_data {
	void *graph;
	void *original_graph;
	void *node;
	void *original_node; /* NULL unless a clone */
	uint32_t node_type;  /* valid when its creation starts; later 0 */
	void *dependency;
	void *graph_exec;
};

/* CUgraphNodeType */
enum { CUPTI_ABI_NODE_CONDITIONAL = 13 };

/*
 * PC sampling (cupti_pcsampling.h). Structures begin with the size that NVIDIA's macros compute: up
 * to the end of the last member.
 */
#define CUPTI_ABI_SAMPLES_PCS 22u /* API version with this layout of records: CUDA 12.4 */
#define CUPTI_ABI_SIZE_TO(type, last) \
	(offsetof(struct type, last) + sizeof(((struct type *)0)->last))

/* CUpti_PCSamplingCollectionMode */
enum { CUPTI_ABI_PC_CONTINUOUS = 1, CUPTI_ABI_PC_KERNEL_SERIALIZED = 2 };

/* CUpti_PCSamplingOutputDataFormat */
enum { CUPTI_ABI_PC_PARSED = 1 };

/* CUpti_PCSamplingConfigurationAttributeType */
enum {
	CUPTI_ABI_PC_ATTR_PERIOD = 1,        /* uint32_t: 2^n cycles, 5 to 31 */
	CUPTI_ABI_PC_ATTR_STALL_REASONS = 2, /* reasons to collect */
	CUPTI_ABI_PC_ATTR_SCRATCH_BYTES =
		3, /* size_t: room for records that were not fetched yet */
	CUPTI_ABI_PC_ATTR_HARDWARE_BYTES = 4,  /* size_t: room in the GPU's memory */
	CUPTI_ABI_PC_ATTR_COLLECTION_MODE = 5, /* uint32_t */
	CUPTI_ABI_PC_ATTR_OUTPUT_FORMAT = 7,   /* uint32_t */
	CUPTI_ABI_PC_ATTR_SAMPLING_BUFFER = 8, /* struct cupti_abi_pc_data * */
};

/* CUpti_PCSamplingStallReason */
struct cupti_abi_pc_stall {
	uint32_t reason; /* index */
	uint32_t samples;
} __attribute__((packed, aligned(8)));

/* CUpti_PCSamplingPCData */
struct cupti_abi_pc_record {
	size_t size;
	uint64_t cubin_crc;
	uint64_t pc_offset;
	uint32_t function_index;
	uint32_t pad;
	char *function_name;
	size_t stall_count;
	struct cupti_abi_pc_stall *stalls; /* room for all collected reasons */
	uint32_t correlation_id;           /* 0 in continuous mode */
} __attribute__((packed, aligned(8)));

/* CUpti_PCSamplingData */
struct cupti_abi_pc_data {
	size_t size;
	size_t capacity; /* number of `records` */
	uint64_t total_samples;
	uint64_t dropped_samples;
	size_t count;
	size_t remaining;
	uint64_t range_id;
	struct cupti_abi_pc_record *records;
	uint64_t other_samples; /* samples in kernels that are not the program's */
	uint8_t hardware_buffer_full;
} __attribute__((packed, aligned(8)));

/* CUpti_PCSamplingConfigurationInfo */
struct cupti_abi_pc_attribute {
	uint32_t type;
	uint32_t status; /* CUptiResult */
	union {
		uint64_t data[3];
		uint32_t number;
		size_t bytes;
		struct {
			size_t count;
			uint32_t *indexes;
		} reasons;
		void *buffer;
	};
};

/* CUpti_PCSamplingConfigurationInfoParams */
struct cupti_abi_pc_configuration {
	size_t size;
	void *reserved;
	void *context;
	size_t count;
	struct cupti_abi_pc_attribute *attributes;
};

/* CUpti_PCSamplingEnableParams, CUpti_PCSamplingDisableParams */
struct cupti_abi_pc_context {
	size_t size;
	void *reserved;
	void *context;
};

/* CUpti_PCSamplingGetDataParams */
struct cupti_abi_pc_fetch {
	size_t size;
	void *reserved;
	void *context;
	void *data; /* struct cupti_abi_pc_data * */
};

/* CUpti_PCSamplingGetNumStallReasonsParams */
struct cupti_abi_pc_reason_count {
	size_t size;
	void *reserved;
	void *context;
	size_t *count;
};

/* CUpti_PCSamplingGetStallReasonsParams */
#define CUPTI_ABI_PC_REASON_BYTES 128 /* CUPTI_STALL_REASON_STRING_SIZE */
struct cupti_abi_pc_reasons {
	size_t size;
	void *reserved;
	void *context;
	size_t count;
	uint32_t *indexes;
	char **names; /* each of CUPTI_ABI_PC_REASON_BYTES */
};

/* CUpti_GetCubinCrcParams */
struct cupti_abi_cubin_crc {
	size_t size;
	size_t cubin_size;
	const void *cubin;
	uint64_t crc;
};

typedef void *cupti_abi_subscriber;

/*
 * CUpti_SubscriberParams: arguments of cuptiSubscribe_v2, and its answer about an earlier
 * subscriber.
 */
#define CUPTI_ABI_OLD_SUBSCRIBER_NAME_SIZE 128 /* CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN is 64 */
struct cupti_abi_subscriber_params {
	size_t struct_size;
	const char *subscriber_name;
	char *old_subscriber_name;
	size_t old_subscriber_size;
};
typedef void (*cupti_abi_callback)(void *userdata, uint32_t domain, uint32_t cbid,
				   const void *cbdata);
typedef void (*cupti_abi_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_num_records);
typedef void (*cupti_abi_buffer_completed)(void *context, uint32_t stream_id, uint8_t *buffer,
					   size_t size, size_t valid_size);

/*
 * The functions, as X(name, required, parameters). Each returns CUptiResult (an int). If `required`
 * is 0, an older libcupti may lack the function: check for NULL before the call.
 */
#define CUPTI_ABI_FUNCTIONS(X)                                                                    \
	X(cuptiGetVersion, 1, (uint32_t * version))                                               \
	X(cuptiGetTimestamp, 1, (uint64_t * timestamp))                                           \
	X(cuptiGetResultString, 1, (uint32_t result, const char **string))                        \
	X(cuptiGetCallbackName, 1, (uint32_t domain, uint32_t cbid, const char **name))           \
	X(cuptiSubscribe, 1,                                                                      \
	  (cupti_abi_subscriber * subscriber, cupti_abi_callback callback, void *userdata))       \
	X(cuptiSubscribe_v2, 0,                                                                   \
	  (cupti_abi_subscriber * subscriber, cupti_abi_callback callback, void *userdata,        \
	   struct cupti_abi_subscriber_params *params))                                           \
	X(cuptiUnsubscribe, 1, (cupti_abi_subscriber subscriber))                                 \
	X(cuptiEnableCallback, 1,                                                                 \
	  (uint32_t enable, cupti_abi_subscriber subscriber, uint32_t domain, uint32_t cbid))     \
	X(cuptiActivityRegisterCallbacks, 1,                                                      \
	  (cupti_abi_buffer_requested requested, cupti_abi_buffer_completed completed))           \
	X(cuptiActivityEnable, 1, (uint32_t kind))                                                \
	X(cuptiActivityEnableAndDump, 0, (uint32_t kind))                                         \
	X(cuptiActivityDisable, 1, (uint32_t kind))                                               \
	X(cuptiActivityFlushAll, 1, (uint32_t flag))                                              \
	X(cuptiActivityGetNextRecord, 1,                                                          \
	  (uint8_t * buffer, size_t valid_size, struct cupti_abi_activity * *record))             \
	X(cuptiActivityGetNumDroppedRecords, 1,                                                   \
	  (void *context, uint32_t stream_id, size_t *dropped))                                   \
	X(cuptiActivitySetAttribute, 0, (uint32_t attribute, size_t * value_size, void *value))   \
	X(cuptiGetGraphNodeId, 0, (void *node, uint64_t *id))                                     \
	X(cuptiActivityEnableDeviceGraph, 0, (uint8_t enable))                                    \
	X(cuptiGetGraphId, 0, (void *graph, uint32_t *id))                                        \
	X(cuptiGetGraphExecId, 0, (void *exec, uint32_t *id))                                     \
	X(cuptiGetContextId, 0, (void *context, uint32_t *id))                                    \
	X(cuptiGetDeviceId, 0, (void *context, uint32_t *id))                                     \
	X(cuptiGetStreamIdEx, 0, (void *context, void *stream, uint8_t per_thread, uint32_t *id)) \
	X(cuptiActivityConfigureUnifiedMemoryCounter, 0,                                          \
	  (struct cupti_abi_uvm_config * config, uint32_t count))                                 \
	X(cuptiPCSamplingEnable, 0, (struct cupti_abi_pc_context * params))                       \
	X(cuptiPCSamplingDisable, 0, (struct cupti_abi_pc_context * params))                      \
	X(cuptiPCSamplingSetConfigurationAttribute, 0,                                            \
	  (struct cupti_abi_pc_configuration * params))                                           \
	X(cuptiPCSamplingGetNumStallReasons, 0, (struct cupti_abi_pc_reason_count * params))      \
	X(cuptiPCSamplingGetStallReasons, 0, (struct cupti_abi_pc_reasons * params))              \
	X(cuptiPCSamplingGetData, 0, (struct cupti_abi_pc_fetch * params))                        \
	X(cuptiGetCubinCrc, 0, (struct cupti_abi_cubin_crc * params))

#endif
