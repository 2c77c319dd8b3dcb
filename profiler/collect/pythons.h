/* SPDX-License-Identifier: MIT */
/*
 * Processes that run CPython, as far as stacks from the kernel need to know: where their frames are
 * (for the BPF side, which reads the chain), and what their code objects are called (which the BPF
 * side sends before it sends the first stack with one of them). Nothing is read of a process.
 *
 * Bounded; what has no room has no Python frames, no names, or no lines. Texts are interned by the
 * caller's table.
 */
#ifndef PROFILER_COLLECT_PYTHONS_H
#define PROFILER_COLLECT_PYTHONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "bpf/stack_event.h"
#include "symbolize/hash_index.h"
#include "symbolize/intern.h"
#include "symbolize/python_image.h"
#include "symbolize/python_merge.h"
#include "symbolize/symbolizer.h"
#include "symbolize/unwind.h"

#define PYTHON_UNKNOWN_FRAME "[Python]" /* a function that did not tell its name */

struct pythons {
	struct python_file *files; /* interpreters seen, and files that are none */
	uint32_t file_count, file_capacity;
	struct python_program *programs; /* all that there were; they have numbers from 1 on */
	uint32_t program_count, program_capacity;
	struct python_known_code *codes;
	uint32_t code_count, code_capacity;
	struct hash_index code_index;
	struct python_known_line *lines_known;
	uint32_t line_count, line_capacity;
	struct hash_index line_index;
	size_t kept_bytes;             /* of code objects, for lines */
	struct symbolizer *symbolizer; /* borrowed */
	struct intern *strings;
	bool lines; /* names with line numbers */
	bool keeps_native;
};

void pythons_init(struct pythons *p, struct symbolizer *symbolizer, struct intern *strings);
void pythons_release(struct pythons *p);

/*
 * A process mapped code. True if it holds an interpreter: `*program` (0 before) is its number, by
 * which names are kept, `*layout` is for bpf_source_set_python. The first one of a process counts.
 * `*unknown_hex` is set if it is of a version that is not known.
 */
bool pythons_map(struct pythons *p, pid_t pid, uint32_t *program,
		 const struct code_mapping *mapping, struct stack_python *layout,
		 uint32_t *unknown_hex);

/* What a code object is called, from now on. 0 or -ENOMEM; what makes no sense is left out. */
int pythons_learn(struct pythons *p, const struct stack_python_code *record);

/* What a Python function is called: texts are interned. */
struct python_title {
	const char *name; /* "Model.forward", PYTHON_UNKNOWN_FRAME */
	const char *file; /* "model.py"; NULL: not known */
	uint32_t line;    /* 0: not known, or not asked for */
};

/* One frame of a sample: native (index into what was given), or Python. */
struct python_sample_frame {
	struct python_title title; /* without a name: native */
	uint32_t index;
};

/*
 * The frames of a sample with Python frames in it, innermost first, at most `max`. Returns how
 * many; 0 if the process runs no Python, or none was running.
 */
uint32_t pythons_merge(struct pythons *p, struct address_space *space, uint32_t program,
		       const struct stack_snapshot *snapshot, const struct unwind_frame *natives,
		       uint32_t count, bool is_whole, struct python_sample_frame *out,
		       uint32_t max);

#endif
