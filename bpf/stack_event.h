/* SPDX-License-Identifier: MIT */
/*
 * What the BPF programs send to the profiler through their ring buffer. Compiled by both sides.
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
	STACK_EVENT_CPU_SAMPLE = 1,   /* in old recordings only: a CPU sample as a list of frames */
	STACK_EVENT_LAUNCH = 2,       /* the entry of a launch function */
	STACK_EVENT_CPU_SNAPSHOT = 3, /* a CPU sample */
	STACK_EVENT_CALL = 4,         /* the entry of a timed call */
	STACK_EVENT_CALL_END = 5,     /* its return; the value is the time of its entry */
	STACK_EVENT_REFUSED = 6,      /* CUPTI refused another client; the value is who called it */
	STACK_EVENT_PYTHON_CODE = 7,  /* a code object's name; comes before its first use */
	/*
	 * The value is the CPU time in ns that the kernel has charged to the process since its
	 * start. Comes when it has executed a program (flagged) and when its last thread begins to
	 * end, to the kernel's last tick; and when all is released, to the ns, with the time when
	 * that thread began to end.
	 */
	STACK_EVENT_CPU_USED = 8,
	STACK_EVENT_THREAD = 9,        /* a thread is created; `flags` is its id */
	STACK_EVENT_OFF_CPU = 10,      /* a thread leaves its CPU; its end follows as ON_CPU */
	STACK_EVENT_ON_CPU = 11,       /* and is back */
	STACK_EVENT_THREAD_TIMES = 12, /* a thread has ended, or executed a program (flagged):
				  what has not been sent of its time until then */
	STACK_EVENT_USES_DRIVER = 13,  /* a function through which CUDA's driver is entered first */
};

/* flags */
#define STACK_EVENT_TRUNCATED 1u /* in recordings only: the list of frames was cut */
#define STACK_EVENT_NO_MEMORY 2u /* CPU_SNAPSHOT: an ending thread that has no memory any more */
#define STACK_EVENT_EXEC 4u      /* CPU_USED, THREAD_TIMES: of the programs before this one */
#define STACK_EVENT_OVER 16u     /* THREAD_TIMES: when all was over, which is up to since_ns */
/*
 * Snapshots: the thread executes a program. The old one's memory is gone from some moment on, and
 * its registers stay until the new one's are set.
 */
#define STACK_EVENT_IN_EXEC 32u
/*
 * The user may not look into the process (access.bpf.h): a snapshot has no registers, no stack and
 * no frames. CPU_USED of an exec: so it is for the new program.
 */
#define STACK_EVENT_NO_ACCESS 64u
/* CPU_USED: the process ends, with this wait status (wait(2)) in the upper half of the flags. */
#define STACK_EVENT_ENDS 128u
#define STACK_EVENT_STATUS_AT 16
/*
 * CPU_USED of an end, of a process that the user may look into: its descriptors were looked at.
 * Some are open of a device that users of the GPU open (gpu_devices); how often the process has
 * opened it itself, 0 to 3, by the credentials that it ends with. The rest it has inherited, or
 * opened before it changed its credentials.
 */
#define STACK_EVENT_LOOKED 256u
#define STACK_EVENT_HAS_GPU 512u
#define STACK_EVENT_OPENED_AT 10
#define STACK_EVENT_OPENED_MAX 3u
/* OFF_CPU, in a call that reads or writes: the type of that file, as S_IFMT has it */
#define STACK_EVENT_FILE_TYPE 0xf000u

struct stack_event {
	__u64 time_ns;
	__u32 pid;
	__u32 tid;
	__u16 kind;            /* enum stack_event_kind */
	__u16 launch_function; /* LAUNCH, CALL, CALL_END: its number (cuda_functions.h) */
	__u16 user_frames;     /* 0, except in recordings */
	__u16 kernel_frames;   /* CPU_SNAPSHOT, OFF_CPU */
	__u32 flags;
	__u32 size;    /* of the whole record, in bytes; a multiple of 8 */
	char comm[16]; /* the thread's name, ends with a 0 */
};

struct stack_value {
	struct stack_event event;
	__u64 value;
};

/* ---- probes ---- */

/*
 * The attach cookie of a probe on a function of CUDA: the function's number and the probe's
 * purpose. Without STACK_PROBE_LAUNCH the probe times calls, in processes whose calls are timed;
 * with it, it reports launches in all others.
 */
#define STACK_PROBE_FUNCTION 0xffffu
#define STACK_PROBE_LAUNCH 0x10000u
#define STACK_PROBE_DRIVER 0x20000u /* of the driver: does not count inside a runtime launch */

/* ---- processes that are followed ---- */

/* The program that a process runs. */
struct stack_program {
	__u64 began_ns;  /* when BPF saw its exec or fork, which is after perf's record of that */
	__u64 before_ns; /* began_ns of the program before; 0: it was not followed */
	__u64 mm;        /* its memory, the kernel's struct; 0: unknown */
};

struct stack_process {
	__u64 self;    /* the kernel's struct signal_struct of the process; 0: unknown */
	__u64 is_open; /* the user may look into it, as far as was seen: for when it ends */
	struct stack_program program;
};

/* ---- Python ---- */

/*
 * Where a process keeps its Python frames: byte offsets into CPython's structures, as
 * symbolize/python_offsets.h has them. The reader puts one into a map for each such process.
 */
#define STACK_PYTHON_NO_OFFSET 0xffff

/* The most of `frame_window` and `mark_bytes`. */
#define STACK_PYTHON_WINDOW_BYTES 1024
#define STACK_PYTHON_MARK_BYTES 128

struct stack_python {
	__u64 interpreters; /* address of the pointer to the first interpreter's state */
	__u64 program;      /* code objects are sent once per program; a fork shares its parent's */
	__u64 runtime;      /* _PyRuntime; the lock of the first interpreter is in it */
	__u64 began_ns;     /* when the process's program began, by perf's record of its exec or
			       fork; 1: before it was followed. Frames of no other program are read */
	__u32 runtime_bytes;
	__u32 interpreter_next;
	__u32 interpreter_threads;
	__u16 thread_next;
	__u16 thread_id; /* of the thread state: what the thread pointer register holds */
	__u16 thread_frame;
	__u16 cframe_frame; /* STACK_PYTHON_NO_OFFSET: none in between */
	__u16 frame_previous;
	__u16 frame_code;
	__u16 frame_place;
	__u16 frame_owner;   /* STACK_PYTHON_NO_OFFSET: none */
	__u16 frame_bytes;   /* this many from its start hold these members */
	__u16 frame_window;  /* this many before their end probably hold its callers, too */
	__u16 owner_of_shim; /* owners from here on have no code; STACK_PYTHON_NO_OFFSET: all have
			      */
	__u16 mark_from;     /* the part of a code object that holds what makes up its mark */
	__u16 mark_bytes;
	__u16 code_text; /* a member that distinguishes code objects at one address */
	__u16 code_first_line;
	/* the rest: parts of a code object that are sent */
	__u16 code_bytes; /* this many from its start */
	__u16 code_name;
	__u16 code_qualname; /* STACK_PYTHON_NO_OFFSET: none */
	__u16 code_filename;
	__u16 code_lines;
	__u16 text_head;   /* bytes of a str before its characters */
	__u16 text_length; /* and its hash, behind it */
	__u16 text_state;
	__u16 text_kind_bit;
	__u16 text_ascii_data;
	__u16 text_wide_data;
	__u16 bytes_length; /* likewise */
	__u16 bytes_data;
	/* what tells where on the C stack an evaluation is; STACK_PYTHON_NO_OFFSET: a shim does */
	__u16 thread_anchor;
	__u16 anchor_previous;
	__u16 owner_of_entry; /* of frames that an evaluation begins with */
	/* copies of a code object's instructions; STACK_PYTHON_NO_OFFSET: none */
	__u16 frame_copy;
	__u16 code_copies;
	__u16 code_instructions;
};

/* One link of the chain of frames. */
#define STACK_PYTHON_MAX_LINKS 512

struct stack_python_link {
	__u64 code;   /* may be tagged */
	__u64 place;  /* as if in the code object's own instructions */
	__u64 mark;   /* python_mark() of what could be read; else as if that were 0; where lines
			 are sent, python_mark_lines() */
	__u64 anchor; /* of a shim, or of the first frame of an evaluation; 0: none */
	__u32 owner;
	__u32 state; /* links of one state of the thread, in one interpreter, have the same */
};

/* The chain, innermost link first; where a thread has several states, one after the other. */
struct stack_python_chain {
	__u64 program; /* whose layout it was read by */
	__u32 count;
	__u16 is_whole; /* it was read to its end */
	__u16 is_first; /* no frames of the thread were read lately */
	struct stack_python_link links[STACK_PYTHON_MAX_LINKS];
};

/*
 * Pieces of a process's memory that give the reader a code object's name and, with the last piece,
 * the line of an instruction. A missing piece has 0 bytes.
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
	__u32 at;      /* in the record */
	__u32 bytes;
};

struct stack_python_code {
	struct stack_event event;
	__u64 program;
	struct stack_python_link link; /* the one that it was found by */
	struct stack_python_piece pieces[STACK_PYTHON_PIECES];
	unsigned char code[STACK_PYTHON_CODE_BYTES];
	unsigned char heads[3][STACK_PYTHON_HEAD_BYTES];
	/* up to four bytes a character */
	unsigned char name[4 * STACK_PYTHON_NAME_CHARACTERS];
	unsigned char qualname[4 * STACK_PYTHON_NAME_CHARACTERS];
	unsigned char path[4 * STACK_PYTHON_PATH_CHARACTERS];
	unsigned char lines[STACK_PYTHON_HEAD_BYTES + STACK_PYTHON_LINES_BYTES];
};

#define STACK_PYTHON_CODE_SIZE __builtin_offsetof(struct stack_python_code, lines)

/* ---- snapshots ---- */

/*
 * A thread's stack, to be unwound by the reader: the user registers, then, each at its offset in
 * the record, the kernel's frames (of CPU samples, and of waits, if wanted), the chain of Python
 * frames (of processes that run Python), and a copy of the user stack from its stack pointer up. A
 * record has room for as much stack as is in use, or less if that is more than the last of the
 * sizes below. The copy is shorter, too, where memory cannot be read.
 *
 * In a signal handler on an alternate stack (sigaltstack) there are two copies: of that stack up to
 * its end, and of the stack that the signal interrupted.
 *
 * Registers are in DWARF's order (System V ABI AMD64, figure 3.36), the pc last.
 */
#define STACK_SNAPSHOT_REGISTERS 17
#define STACK_ABOVE_UNKNOWN (~0ull)
#define STACK_SNAPSHOT_PAGE 4096
#define STACK_TINY_BYTES (2 << 10)
#define STACK_SMALL_BYTES (8 << 10)
#define STACK_CALL_BYTES (32 << 10) /* the most for launches and calls, which are many */
#define STACK_SNAPSHOT_BYTES (128 << 10)
#define STACK_HANDLER_BYTES (64 << 10) /* the most of an alternate stack, besides these */
/* Code may use so many bytes below its stack pointer (System V ABI AMD64, 3.2.2). */
#define STACK_RED_ZONE 128

struct stack_snapshot {
	struct stack_event event;
	__u64 ran_ns; /* CPU_SNAPSHOT: the time that it stands for; 0: a sampling period */
	__u64 registers[STACK_SNAPSHOT_REGISTERS];
	__u64 stack_above; /* bytes from the stack pointer up to where the thread's stack begins, or
			      STACK_ABOVE_UNKNOWN */
	__u32 kernel_at;   /* event.kernel_frames addresses (u64), innermost first */
	__u32 python_at;   /* a struct stack_python_chain; 0: none */
	__u32 stack_at;
	__u32 stack_bytes;
	/*
	 * The copy of an interrupted stack: the address that it begins at, STACK_RED_ZONE below the
	 * interrupted stack pointer, or up to two pages further up where those cannot be read;
	 * bytes from there up to where the thread's stack begins, or STACK_ABOVE_UNKNOWN.
	 */
	__u64 interrupted_start;
	__u64 interrupted_above;
	__u32 interrupted_at;
	__u32 interrupted_bytes; /* 0: there is no such copy */
};

/* ---- time off the CPU (--wall) ---- */

/*
 * What a thread off the CPU waits for: the number of the system call that it is in, or one of the
 * following.
 */
enum stack_off_cpu_kind {
	STACK_OFF_CPU_CALLS = 1024, /* numbers of system calls are below */
	STACK_OFF_CPU_RUNNABLE,     /* a CPU: it was preempted */
	STACK_OFF_CPU_NEW,          /* likewise, since it was created */
	STACK_OFF_CPU_DISK,         /* outside of a system call: a page from a disk */
	STACK_OFF_CPU_PAGE_FAULT,   /* likewise: anything else */
	STACK_OFF_CPU_STOPPED,      /* by a signal, a debugger or a freezer */
	STACK_OFF_CPU_EXITING,      /* or is preempted when it has no stack any more */
	STACK_OFF_CPU_OTHER_CALL,   /* a system call of the 32-bit ABI, or an unknown one */
	STACK_OFF_CPU_MIXED,        /* several: there were more kinds than sums */
	STACK_OFF_CPU_GIL,          /* a futex within _PyRuntime: Python's global lock */
};

/*
 * Each time that a thread is off the CPU is at a site: a hash of where the stack pointer and the pc
 * are, which is nearly always one stack. Each has its stack taken, unless a thread comes to a site
 * more often than every STACK_OFF_CPU_EVERY_NS: then a random part, about as many as that, or a
 * quarter where fewer than one in 2^STACK_OFF_CPU_OFTEN_BITS has its stack taken. (Not the first
 * after that time: after a long one the same one may always come, in a program's cycle.) Each
 * CPU takes one in STACK_OFF_CPU_PACE_NS. Either may be ahead by so many; first ones of a site by
 * more. Times whose stack was not taken are summed by site.
 */
#define STACK_OFF_CPU_EVERY_NS 10000000u
#define STACK_OFF_CPU_AHEAD 16u
#define STACK_OFF_CPU_PACE_NS 1000000u
#define STACK_OFF_CPU_PACE_AHEAD 2000u
#define STACK_OFF_CPU_FIRST_AHEAD 10000u
/* Where moments are wanted, those of times of at least this are sent, too, without a stack. */
#define STACK_OFF_CPU_MOMENT_NS 50000u
#define STACK_OFF_CPU_SUMS 16  /* of a thread; the last one may be STACK_OFF_CPU_MIXED */
#define STACK_OFF_CPU_SITES 12 /* in the others sums are only the first ones of their kinds */
#define STACK_OFF_CPU_ANY_SITE 0u
#define STACK_OFF_CPU_DUE_BITS 16
#define STACK_OFF_CPU_OFTEN_BITS 4
#define STACK_OFF_CPU_INTERVAL_BITS 20

struct stack_off_cpu_sum {
	__u16 kind;
	__u8 is_used;
	__u8 interval; /* of stacks: 2^interval - 1 times have none, on average */
	__u32 site;
	__u64 blocked_ns, runnable_ns; /* until it was woken, and from then until it ran */
	__u32 due; /* when its stacks so far would have been due, in 2^STACK_OFF_CPU_DUE_BITS ns */
	__u32 skipped; /* so many more have none */
};

/* Where a thread's time has gone, in ns, and where it is now. What a switch needs comes first. */
struct stack_times {
	__u64 since_ns;   /* on or off the CPU, CLOCK_MONOTONIC */
	__u64 delay_ns;   /* the kernel's sum of its waits for a CPU, before this one */
	__u64 ran_ns;     /* until since_ns */
	__u64 switches;   /* how often it has left the CPU */
	__u32 kind, site; /* off the CPU */
	__u8 sum;         /* likewise: of the sums below */
	__u8 is_off;
	__u8 is_runnable; /* off the CPU, and not blocked */
	__u8 has_stack, is_in_call;
	__u8 is_hidden;       /* the user may not look into the process */
	__u16 call;           /* the last system call that it was blocked in */
	__u64 python_runtime; /* the address of _PyRuntime */
	__u32 python_bytes;   /* of it; 0: not known to run Python */
	__u32 pid, tid;
	__u32 unused_either;
	__u64 woken_ns;    /* since then; 0: not yet, or only the kernel knows */
	__u64 sampled_ns;  /* of ran_ns, what samples stand for */
	__u64 in_calls_ns; /* off the CPU in timed calls, whose time has it */
	__u64 room[2];     /* so that each sum is in one cache line, see off_cpu.bpf.h */
	struct stack_off_cpu_sum sums[STACK_OFF_CPU_SUMS];
};

struct stack_thread_times {
	struct stack_event event;
	struct stack_times times;
};

struct stack_on_cpu {
	struct stack_event event;
	__u64 left_ns; /* the time of its OFF_CPU */
	__u64 blocked_ns, runnable_ns;
	__u32 kind, site;
};

#ifndef __bpf__
static inline const __u64 *stack_snapshot_kernel(const struct stack_snapshot *s)
{
	return (const __u64 *)((const char *)s + s->kernel_at);
}

/* NULL: the process runs no Python. */
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
	__u64 calls;            /* timed calls, outermost ones: those that do not arrive are lost */
	__u64 samples_in_calls; /* CPU ticks inside timed calls: their time is the call's */
	__u64 sample_ns;        /* what taking CPU samples, and stacks that create threads, took */
	__u64 dropped_threads;  /* creations of threads, for lack of room */
	__u64 probe_ns;         /* the same of one in STACK_PROBE_EVERY launches and calls */
	__u64 lost_times;       /* threads whose STACK_EVENT_THREAD_TIMES had no room */
	__u64 unfollowed_times; /* threads beyond the table's limit */
	__u64 switch_ns;        /* what stacks of threads off the CPU took */
};

/* Chosen by chance; fewer are measured because each costs two readings of the clock. */
#define STACK_PROBE_EVERY 16

#endif
