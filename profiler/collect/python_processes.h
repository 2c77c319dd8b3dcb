/* SPDX-License-Identifier: MIT */
/*
 * The processes that run CPython, as far as CPU samples need to know: where their frames are (for
 * the BPF side, which reads the chain at the sample), and the names of their code objects (read
 * here, soon after, while the process lives; a code object that is not the sampled one any more has
 * no name).
 *
 * Bounded; what has no room has no Python frames. Texts are interned by the caller's table.
 */
#ifndef PROFILER_COLLECT_PYTHON_PROCESSES_H
#define PROFILER_COLLECT_PYTHON_PROCESSES_H

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

struct python_processes {
	struct python_file *files; /* interpreters seen, and files that are none */
	uint32_t file_count, file_capacity;
	struct python_process *processes;
	uint32_t count, capacity;
	struct hash_index index; /* of processes, by pid */
	struct python_name *names;
	uint32_t name_count, name_capacity;
	struct hash_index name_index;
	uint32_t programs; /* counted, so that names of one program are not another's */
	struct intern *strings;
	bool lines; /* names with line numbers */
	bool keeps_native;
};

void python_processes_init(struct python_processes *p, struct intern *strings);
void python_processes_release(struct python_processes *p);

/*
 * A process mapped code. True if it holds an interpreter: `*layout` is for bpf_source_set_python.
 * The first one of a program counts. `*unknown_hex` is set if it is of a version that is not known.
 */
bool python_processes_map(struct python_processes *p, pid_t pid, const struct code_mapping *mapping,
			  struct stack_python *layout, uint32_t *unknown_hex);

void python_processes_fork(struct python_processes *p, pid_t parent, pid_t child);

/* The process is gone, or runs another program. */
void python_processes_forget(struct python_processes *p, pid_t pid);

/* One frame of a sample: native (index into what was given), or Python (text). */
struct python_sample_frame {
	const char *text; /* NULL: native */
	uint32_t index;
};

/*
 * The frames of a sample with Python frames in it, innermost first, at most `max`. `module` is the
 * module of each native frame's code_ref. Returns how many; 0 if the process runs no Python, or
 * none was running.
 */
uint32_t python_processes_merge(struct python_processes *p, struct symbolizer *symbolizer,
				const struct stack_snapshot *snapshot,
				const struct unwind_frame *natives, uint32_t count, bool is_whole,
				struct python_sample_frame *out, uint32_t max);

#endif
