/* SPDX-License-Identifier: MIT */
/*
 * The result of a run, with names: what every output is written from. It is made once, after the
 * last event, and never changes; writers resolve nothing.
 *
 * Texts hold no control characters. What else a format cannot carry is the writer's business. Times
 * are in ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_PROFILE_RESULT_H
#define PROFILER_PROFILE_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/profile/devices.h"
#include "profiler/profile/ledger.h"
#include "profiler/profile/place_names.h"
#include "profiler/profile/places.h"
#include "profiler/profile/profile.h"
#include "profiler/profile/timeline.h"

/* What a frame is, for outputs that tell kinds apart. */
enum frame_class {
	CLASS_NATIVE, /* a function of a file; or none that has a name: "[libfoo.so]" */
	CLASS_PYTHON,
	CLASS_JIT,         /* code that the process made itself */
	CLASS_KERNEL_MODE, /* Linux's */
	CLASS_API,         /* the function of CUDA that was called */
	CLASS_NVTX,        /* a range that the program opened */
	CLASS_GPU_KERNEL,
	CLASS_GPU_WORK, /* copies, sets, migrations, whole graphs */
	CLASS_WAIT,     /* "[waiting for GPU]" */
	CLASS_CALL,     /* "[CUDA call, wall time]" */
	CLASS_PLACE,    /* process, thread, device, context, stream (--by) */
	CLASS_MARK,     /* says something of the stack: "[truncated]", "launched at" */
	FRAME_CLASSES
};

/* Distinct frames. `module` and `offset` are those of one place where the function was seen. */
struct frame_info {
	enum frame_class class;
	uint32_t line;      /* of a Python function; 0: not known */
	const char *name;   /* as it is shown: "Model.forward (model.py:42)" */
	const char *file;   /* of a Python function: "model.py"; NULL: not known */
	const char *module; /* path of the file that holds the code; NULL: there is none */
	uint64_t offset;    /* in that file */
};

/* A tree: each stack is a frame inside of another stack. */
struct stack_info {
	uint32_t outer; /* RESULT_ROOT and smaller numbers come first */
	uint32_t frame;
};
#define RESULT_ROOT 0u /* stacks[0]: no frames */

struct totals {
	const struct ledger *ledger;
	const char *command;       /* as it was given, for people */
	uint64_t elapsed_ns;       /* from the command's start to the end of collecting */
	uint64_t longest_round_ns; /* from one look at the sources to the next */
	uint64_t command_cpu_ns;   /* charged to the command and its waited-for children */
	uint64_t own_cpu_ns;       /* charged to the profiler */
	uint64_t own_memory_bytes; /* the most that it held */
	uint64_t sample_ns;        /* what a CPU sample weighs */
};

/* What could not be named, or not as it should be (symbolize/budget.h). */
struct unnamed {
	uint64_t unreadable;         /* files that we may not read */
	const char *unreadable_path; /* the first of them; any bytes */
	uint64_t refused;            /* tables of names that are too large */
	uint64_t stuck;              /* files and processes that did not answer in time */
	uint64_t mangled;            /* names that take too long to demangle */
};

struct result {
	const struct frame_info *frames;
	uint32_t frame_count;
	const struct stack_info *stacks;
	uint32_t stack_count;
	const struct row *rows; /* `stack` is one of the above, `place` one of `places` */
	uint32_t row_count;
	const struct place *places;
	uint32_t place_count;
	const struct process_info
		*processes; /* those that places name; likewise threads, devices */
	uint32_t process_count;
	const struct thread_info *threads;
	uint32_t thread_count;
	const struct device *devices;
	uint32_t device_count;
	const struct timeline *timeline; /* NULL unless a writer needs it; it is finished */
	const uint32_t *sample_stacks, *call_stacks; /* for result_record_stack */
	struct unnamed unnamed;
	struct totals totals;
};

/*
 * The stack of a record that was read from the timeline. A CPU sample's is that of its row, and so
 * is an operation's and a timed call's, but for the frames at the root that tell places apart
 * (--by): the record's place says that. A launch's and a wait's ends at the call of CUDA; it is
 * RESULT_ROOT where it was not captured in the process.
 */
static inline uint32_t result_record_stack(const struct result *result,
					   const struct timeline_record *record)
{
	return record->kind == TIMELINE_CPU_SAMPLE ? result->sample_stacks[record->stack]
						   : result->call_stacks[record->stack];
}

#endif
