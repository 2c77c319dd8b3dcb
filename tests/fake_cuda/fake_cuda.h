/* SPDX-License-Identifier: MIT */
/*
 * The private interface between the three stand-ins (libcuda, libcudart, libcupti).
 *
 * The fake driver owns the virtual GPU; the fake runtime and the fake CUPTI reach it through one
 * exported function, fake_cuda_get_driver(), found with dlsym in libcuda.so.1. Nothing here exists
 * in NVIDIA's libraries, so the profiler must never use it; tests may.
 *
 * Times are ns of CLOCK_MONOTONIC unless a name contains "cupti". Results are CUresult values; the
 * runtime's cudaError_t has the same numbers for every error that the stand-ins produce. Strings
 * and structures passed to a hook are valid during that call, kernel names for the life of the
 * process.
 */
#ifndef TESTS_FAKE_CUDA_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_CUDA_EXPORT __attribute__((visibility("default")))

/* CUresult, the part in use. */
enum {
	FAKE_CUDA_SUCCESS = 0,
	FAKE_CUDA_ERROR_INVALID_VALUE = 1,
	FAKE_CUDA_ERROR_OUT_OF_MEMORY = 2,
	FAKE_CUDA_ERROR_NOT_INITIALIZED = 3,
	FAKE_CUDA_ERROR_NO_DEVICE = 100,
	FAKE_CUDA_ERROR_INVALID_DEVICE = 101,
	FAKE_CUDA_ERROR_INVALID_IMAGE = 200,
	FAKE_CUDA_ERROR_INVALID_CONTEXT = 201,
	FAKE_CUDA_ERROR_INVALID_HANDLE = 400,
	FAKE_CUDA_ERROR_NOT_FOUND = 500,
	FAKE_CUDA_ERROR_NOT_READY = 600,
	FAKE_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
	FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	FAKE_CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
	FAKE_CUDA_ERROR_ILLEGAL_STATE = 401,
};

struct fake_cuda_context;
struct fake_cuda_stream;
struct fake_cuda_function;
struct fake_cuda_module;
struct fake_cuda_graph;
struct fake_cuda_graph_exec;
struct fake_cuda_graph_node; /* begins with its uint64_t id */
struct CUDA_MEMCPY2D_st;     /* cuda_driver_subset.h */

/*
 * One runtime or driver API call in progress; lives on the stack of the entry point. The caller
 * fills the first block, fake_cuda_driver.call_enter the second.
 */
struct fake_cuda_call {
	uint32_t domain; /* CUPTI_ABI_DOMAIN_DRIVER_API or _RUNTIME_API */
	uint32_t cbid;
	const char *name;
	const void *params;
	int *result;
	const char *symbol; /* kernel name of a launch, else NULL */

	/* the outermost call's, shared by all nested calls; at its entry libcupti may change it */
	uint32_t correlation_id;
	uint64_t correlation_data; /* scratch for CUPTI's client */
	bool is_called_for;        /* the client's callback was called at its entry */
	struct fake_cuda_context *context;
	uint32_t context_id;
	struct fake_cuda_call *outer;
};

enum fake_cuda_activity_type {
	FAKE_CUDA_KERNEL,
	FAKE_CUDA_COPY,
	FAKE_CUDA_SET,
	FAKE_CUDA_TIMELINE_TYPES, /* kinds before it occupy a stream */
	FAKE_CUDA_MEMORY = FAKE_CUDA_TIMELINE_TYPES,
	FAKE_CUDA_POOL,
	FAKE_CUDA_GRAPH, /* all work of one graph launch on the timeline */
	/* not activities, but described by a record: no times, only device_id and context_id */
	FAKE_CUDA_DEVICE,
	FAKE_CUDA_CONTEXT,
};

enum { FAKE_CUDA_NO_STREAM = -1 }; /* the stream id of activities without a stream */

struct fake_cuda_place {
	uint32_t device_id, context_id;
};

/* Work on a stream's timeline, or an instant: the contents of a record. */
struct fake_cuda_activity {
	enum fake_cuda_activity_type type;
	uint32_t device_id, context_id, stream_id, correlation_id, graph_id;
	uint64_t graph_node_id;
	bool in_body;        /* a conditional node's */
	bool decompresses;   /* a set that stands for a batch of decompression */
	uint64_t start, end; /* equal to the start if it is an instant */
	uint64_t bytes;      /* except for kernels */
	bool async;

	/* kernels */
	const char *name;
	uint32_t grid[3], block[3];
	uint32_t shared_memory;
	int64_t grid_id;

	/* CUPTI_ABI_MEMCPY_* and CUPTI_ABI_MEMORY_*; sets and allocations have a destination only
	 */
	uint8_t copy_kind, source_kind, destination_kind;
	struct fake_cuda_place source, destination; /* the devices of a peer copy */
	uint32_t value;                             /* a set's value */
	uint32_t operation;                         /* CUPTI_ABI_MEMORY_ALLOCATION, _RELEASE */
	uint64_t address;
	/* for memory of a pool, and for pools: its address, bytes that it holds and has handed
	 * out */
	uint64_t pool, held, used;
};

/* Resource event: cbid and the three pointers of CUpti_ResourceData. */
struct fake_cuda_resource {
	void *context;
	void *stream;
	void *descriptor;
};

/* CUpti_ModuleResourceData and CUpti_GraphData, the descriptors in use. */
struct fake_cuda_module_data {
	uint32_t module_id;
	size_t cubin_size;
	const char *cubin;
};

struct fake_cuda_graph_data {
	void *graph, *original_graph;
	void *node, *original_node; /* each begins with its uint64_t id */
	int node_type;              /* CUgraphNodeType */
	void *dependency;
	void *graph_exec;
};

/*
 * The hooks of libcupti. Called on the thread that makes the CUDA call, with no lock held. `site`
 * is CUPTI_ABI_API_ENTER or _EXIT.
 */
struct fake_cuda_hooks {
	void (*api)(struct fake_cuda_call *call, uint32_t site);
	void (*activity)(const struct fake_cuda_activity *activity);
	void (*resource)(uint32_t cbid, const struct fake_cuda_resource *resource);
};

/* Layout of CUlaunchConfig. */
struct fake_cuda_launch_config {
	unsigned int grid[3], block[3];
	unsigned int shared_memory;
	struct fake_cuda_stream *stream;
	void *attributes;
	unsigned int num_attributes;
};

typedef int fake_cuda_launch_fn(struct fake_cuda_function *f, unsigned int gx, unsigned int gy,
				unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz,
				unsigned int shared_memory, struct fake_cuda_stream *stream,
				void **params, void **extra);
typedef int fake_cuda_launch_ex_fn(const struct fake_cuda_launch_config *config,
				   struct fake_cuda_function *f, void **params, void **extra);
typedef int fake_cuda_launch_cooperative_fn(struct fake_cuda_function *f, unsigned int gx,
					    unsigned int gy, unsigned int gz, unsigned int bx,
					    unsigned int by, unsigned int bz,
					    unsigned int shared_memory,
					    struct fake_cuda_stream *stream, void **params);
typedef int fake_cuda_graph_launch_fn(struct fake_cuda_graph_exec *exec,
				      struct fake_cuda_stream *stream);

/* The launch entry points that the runtime calls; index 1 is the _ptsz variant. */
struct fake_cuda_launchers {
	fake_cuda_launch_fn *kernel[2];
	fake_cuda_launch_ex_fn *kernel_ex[2];
	fake_cuda_launch_cooperative_fn *cooperative[2];
	fake_cuda_graph_launch_fn *graph[2];
};

/* The runtime's calls for memory; index 1 is the _ptds or _ptsz variant. */
struct fake_cuda_memory_calls {
	int (*allocate)(unsigned long long *address, size_t size);
	int (*release)(unsigned long long address);
	int (*allocate_host)(void **memory, size_t size);
	int (*release_host)(void *memory);
	int (*allocate_async[2])(unsigned long long *address, size_t size,
				 struct fake_cuda_stream *stream);
	int (*release_async[2])(unsigned long long address, struct fake_cuda_stream *stream);
	int (*htod[2])(unsigned long long to, const void *from, size_t size);
	int (*dtoh[2])(void *to, unsigned long long from, size_t size);
	int (*dtod[2])(unsigned long long to, unsigned long long from, size_t size);
	int (*any[2])(unsigned long long to, unsigned long long from, size_t size);
	int (*htod_async[2])(unsigned long long to, const void *from, size_t size,
			     struct fake_cuda_stream *stream);
	int (*dtoh_async[2])(void *to, unsigned long long from, size_t size,
			     struct fake_cuda_stream *stream);
	int (*dtod_async[2])(unsigned long long to, unsigned long long from, size_t size,
			     struct fake_cuda_stream *stream);
	int (*any_async[2])(unsigned long long to, unsigned long long from, size_t size,
			    struct fake_cuda_stream *stream);
	int (*set8[2])(unsigned long long to, unsigned char value, size_t count);
	int (*set8_async[2])(unsigned long long to, unsigned char value, size_t count,
			     struct fake_cuda_stream *stream);
	int (*copy_2d)(const struct CUDA_MEMCPY2D_st *copy);
	int (*copy_2d_async)(const struct CUDA_MEMCPY2D_st *copy, struct fake_cuda_stream *stream);
	int (*peer)(unsigned long long to, struct fake_cuda_context *to_context,
		    unsigned long long from, struct fake_cuda_context *from_context, size_t size);
	int (*peer_async)(unsigned long long to, struct fake_cuda_context *to_context,
			  unsigned long long from, struct fake_cuda_context *from_context,
			  size_t size, struct fake_cuda_stream *stream);
};

/* The place of a new node in a graph. */
struct fake_cuda_new_node {
	struct fake_cuda_graph_node **node;
	struct fake_cuda_graph *graph;
	struct fake_cuda_graph_node *const *dependencies;
	size_t count;
};

/* Layout of cudaMemsetParams. */
struct fake_cuda_set_2d {
	void *to;
	size_t pitch;
	unsigned int value, element_size;
	size_t width, height; /* elements, rows */
};

struct fake_cuda_driver {
	size_t size; /* version of this structure: a mismatch means libraries of different builds */

	int (*init)(unsigned int flags); /* cuInit */
	int (*ready)(void);              /* 0, or NOT_INITIALIZED before cuInit and after a fork */
	void (*call_enter)(struct fake_cuda_call *call);
	void (*call_exit)(struct fake_cuda_call *call);
	void (*set_hooks)(const struct fake_cuda_hooks *hooks);
	uint64_t (*now)(void);
	uint64_t (*cupti_time)(uint64_t monotonic);
	void (*sleep_until)(uint64_t monotonic);

	int (*device_count)(int *count); /* cuDeviceGetCount */
	int (*set_device)(int device);   /* makes its primary context current, creating it */
	int (*get_device)(void);
	/* A device's primary context, created if necessary; NULL: no such device. */
	struct fake_cuda_context *(*context)(int device);
	int (*enable_peer)(int device);   /* for the current context */
	bool (*has_context)(void);        /* the calling thread has a live current context */
	bool (*makes_context_late)(void); /* within the call that needs it: FAKE_CUDA_CONTEXT_NS */
	int (*device_synchronize)(void);  /* cuCtxSynchronize */
	int (*device_reset)(void);

	int (*stream_create)(struct fake_cuda_stream **stream, unsigned int flags);
	int (*stream_destroy)(struct fake_cuda_stream *stream);
	int (*stream_synchronize)(struct fake_cuda_stream *stream); /* cuStreamSynchronize */
	/* The number of a context's stream; INVALID_HANDLE if it is another's. */
	int (*stream_number)(struct fake_cuda_context *context, struct fake_cuda_stream *stream,
			     uint32_t *number);
	uint32_t (*context_id)(const struct fake_cuda_context *context);
	uint32_t (*device_id)(const struct fake_cuda_context *context);
	/* From now on a context's kernels run one after the other, or again as their streams say.
	 */
	void (*serialize)(struct fake_cuda_context *context, bool on);
	/* Future work on the stream starts at that time or later. */
	int (*stream_wait_until)(struct fake_cuda_stream *stream, uint64_t until);
	/* When the work now on the stream ends, at least now. */
	int (*stream_end)(struct fake_cuda_stream *stream, uint64_t *end);

	int (*module_load)(struct fake_cuda_module **module, const char *image);
	int (*module_unload)(struct fake_cuda_module *module);
	int (*module_function)(struct fake_cuda_function **function,
			       struct fake_cuda_module *module, const char *name);
	const char *(*function_name)(const struct fake_cuda_function *function);

	int (*capture_begin)(struct fake_cuda_stream *stream);
	int (*capture_begin_to)(struct fake_cuda_stream *stream, struct fake_cuda_graph *graph);
	/* *graph: NULL if the stream is not captured */
	int (*capture_graph)(struct fake_cuda_stream *stream, struct fake_cuda_graph **graph);
	int (*capture_end)(struct fake_cuda_stream *stream, struct fake_cuda_graph **graph);
	int (*graph_instantiate)(struct fake_cuda_graph_exec **exec, struct fake_cuda_graph *graph);
	int (*graph_create)(struct fake_cuda_graph **graph);
	int (*graph_add_kernel)(const struct fake_cuda_new_node *where,
				const struct fake_cuda_launch_config *config,
				struct fake_cuda_function *f, void **params);
	/* The sides are 0: either, 1: host, 2: device. */
	int (*graph_add_copy)(const struct fake_cuda_new_node *where, void *to, const void *from,
			      size_t size, int to_side, int from_side);
	int (*graph_add_set)(const struct fake_cuda_new_node *where,
			     const struct fake_cuda_set_2d *set);
	int (*graph_add_child)(const struct fake_cuda_new_node *where,
			       struct fake_cuda_graph *child);
	int (*graph_condition)(uint64_t *handle, struct fake_cuda_graph *graph, unsigned int value);
	/* `bodies` is set to `size` graphs, which live as long as the node */
	int (*graph_add_conditional)(const struct fake_cuda_new_node *where, uint64_t handle,
				     int type, unsigned int size, struct fake_cuda_graph ***bodies);
	int (*graph_clone)(struct fake_cuda_graph **clone, struct fake_cuda_graph *graph);
	/* `result`: a cudaGraphExecUpdateResult */
	int (*graph_update)(struct fake_cuda_graph_exec *exec, struct fake_cuda_graph *graph,
			    int *result);
	int (*graph_destroy)(struct fake_cuda_graph *graph);
	int (*graph_exec_destroy)(struct fake_cuda_graph_exec *exec);

	/* The exported cuLaunch*, or unexported variants with FAKE_CUDA_INTERNAL_DRIVER_CALLS. */
	const struct fake_cuda_launchers *launchers;
	const struct fake_cuda_memory_calls *memory;

	/* Ground truth so far: accepted launch calls, and kernels run. */
	void (*counts)(uint64_t *launches, uint64_t *kernels);
};

/* Exported by libcuda.so.1. Usable before cuInit; never NULL. */
const struct fake_cuda_driver *fake_cuda_get_driver(void);

#endif
