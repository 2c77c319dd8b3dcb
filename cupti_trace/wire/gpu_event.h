/* SPDX-License-Identifier: MIT */
/*
 * What a traced process sends to the profiler, one event at a time: a tagged union without any
 * CUPTI type in it. The injection library fills these in and encodes them (gpu_wire.h); the
 * profiler decodes them and knows nothing of CUPTI.
 *
 * Times are CLOCK_MONOTONIC in ns; durations in ns as CUPTI measured them; sizes in bytes. Strings
 * are borrowed: for the sender they live until the event is encoded, for the receiver until the
 * next event is decoded. Correlation ids, name ids and context/stream ids are per process.
 *
 * A pid does not identify a process: the kernel reuses it, other pid namespaces have the same one,
 * and an exec puts another program under it. So each program that the injection library
 * starts in draws an instance id, a random number other than 0.
 */
#ifndef CUPTI_TRACE_WIRE_GPU_EVENT_H
#define CUPTI_TRACE_WIRE_GPU_EVENT_H

#include <stdint.h>
#include "cupti_trace/wire/gpu_work.h"

enum gpu_event_type {
	GPU_EVENT_NONE = 0,
	/* come by the million, the most frequent first, or have sums that a double cannot hold */
	GPU_EVENT_KERNEL,     /* a kernel ran on a GPU */
	GPU_EVENT_LAUNCH,     /* a launch function was entered */
	GPU_EVENT_LAUNCH_END, /* a launch function has returned */
	GPU_EVENT_WORK,       /* a GPU did other work than a kernel */
	GPU_EVENT_WAIT,       /* a thread waited for the GPU */
	GPU_EVENT_BATCH,      /* the next lines are from this instance */
	GPU_EVENT_GOODBYE,    /* orderly end, with totals to check against */
	GPU_EVENT_LAST_SCANNED = GPU_EVENT_GOODBYE,
	GPU_EVENT_HELLO,      /* first event of an instance */
	GPU_EVENT_MAPS,       /* new code was mapped: look for launch functions again */
	GPU_EVENT_NAME,       /* defines a name id */
	GPU_EVENT_CODE,       /* where code of the stacks to come lies */
	GPU_EVENT_PYCODE,     /* defines an id of a Python function */
	GPU_EVENT_STACK,      /* defines a stack id */
	GPU_EVENT_DROPS,      /* events that could not be recorded or sent */
	GPU_EVENT_NOTICE,     /* something the user should know */
	GPU_EVENT_NODE,       /* where a graph's node was made */
	GPU_EVENT_SUM,        /* the total that CUPTI reported for one stream and kind */
	GPU_EVENT_NVTX,       /* defines an id of an NVTX range's name */
	GPU_EVENT_DEVICE,     /* describes a device */
	GPU_EVENT_CONTEXT,    /* describes a context, where that is of interest */
	GPU_EVENT_VOID,       /* launches that started nothing */
	GPU_EVENT_GRAPH,      /* what executes a graph */
	GPU_EVENT_CALLS,      /* how often a function was called, and for how long */
	GPU_EVENT_ERROR,      /* a call of CUDA has failed */
	GPU_EVENT_POOL,       /* what a memory pool holds */
	GPU_EVENT_CUBIN,      /* a piece of a file with device code, for its line table */
	GPU_EVENT_STALL,      /* defines an id of a stall reason */
	GPU_EVENT_PCS,        /* samples of where warps were in a kernel, and why */
	GPU_EVENT_PC_TOTALS,  /* how many such samples there were */
	GPU_EVENT_METRIC,     /* names a metric of hardware counters */
	GPU_EVENT_COUNTERS,   /* hardware counters of one launch */
	GPU_EVENT_UNMEASURED, /* launches whose counters were not read */
	GPU_EVENT_RANGE,      /* what is recorded begins or ends (--range) */
	GPU_EVENT_RUN, /* in a trace: what else is known of the program, and what time it is */
	GPU_EVENT_TYPES
};

/*
 * Starts every write to the pipe. `sequence` counts an instance's writes from 0, so that a gap
 * shows a lost write. `bytes` is how much follows this line in the same write: what comes after
 * that is not of this process. 0: unknown, all up to the next such event.
 */
struct gpu_event_batch {
	uint32_t pid; /* as the process itself sees it */
	uint32_t bytes;
	uint64_t instance; /* not 0 */
	uint64_t sequence;
};

/*
 * `wants_ack`: the process waits, bounded, until the profiler has attached its probes. Not in a
 * trace, which nobody reads yet.
 * `is_off`: the process cannot use CUPTI, a notice gave the reason; nothing more will come.
 *
 * `pid_namespace` and `start_ticks` distinguish processes that have the same `pid` in different pid
 * namespaces: compare them with the inode of /proc/PID/ns/pid and field 22 of
 * /proc/PID/stat.
 */
struct gpu_event_hello {
	uint32_t version; /* GPU_WIRE_VERSION of the sender */
	uint32_t pid;
	uint64_t instance;      /* as in gpu_event_batch */
	uint64_t pid_namespace; /* inode number; 0: not known */
	uint64_t start_ticks;   /* when the process started, clock ticks since boot as its time
				   namespace counts them; 0: not known */
	const char *executable;
	const char *cupti_path;  /* the libcupti in use; "" if none */
	uint32_t cupti_version;  /* cuptiGetVersion */
	int64_t clock_offset_ns; /* CLOCK_MONOTONIC - CUPTI's clock */
	uint64_t clock_error_ns; /* half the window in which the offset was measured */
	const char *libraries;   /* CUDA libraries mapped, separated by '\n' */
	uint32_t wants_ack, is_off;
};

/*
 * In a trace, a file that the library writes where there is no profiler (INJECTION_TRACE): what the
 * profiler would know by itself. After the hello, and with nothing but the time before each
 * goodbye.
 */
#define GPU_RUN_WORD_END '\x1f'
struct gpu_event_run {
	uint64_t time_ns;   /* CLOCK_MONOTONIC now */
	uint64_t unix_ns;   /* the same moment since 1970; 0: not known, and so is all below */
	const char *boot;   /* the kernel's boot id; "": not known, as for those below */
	const char *host;   /* the machine's name */
	const char *folder; /* the working directory */
	/* of words, each with GPU_RUN_WORD_END behind it; may be cut */
	const char *arguments; /* the command line */
	const char *job;       /* NAME=VALUE: the variables by which launchers number ranks */
};

struct gpu_event_maps {
	uint64_t generation; /* how often code was mapped so far (dlpi_adds) */
	uint32_t wants_ack;
};

/*
 * A long name comes in pieces, in order: with `more`, the next NAME event with this id carries
 * the following bytes.
 */
struct gpu_event_name {
	uint32_t id;
	uint32_t more;
	const char *name; /* a kernel's mangled name, or a piece of it */
};

/*
 * An executable mapping of the process, as /proc/self/maps gives it, sent before the first stack
 * with an address in it. It replaces earlier events about these addresses. So stacks can be
 * located even after the process has ended.
 */
struct gpu_event_code {
	uint64_t start, end;
	uint64_t file_offset; /* of `start` */
	uint64_t inode;       /* 0: no file */
	uint32_t dev_major, dev_minor;
	const char *path; /* may be "", "[vdso]" and the like */
	/* of the file, in hexadecimal digits; only in a trace. "" or NULL: not known */
	const char *build_id;
	/*
	 * 0: it is as the kernel maps it. Else it is memory of no file, which by the file's program
	 * headers has this text of the file; the hash of its pages (symbolize/text_pages.h) tells.
	 */
	uint64_t text_hash;
};
#define GPU_BUILD_ID_DIGITS 128u

/*
 * A Python code object that frames of the stacks to come refer to, by ids from 1. The same function
 * may come more than once, under other ids.
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
	GPU_FRAME_PYTHON = 2, /* `value` is a pycode id; 0: a Python function that is not known */
	GPU_FRAME_NVTX = 3,   /* `value` is an nvtx id: a range that was open there */
};

#define GPU_FRAME_MAX_LINE ((1u << 24) - 1)
struct gpu_event_frame {
	uint64_t value;
	uint32_t kind; /* enum gpu_frame_kind */
	uint32_t line; /* 0: not known, or not asked for; GPU_FRAME_PYTHON only */
};

/*
 * The name of an NVTX range that stacks refer to, by ids from 1.
 */
#define GPU_NVTX_MAX_ID (1u << 15)
struct gpu_event_nvtx {
	uint32_t id;
	uint32_t color;     /* ARGB; 0: none was given */
	const char *domain; /* "" for the default one */
	const char *name;   /* the range's message */
};

/*
 * A call stack of the process that launches refer to: the launch function's name, then frames from
 * its caller outwards. Ids start at 1. Addresses are those of the moment; code may be unmapped
 * later.
 *
 * A thread that works for others has a name, `handed_to`; what it does is for a thread that waits
 * for it, with the stack `handed_from`, which was sent before and has no function.
 */
#define GPU_STACK_MAX_FRAMES 210 /* at 17 characters each, still one line */
struct gpu_event_stack {
	uint32_t id;
	uint32_t is_whole; /* ends at the thread's start */
	const char *function;
	uint32_t count;
	const struct gpu_event_frame *frames; /* innermost first */
	uint32_t is_unordered;                /* Python ones may not be where they belong */
	uint32_t handed_from;                 /* the id of a stack; 0: it is not known whose */
	const char *handed_to;                /* NULL, "": the thread works for itself */
};

/* How the kernel's names of threads that work for others begin. */
#define GPU_HANDED_TO_PREFIX "pt_autograd_"

/* Whether a launch came through the runtime (libcudart) or directly through the driver. */
enum gpu_launch_family {
	GPU_LAUNCH_RUNTIME = 1,
	GPU_LAUNCH_DRIVER = 2,
};

/* flags of gpu_event_launch */
#define GPU_LAUNCH_IS_GRAPH 1u /* may start any number of operations, not just one */
#define GPU_LAUNCH_IS_OTHER 2u /* copies, sets, allocates: does not launch a kernel */
#define GPU_LAUNCH_OWES 4u     /* a copy or set of at least a byte: it has a record, if not void */
#define GPU_LAUNCH_SKIPPED 8u  /* has no stack of its own: others of its kernel stand for it */
/* a kernel's, where asked for: the thread waited for the GPU before it launched anything else */
#define GPU_LAUNCH_WAITED 16u

struct gpu_event_launch {
	uint64_t time_ns; /* when the function was entered */
	uint32_t tid;
	uint32_t correlation_id;
	uint32_t family; /* enum gpu_launch_family */
	uint32_t flags;
	uint32_t stack_id;   /* 0: not captured here */
	uint32_t stands_for; /* so many launches, itself among them; 0: itself alone */
};
#define GPU_LAUNCH_STANDS_MAX (1u << 14)

/*
 * A launch function has returned; only sent on request (trace_config.h: timeline). A launch is
 * sent at its entry, so that it comes before the operations that it starts and is there even if its
 * thread never returns from the call; its end follows, from the same thread. A call has no end
 * event if its thread was cancelled in it or left it by longjmp, or if its process ended meanwhile.
 */
struct gpu_event_launch_end {
	uint64_t duration_ns; /* since gpu_event_launch.time_ns, on the thread's clock */
	uint32_t tid;
	uint32_t correlation_id; /* of the launch */
	uint32_t error;          /* cudaError_t or CUresult, by the launch's family; 0: none */
};

/* Nothing runs for 70 years: keeps sums far from overflow. Longer is bad_time. */
#define GPU_EVENT_DURATION_LIMIT_NS (UINT64_C(1) << 61)

/*
 * Times of an operation that cannot be: it began before tracing did, or ended after its record was
 * handed over, each by more than a millisecond.
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
	uint32_t bad_time;      /* 1: CUPTI gave no or senseless timestamps; duration_ns is 0 */
	uint32_t outside;       /* enum gpu_outside */
};

struct gpu_event_work {
	uint64_t start_ns;
	uint64_t duration_ns; /* 0 of an instant */
	uint64_t bytes;
	uint32_t work; /* enum gpu_work, but not GPU_WORK_KERNEL */
	uint32_t correlation_id;
	uint32_t device_id; /* of a migration, the device that it goes to or comes from */
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t graph_id;                          /* 0: not launched by a graph */
	uint64_t graph_node_id;                     /* 0: not launched by a graph */
	uint32_t source_memory, destination_memory; /* CUPTI's memory kinds; 0: not known */
	uint64_t address; /* of an allocation or release, where asked for (--alloc); else 0 */
	uint32_t bad_time, outside; /* as in gpu_event_kernel */
};

/*
 * A memory pool after a call that changed it (--alloc): the bytes that it holds, and of these those
 * that it has handed out. Of a pool that is destroyed both are 0.
 */
struct gpu_event_pool {
	uint64_t address; /* the pool's, until it is destroyed */
	uint64_t time_ns;
	uint64_t held, used;
	uint64_t keeps; /* what it holds on to when the GPU is waited for; UINT64_MAX: all */
	uint32_t device_id;
	uint32_t memory; /* CUPTI's memory kind; 0: not known */
};

/*
 * A node of a CUDA graph: made by the call that stack_id names, a clone of another node, or moved
 * from the body of a conditional node into the executable graph. A later event of the same id
 * replaces this one for launches from then on: ids are reused.
 */
struct gpu_event_node {
	uint64_t id;
	uint64_t origin;   /* that it is a clone of, or was; 0: neither */
	uint32_t is_moved; /* 1: it was the node `origin`, which has this id from now on */
	uint64_t time_ns;  /* when it was made; 0: a clone, or unknown */
	uint32_t tid;      /* of the calling thread; 0: unknown */
	uint32_t stack_id; /* 0: a clone, or not captured */
};

/*
 * What executes a graph: a conditional node of another graph, whose body it is, or a launch of the
 * program. Launches are only sent of programs that have conditional nodes; the line may come before
 * that of the launch.
 */
struct gpu_event_graph {
	uint32_t number;         /* the upper half of its nodes' ids; not 0 */
	uint64_t holder;         /* the conditional node's id; 0: launched */
	uint32_t correlation_id; /* of the launch; 0: a body */
	uint64_t time_ns;        /* of the launch, or when the body was made */
};

/*
 * From this time on the process is recorded, or not; sent where parts are chosen (--range): after
 * the hello, and at each change. Launches are only sent of those parts.
 */
struct gpu_event_range {
	uint64_t time_ns;
	uint32_t is_open;
};

/* Sent before the goodbye, one for each device, context, stream and kind of work. */
struct gpu_event_sum {
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t work;
	uint64_t count;
	uint64_t ns;
	uint64_t bytes;
};

/* A call that waits for the GPU was entered and left; only sent when asked for (--waits). */
struct gpu_event_wait {
	uint64_t start_ns;
	uint64_t duration_ns; /* on the thread's clock, CLOCK_MONOTONIC */
	uint64_t computed_ns; /* of it, on a CPU: computing, or spinning for the GPU; 0: unknown */
	uint32_t tid;
	uint32_t stack_id;   /* 0: not captured */
	uint32_t has_stream; /* 1: it waited for this one only */
	uint32_t context_id, stream_id;
	uint32_t error; /* cudaError_t or CUresult, by the stack's function; 0: none */
};

/*
 * Durations of calls fall into buckets: each ns alone up to 15, then eight for each power of two;
 * the last has all from 2^40 ns on.
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

/* The longest duration in a bucket. */
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
#define GPU_CALL_OTHER_ERROR 0u /* codes beyond those that are counted apart */

/*
 * All calls of a function of one interface since the last such event, only sent when asked for
 * (--api). Several lines of one function add up; of the shortest and longest, the extreme holds.
 * Calls that did not return yet have no duration.
 */
#define GPU_CALL_NAME_BYTES 128
#define GPU_CALL_LINE_BUCKETS 96u
#define GPU_CALL_LINE_ERRORS 9u
#define GPU_CALL_KINDS 6u
struct gpu_event_calls {
	const char *function;
	uint32_t family; /* enum gpu_launch_family */
	uint32_t kind;   /* of copies, cudaMemcpyKind plus 1; 0: it has none */
	uint64_t calls, ns;
	uint64_t bytes;             /* of those that succeeded, as their parameters say */
	uint64_t nested, nested_ns; /* of all these, within a call of the runtime */
	uint64_t shortest_ns,
		longest_ns; /* since the start; without meaning if there is no bucket */
	uint32_t error_count, bucket_count;
	const struct gpu_call_error *errors;
	const struct gpu_call_bucket *buckets;
};

/*
 * A device that the process has, as CUPTI describes it: may come after operations on it. A
 * later event of the same id replaces an earlier one.
 */
#define GPU_DEVICE_MAX_ID 256u
#define GPU_UUID_BYTES 16

/* What a multiprocessor of the device holds at once; all 0: not known. */
struct gpu_limits {
	uint32_t multiprocessors; /* of the device */
	uint32_t warps, blocks, registers, shared_bytes;
	uint32_t major, minor; /* compute capability */
};
struct gpu_event_device {
	uint32_t id;     /* as operations have it; below GPU_DEVICE_MAX_ID */
	uint32_t is_mig; /* 1: a MIG instance, of which the two ids hold */
	uint32_t gpu_instance, compute_instance;
	uint8_t uuid[GPU_UUID_BYTES]; /* of the GPU, or of the MIG instance; all 0: not known */
	const char *name;
	struct gpu_limits limits;
};

/*
 * Launches of one kernel each, of those that were sent, that started nothing: they failed, or were
 * captured into a graph. Since the previous such event.
 */
struct gpu_event_void {
	uint64_t launches;
	uint32_t correlation_id; /* of one that launches no kernel, or a graph; 0: see above */
};

/* A context; sent of those that run under MPS, and of each that ends, if asked for (--alloc). */
struct gpu_event_context {
	uint32_t id;
	uint32_t device_id; /* below GPU_DEVICE_MAX_ID */
	uint32_t is_mps;    /* the GPU is shared with other processes by the MPS server */
	uint64_t end_ns;    /* when it began to be destroyed, with all its memory; 0: it has not */
};

/*
 * A launch, copy, allocation, release or wait has returned an error; only sent on request
 * (trace_config.h: errors). Of a call of the runtime and those of the driver in it, the outermost.
 */
struct gpu_event_error {
	uint32_t code; /* cudaError_t or CUresult, by the function; not 0 */
	uint32_t tid;
	uint32_t correlation_id;
	const char *function;
};

/* A metric of hardware counters, which values refer to by their position; ids start at 0. */
#define GPU_METRICS_MAX 64u
struct gpu_event_metric {
	uint32_t id;      /* below GPU_METRICS_MAX */
	const char *name; /* "dram__bytes.sum" */
	const char *unit; /* CUPTI's word for it: "byte", "percent"; "": none, or not known */
};

/*
 * A launch is measured: once before it, so that whoever gets the record of the kernel knows that
 * there will be values, and once after it.
 */
enum gpu_counters_state {
	GPU_COUNTERS_BEGIN, /* it is about to be launched */
	GPU_COUNTERS_READ,  /* here are the values */
	GPU_COUNTERS_NONE,  /* there are none: it failed */
	GPU_COUNTERS_STATES
};
struct gpu_event_counters {
	uint32_t correlation_id; /* of the launch */
	uint32_t state;          /* enum gpu_counters_state */
	uint32_t count;       /* of values, by their metrics' ids; 0 but with GPU_COUNTERS_READ */
	const double *values; /* not a number: this GPU has no such metric */
};

/* Why launches that may have been of interest have no counters. */
enum gpu_unmeasured {
	GPU_UNMEASURED_CAPTURED, /* a stream was captured into a graph meanwhile */
	GPU_UNMEASURED_GRAPH,    /* it launched a graph, which is many kernels */
	GPU_UNMEASURED_BUSY,     /* another thread was measuring, or launched in between */
	GPU_UNMEASURED_PEERS,    /* the kernel waits for other GPUs */
	GPU_UNMEASURED_FAILED,   /* CUPTI failed, or the launch did */
	GPU_UNMEASURED_REPLAY,   /* not a launch: a record of a measured kernel's further runs */
	GPU_UNMEASURED_REASONS
};
struct gpu_event_unmeasured {
	uint64_t counts[GPU_UNMEASURED_REASONS]; /* since the previous such event */
};

/*
 * A piece of a cubin, an ELF file with device code, of `size` bytes; only sent where PC samples are
 * asked for (--stalls), of cubins that have a line table, and only the sections that it takes.
 * All else is 0.
 */
#define GPU_CUBIN_PIECE 1900u
#define GPU_CUBIN_MAX_BYTES (256u << 20)
struct gpu_event_cubin {
	uint64_t crc; /* CUPTI's, of the whole file */
	uint32_t size;
	uint32_t offset, count; /* of the piece, within the size */
	const uint8_t *bytes;
};

/* A reason for which a warp issues no instruction, by ids from 1, as CUPTI writes it. */
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

/* Samples of a function since the previous such event about the same places. */
#define GPU_PC_LINE_COUNTS 90u
struct gpu_event_pcs {
	uint32_t name_id; /* of the function, as of kernels */
	uint64_t cubin_crc;
	uint32_t correlation_id; /* of the launch; 0: not known */
	uint32_t count;          /* not 0 */
	const struct gpu_pc_count *counts;
};

/* All counts are of samples since the previous such event. */
struct gpu_event_pc_totals {
	uint32_t period;  /* a sample every 2^n cycles */
	uint64_t taken;   /* with all below */
	uint64_t dropped; /* by the hardware, which had no room */
	uint64_t other;   /* of kernels that are not the program's */
	uint64_t lost;    /* for lack of memory */
	/* not of samples */
	uint64_t overflows;       /* times that the buffer of the GPU was full */
	uint64_t cubins_left_out; /* whose line tables are too large */
};

/*
 * All counts are since the previous such event. What was never recorded is apart from what was
 * recorded but not sent: only the latter is in the goodbye's totals.
 */
struct gpu_event_drops {
	uint64_t kernels;  /* records of any kind that CUPTI dropped because it had no buffer */
	uint64_t launches; /* not recorded because memory was short */
	uint64_t batches;  /* writes given up: the profiler did not read for too long */
	uint64_t unsent_kernels; /* events in these: kernels and other work */
	uint64_t unsent_launches;
	uint64_t unknown; /* activity records of a kind nobody asked for */
	/* no loss: operations that ended long before what is recorded, or began after it, and their
	 * time (time_range.h) */
	uint64_t early, early_ns, late, late_ns;
	/* NVTX ranges that are not in stacks by their names: past a limit; shown with N for the
	 * numbers in them (nvtx_names.h) */
	uint64_t ranges, folded_ranges;
};

enum gpu_notice {
	GPU_NOTICE_OTHER = 0,
	GPU_NOTICE_NO_CUPTI,         /* detail: the places looked at, separated by '\n' */
	GPU_NOTICE_SUBSCRIBER_TAKEN, /* another profiler uses CUPTI in this process */
	GPU_NOTICE_CUPTI_ERROR,      /* detail: the call and what it returned */
	GPU_NOTICE_OLD_CUPTI,        /* detail: path and version */
	GPU_NOTICE_NO_PYTHON,        /* detail: why Python frames are not read */
	GPU_NOTICE_VERBOSE,          /* only sent when asked for (-v) */
	GPU_NOTICE_NOT_RECORDED,     /* detail: a kind of GPU work, and CUPTI's error */
	GPU_NOTICE_DEVICE_LAUNCH,    /* device code that launches kernels was loaded */
	GPU_NOTICE_NEW_FUNCTION,     /* detail: a CUDA function that was called, and is not known */
	GPU_NOTICE_NO_STALLS,        /* detail: CUPTI's error, and what it is about */
	GPU_NOTICE_COUNTERS,         /* detail: why hardware counters are not read */
	/* found out by the profiler itself */
	GPU_NOTICE_OTHER_REFUSED, /* detail: the library that asked for CUPTI and was refused */
	GPU_NOTICES
};

struct gpu_event_notice {
	uint32_t code; /* enum gpu_notice */
	const char *detail;
};

struct gpu_event_goodbye {
	uint64_t kernels;   /* kernel and other work events since the hello, sent or given up */
	uint64_t kernel_ns; /* the sum of their durations, without stalls */
	uint64_t launches;  /* launch events, likewise */
	uint64_t own_ns;    /* CPU time that the library took in the process; 0: not known */
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
