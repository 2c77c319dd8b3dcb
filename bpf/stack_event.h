/* SPDX-License-Identifier: MIT */
/*
 * Defines the records that the BPF programs send through the ring buffer. Compiled by both sides.
 *
 * Every record begins with a struct stack_event with its `kind`:
 *
 *   CPU_SNAPSHOT, LAUNCH, CALL, THREAD, OFF_CPU
 *                               a struct stack_snapshot and its parts
 *   ON_CPU                      a struct stack_on_cpu
 *   THREAD_TIMES                a struct stack_thread_times
 *   CALL_END, REFUSED, CPU_USED a struct stack_value
 *   PYTHON_CODE                 a struct stack_python_code, without its lines if not requested
 *
 * Times are CLOCK_MONOTONIC in ns. Process and thread ids are those of the profiler's pid
 * namespace.
 */
#ifndef BPF_STACK_EVENT_H
#define BPF_STACK_EVENT_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* Deepest kernel stack taken: the kernel's own default limit (perf_event_max_stack). */
#define STACK_EVENT_MAX_FRAMES 127

enum stack_event_kind {
	STACK_EVENT_CPU_SAMPLE = 1,   /* old recordings only: a CPU sample as a list of frames */
	STACK_EVENT_LAUNCH = 2,       /* entry of a launch function */
	STACK_EVENT_CPU_SNAPSHOT = 3, /* a CPU sample */
	STACK_EVENT_CALL = 4,         /* entry of a timed call */
	STACK_EVENT_CALL_END = 5,     /* return of a timed call; value: time of its entry */
	STACK_EVENT_REFUSED = 6,      /* CUPTI refused another client; value: caller's address */
	STACK_EVENT_PYTHON_CODE = 7,  /* a code object's name, before its first use */
	/*
	 * CPU time of the process since its start, in ns. Sent after an exec (flagged), and when
	 * the last thread begins to exit, both as of the kernel's last tick. Sent again when all
	 * threads are released: exact, with the time at which the last thread began to exit.
	 */
	STACK_EVENT_CPU_USED = 8,
	STACK_EVENT_THREAD = 9,        /* a thread is created; `flags` is its id */
	STACK_EVENT_OFF_CPU = 10,      /* a thread leaves its CPU; ON_CPU follows */
	STACK_EVENT_ON_CPU = 11,       /* the thread is back on a CPU */
	STACK_EVENT_THREAD_TIMES = 12, /* unsent times of a thread at its end or exec (flagged) */
	STACK_EVENT_USES_DRIVER = 13,  /* entry of a function by which programs begin to use CUDA */
};

/* flags */
#define STACK_EVENT_TRUNCATED 1u /* recordings only: the list of frames was cut */
#define STACK_EVENT_NO_MEMORY 2u /* CPU_SNAPSHOT: an exiting thread without memory */
#define STACK_EVENT_EXEC 4u      /* CPU_USED, THREAD_TIMES: of the program before the exec */
#define STACK_EVENT_OVER 16u     /* THREAD_TIMES: sent after the run's end; valid to since_ns */
/*
 * Snapshots: the thread is in exec. The old memory disappears during the exec, while the old
 * registers stay until the new ones are set.
 */
#define STACK_EVENT_IN_EXEC 32u
/*
 * The user may not look into the process (access.bpf.h). Snapshots have no registers, stack and
 * frames. CPU_USED of an exec: applies to the new program.
 */
#define STACK_EVENT_NO_ACCESS 64u
/* CPU_USED: the process ends; the flags' upper half is the wait status (wait(2)). */
#define STACK_EVENT_ENDS 128u
#define STACK_EVENT_STATUS_AT 16
/*
 * CPU_USED of an end, if the user may look into the process:
 * LOOKED: its descriptors were inspected. HAS_GPU: some are open on a device that GPU users open
 * (gpu_devices). OPENED: how many of these the process opened itself, 0 to 3, judged by its final
 * credentials. Others are inherited, or opened before a change of credentials.
 */
#define STACK_EVENT_LOOKED 256u
#define STACK_EVENT_HAS_GPU 512u
#define STACK_EVENT_OPENED_AT 10
#define STACK_EVENT_OPENED_MAX 3u
/* OFF_CPU in a read or write: file type as in S_IFMT */
#define STACK_EVENT_FILE_TYPE 0xf000u

struct stack_event {
	__u64 time_ns;
	__u32 pid;
	__u32 tid;
	__u16 kind;            /* enum stack_event_kind */
	__u16 launch_function; /* LAUNCH, CALL, CALL_END: number in cuda_functions.h */
	__u16 user_frames;     /* 0, except in recordings */
	__u16 kernel_frames;   /* CPU_SNAPSHOT, OFF_CPU */
	__u32 flags;
	__u32 size;    /* bytes of the whole record; a multiple of 8 */
	char comm[16]; /* the thread's name, NUL-terminated */
};

struct stack_value {
	struct stack_event event;
	__u64 value;
};

/* ---- probes ---- */

/*
 * The attach cookie of a probe on a CUDA function: function number and purpose. Probes with
 * STACK_PROBE_LAUNCH report launches. Probes without time calls, in processes whose calls are
 * timed; launches are not reported there.
 */
#define STACK_PROBE_FUNCTION 0xffffu
#define STACK_PROBE_LAUNCH 0x10000u
#define STACK_PROBE_DRIVER 0x20000u /* a driver function: not counted inside a runtime launch */

/* ---- followed processes ---- */

/* The program that a process runs. */
struct stack_program {
	__u64 began_ns;  /* time of exec or fork as seen by BPF, later than in perf's record */
	__u64 before_ns; /* began_ns of the previous program; 0: not followed */
	__u64 mm;        /* address of its struct mm_struct; 0: unknown */
};

struct stack_process {
	__u64 self;    /* address of its struct signal_struct; 0: unknown */
	__u64 is_open; /* last known answer of may_look_into, for use when it ends */
	struct stack_program program;
};

/* ---- Python ---- */

/*
 * Layout of a process's Python frames: byte offsets into CPython's structures, from
 * symbolize/python_offsets.h. The reader adds one to a map for each such process.
 */
#define STACK_PYTHON_NO_OFFSET 0xffff

/* Maximum of `frame_window` and `mark_bytes`. */
#define STACK_PYTHON_WINDOW_BYTES 1024
#define STACK_PYTHON_MARK_BYTES 128

struct stack_python {
	__u64 interpreters; /* address of the pointer to the first interpreter's state */
	__u64 program;      /* identifies the program: code objects are sent once; forks share it */
	__u64 runtime;      /* _PyRuntime, which contains the first interpreter's lock */
	__u64 began_ns;     /* start of the program by perf's exec or fork record; 1: before it was
			       followed. No other program's frames are read. */
	__u32 runtime_bytes;
	__u32 interpreter_next;
	__u32 interpreter_threads;
	__u16 thread_next;
	__u16 thread_id; /* in the thread state: value of the thread pointer register */
	__u16 thread_frame;
	__u16 cframe_frame; /* STACK_PYTHON_NO_OFFSET: no structure in between */
	__u16 frame_previous;
	__u16 frame_code;
	__u16 frame_place;
	__u16 frame_owner;   /* STACK_PYTHON_NO_OFFSET: none */
	__u16 frame_bytes;   /* bytes from the frame's start that hold these members */
	__u16 frame_window;  /* bytes before the members' end that probably hold callers, too */
	__u16 owner_of_shim; /* smallest owner without code; STACK_PYTHON_NO_OFFSET: none */
	__u16 mark_from;     /* part of a code object from which the mark is computed */
	__u16 mark_bytes;
	__u16 code_text; /* member that distinguishes code objects at one address */
	__u16 code_first_line;
	/* parts of a code object that are sent */
	__u16 code_bytes; /* bytes from its start */
	__u16 code_name;
	__u16 code_qualname; /* STACK_PYTHON_NO_OFFSET: none */
	__u16 code_filename;
	__u16 code_lines;
	__u16 text_head;   /* bytes of a str before its characters */
	__u16 text_length; /* followed by the hash */
	__u16 text_state;
	__u16 text_kind_bit;
	__u16 text_ascii_data;
	__u16 text_wide_data;
	__u16 bytes_length; /* followed by the hash */
	__u16 bytes_data;
	/* position of an evaluation on the C stack; STACK_PYTHON_NO_OFFSET: shims have it */
	__u16 thread_anchor;
	__u16 anchor_previous;
	__u16 owner_of_entry; /* smallest owner of an evaluation's first frame */
	/* copies of a code object's instructions; STACK_PYTHON_NO_OFFSET: none */
	__u16 frame_copy;
	__u16 code_copies;
	__u16 code_instructions;
};

/* A link of the chain of frames. */
#define STACK_PYTHON_MAX_LINKS 512

struct stack_python_link {
	__u64 code;   /* may be tagged */
	__u64 place;  /* address in the code object's own instructions, not in a copy */
	__u64 mark;   /* python_mark() of the readable parts, others 0; python_mark_lines() if lines
			 are sent */
	__u64 anchor; /* shims, and first frames of evaluations; 0: none */
	__u32 owner;
	__u32 state; /* number of the thread state, one per interpreter */
};

/* The chain, innermost link first. Several thread states follow one another. */
struct stack_python_chain {
	__u64 program; /* stack_python.program of the layout */
	__u32 count;
	__u16 is_whole; /* read to its end */
	__u16 is_first; /* no frames of this thread were read recently */
	struct stack_python_link links[STACK_PYTHON_MAX_LINKS];
};

/*
 * Pieces of memory from which the reader gets a code object's name. The last piece has the lines of
 * its instructions. A missing piece has 0 bytes.
 */
#define STACK_PYTHON_CODE_BYTES 256
#define STACK_PYTHON_HEAD_BYTES 64
#define STACK_PYTHON_NAME_CHARACTERS 512  /* from the start */
#define STACK_PYTHON_PATH_CHARACTERS 1024 /* from the end */
#define STACK_PYTHON_LINES_BYTES (16 << 10)

enum stack_python_piece_kind {
	STACK_PYTHON_CODE,
	STACK_PYTHON_NAME_HEAD,
	STACK_PYTHON_NAME,
	STACK_PYTHON_QUALNAME_HEAD,
	STACK_PYTHON_QUALNAME,
	STACK_PYTHON_PATH_HEAD,
	STACK_PYTHON_PATH,
	STACK_PYTHON_LINES,
	STACK_PYTHON_PIECES
};

struct stack_python_piece {
	__u64 address; /* in the process */
	__u32 at;      /* offset in the record, bytes */
	__u32 bytes;
};

struct stack_python_code {
	struct stack_event event;
	__u64 program;
	struct stack_python_link link; /* the link that refers to the code object */
	struct stack_python_piece pieces[STACK_PYTHON_PIECES];
	unsigned char code[STACK_PYTHON_CODE_BYTES];
	unsigned char heads[3][STACK_PYTHON_HEAD_BYTES];
	/* up to four bytes per character */
	unsigned char name[4 * STACK_PYTHON_NAME_CHARACTERS];
	unsigned char qualname[4 * STACK_PYTHON_NAME_CHARACTERS];
	unsigned char path[4 * STACK_PYTHON_PATH_CHARACTERS];
	unsigned char lines[STACK_PYTHON_HEAD_BYTES + STACK_PYTHON_LINES_BYTES];
};

#define STACK_PYTHON_CODE_SIZE __builtin_offsetof(struct stack_python_code, lines)

/* Room for a kernel function's name: the kernel's longest one with that of its module. */
#define STACK_KERNEL_NAME_BYTES 640

/* ---- snapshots ---- */

/*
 * Placeholders in the programs for numbers that the loader finds in the kernel's types (bpf_types):
 * a function, called as a helper with a number that no kernel has, and structures.
 */
#define STACK_CALL_RDONLY_CAST 0x7fff0001
#define STACK_TYPE_TASK_STRUCT 0x7fff0002
#define STACK_TYPE_TIMESPEC64 0x7fff0003
#define STACK_TYPE_PT_REGS 0x7fff0004

/*
 * A thread's stack, to be unwound by the reader. The record begins with the user registers. These
 * parts follow at given offsets:
 * - kernel frames: of CPU samples, and of waits if requested
 * - the chain of Python frames, if the process runs Python
 * - a copy of the user stack from the stack pointer up
 *
 * Records have one of the sizes below: the smallest that fits the used stack, else the largest. The
 * copy ends early at unreadable memory.
 *
 * In a signal handler on an alternate stack (sigaltstack) there are two copies: of that stack up to
 * its end, and of the interrupted stack.
 *
 * Registers are in DWARF's order (System V ABI AMD64, figure 3.36), the pc last.
 */
#define STACK_SNAPSHOT_REGISTERS 17
#define STACK_ABOVE_UNKNOWN (~0ull)
#define STACK_SNAPSHOT_PAGE 4096
#define STACK_TINY_BYTES (2 << 10)
#define STACK_SMALL_BYTES (8 << 10)
#define STACK_CALL_BYTES (32 << 10) /* limit for launches and calls, which are many */
#define STACK_SNAPSHOT_BYTES (128 << 10)
#define STACK_HANDLER_BYTES (64 << 10) /* limit of an alternate stack, in addition */
/* Bytes below the stack pointer that code may use (System V ABI AMD64, 3.2.2). */
#define STACK_RED_ZONE 128

struct stack_snapshot {
	struct stack_event event;
	__u64 ran_ns; /* CPU_SNAPSHOT: time that the sample stands for; 0: a sampling period */
	__u64 registers[STACK_SNAPSHOT_REGISTERS];
	__u64 stack_above; /* bytes from stack pointer to the stack's beginning, or
			      STACK_ABOVE_UNKNOWN */
	__u32 kernel_at;   /* offset of event.kernel_frames addresses (u64), innermost first */
	__u32 python_at;   /* offset of a struct stack_python_chain; 0: none */
	__u32 stack_at;
	__u32 stack_bytes;
	/*
	 * The copy of an interrupted stack. `start` is its address: STACK_RED_ZONE below the
	 * interrupted stack pointer, or up to two pages above if unreadable. `above` counts bytes
	 * from there to the stack's beginning, or is STACK_ABOVE_UNKNOWN.
	 */
	__u64 interrupted_start;
	__u64 interrupted_above;
	__u32 interrupted_at;
	__u32 interrupted_bytes; /* 0: no such copy */
};

/* ---- time off the CPU (--wall) ---- */

/*
 * Reasons why a thread is off the CPU: the number of its system call, or one of these.
 */
enum stack_off_cpu_kind {
	STACK_OFF_CPU_CALLS = 1024, /* above the numbers of system calls */
	STACK_OFF_CPU_RUNNABLE,     /* preempted: waits for a CPU */
	STACK_OFF_CPU_NEW,          /* waits for a CPU since its creation */
	STACK_OFF_CPU_DISK,         /* page fault that waits for a disk */
	STACK_OFF_CPU_PAGE_FAULT,   /* page fault that waits for anything else */
	STACK_OFF_CPU_STOPPED,      /* by a signal, a debugger or a freezer */
	STACK_OFF_CPU_EXITING,      /* exits, or is preempted without a stack */
	STACK_OFF_CPU_OTHER_CALL,   /* a system call of the 32-bit ABI, or an unknown one */
	STACK_OFF_CPU_MIXED,        /* several kinds, for lack of sums */
	STACK_OFF_CPU_GIL,          /* a futex in _PyRuntime: Python's global lock */
};

/*
 * Each time off the CPU belongs to a site: a hash of stack pointer and pc, which nearly always is
 * one stack. Normally a stack is taken each time. If a site recurs faster than
 * STACK_OFF_CPU_EVERY_NS, a random part of about that rate gets stacks. The rate is a quarter if
 * fewer than one in 2^STACK_OFF_CPU_OFTEN_BITS times gets a stack. (The choice is random, because
 * the first time after a pause may always be one of a program's cycle.)
 *
 * Each CPU takes one stack in STACK_OFF_CPU_PACE_NS. Both rates allow bursts of AHEAD stacks, more
 * for the first stack of a site. Times without a stack are summed by site.
 */
#define STACK_OFF_CPU_EVERY_NS 10000000u
#define STACK_OFF_CPU_AHEAD 16u
#define STACK_OFF_CPU_PACE_NS 1000000u
#define STACK_OFF_CPU_PACE_AHEAD 2000u
#define STACK_OFF_CPU_FIRST_AHEAD 10000u
/* Minimum of times off the CPU that are sent as moments (--idle), even without a stack. */
#define STACK_OFF_CPU_MOMENT_NS 50000u
#define STACK_OFF_CPU_SUMS 16  /* per thread; the last one may be STACK_OFF_CPU_MIXED */
#define STACK_OFF_CPU_SITES 12 /* sums for further sites; the rest is for new kinds */
#define STACK_OFF_CPU_ANY_SITE 0u
#define STACK_OFF_CPU_DUE_BITS 16
#define STACK_OFF_CPU_OFTEN_BITS 4
#define STACK_OFF_CPU_INTERVAL_BITS 20

struct stack_off_cpu_sum {
	__u16 kind;
	__u8 is_used;
	__u8 interval; /* 2^interval - 1 times have no stack, on average */
	__u32 site;
	__u64 blocked_ns, runnable_ns; /* until the wakeup; from there until it ran */
	__u32 due;     /* time at which its stacks so far were due, 2^STACK_OFF_CPU_DUE_BITS ns */
	__u32 skipped; /* number of further times without a stack */
};

/* Times of a thread in ns, and its current state. Members used at each switch come first. */
struct stack_times {
	__u64 since_ns;   /* start of the current state, CLOCK_MONOTONIC */
	__u64 delay_ns;   /* the kernel's sum of waits for a CPU, before the current one */
	__u64 ran_ns;     /* until since_ns */
	__u64 switches;   /* number of times that the thread left its CPU */
	__u32 kind, site; /* set off the CPU only */
	__u8 sum;         /* index in `sums` of the time off the CPU */
	__u8 is_off;
	__u8 is_runnable; /* off the CPU, but not blocked */
	__u8 has_stack, is_in_call;
	__u8 is_hidden;       /* the user may not look into the process */
	__u16 call;           /* last system call in which the thread blocked */
	__u64 python_runtime; /* address of _PyRuntime */
	__u32 python_bytes;   /* its size; 0: not known to run Python */
	__u32 pid, tid;
	__u32 unused_either;
	__u64 woken_ns;    /* time of the wakeup; 0: none yet, or known to the kernel only */
	__u64 sampled_ns;  /* part of ran_ns for which samples stand */
	__u64 in_calls_ns; /* off the CPU in timed calls, which include it */
	__u64 room[2];     /* aligns each sum to a cache line (off_cpu.bpf.h) */
	struct stack_off_cpu_sum sums[STACK_OFF_CPU_SUMS];
};

struct stack_thread_times {
	struct stack_event event;
	struct stack_times times;
};

struct stack_on_cpu {
	struct stack_event event;
	__u64 left_ns; /* time of the OFF_CPU event */
	__u64 blocked_ns, runnable_ns;
	__u32 kind, site;
};

#ifndef __bpf__
static inline const __u64 *stack_snapshot_kernel(const struct stack_snapshot *s)
{
	return (const __u64 *)((const char *)s + s->kernel_at);
}

/* Returns the chain, or NULL if the process runs no Python. */
static inline const struct stack_python_chain *stack_snapshot_python(const struct stack_snapshot *s)
{
	return s->python_at ? (const struct stack_python_chain *)((const char *)s + s->python_at)
			    : 0;
}

static inline const void *stack_snapshot_stack(const struct stack_snapshot *s)
{
	return (const char *)s + s->stack_at;
}

static inline const void *stack_snapshot_interrupted(const struct stack_snapshot *s)
{
	return (const char *)s + s->interrupted_at;
}
#endif

_Static_assert(sizeof(struct stack_event) == 48, "both sides must agree on the layout");
_Static_assert(sizeof(struct stack_python) == 112, "both sides must agree on the layout");
_Static_assert(sizeof(struct stack_python_link) == 40, "both sides must agree on the layout");
_Static_assert(sizeof(struct stack_python_code) % 8 == 0 && STACK_PYTHON_CODE_SIZE % 8 == 0 &&
		       sizeof(struct stack_python_chain) % 8 == 0 &&
		       sizeof(struct stack_snapshot) % 8 == 0 &&
		       sizeof(struct stack_times) % 8 == 0,
	       "records and their parts are multiples of 8 bytes");

/* Counters of the BPF side, read by the profiler at the end. */
struct stack_counters {
	__u64 dropped_samples; /* no room in the ring buffer */
	__u64 dropped_launches;
	__u64 untracked_processes; /* descendants not followed because the table was full */
	__u64 calls;               /* outermost timed calls; those that do not arrive are lost */
	__u64 samples_in_calls;    /* CPU ticks inside timed calls, which include their time */
	__u64 sample_ns;           /* cost of CPU samples and of stacks of thread creations */
	__u64 dropped_threads;     /* thread creations without room */
	__u64 probe_ns;            /* cost of one in STACK_PROBE_EVERY launches and calls */
	__u64 lost_times;          /* threads whose STACK_EVENT_THREAD_TIMES had no room */
	__u64 unfollowed_times;    /* threads beyond the table's limit */
	__u64 switch_ns;           /* cost of stacks of threads off the CPU */
};

/* Chosen at random. Each measurement costs two clock reads. */
#define STACK_PROBE_EVERY 16

#endif
