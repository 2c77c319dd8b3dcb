/* SPDX-License-Identifier: MIT */
/*
 * Finds CPython interpreters in processes, and names their frames in stacks from the kernel.
 *
 * The BPF side reads the chain of frames, given its layout. It sends the name of a code object
 * before the first stack that contains it. A name that it could not read is read once from the
 * process, with a timeout (bounded_call.h).
 *
 * All tables are bounded. Beyond the bounds, Python frames, names or lines are missing. Texts are
 * interned in the caller's table.
 */
#ifndef PROFILER_CPU_PYTHONS_H
#define PROFILER_CPU_PYTHONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "bpf/stack_event.h"
#include "profiler/base/quota.h"
#include "symbolize/python_image.h"
#include "symbolize/python_merge.h"
#include "symbolize/python_threads.h"
#include "symbolize/symbolizer.h"
#include "symbolize/unwind.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/intern.h"

#define PYTHON_UNKNOWN_FRAME "[Python]" /* function with an unknown name */

struct pythons {
	struct python_file *files; /* interpreters, and files searched in vain */
	uint32_t file_count, file_capacity, other_count;
	struct python_program *programs; /* all programs of the run, numbered from 1 */
	uint32_t program_count, program_capacity;
	RECORD_SET(struct python_known_code) codes;
	RECORD_SET(struct python_known_line) lines_known;
	uint32_t asked_count;          /* code objects read from process memory */
	size_t kept_bytes;             /* code objects kept for lines */
	struct symbolizer *symbolizer; /* borrowed */
	struct intern *strings;        /* borrowed, like the quota */
	struct quota *quota;           /* NULL: no limit */
	bool lines;                    /* names include line numbers */
	bool keeps_native;
};

void pythons_init(struct pythons *p, struct symbolizer *symbolizer, struct intern *strings,
		  struct quota *quota);
void pythons_release(struct pythons *p);

/*
 * Searches mapped code for an interpreter: in files named like one, and in executables
 * (`is_executable`). Only the first interpreter of a process counts. Returns true if the mapping
 * holds one. Then sets `*program` (0 before) to its number, under which names are kept, and
 * `*layout` for bpf_source_set_python. Sets `*unknown_hex` if its version is unknown.
 */
bool pythons_map(struct pythons *p, pid_t pid, uint32_t *program,
		 const struct code_mapping *mapping, bool is_executable,
		 struct stack_python *layout, uint32_t *unknown_hex);

/* Tells the unwinder about trampolines of a process's interpreter (python_trampoline.h). */
void pythons_place_trampolines(const struct pythons *p, uint32_t program,
			       struct address_space *space);

/*
 * Returns true if the address lies in _PyRuntime, which holds the first interpreter's lock.
 * `program` is 0 if there is none.
 */
bool pythons_has_in_runtime(const struct pythons *p, uint32_t program, uint64_t address);

/* Sets the name of a code object from now on. Ignores invalid records. Returns 0, or -ENOMEM. */
int pythons_learn(struct pythons *p, const struct stack_python_code *record);

/* A Python function's name. Texts are interned. */
struct python_title {
	const char *name; /* "Model.forward", PYTHON_UNKNOWN_FRAME */
	const char *file; /* "/app/model.py"; NULL if unknown */
	uint32_t line;    /* 0 if unknown or not requested */
};

/* One frame of a sample: native (an index into the input), or Python. */
struct python_sample_frame {
	struct python_title title; /* native if the name is NULL */
	uint32_t index;
};

struct python_merge_result {
	bool is_whole;   /* all of the thread's Python frames are present, or none */
	bool is_ordered; /* each frame's position is known */
	bool is_missing; /* no frame, although a native one is the interpreter's loop */
};

/*
 * Merges the native and Python frames of a sample, innermost first, at most `max`. Returns their
 * number, or 0 if no Python was running.
 */
uint32_t pythons_merge(struct pythons *p, struct address_space *space, uint32_t program,
		       const struct stack_snapshot *snapshot, const struct unwind_frame *natives,
		       uint32_t count, bool is_whole, struct python_sample_frame *out, uint32_t max,
		       struct python_merge_result *result);

/*
 * Reads the names of a process's threads from its memory, with a timeout, and passes each to
 * `visit`. `places` holds addresses found by an earlier reading of the program. `*used_ns` is the
 * CPU time spent. Returns 0, or -errno.
 */
typedef void (*pythons_thread_visitor)(void *context, const struct python_thread_name *name);
int pythons_read_threads(struct pythons *p, pid_t pid, uint32_t program,
			 struct python_threads_places *places, uint64_t *used_ns,
			 pythons_thread_visitor visit, void *context);

/* Returns the path of a process's interpreter, or NULL if unknown. */
const char *pythons_path(const struct pythons *p, uint32_t program);

#endif
