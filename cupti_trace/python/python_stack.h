/* SPDX-License-Identifier: MIT */
/*
 * The Python frames of the calling thread, for its launch stacks.
 *
 * An interpreter in the process is noticed by its symbols, wherever they are: in the executable, in
 * libpython, also in one that was loaded for itself alone. Only memory is read, and one
 * thread-local slot is asked for (PyGILState_GetThisThreadState): the GIL is neither needed nor
 * taken, nothing of the interpreter is called that could change it. The first frames found are read
 * through the kernel and checked, including every object's type; only if that succeeds are later
 * ones read directly. Nothing is read of an interpreter that is shutting down. One of an unknown
 * version, or with an unexpected layout, causes one notice, and its stacks stay native.
 *
 * The first interpreter found counts; a second one in the same process is not looked for.
 */
#ifndef CUPTI_TRACE_PYTHON_PYTHON_STACK_H
#define CUPTI_TRACE_PYTHON_PYTHON_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/sink.h"
#include "cupti_trace/unwind/unwind_thread.h"
#include "symbolize/python_frames.h"
#include "symbolize/python_merge.h"

struct python_stack_options {
	bool lines;        /* frames with line numbers */
	bool keeps_native; /* the interpreter's own frames stay */
};

/* Once, before anything else. */
void python_stack_init(const struct python_stack_options *options);

/*
 * Looks for an interpreter, unless there is one already; to be called when code was mapped. `sink`
 * may be NULL here and in python_stack_read, before there is one: a notice then waits for the next
 * look that has one.
 */
void python_stack_look(struct sink *sink);

enum python_state {
	PYTHON_NONE,  /* none found so far */
	PYTHON_FOUND, /* and its layout not yet verified */
	PYTHON_CHECKED,
	PYTHON_UNUSABLE,
};
extern _Atomic int python_stack_state; /* enum python_state */

/* Returns whether the process has Python frames to read: python_stack_read may return true. */
static HOT_PATH_INLINE bool python_stack_is_there(void)
{
	int state = atomic_load_explicit(&python_stack_state, memory_order_acquire);

	return state == PYTHON_CHECKED || state == PYTHON_FOUND;
}

/* The calling thread's Python frames now; false if there are none. A few ns a frame. */
bool python_stack_read(struct sink *sink, struct python_stack *stack);

/* What it takes to read the frames of other threads (python_waiters.h). */
struct python_interpreter {
	struct python_offsets offsets;
	struct python_types types;
	uint64_t runtime; /* &_PyRuntime */
};

/* NULL: there is none, or it is shutting down. */
const struct python_interpreter *python_stack_interpreter(void);

/* The calling thread's PyThreadState; 0: it has none. Only where there is an interpreter. */
uint64_t python_stack_thread(void);

/* Continues a hash with all that identifies this stack: by the names of its code. */
uint64_t python_stack_hash(uint64_t hash, const struct python_stack *stack);

/* To recognize it: by the numbers of its code (python_frames.h). */
uint64_t python_stack_hash_numbers(uint64_t hash, const struct python_stack *stack);

/*
 * The latter with the calling thread's stack as python_stack_read would read it, without keeping
 * it, in two steps: where it begins (0: nowhere), and the hash (0: it has to be read). Only where
 * there is an interpreter. The processor waits for what the first step reads, one word after the
 * other; what the caller does between the two takes no time of its own.
 */
#define PYTHON_STACK_UNKNOWN UINT64_C(1)
uint64_t python_stack_innermost(void);
uint64_t python_stack_hash_from(uint64_t innermost, uint64_t hash);

/* Native frames, innermost first. */
struct python_stack_natives {
	const uint64_t *pcs;
	const uint64_t *sps; /* their stack pointers; read only if there are Python frames */
	uint32_t count;
	bool is_whole; /* down to the thread's start */
};

/*
 * The frames of one stack, native and Python, innermost first, at most `max`; sends the names of
 * code that was not sent yet. `python` may be empty. *is_cut: there were more; *is_ordered as of
 * python_merge. Where each frame came from is in origins[], unless that is NULL. Not thread-safe:
 * the caller locks.
 */
uint32_t python_stack_merge(struct sink *sink, const struct python_stack_natives *natives,
			    const struct python_stack *python, struct gpu_event_frame *out,
			    struct python_merged *origins, uint32_t max, bool *is_cut,
			    bool *is_ordered);

/* Names that were sent are sent again. The caller of python_stack_merge locks. */
void python_stack_start_over(void);

#endif
