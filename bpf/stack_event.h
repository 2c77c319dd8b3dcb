/* SPDX-License-Identifier: MIT */
/*
 * What the BPF programs send to the profiler through their ring buffer: one stack each, either a
 * CPU sample or the entry of a CUDA function; and when such a function has returned. Compiled by
 * both sides.
 *
 * Layout: a struct stack_event followed by `user_frames` and then `kernel_frames` addresses (u64),
 * each innermost first. Only that many bytes are sent. A launch stack begins with the function's
 * own address, or with a 0 to be skipped. Times are CLOCK_MONOTONIC in ns. Process and thread ids
 * are those of the profiler's pid namespace.
 */
#ifndef BPF_STACK_EVENT_H
#define BPF_STACK_EVENT_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* Deepest stack taken, per side: the kernel's own default limit (perf_event_max_stack). */
#define STACK_EVENT_MAX_FRAMES 127

enum stack_event_kind {
	STACK_EVENT_CPU_SAMPLE = 1,
	STACK_EVENT_LAUNCH = 2,
	STACK_EVENT_CPU_SNAPSHOT = 3, /* a CPU sample as a struct stack_snapshot */
	STACK_EVENT_CALL = 4,         /* the entry of a timed call, as a struct stack_snapshot */
	STACK_EVENT_CALL_END = 5,     /* its return: one frame, which is the time of its entry */
	STACK_EVENT_REFUSED = 6,      /* another client of CUPTI was refused; its return address */
};

/*
 * A CPU sample or call to be unwound by the reader: the user registers, the kernel's frames, and a
 * copy of the user stack from its stack pointer up. The size in the ring buffer is fixed, for a
 * call STACK_CALL_SIZE; `stack_bytes` and `event.kernel_frames` say how much of it counts.
 * Registers are in DWARF's order (System V ABI AMD64, figure 3.36), the pc last.
 */
#define STACK_SNAPSHOT_REGISTERS 17
#define STACK_SNAPSHOT_PAGE 4096
#define STACK_SNAPSHOT_BYTES (128 << 10)
#define STACK_CALL_BYTES (32 << 10) /* calls are many more than samples */

/*
 * Which function a launch probe sits on: the attach cookie of the uprobe. 0 is no function. The
 * runtime's come first; a runtime launch calls the driver's function inside, and counts once.
 */
enum launch_function {
	LAUNCH_NONE = 0,
	LAUNCH_CUDA_KERNEL,             /* cudaLaunchKernel */
	LAUNCH_CUDA_KERNEL_EXC,         /* cudaLaunchKernelExC */
	LAUNCH_CUDA_COOPERATIVE_KERNEL, /* cudaLaunchCooperativeKernel */
	LAUNCH_CUDA_GRAPH,              /* cudaGraphLaunch */
	LAUNCH_CU_KERNEL,               /* cuLaunchKernel: the first of the driver's */
	LAUNCH_CU_KERNEL_EX,            /* cuLaunchKernelEx */
	LAUNCH_CU_COOPERATIVE_KERNEL,   /* cuLaunchCooperativeKernel */
	LAUNCH_CU_GRAPH,                /* cuGraphLaunch */
	LAUNCH_FUNCTIONS
};
#define LAUNCH_FIRST_DRIVER LAUNCH_CU_KERNEL

/* The per-thread default stream twins are the same function to us, with this bit in the cookie. */
#define LAUNCH_PTSZ 0x100

#define STACK_EVENT_TRUNCATED 1u    /* flags: the stack was deeper than STACK_EVENT_MAX_FRAMES */
#define STACK_EVENT_PYTHON_WHOLE 2u /* flags: the chain of Python frames was read to its end */

struct stack_event {
	__u64 time_ns;
	__u32 pid;
	__u32 tid;
	__u16 kind;            /* enum stack_event_kind */
	__u16 launch_function; /* enum launch_function, | LAUNCH_PTSZ; 0 for CPU samples; of a
				* timed call the number that its probe was given */
	__u16 user_frames;
	__u16 kernel_frames;
	__u32 flags;
	__u32 padding;
	/* __u64 frames[user_frames + kernel_frames] follow */
};

/*
 * Where a process keeps its Python frames: byte offsets into CPython's structures, as
 * symbolize/python_offsets.h has them. The reader puts one into a map for each such process.
 */
#define STACK_PYTHON_NO_OFFSET 0xffff

struct stack_python {
	__u64 interpreters; /* address of the pointer to the first interpreter's state */
	__u32 interpreter_next;
	__u32 interpreter_threads;
	__u16 thread_next;
	__u16 thread_id; /* of the thread state: what the thread pointer register holds */
	__u16 thread_frame;
	__u16 cframe_frame; /* STACK_PYTHON_NO_OFFSET: none in between */
	__u16 frame_previous;
	__u16 frame_code;
	__u16 frame_place;
	__u16 frame_owner; /* STACK_PYTHON_NO_OFFSET: none */
	__u16 code_text;   /* a member that tells code objects at one address apart */
	__u16 code_first_line;
	__u16 text_hash; /* of what `code_text` points to */
	__u16 padding;
};

/* One link of the chain of frames, as it is in memory; what could not be read is 0. */
#define STACK_PYTHON_MAX_LINKS 128

struct stack_python_link {
	__u64 code;
	__u64 place;
	__u64 text;
	__u64 text_hash;
	__u32 first_line;
	__u32 owner;
};

struct stack_snapshot {
	struct stack_event event; /* user_frames is 0 */
	__u64 registers[STACK_SNAPSHOT_REGISTERS];
	__u32 stack_bytes;
	__u32 python_links; /* innermost first */
	struct stack_python_link python[STACK_PYTHON_MAX_LINKS];
	__u64 kernel[STACK_EVENT_MAX_FRAMES];
	unsigned char stack[STACK_SNAPSHOT_BYTES];
};

#define STACK_CALL_SIZE (sizeof(struct stack_snapshot) - STACK_SNAPSHOT_BYTES + STACK_CALL_BYTES)

_Static_assert(sizeof(struct stack_event) == 32, "both sides must agree on the layout");
_Static_assert(sizeof(struct stack_python) == 40, "both sides must agree on the layout");
_Static_assert(sizeof(struct stack_python_link) == 40, "both sides must agree on the layout");

/* Counters that the BPF side keeps, read by the profiler at the end and for the status line. */
struct stack_counters {
	__u64 samples;         /* CPU samples taken of tracked processes */
	__u64 launches;        /* launch probes hit, nested ones not included */
	__u64 nested;          /* driver launches inside a runtime launch */
	__u64 dropped_samples; /* no room in the ring buffer */
	__u64 dropped_launches;
	__u64 untracked_processes; /* descendants not followed because the table was full */
	__u64 calls;            /* timed calls, outermost ones: those that do not come are lost */
	__u64 samples_in_calls; /* CPU ticks inside of timed calls: their time is the call's */
};

#endif
