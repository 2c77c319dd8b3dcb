/* SPDX-License-Identifier: MIT */
/*
 * Defines the events that a traced process sends to the profiler: a tagged union without any CUPTI
 * type. The injection library fills events in and encodes them (gpu_wire.h). The profiler decodes
 * them and knows nothing of CUPTI.
 *
 * Times are CLOCK_MONOTONIC in ns; durations are in ns as CUPTI measured them; sizes are in bytes.
 * Strings are borrowed: the sender's live until the event is encoded, the receiver's until the next
 * event is decoded. Correlation ids, name ids and context/stream ids are per process.
 *
 * A pid does not identify a process. The kernel reuses pids, other pid namespaces have equal ones,
 * and exec puts another program under a pid. So the injection library draws an instance id in each
 * program that it starts in: a random number other than 0.
 */
#ifndef CUPTI_TRACE_WIRE_GPU_EVENT_H
#define CUPTI_TRACE_WIRE_GPU_EVENT_H

#include <stdint.h>
#include "cupti_trace/wire/gpu_work.h"

enum gpu_event_type {
	GPU_EVENT_NONE = 0,
	/*
	 * scanned by gpu_wire_scan.h: frequent, the most frequent first, or with sums that a double
	 * cannot hold
	 */
	GPU_EVENT_KERNEL,     /* a kernel ran on a GPU */
	GPU_EVENT_LAUNCH,     /* a launch function was entered */
	GPU_EVENT_LAUNCH_END, /* a launch function has returned */
	GPU_EVENT_WORK,       /* a GPU did other work than a kernel */
	GPU_EVENT_WAIT,       /* a thread waited for the GPU */
	GPU_EVENT_BATCH,      /* the next lines are from this instance */
	GPU_EVENT_GOODBYE,    /* orderly end, with totals to check against */
	GPU_EVENT_NODE_RUN,   /* nodes of one launch of a graph ran */
	GPU_EVENT_LAST_SCANNED = GPU_EVENT_NODE_RUN,
	GPU_EVENT_HELLO,      /* first event of an instance */
	GPU_EVENT_MAPS,       /* new code was mapped: look for launch functions again */
	GPU_EVENT_NAME,       /* defines a name id */
	GPU_EVENT_CODE,       /* location of code in later stacks */
	GPU_EVENT_PYCODE,     /* defines the id of a Python function */
	GPU_EVENT_STACK,      /* defines a stack id */
	GPU_EVENT_DROPS,      /* events that could not be recorded or sent */
	GPU_EVENT_NOTICE,     /* something the user should know */
	GPU_EVENT_NODE,       /* the call that made a graph's node */
	GPU_EVENT_NODE_WORK,  /* defines the work of graphs' nodes */
	GPU_EVENT_SUM,        /* the total that CUPTI reported for one stream and kind */
	GPU_EVENT_NVTX,       /* defines the id of an NVTX range's name */
	GPU_EVENT_DEVICE,     /* describes a device */
	GPU_EVENT_CONTEXT,    /* describes a context that is of interest */
	GPU_EVENT_VOID,       /* launches that started nothing */
	GPU_EVENT_GRAPH,      /* launcher of a graph */
	GPU_EVENT_CALLS,      /* number and duration of a function's calls */
	GPU_EVENT_ERROR,      /* a CUDA call failed */
	GPU_EVENT_POOL,       /* state of a memory pool */
	GPU_EVENT_CUBIN,      /* a piece of a file with device code, for its line table */
	GPU_EVENT_STALL,      /* defines the id of a stall reason */
	GPU_EVENT_PCS,        /* samples of warps in a kernel: place and stall reason */
	GPU_EVENT_PC_TOTALS,  /* totals of those samples */
	GPU_EVENT_METRIC,     /* names a metric of hardware counters */
	GPU_EVENT_COUNTERS,   /* hardware counters of one launch */
	GPU_EVENT_UNMEASURED, /* launches whose counters were not read */
	GPU_EVENT_RANGE,      /* recording begins or ends (--range) */
	GPU_EVENT_WINDOW,     /* launches are recorded for a while (--budget) */
	GPU_EVENT_WINDOW_END, /* such a window has ended */
	GPU_EVENT_RUN,        /* in a trace: facts about the program, and the current time */
	GPU_EVENT_TYPES
};

/*
 * Starts every write to the pipe. `sequence` counts an instance's writes from 0, so a gap shows a
 * lost write. `bytes` is how much follows this line in this write; bytes beyond are from another
 * process. If `bytes` is 0, everything up to the next such event belongs to this process.
 */
struct gpu_event_batch {
	uint32_t pid; /* as the process itself sees it */
	uint32_t bytes;
	uint64_t instance; /* not 0 */
	uint64_t sequence;
};

/*
 * `wants_ack`: the process waits, with a timeout, until the profiler has attached its probes. Not
 * set in a trace, which has no reader yet.
 *
 * `is_off`: the process cannot use CUPTI. A notice gave the reason, and nothing more will come.
 *
 * `pid_namespace` and `start_ticks` tell processes with equal pids in different pid namespaces
 * apart. Compare them with the inode of /proc/PID/ns/pid and with field 22 of /proc/PID/stat.
 */
struct gpu_event_hello {
	uint32_t version; /* GPU_WIRE_VERSION of the sender */
	uint32_t pid;
	uint64_t instance;      /* as in gpu_event_batch */
	uint64_t pid_namespace; /* inode number; 0: unknown */
	uint64_t start_ticks; /* start of the process, clock ticks since boot in its time namespace;
				 0: unknown */
	const char *executable;
	const char *cupti_path;  /* the libcupti in use; "" if none */
	uint32_t cupti_version;  /* cuptiGetVersion */
	int64_t clock_offset_ns; /* CLOCK_MONOTONIC - CUPTI's clock */
	uint64_t clock_error_ns; /* half the window in which the offset was measured */
	const char *libraries;   /* CUDA libraries mapped, separated by '\n' */
	uint32_t wants_ack, is_off;
};

/*
 * In a trace only, a file that the library writes without a profiler (INJECTION_TRACE): facts that
 * a running profiler would find itself. Sent after the hello; sent again before each goodbye with
 * nothing but the times.
 */
#define GPU_RUN_WORD_END '\x1f'
struct gpu_event_run {
	uint64_t time_ns;   /* CLOCK_MONOTONIC now */
	uint64_t unix_ns;   /* now, ns since 1970; 0: unknown, as are all members below */
	const char *boot;   /* the kernel's boot id; "": unknown, here and below */
	const char *host;   /* the machine's name */
	const char *folder; /* the working directory */
	/* lists of words, each ended by GPU_RUN_WORD_END; may be cut */
	const char *arguments; /* the command line */
	const char *job;       /* NAME=VALUE: the variables in which launchers number ranks */
};

struct gpu_event_maps {
	uint64_t generation; /* number of code mappings so far (dlpi_adds) */
	uint32_t wants_ack;
};

/*
 * A long name comes in pieces, in order. If `more` is set, the next NAME event with this id carries
 * the following bytes.
 */
struct gpu_event_name {
	uint32_t id;
	uint32_t more;
	const char *name; /* a kernel's mangled name, or a piece of it */
};

/*
 * An executable mapping of the process, as in /proc/self/maps. Sent before the first stack with an
 * address in it: so stacks can be located after the process has ended. Replaces earlier events
 * about these addresses.
 */
struct gpu_event_code {
	uint64_t start, end;
	uint64_t file_offset; /* offset of `start` in the file */
	uint64_t inode;       /* 0: no file */
	uint32_t dev_major, dev_minor;
	const char *path; /* may be "", "[vdso]" and the like */
	/* the file's build id in hexadecimal digits, in a trace only; "" or NULL: unknown */
	const char *build_id;
	/*
	 * 0: mapped from the file by the kernel. Otherwise the mapping is anonymous, and the file's
	 * program headers say that its text belongs there. The hash of its pages
	 * (symbolize/text_pages.h) shows whether that is true.
	 */
	uint64_t text_hash;
};
#define GPU_BUILD_ID_DIGITS 128u

/*
 * A Python code object that frames of later stacks refer to, by ids from 1. A function may come
 * more than once, under several ids.
 */
#define GPU_PYCODE_MAX_ID (1u << 20)
struct gpu_event_pycode {
	uint32_t id;
	const char *name;
	const char *qualname; /* "" where the interpreter has none (before 3.11) */
	const char *path;     /* as Python knows it; may be "<string>" and the like */
	uint32_t first_line;
};

enum gpu_frame_kind {
	GPU_FRAME_RETURN = 1, /* `value` is a return address */
	GPU_FRAME_PYTHON = 2, /* `value` is a pycode id; 0: an unknown Python function */
	GPU_FRAME_NVTX = 3,   /* `value` is an nvtx id: a range or operator that was open there */
};

#define GPU_FRAME_MAX_LINE ((1u << 24) - 1)
struct gpu_event_frame {
	uint64_t value;
	uint32_t kind; /* enum gpu_frame_kind */
	uint32_t line; /* 0: unknown, or not requested; GPU_FRAME_PYTHON only */
};

enum gpu_nvtx_kind {
	GPU_NVTX_RANGE,
	GPU_NVTX_OPERATOR, /* an operator of PyTorch */
	GPU_NVTX_LAYER,    /* a module of a model, by its path */
	GPU_NVTX_KINDS
};

/* A name that stacks refer to, by ids from 1. */
#define GPU_NVTX_MAX_ID (1u << 15)
struct gpu_event_nvtx {
	uint32_t id;
	uint32_t color;     /* ARGB; 0: none */
	const char *domain; /* "" for the default domain */
	const char *name;   /* a range's message, the name of an operator or a layer */
	uint32_t kind;      /* enum gpu_nvtx_kind */
};

/*
 * A call stack that launches refer to: the launch function's name, then frames from its caller
 * outwards. Ids start at 1. Addresses are valid at the time of the event; code may be unmapped
 * later.
 *
 * A thread that works for other threads has the name `handed_to`. Its work belongs to a thread that
 * waits for it, whose stack `handed_from` was sent before and has no function.
 */
#define GPU_STACK_MAX_FRAMES 210 /* at 17 characters each, still one line */
struct gpu_event_stack {
	uint32_t id;
	uint32_t is_whole; /* ends at the thread's start */
	const char *function;
	uint32_t count;
	const struct gpu_event_frame *frames; /* innermost first */
	uint32_t is_unordered;                /* Python frames may be misplaced */
	uint32_t handed_from;                 /* id of a stack; 0: the waiting thread is unknown */
	const char *handed_to;                /* NULL or "": the thread works for itself */
};

/* Prefix of the kernel's names of threads that work for other threads. */
#define GPU_HANDED_TO_PREFIX "pt_autograd_"

/* Interface through which a launch came: the runtime (libcudart), or the driver alone. */
enum gpu_launch_family {
	GPU_LAUNCH_RUNTIME = 1,
	GPU_LAUNCH_DRIVER = 2,
};

/* flags of gpu_event_launch */
#define GPU_LAUNCH_IS_GRAPH 1u   /* may start any number of operations, not just one */
#define GPU_LAUNCH_IS_OTHER 2u   /* copies, sets, allocates: does not launch a kernel */
#define GPU_LAUNCH_HAS_RECORD 4u /* a copy or set of at least a byte: has a record unless void */
#define GPU_LAUNCH_SKIPPED 8u    /* has no stack: a sampled launch of its kernel stands for it */
/* if requested: the thread waited for the GPU in this call, or before its next launch */
#define GPU_LAUNCH_WAITED 16u

struct gpu_event_launch {
	uint64_t time_ns; /* entry of the function */
	uint32_t tid;
	uint32_t correlation_id;
	uint32_t family; /* enum gpu_launch_family */
	uint32_t flags;
	uint32_t stack_id;   /* 0: not captured by the library */
	uint32_t stands_for; /* number of launches, itself included; 0: itself alone */
};
#define GPU_LAUNCH_STANDS_MAX (1u << 14)

/*
 * A launch function has returned; only sent on request (trace_config.h: timeline). A launch is sent
 * at its entry: so it precedes its operations, and is there even if the call never returns. Its end
 * follows, from the calling thread. There is no end event if the thread is cancelled or leaves by
 * longjmp, or if the process ends.
 */
struct gpu_event_launch_end {
	uint64_t duration_ns; /* since gpu_event_launch.time_ns, on the thread's clock */
	uint32_t tid;
	uint32_t correlation_id; /* the launch's */
	uint32_t error;          /* cudaError_t or CUresult, by the launch's family; 0: success */
};

/*
 * Limit that keeps sums far from overflow: nothing runs for 70 years. Longer durations set
 * bad_time.
 */
#define GPU_EVENT_DURATION_LIMIT_NS (UINT64_C(1) << 61)

/*
 * Impossible times of an operation: it began before tracing did, or ended after its record was
 * delivered, by more than a millisecond.
 */
enum gpu_outside { GPU_IN_TIME, GPU_BEFORE_TRACING, GPU_AFTER_TRACING, GPU_OUTSIDES };

struct gpu_event_kernel {
	uint64_t start_ns;
	uint64_t duration_ns;
	uint32_t name_id;
	uint32_t correlation_id;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t static_shared; /* bytes */
	uint32_t dynamic_shared;
	uint32_t registers;     /* per thread */
	uint32_t graph_id;      /* 0: not launched by a graph */
	uint64_t graph_node_id; /* 0: not launched by a graph */
	uint32_t bad_time; /* 1: CUPTI gave no timestamps, or senseless ones; duration_ns is 0 */
	uint32_t outside;  /* enum gpu_outside */
};

struct gpu_event_work {
	uint64_t start_ns;
	uint64_t duration_ns; /* 0 for an instant */
	uint64_t bytes;
	uint32_t work; /* enum gpu_work, but not GPU_WORK_KERNEL */
	uint32_t correlation_id;
	uint32_t device_id; /* for a migration, the device that it goes to or comes from */
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t graph_id;                          /* 0: not launched by a graph */
	uint64_t graph_node_id;                     /* 0: not launched by a graph */
	uint32_t source_memory, destination_memory; /* CUPTI's memory kinds; 0: unknown */
	uint64_t address; /* for an allocation or release, on request (--alloc); otherwise 0 */
	uint32_t bad_time, outside; /* as in gpu_event_kernel */
};

/*
 * Defines the work of nodes of graphs: all about an operation that is equal at each launch. Many
 * nodes may share a definition. Ids start at 1 and are defined in order. A receiver need keep only
 * the last GPU_NODE_WORKS definitions.
 */
#define GPU_NODE_WORKS 4096u
struct gpu_node_work { /* no padding: compared as bytes */
	uint64_t bytes;
	uint32_t work; /* enum gpu_work */
	uint32_t device_id, context_id, stream_id;
	uint32_t source_memory, destination_memory; /* CUPTI's memory kinds; 0: unknown */
	/* for other work, these are 0 */
	uint32_t name_id;
	uint32_t grid[3], block[3];
	uint32_t static_shared, dynamic_shared, registers;
};
struct gpu_event_node_work {
	uint32_t id; /* not 0 */
	struct gpu_node_work of;
};

/*
 * One operation of a run, by differences from the operation before it. Branches of a graph run
 * side by side, and nodes are not numbered in the order of their execution. So differences may be
 * negative. Each is less than GPU_NODE_STEP_LIMIT in amount.
 */
#define GPU_NODE_STEP_LIMIT (INT64_C(1) << 62)
struct gpu_node_step {
	int64_t node;     /* from the previous node's id */
	int64_t start_ns; /* from the previous operation's end to this one's start */
	uint64_t duration_ns;
	uint32_t work_id; /* a gpu_event_node_work that was sent before */
};

/*
 * Operations of one launch of a graph, in the order of CUPTI's records. Each is a kernel or other
 * work, with usable times (node_run.h). The first step refers to the members here: its differences
 * are from `node_id`, and from `start_ns` as if an operation had ended there.
 */
#define GPU_NODE_RUN_STEPS 500u /* at 8 characters each, a line */
struct gpu_event_node_run {
	uint64_t start_ns;
	uint64_t node_id; /* not 0 */
	uint32_t correlation_id;
	uint32_t graph_id;
	uint32_t count; /* not 0 */
	const struct gpu_node_step *steps;
};

/*
 * State of a memory pool after a call that changed it (--alloc): bytes reserved (`held`), and bytes
 * of them that are allocated (`used`). Both are 0 for a destroyed pool.
 */
struct gpu_event_pool {
	uint64_t address; /* identifies the pool until it is destroyed */
	uint64_t time_ns;
	uint64_t held, used;
	uint64_t keeps; /* release threshold: bytes that the pool retains when the GPU is waited
			   for; UINT64_MAX: all */
	uint32_t device_id;
	uint32_t memory; /* CUPTI's memory kind; 0: unknown */
};

/*
 * A node of a CUDA graph: made by the call of `stack_id`, cloned, or moved from the body of a
 * conditional node. A later event with this id replaces this one for later launches: ids are
 * reused.
 */
struct gpu_event_node {
	uint64_t id;
	uint64_t origin;   /* id of the cloned or moved node; 0: neither */
	uint32_t is_moved; /* 1: the node `origin` has this id from now on */
	uint64_t time_ns;  /* creation time; 0: a clone, or unknown */
	uint32_t tid;      /* the calling thread; 0: unknown */
	uint32_t stack_id; /* 0: a clone, or not captured */
};

/*
 * The launcher of a graph: a conditional node whose body the graph is, or a launch by the program.
 * Launches are only sent for programs that have conditional nodes. The event may precede that of
 * the launch.
 */
struct gpu_event_graph {
	uint32_t number;         /* upper half of the ids of the graph's nodes; not 0 */
	uint64_t holder;         /* id of the conditional node; 0: launched by the program */
	uint32_t correlation_id; /* the launch's; 0: a body */
	uint64_t time_ns;        /* time of the launch, or of the body's creation */
};

/*
 * Starts or stops recording at this time. Sent if parts are selected (--range): after the hello,
 * and at each change. Launches are only sent for recorded parts.
 */
struct gpu_event_range {
	uint64_t time_ns;
	uint32_t is_open;
};

/*
 * Begins a window in which launches are recorded (--budget, duty_schedule.h). Sent before them:
 * launches from `from_ns` on, until the next window, were in it.
 */
#define GPU_WINDOW_REPRESENTS_MAX 65535u
#define GPU_WINDOW_PERIOD_MIN_NS 1000000u
struct gpu_event_window {
	uint64_t from_ns, to_ns;
	uint64_t period_from_ns, period_ns; /* its period; `period_ns` is at least a millisecond */
	uint32_t represents; /* number of launches that each launch represents, not 0 */
};

/*
 * Ends a window, with the number of calls that launch in it. It is one of the above, or one in
 * which calls were only counted: recording makes a program slower, so that it launches less.
 */
struct gpu_event_window_end {
	uint64_t recorded_ns, recorded_calls;
	uint64_t counted_ns, counted_calls;
	uint32_t represents; /* as above; not 0 */
};

/*
 * Total that CUPTI reported for one device, context, stream and kind of work. Sent before the
 * goodbye.
 */
struct gpu_event_sum {
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t work;
	uint64_t count;
	uint64_t ns;
	uint64_t bytes;
};

/* A call that waits for the GPU was entered and left; only sent on request (--waits). */
struct gpu_event_wait {
	uint64_t start_ns;
	uint64_t duration_ns; /* on the thread's clock, CLOCK_MONOTONIC */
	uint64_t computed_ns; /* CPU time of the duration, computing or spinning; 0: unknown */
	uint32_t tid;
	uint32_t stack_id;   /* 0: not captured */
	uint32_t has_stream; /* 1: it waited for this stream only */
	uint32_t context_id, stream_id;
	uint32_t error; /* cudaError_t or CUresult, by the stack's function; 0: success */
};

/*
 * Durations of calls fall into buckets: one for each ns up to 15, then eight for each power of two.
 * The last bucket has all durations from 2^40 ns on.
 */
#define GPU_CALL_BUCKETS 305u

static inline uint32_t gpu_call_bucket(uint64_t ns)
{
	uint32_t power;

	if (ns < 16)
		return (uint32_t)ns;
	power = 63u - (uint32_t)__builtin_clzll(ns);
	return power >= 40 ? GPU_CALL_BUCKETS - 1
			   : 16 + (power - 4) * 8 + (uint32_t)(ns >> (power - 3) & 7);
}

/* Returns the longest duration in a bucket, ns. */
static inline uint64_t gpu_call_bucket_longest(uint32_t bucket)
{
	uint32_t power = bucket < 16 ? 0 : (bucket - 16) / 8 + 4;

	if (bucket < 16)
		return bucket;
	if (bucket >= GPU_CALL_BUCKETS - 1)
		return UINT64_MAX;
	return (UINT64_C(8) + (bucket - 16) % 8 + 1) * (UINT64_C(1) << (power - 3)) - 1;
}

struct gpu_call_bucket {
	uint32_t bucket;
	uint64_t count;
};

struct gpu_call_error {
	uint32_t code; /* cudaError_t or CUresult */
	uint64_t count;
};
#define GPU_CALL_OTHER_ERROR 0u /* sum of all codes without an entry of their own */

/*
 * Sums of all calls of a function through one interface since the last such event; only sent on
 * request (--api). Several lines of one function add up; for the shortest and longest duration, the
 * extreme holds. Calls that have not returned have no duration.
 */
#define GPU_CALL_NAME_BYTES 128
#define GPU_CALL_LINE_BUCKETS 96u
#define GPU_CALL_LINE_ERRORS 9u
#define GPU_CALL_KINDS 6u
struct gpu_event_calls {
	const char *function;
	uint32_t family; /* enum gpu_launch_family */
	uint32_t kind;   /* for copies, cudaMemcpyKind plus 1; otherwise 0 */
	uint64_t calls, ns;
	uint64_t bytes;                   /* according to the parameters of successful calls */
	uint64_t nested, nested_ns;       /* share of calls made inside a call of the runtime */
	uint64_t shortest_ns, longest_ns; /* both since the start; meaningless without a bucket */
	uint32_t error_count, bucket_count;
	const struct gpu_call_error *errors;
	const struct gpu_call_bucket *buckets;
};

/*
 * Describes a device of the process, according to CUPTI. May come after operations on the device. A
 * later event with this id replaces an earlier one.
 */
#define GPU_DEVICE_MAX_ID 256u
#define GPU_UUID_BYTES 16

/* Resources of one multiprocessor; all 0: unknown. */
struct gpu_limits {
	uint32_t multiprocessors; /* number of them in the device */
	uint32_t warps, blocks, registers, shared_bytes;
	uint32_t major, minor; /* compute capability */
};
struct gpu_event_device {
	uint32_t id;     /* the id that operations have; below GPU_DEVICE_MAX_ID */
	uint32_t is_mig; /* 1: a MIG instance, identified by the two members below */
	uint32_t gpu_instance, compute_instance;
	uint8_t uuid[GPU_UUID_BYTES]; /* the GPU's or the MIG instance's; all 0: unknown */
	const char *name;
	struct gpu_limits limits;
};

/*
 * Launches that were sent but started nothing: they failed, or were captured into a graph.
 * `launches` counts launches of one kernel each, since the previous such event.
 */
struct gpu_event_void {
	uint64_t launches;
	uint32_t correlation_id; /* a launch of a graph or of no kernel; otherwise 0 */
};

/*
 * Describes a context. Sent for contexts under MPS and, on request (--alloc), for each context that
 * ends.
 */
struct gpu_event_context {
	uint32_t id;
	uint32_t device_id; /* below GPU_DEVICE_MAX_ID */
	uint32_t is_mps;    /* the GPU is shared with other processes by the MPS server */
	uint64_t end_ns;    /* start of the context's destruction, which frees its memory; 0: not
			       destroyed */
};

/*
 * A launch, copy, allocation, release or wait returned an error; only sent on request
 * (trace_config.h: errors). If a call of the runtime fails together with driver calls in it, only
 * the outermost is sent.
 */
struct gpu_event_error {
	uint32_t code; /* cudaError_t or CUresult, by the function; not 0 */
	uint32_t tid;
	uint32_t correlation_id;
	const char *function;
};

/*
 * Names a metric of hardware counters. Ids start at 0 and index the values of gpu_event_counters.
 */
#define GPU_METRICS_MAX 64u
struct gpu_event_metric {
	uint32_t id;      /* below GPU_METRICS_MAX */
	const char *name; /* "dram__bytes.sum" */
	const char *unit; /* CUPTI's word: "byte", "percent"; "": none, or unknown */
};

/*
 * Stages of a measured launch. The first event precedes the launch, so that the receiver of the
 * kernel's record knows that values will follow.
 */
enum gpu_counters_state {
	GPU_COUNTERS_BEGIN, /* before the launch */
	GPU_COUNTERS_READ,  /* the values */
	GPU_COUNTERS_NONE,  /* measuring failed: no values */
	GPU_COUNTERS_STATES
};
struct gpu_event_counters {
	uint32_t correlation_id; /* the launch's */
	uint32_t state;          /* enum gpu_counters_state */
	uint32_t count; /* number of values, indexed by metric id; 0 unless GPU_COUNTERS_READ */
	const double *values; /* NaN: this GPU has no such metric */
};

/* Reasons why a launch has no counters although its kernel may have been selected. */
enum gpu_unmeasured {
	GPU_UNMEASURED_CAPTURED, /* a stream was captured into a graph meanwhile */
	GPU_UNMEASURED_GRAPH,    /* a launch of a graph, which is many kernels */
	GPU_UNMEASURED_BUSY,     /* another thread was measuring, or launched in between */
	GPU_UNMEASURED_PEERS,    /* the kernel waits for other GPUs */
	GPU_UNMEASURED_FAILED,   /* CUPTI failed, or the launch did */
	GPU_UNMEASURED_REPLAY,   /* not a launch: a record of a measured kernel's replay */
	GPU_UNMEASURED_REASONS
};
struct gpu_event_unmeasured {
	uint64_t counts[GPU_UNMEASURED_REASONS]; /* since the previous such event */
};

/*
 * A piece of a cubin, an ELF file with device code, of `size` bytes. Only sent with PC samples
 * (--stalls), for cubins with a line table. The pieces are the sections that a line table takes;
 * all other bytes are 0.
 */
#define GPU_CUBIN_PIECE 1900u
#define GPU_CUBIN_MAX_BYTES (256u << 20)
struct gpu_event_cubin {
	uint64_t crc; /* CUPTI's checksum of the whole file */
	uint32_t size;
	uint32_t offset, count; /* range of the piece within `size` */
	const uint8_t *bytes;
};

/* Names a reason why a warp issues no instruction, as CUPTI writes it. Ids start at 1. */
#define GPU_STALL_MAX_ID 256u
struct gpu_event_stall {
	uint32_t id;
	const char *name;
};

struct gpu_pc_count {
	uint32_t pc; /* offset in the function, bytes */
	uint32_t stall;
	uint64_t samples; /* not 0 */
};

/* Samples of a function since its previous event. */
#define GPU_PC_LINE_COUNTS 90u
struct gpu_event_pcs {
	uint32_t name_id; /* the function's; kernels share these ids */
	uint64_t cubin_crc;
	uint32_t correlation_id; /* the launch's; 0: unknown */
	uint32_t count;          /* not 0 */
	const struct gpu_pc_count *counts;
};

/* Counts of samples since the previous such event. */
struct gpu_event_pc_totals {
	uint32_t period;  /* exponent n: one sample every 2^n cycles */
	uint64_t taken;   /* total, with all counts below */
	uint64_t dropped; /* lost by the hardware for lack of room */
	uint64_t other;   /* in kernels that are not the program's */
	uint64_t lost;    /* lost for lack of memory */
	/* other counts */
	uint64_t overflows;       /* times that the GPU's buffer was full */
	uint64_t cubins_left_out; /* cubins whose line tables are too large */
};

/*
 * Losses since the previous such event. Events that were never recorded are counted separately from
 * events that were recorded but not sent. The goodbye's totals include only those not sent.
 */
struct gpu_event_drops {
	uint64_t kernels;        /* records of any kind that CUPTI dropped for lack of a buffer */
	uint64_t launches;       /* not recorded for lack of memory */
	uint64_t batches;        /* writes given up: the profiler did not read for too long */
	uint64_t unsent_kernels; /* events in these batches: kernels and other work */
	uint64_t unsent_launches;
	uint64_t unknown; /* activity records of a kind that was not requested */
	/*
	 * not lost: number and duration of operations that ended long before the recorded range, or
	 * began after it (time_range.h)
	 */
	uint64_t early, early_ns, late, late_ns;
	/*
	 * NVTX ranges without their full names in stacks: past a limit; with N for the numbers in
	 * the name (nvtx_names.h)
	 */
	uint64_t ranges, folded_ranges;
};

enum gpu_notice {
	GPU_NOTICE_OTHER = 0,
	GPU_NOTICE_NO_CUPTI,         /* detail: the places searched, separated by '\n' */
	GPU_NOTICE_SUBSCRIBER_TAKEN, /* another profiler uses CUPTI in this process */
	GPU_NOTICE_CUPTI_ERROR,      /* detail: the call and what it returned */
	GPU_NOTICE_OLD_CUPTI,        /* detail: path and version */
	GPU_NOTICE_NO_PYTHON,        /* detail: why Python frames are not read */
	GPU_NOTICE_VERBOSE,          /* only sent on request (-v) */
	GPU_NOTICE_NOT_RECORDED,     /* detail: a kind of GPU work, and CUPTI's error */
	GPU_NOTICE_DEVICE_LAUNCH,    /* device code that launches kernels was loaded */
	GPU_NOTICE_NEW_FUNCTION,     /* detail: an unknown CUDA function that was called */
	GPU_NOTICE_NO_STALLS,        /* detail: CUPTI's error, and its subject */
	GPU_NOTICE_COUNTERS,         /* detail: why hardware counters are not read */
	GPU_NOTICE_RANGE_SENT,       /* all launches of the range have been sent */
	/* found by the profiler itself */
	GPU_NOTICE_OTHER_REFUSED, /* detail: the library that asked for CUPTI and was refused */
	GPU_NOTICES
};

struct gpu_event_notice {
	uint32_t code; /* enum gpu_notice */
	const char *detail;
};

struct gpu_event_goodbye {
	uint64_t kernels;   /* kernel and other work events since the hello, sent or given up */
	uint64_t kernel_ns; /* sum of their durations, without stalls */
	uint64_t launches;  /* launch events since the hello, sent or given up */
	uint64_t own_ns;    /* CPU time that the library used in the process; 0: unknown */
};

struct gpu_event {
	enum gpu_event_type type;
	union {
		struct gpu_event_batch batch;
		struct gpu_event_hello hello;
		struct gpu_event_maps maps;
		struct gpu_event_name name;
		struct gpu_event_code code;
		struct gpu_event_pycode pycode;
		struct gpu_event_stack stack;
		struct gpu_event_launch launch;
		struct gpu_event_kernel kernel;
		struct gpu_event_drops drops;
		struct gpu_event_notice notice;
		struct gpu_event_goodbye goodbye;
		struct gpu_event_work work;
		struct gpu_event_node node;
		struct gpu_event_node_work node_work;
		struct gpu_event_node_run node_run;
		struct gpu_event_sum sum;
		struct gpu_event_nvtx nvtx;
		struct gpu_event_wait wait;
		struct gpu_event_device device;
		struct gpu_event_context context;
		struct gpu_event_void voids;
		struct gpu_event_launch_end launch_end;
		struct gpu_event_graph graph;
		struct gpu_event_calls calls;
		struct gpu_event_error error;
		struct gpu_event_pool pool;
		struct gpu_event_range range;
		struct gpu_event_window window;
		struct gpu_event_window_end window_end;
		struct gpu_event_run run;
		struct gpu_event_cubin cubin;
		struct gpu_event_stall stall;
		struct gpu_event_pcs pcs;
		struct gpu_event_pc_totals pc_totals;
		struct gpu_event_metric metric;
		struct gpu_event_counters counters;
		struct gpu_event_unmeasured unmeasured;
	};
};

#endif
