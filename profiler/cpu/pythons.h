/* SPDX-License-Identifier: MIT */
/*
 * CPython processes, as far as stacks from the kernel need them: where their frames are (for the
 * BPF side, which reads the chain), and the names of their code objects. The BPF side sends a name
 * before the first stack that contains it; one that it could not read is read from the process,
 * with a deadline (bounded_call.h), once.
 *
 * Bounded; beyond the bounds Python frames, names or lines are missing. Texts are interned in the
 * caller's table.
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

#define PYTHON_UNKNOWN_FRAME "[Python]" /* a function whose name is unknown */

struct pythons {
	struct python_file *files; /* interpreters, and files that are none */
	uint32_t file_count, file_capacity, other_count;
	struct python_program *programs; /* all of the run, numbered from 1 */
	uint32_t program_count, program_capacity;
	RECORD_SET(struct python_known_code) codes;
	RECORD_SET(struct python_known_line) lines_known;
	uint32_t asked_count;          /* code objects that were read from processes */
	size_t kept_bytes;             /* of code objects, for lines */
	struct symbolizer *symbolizer; /* borrowed */
	struct intern *strings;        /* borrowed, as is the quota */
	struct quota *quota;           /* NULL: no limit */
	bool lines;                    /* names with line numbers */
	bool keeps_native;
};

void pythons_init(struct pythons *p, struct symbolizer *symbolizer, struct intern *strings,
		  struct quota *quota);
void pythons_release(struct pythons *p);

/*
 * A process mapped code. Interpreters are looked for in files of their names, and in executables
 * (`is_executable`). True if the mapping holds one: sets `*program` (0 before) to
 * its number, under which names are kept, and `*layout` for bpf_source_set_python. Only the first
 * interpreter of a process counts. Sets `*unknown_hex` if its version is unknown.
 */
bool pythons_map(struct pythons *p, pid_t pid, uint32_t *program,
		 const struct code_mapping *mapping, bool is_executable,
		 struct stack_python *layout, uint32_t *unknown_hex);

/* Tells the unwinder of trampolines that a process's interpreter may make (python_trampoline.h). */
void pythons_place_trampolines(const struct pythons *p, uint32_t program,
			       struct address_space *space);

/*
 * Returns whether the address lies in _PyRuntime, where the first interpreter's lock is. `program`:
 * 0: none.
 */
bool pythons_has_in_runtime(const struct pythons *p, uint32_t program, uint64_t address);

/* Sets the name of a code object from now on. 0 or -ENOMEM; invalid records are ignored. */
int pythons_learn(struct pythons *p, const struct stack_python_code *record);

/* The name of a Python function; texts are interned. */
struct python_title {
	const char *name; /* "Model.forward", PYTHON_UNKNOWN_FRAME */
	const char *file; /* "/app/model.py"; NULL: unknown */
	uint32_t line;    /* 0: unknown, or not requested */
};

/* One frame of a sample: native (an index into the input), or Python. */
struct python_sample_frame {
	struct python_title title; /* without a name: native */
	uint32_t index;
};

struct python_merge_result {
	bool is_whole;   /* all of the thread's Python frames are there, or none */
	bool is_ordered; /* and each is known to be where it belongs */
	bool is_missing; /* none is there, but the interpreter's loop is among the native ones */
};

/*
 * The frames of a sample with its Python frames, innermost first, at most `max`. Returns their
 * number; 0 if the process runs no Python, or none was running.
 */
uint32_t pythons_merge(struct pythons *p, struct address_space *space, uint32_t program,
		       const struct stack_snapshot *snapshot, const struct unwind_frame *natives,
		       uint32_t count, bool is_whole, struct python_sample_frame *out, uint32_t max,
		       struct python_merge_result *result);

/*
 * Reads the names of a process's threads from its memory, with a deadline, and shows each.
 * `places`: of an earlier reading of the same program; `used_ns`: the CPU time that it took. 0, or
 * -errno: they could not be read.
 */
typedef void (*pythons_thread_visitor)(void *context, const struct python_thread_name *name);
int pythons_read_threads(struct pythons *p, pid_t pid, uint32_t program,
			 struct python_threads_places *places, uint64_t *used_ns,
			 pythons_thread_visitor visit, void *context);

/* The file of a process's interpreter; NULL: unknown. */
const char *pythons_path(const struct pythons *p, uint32_t program);

#endif
