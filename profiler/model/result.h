/* SPDX-License-Identifier: MIT */
/*
 * The named result of a run, from which every output is written. Built once, after the last event,
 * and immutable; writers resolve nothing.
 *
 * Texts contain no control characters, but for paths of modules. Writers handle what else their
 * format cannot carry. Times are in ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_MODEL_RESULT_H
#define PROFILER_MODEL_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/base/boot.h"
#include "profiler/base/job_rank.h"
#include "profiler/base/measure.h"
#include "profiler/model/counters.h"
#include "profiler/model/devices.h"
#include "profiler/model/ledger.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/place_names.h"
#include "profiler/model/places.h"
#include "profiler/model/profile.h"
#include "profiler/model/ranks.h"
#include "profiler/model/result_table.h"
#include "profiler/model/timeline.h"

/* The kind of a frame. */
enum frame_class {
	CLASS_NATIVE, /* a function of a file; or, without a name, the file: "[libfoo.so]" */
	CLASS_PYTHON,
	CLASS_JIT,         /* code that the process generated itself */
	CLASS_KERNEL_MODE, /* kernel code */
	CLASS_API,         /* the CUDA function that was called */
	CLASS_NVTX,        /* an NVTX range of the program */
	CLASS_GPU_KERNEL,
	CLASS_GPU_WORK, /* copies, sets, migrations, whole graphs */
	CLASS_WAIT,     /* "[waiting for GPU]", "[waiting for rank 3]", "[blocked: futex]" */
	CLASS_CALL,     /* "[CUDA call, wall time]" */
	CLASS_PLACE,    /* process, thread, device, context, stream (--by) */
	CLASS_MARK,     /* describes the stack: "[truncated]", "launched at" */
	CLASS_FOLDED,   /* of a view: functions of others, by package: "[torch]" (--my-code) */
	CLASS_GPU_CODE, /* below a kernel: a device function in it, or a line of source (--stalls)
			 */
	CLASS_STALL,    /* below these: why its warps issued no instruction, "[selected]" */
	CLASS_IDLE,     /* a device that is idle, "[GPU 0 idle]" */
	CLASS_FOLDED_PYTHON, /* as CLASS_FOLDED, of a package of Python: "[json]" */
	FRAME_CLASSES
};

/*
 * Distinct frames. `module`, `build_id`, `offset` and `source` are those of one place where the
 * function was seen. Equal pointers to paths are one module; two modules may have equal paths.
 */
struct frame_info {
	enum frame_class class : 16;
	enum pseudo_kind mark : 16; /* frame_info_pseudo */
	uint32_t line;              /* of a Python function; 0: unknown */
	const char *name;           /* in full: "Model.forward (model.py:42)" */
	const char *file;           /* of a Python function: "/app/model.py"; NULL: unknown */
	const char *module;         /* path of the file with the code, any bytes; NULL: none */
	const char *short_name;     /* for little room: without arguments, or the file of Python */
	const char *source;   /* of a native function: the file that defines it, as the compiler was
			       * told, "/./" behind the folder where it ran; NULL: unknown */
	const char *build_id; /* of that file, in hexadecimal; NULL: unknown, or none */
	uint64_t offset;      /* in that file */
};

/* Sets what a frame says, once its class and name are known: where it is made, or read. */
static inline void frame_info_pseudo(struct frame_info *frame)
{
	if (frame->class == CLASS_MARK || frame->class == CLASS_WAIT)
		frame->mark = pseudo_kind_of(frame->name);
}

/* Returns whether a frame stands for functions of others (--my-code). */
static inline bool frame_is_folded(const struct frame_info *frame)
{
	return frame->class == CLASS_FOLDED || frame->class == CLASS_FOLDED_PYTHON;
}

/* The name for reports: short; but Python functions, many of which have the same name, in full. */
static inline const char *frame_report_name(const struct frame_info *frame)
{
	return frame->class == CLASS_PYTHON ? frame->name : frame->short_name;
}

/* A row of the profile with the stack that it has in the result. */
struct row {
	uint32_t kind;  /* enum row_kind */
	uint32_t stack; /* of the result's stacks */
	uint32_t place; /* of the result's places */
	uint32_t unused;
	uint64_t count, ns, bytes; /* as in struct profile_row */
};

/* A tree: each stack is a frame inside another stack. */
struct stack_info {
	uint32_t outer; /* a smaller number, or RESULT_ROOT */
	uint32_t frame;
};
#define RESULT_ROOT 0u /* stacks[0]: no frames */

struct totals {
	const struct ledger *ledger;
	const char *command; /* as a shell would read it, cut if it is long */
	/* of the first process that was attached to, likewise; NULL: there is a command, or it is
	 * unknown, as it is in captures */
	const char *program;
	const char *folder;        /* the command's working directory, any bytes; NULL: unknown */
	const char *links;         /* that lead to the user's code (path_links.h); NULL: none */
	const char *shown;         /* the options that left something out (view.h); NULL: none */
	const char *host;          /* the machine's name; NULL: unknown */
	uint32_t command_pid;      /* 0: unknown, and so is the next */
	uint32_t exit_status;      /* of the command, or 128 and the signal that ended it */
	uint64_t start_ns;         /* the command's start, CLOCK_MONOTONIC */
	uint64_t start_unix_ns;    /* the same moment, since 1970; 0: unknown */
	uint64_t elapsed_ns;       /* from the command's start to the end of collecting */
	uint64_t longest_round_ns; /* between two rounds of reading the sources */
	uint64_t command_cpu_ns;   /* charged to the command and its waited-for children */
	uint64_t own_cpu_ns;       /* charged to the profiler */
	uint64_t own_memory_bytes; /* peak */
	uint64_t sample_ns;        /* weight of a CPU sample */
	struct measure measure;    /* what the run measured */
	struct job_rank job;       /* the rank that the run was of its job */
	struct boot_id boot;       /* of the machine */
	uint64_t wall_error_ns;    /* how far start_unix_ns may be off; 0: unknown */
};

/* What could not be named, or only in part (symbolize/util/table_quota.h). */
struct unnamed {
	uint64_t unreadable;         /* files that we may not read */
	const char *unreadable_path; /* the first of them; any bytes */
	uint64_t refused;            /* symbol tables that are too large */
	uint64_t refused_frames;     /* records of generated code's call-frame information */
	uint64_t stuck;              /* files and processes that did not respond in time */
	uint64_t mangled;            /* names that take too long to demangle */
	uint64_t not_asked;          /* debug files that servers were not asked for in time */
	uint64_t not_kept;           /* stacks and names beyond the memory that there is */
	uint64_t unread;             /* files with debug information that is not read */
	uint64_t unread_kind;        /* of the first: enum dwarf_unread (symbolize/dwarf.h) */
	const char *unread_path;     /* the first; any bytes */
};

/* What rows have in place of times (--weight). */
struct weight {
	const char *title; /* "Memory", "dram__bytes.sum" */
	const char *note;  /* how it was determined: "estimated from 5 of 1000 launches"; or "" */
	const char *unit; /* WEIGHT_BYTES, WEIGHT_NS, or another, of letters, digits and _; or "" */
};
#define WEIGHT_BYTES "byte"
#define WEIGHT_NS "nanosecond"

struct result {
	const struct frame_info *frames;
	uint32_t frame_count;
	const struct stack_info *stacks;
	uint32_t stack_count;
	const struct row *rows;
	uint32_t row_count;
	const struct place *places;
	uint32_t place_count;
	const struct process_info
		*processes; /* those that places refer to; likewise threads, devices */
	uint32_t process_count;
	const struct thread_info *threads;
	uint32_t thread_count;
	const struct device *devices;
	uint32_t device_count;
	/* the same, to be found by a place's numbers */
	const struct place_names *place_names;
	const struct devices *device_names;
	struct timeline *timeline; /* NULL unless a writer needs it; finished */
	/* by a record's stack, for result_record_stack; NULL: records have the numbers of `stacks`
	 * already */
	const uint32_t *sample_stacks, *call_stacks;
	uint32_t record_stack_count;
	/* NULL: not asked for. Its rows' stacks are those of `counters_result`, of the whole run */
	const struct counter_table *counters;
	const struct result *counters_result;
	/* of the whole run, and so are their stacks, those of `whole`; NULL: there are none */
	const struct result_tables *tables;
	const struct result *whole;
	struct unnamed unnamed;
	struct totals totals;
	const struct rank_info *ranks; /* by rank, of merged runs; else none */
	uint32_t rank_count;
	const struct weight *weight;         /* what the rows' ns are; NULL: times */
	bool is_my_code;                     /* a view with others' code folded (--my-code) */
	bool is_part;                        /* a view of a part of the run (slice.h) */
	uint64_t shown_from_ns, shown_to_ns; /* the time that is shown, if not all; else both 0 */
};

/* Returns the result of the whole run, which has the stacks of its tables. */
static inline const struct result *result_whole(const struct result *result)
{
	return result->whole ? result->whole : result;
}

/* The time that is shown: from the start to the end of the run, or less. */
static inline void result_time_range(const struct result *result, uint64_t *from_ns,
				     uint64_t *to_ns)
{
	const struct totals *t = &result->totals;

	*from_ns = t->start_ns;
	*to_ns =
		t->elapsed_ns < UINT64_MAX - t->start_ns ? t->start_ns + t->elapsed_ns : UINT64_MAX;
	if (!result->rank_count && t->measure.delay_ns < *to_ns - *from_ns)
		*from_ns += t->measure.delay_ns;
	if (!result->rank_count && t->measure.duration_ns &&
	    t->measure.duration_ns < *to_ns - *from_ns)
		*to_ns = *from_ns + t->measure.duration_ns;
	if (result->shown_from_ns > *from_ns)
		*from_ns = result->shown_from_ns;
	if (result->shown_to_ns && result->shown_to_ns < *to_ns)
		*to_ns = result->shown_to_ns;
	if (*to_ns < *from_ns)
		*to_ns = *from_ns;
}

/*
 * The stack without what is below a kernel, by --stalls or as its wait for another rank: that of
 * the GPU work itself, which the row's time is of.
 */
static inline uint32_t result_work_stack(const struct result *result, uint32_t stack)
{
	uint32_t at = stack;
	enum frame_class class;

	if (stack == RESULT_ROOT)
		return stack;
	class = result->frames[result->stacks[stack].frame].class;
	if (class != CLASS_STALL && class != CLASS_WAIT)
		return stack;
	while (at != RESULT_ROOT &&
	       result->frames[result->stacks[at].frame].class != CLASS_GPU_KERNEL)
		at = result->stacks[at].outer;
	return at != RESULT_ROOT ? at : stack;
}

/*
 * The stack of CPU time without what the thread waited for meanwhile, if it spun: that of what it
 * computed.
 */
static inline uint32_t result_computing_stack(const struct result *result, uint32_t stack)
{
	for (uint32_t at = stack; at != RESULT_ROOT; at = result->stacks[at].outer)
		if (result->frames[result->stacks[at].frame].mark == PSEUDO_KIND_SPINNING)
			return result->stacks[at].outer;
	return stack;
}

/*
 * The stack of a record read from the timeline. For a CPU sample, an operation and a timed call it
 * is the stack of its row, without the root frames of --by, which the record's place describes. For
 * a launch and a wait it ends at the CUDA call; RESULT_ROOT if it was not captured in the process.
 */
static inline uint32_t result_record_stack(const struct result *result,
					   const struct timeline_record *record)
{
	const uint32_t *stacks =
		record->kind == TIMELINE_CPU_SAMPLE ? result->sample_stacks : result->call_stacks;

	return stacks ? stacks[record->stack.number] : record->stack.number;
}

/* A part of the run (--time) has parts of what lies across its ends. */
static inline bool result_record_is_cut(const struct result *result,
					const struct timeline_record *record)
{
	return result->shown_to_ns &&
	       (record->start_ns == result->shown_from_ns ||
		record->start_ns + record->duration_ns == result->shown_to_ns);
}

/* What was written, for the summary. */
struct written {
	uint64_t items;            /* of the writer's `item` */
	uint64_t total[ROW_KINDS]; /* what they add up to, in units; without units, in ns */
	double exact_ns;           /* the same before rounding, all kinds together */
	uint64_t omitted;          /* items that are not written, for they round to 0 units */
	double omitted_ns;         /* their time; `total` includes it */
	uint64_t source_lines;     /* of the program's source, in `source_files` files */
	uint64_t source_files;
	uint64_t bytes; /* of the output, where its size matters (writer.h); 0: not counted */
};

/* Returns what is written in a format without units: all rows, and no items yet. */
static inline struct written written_in_ns(const struct result *result)
{
	struct written written = {.items = 0};

	for (uint32_t i = 0; i < result->row_count; i++) {
		written.total[result->rows[i].kind] += result->rows[i].ns;
		written.exact_ns += (double)result->rows[i].ns;
	}
	return written;
}

/* Parts of a result besides rows, which are collected only on request. */
enum writer_needs {
	NEEDS_TIMELINE = 1, /* result.timeline, and all parts of places */
	NEEDS_PLACES = 2,   /* all parts of places */
};

#endif
