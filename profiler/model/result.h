/* SPDX-License-Identifier: MIT */
/*
 * Holds the named result of a run, from which all outputs are written. It is built once, after the
 * last event, and is immutable; writers resolve nothing.
 *
 * Texts contain no control characters, except for paths of modules. Writers handle other characters
 * that their format cannot carry. Times are in ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_MODEL_RESULT_H
#define PROFILER_MODEL_RESULT_H

#include <stdbool.h>
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

/* Kind of a frame. */
enum frame_class {
	CLASS_NATIVE, /* a function, or a file if the name is unknown: "[libfoo.so]" */
	CLASS_PYTHON,
	CLASS_JIT,         /* code that the process generated */
	CLASS_KERNEL_MODE, /* kernel code */
	CLASS_API,         /* the called CUDA function */
	CLASS_NVTX,        /* an NVTX range of the program */
	CLASS_GPU_KERNEL,
	CLASS_GPU_WORK, /* copies, sets, migrations, whole graphs */
	CLASS_WAIT,     /* "[waiting for GPU]", "[waiting for rank 3]", "[blocked: futex]" */
	CLASS_CALL,     /* "[CUDA call, wall time]" */
	CLASS_PLACE,    /* process, thread, device, class of kernels, layer, ... (--by) */
	CLASS_MARK,     /* describes the stack: "[truncated]", "launched at" */
	CLASS_FOLDED,   /* in views: a package of other people's functions, "[torch]" (--my-code) */
	CLASS_GPU_CODE, /* below a kernel: a device function or a source line (--stalls) */
	CLASS_STALL,    /* below these: why its warps issued no instruction, "[selected]" */
	CLASS_IDLE,     /* an idle device, "[GPU 0 idle]" */
	CLASS_FOLDED_PYTHON, /* as CLASS_FOLDED, for a Python package: "[json]" */
	CLASS_OPERATOR,      /* an operator of PyTorch (--ops) */
	CLASS_LAYER,         /* a module of a model: "[layers.18.mlp]" (--modules) */
	CLASS_PHASE,         /* around a function that compiles: "[autotuning]", "[compiling]" */
	FRAME_CLASSES
};

/* Returns whether frames of a class name parts of the program, and are no functions. */
static inline bool is_range_class(enum frame_class class)
{
	return class == CLASS_NVTX || class == CLASS_OPERATOR || class == CLASS_LAYER ||
	       class == CLASS_PHASE;
}

/*
 * A distinct frame. `module`, `build_id`, `offset` and `source` describe one place where the
 * function was seen. Equal pointers to paths are one module; two modules may have equal paths.
 */
struct frame_info {
	enum frame_class class : 16;
	enum pseudo_kind mark : 16; /* set by frame_info_pseudo() */
	uint32_t line;              /* Python function: its first line; 0: unknown */
	const char *name;           /* full name: "Model.forward (model.py:42)" */
	const char *file;           /* Python function: "/app/model.py"; NULL: unknown */
	const char *module;         /* path of the file with the code, any bytes; NULL: none */
	const char *short_name;     /* without arguments, or without the Python file */
	const char *source;   /* native function: source file as given to the compiler, "/./" after
				 the folder where it ran; NULL: unknown */
	const char *build_id; /* build id of `module`, hexadecimal; NULL: unknown, or none */
	uint64_t offset;      /* in `module` */
};

/* Sets `mark`. Call this once class and name are known. */
static inline void frame_info_pseudo(struct frame_info *frame)
{
	if (frame->class == CLASS_MARK || frame->class == CLASS_WAIT)
		frame->mark = pseudo_kind_of(frame->name);
}

/* Returns whether a frame stands for other people's functions (--my-code). */
static inline bool frame_is_folded(const struct frame_info *frame)
{
	return frame->class == CLASS_FOLDED || frame->class == CLASS_FOLDED_PYTHON;
}

/*
 * Returns the name for reports: the short one. Python functions get their full name, because many
 * share a short one.
 */
static inline const char *frame_report_name(const struct frame_info *frame)
{
	return frame->class == CLASS_PYTHON ? frame->name : frame->short_name;
}

/* A row of the profile, with its stack in the result. */
struct row {
	uint32_t kind;  /* enum row_kind */
	uint32_t stack; /* index in the result's stacks */
	uint32_t place; /* index in the result's places */
	uint32_t unused;
	uint64_t count, ns, bytes; /* as in struct profile_row */
};

/* A stack is a frame inside another stack: a tree. */
struct stack_info {
	uint32_t outer; /* a smaller number, or RESULT_ROOT */
	uint32_t frame;
};
#define RESULT_ROOT 0u /* stacks[0]: no frames */

struct totals {
	const struct ledger *ledger;
	const char *command; /* quoted for a shell, cut if long */
	/*
	 * first process that was attached to, quoted and cut; NULL if there is a command, or
	 * unknown in captures
	 */
	const char *program;
	const char *folder;   /* working directory of the command, any bytes; NULL: unknown */
	const char *links;    /* links to the user's code (path_links.h); NULL if there are none */
	const char *shown;    /* options that left something out (view.h); NULL if there are none */
	const char *host;     /* name of the machine; NULL: unknown */
	uint32_t command_pid; /* 0: unknown, and so is `exit_status` */
	uint32_t exit_status; /* command's exit status, or 128 plus the signal that ended it */
	uint64_t start_ns;    /* start of the command, CLOCK_MONOTONIC */
	uint64_t start_unix_ns;    /* `start_ns` since 1970; 0: unknown */
	uint64_t elapsed_ns;       /* from the command's start to the end of collecting */
	uint64_t longest_round_ns; /* between two rounds of reading the sources */
	uint64_t command_cpu_ns;   /* charged to the command and its waited-for children */
	uint64_t own_cpu_ns;       /* charged to the profiler */
	uint64_t own_memory_bytes; /* peak */
	uint64_t sample_ns;        /* weight of a CPU sample */
	struct measure measure;    /* options for measuring */
	struct job_rank job;       /* rank of the run in its job */
	struct boot_id boot;       /* boot id of the machine */
	uint64_t wall_error_ns;    /* error of start_unix_ns; 0: unknown */
};

/*
 * Sets the time that a profile stands for in an engine: the last part of the run (--last,
 * --every), else the run. *start_unix_ns is 0 if unknown.
 */
static inline void totals_profiled(const struct totals *t, uint64_t *start_unix_ns, uint64_t *ns)
{
	bool is_part = t->measure.last_ns != 0;

	*ns = is_part ? t->measure.duration_ns : t->elapsed_ns;
	*start_unix_ns = t->start_unix_ns;
	if (is_part && t->start_unix_ns)
		*start_unix_ns += t->measure.delay_ns;
}

/* Counts of incomplete naming (symbolize/util/table_quota.h). */
struct unnamed {
	uint64_t unreadable;         /* files without read permission */
	const char *unreadable_path; /* path of the first unreadable file; any bytes */
	uint64_t refused;            /* symbol tables that are too large */
	uint64_t refused_frames;     /* records of generated code's call-frame information */
	uint64_t stuck;              /* files and processes that did not respond in time */
	uint64_t mangled;            /* names that take too long to demangle */
	uint64_t not_asked;          /* debug files not requested from servers in time */
	uint64_t not_kept;           /* stacks and names beyond the quota of memory */
	uint64_t unread;             /* files with debug information that is not read */
	uint64_t unread_kind; /* enum dwarf_unread of the first unread file (symbolize/dwarf.h) */
	const char *unread_path; /* path of the first unread file; any bytes */
};

/* Replaces times in rows by another weight (--weight). */
struct weight {
	const char *title; /* "Memory", "dram__bytes.sum" */
	const char *note;  /* method: "estimated from 5 of 1000 launches"; or "" */
	const char
		*unit; /* WEIGHT_BYTES, WEIGHT_NS, another unit of letters, digits and _, or "" */
};
#define WEIGHT_BYTES "byte"
#define WEIGHT_NS "nanosecond"

struct findings;
struct kernel_classes;

struct result {
	const struct frame_info *frames;
	uint32_t frame_count;
	const struct stack_info *stacks;
	uint32_t stack_count;
	const struct row *rows;
	uint32_t row_count;
	const struct place *places;
	uint32_t place_count;

	/* processes, threads and devices in places */
	const struct process_info *processes;
	uint32_t process_count;
	const struct thread_info *threads;
	uint32_t thread_count;
	const struct device *devices;
	uint32_t device_count;
	/* indexes of these, by a place's numbers */
	const struct place_names *place_names;
	const struct devices *device_names;
	struct timeline *timeline; /* NULL unless a writer needs it; finished */
	/* by a record's stack, for result_record_stack(); NULL: records have indexes of `stacks` */
	const uint32_t *sample_stacks, *call_stacks;
	uint32_t record_stack_count;
	/*
	 * NULL if not requested; rows have the stacks of `counters_result`, which covers the whole
	 * run
	 */
	const struct counter_table *counters;
	const struct result *counters_result;
	/* tables of the whole run, with the stacks of `whole`; NULL if there are none */
	const struct result_tables *tables;
	const struct result *whole;
	struct unnamed unnamed;
	struct totals totals;
	const struct rank_info *ranks; /* in merged runs, by rank */
	uint32_t rank_count;
	const struct weight *weight; /* meaning of the rows' ns; NULL: times */
	bool is_my_code;             /* a view with other people's code folded (--my-code) */
	bool is_part;                /* a view of a part of the run (slice.h) */
	/* sums of rows, by kind, before a view chose stacks by their frames; 0: it did not */
	uint64_t all_ns[ROW_KINDS];
	uint64_t shown_from_ns, shown_to_ns; /* the shown time range; both 0 for all */
	const struct findings *findings;     /* NULL if not made (findings.h) */
	bool is_by_launch; /* GPU work is shown whole if it was launched in the range (--step) */
	struct kernel_classes *kernel_classes; /* the user's; NULL: built-in rules alone */
};

/* Returns the result of the whole run, whose stacks the tables have. */
static inline const struct result *result_whole(const struct result *result)
{
	return result->whole ? result->whole : result;
}

/* Returns the shown time range: the whole run, or a part. */
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
 * Returns the stack of the GPU work itself, without frames below a kernel: of --stalls, or a wait
 * for another rank.
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

/* Returns the outer part of a stack with a spinning wait: what the thread computed when it spun. */
static inline uint32_t result_computing_stack(const struct result *result, uint32_t stack)
{
	for (uint32_t at = stack; at != RESULT_ROOT; at = result->stacks[at].outer)
		if (result->frames[result->stacks[at].frame].mark == PSEUDO_KIND_SPINNING)
			return result->stacks[at].outer;
	return stack;
}

/*
 * Returns the stack of a timeline record. For CPU samples, operations and timed calls that is the
 * stack of the row, without root frames of --by, which the place has. For launches and waits the
 * stack ends at the CUDA call. It is RESULT_ROOT if it was not captured in the process.
 */
static inline uint32_t result_record_stack(const struct result *result,
					   const struct timeline_record *record)
{
	const uint32_t *stacks =
		record->kind == TIMELINE_CPU_SAMPLE ? result->sample_stacks : result->call_stacks;

	return stacks ? stacks[record->stack.number] : record->stack.number;
}

/* Returns whether --time or --step cut the record at an end of the shown range. */
static inline bool result_record_is_cut(const struct result *result,
					const struct timeline_record *record)
{
	if (result->is_by_launch &&
	    (record->kind == TIMELINE_LAUNCH || record->kind == TIMELINE_GPU_OPERATION))
		return false;
	return result->shown_to_ns &&
	       (record->start_ns == result->shown_from_ns ||
		record->start_ns + record->duration_ns == result->shown_to_ns);
}

/* Counts of an output, for the summary. */
struct written {
	uint64_t items;            /* number of the writer's `item` */
	uint64_t total[ROW_KINDS]; /* sum of the items, in units; without units, in ns */
	double exact_ns;           /* exact sum over all kinds, before rounding */
	uint64_t omitted;          /* items left out because they round to 0 units */
	double omitted_ns;         /* time of omitted items; included in `total` */
	uint64_t source_lines;     /* lines of the program's source, in `source_files` files */
	uint64_t source_files;
	uint64_t bytes; /* size of the output, if it matters (writer.h); 0: not counted */
};

/* Returns the totals for a format without units: all rows, and no items yet. */
static inline struct written written_in_ns(const struct result *result)
{
	struct written written = {.items = 0};

	for (uint32_t i = 0; i < result->row_count; i++) {
		written.total[result->rows[i].kind] += result->rows[i].ns;
		written.exact_ns += (double)result->rows[i].ns;
	}
	return written;
}

/* Parts of a result besides rows, collected on request only. */
enum writer_needs {
	NEEDS_TIMELINE = 1, /* result.timeline, and all parts of places */
	NEEDS_PLACES = 2,   /* all parts of places */
	USES_TIMELINE = 4,  /* result.timeline if there is one, for findings */
};

#endif
