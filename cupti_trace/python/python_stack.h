/* SPDX-License-Identifier: MIT */
/*
 * Reads the Python frames of the calling thread, for its launch stacks.
 *
 * An interpreter is found by its symbols, wherever they are: in the executable, or in a libpython,
 * even one loaded with RTLD_LOCAL. Only memory is read, and one thread-local slot
 * (PyGILState_GetThisThreadState). The GIL is neither needed nor taken, and nothing is called that
 * could change the interpreter. The first frames found are read through the kernel and checked,
 * including every object's type. Only if that succeeds are later ones read directly. Nothing is
 * read of an interpreter that is shutting down. An unknown version, or an unexpected layout, causes
 * one notice, and stacks stay native.
 *
 * The first interpreter found counts; a second one in the process is ignored.
 */
#ifndef CUPTI_TRACE_PYTHON_PYTHON_STACK_H
#define CUPTI_TRACE_PYTHON_PYTHON_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/sink.h"
#include "cupti_trace/unwind/unwind_thread.h"
#include "symbolize/python_dict.h"
#include "symbolize/python_frames.h"
#include "symbolize/python_merge.h"

struct python_stack_options {
	bool lines;        /* frames with line numbers */
	bool keeps_native; /* the interpreter's own frames stay */
	bool modules; /* calls of PyTorch's modules are found, and count in hashes by numbers */
};

/* Initialises; call once, before anything else. */
void python_stack_init(const struct python_stack_options *options);

/*
 * Searches for an interpreter, unless there is one already. Call when code was mapped. `sink` may
 * be NULL here and in python_stack_read, before it exists: a notice then waits for the next call
 * with a sink.
 */
void python_stack_look(struct sink *sink);

enum python_state {
	PYTHON_NONE,  /* none found so far */
	PYTHON_FOUND, /* found, but its layout is not yet verified */
	PYTHON_CHECKED,
	PYTHON_UNUSABLE,
};
extern _Atomic int python_stack_state; /* enum python_state */

/*
 * Returns whether the process has Python frames to read, so that python_stack_read may return true.
 */
static HOT_PATH_INLINE bool python_stack_is_there(void)
{
	int state = atomic_load_explicit(&python_stack_state, memory_order_acquire);

	return state == PYTHON_CHECKED || state == PYTHON_FOUND;
}

/* Reads the calling thread's Python frames. Returns false if there are none. A few ns a frame. */
bool python_stack_read(struct sink *sink, struct python_stack *stack);

/* Everything needed to read the frames of other threads (python_waiters.h). */
struct python_interpreter {
	struct python_offsets offsets;
	struct python_types types;
	uint64_t runtime; /* &_PyRuntime */
};

/* Returns the interpreter. NULL: there is none, or it is shutting down. */
const struct python_interpreter *python_stack_interpreter(void);

/*
 * Returns the calling thread's PyThreadState; 0: it has none. Call only if there is an interpreter.
 */
uint64_t python_stack_thread(void);

/*
 * Lists the calls of PyTorch's modules in the calling thread's stack, the innermost first, up to
 * `max`. Returns their number. Finds none before python_stack_methods() is above 0, nor before
 * python_stack_read has read a stack.
 */
uint32_t python_stack_calls(struct python_call *list, uint32_t max);

/* Returns the number of code objects that call modules. It grows when one is sent. */
uint32_t python_stack_methods(void);

/*
 * Looks for such code objects in the calling thread's stack, unless one is known. Slow.
 */
void python_stack_find_methods(struct python_stack *room);

/*
 * Sets a reader of the process's objects. Returns false if there is no interpreter, or a seccomp
 * filter may end the program for reading memory.
 */
bool python_stack_reader(struct python_reader *reader);

/* Continues a hash with the names of the stack's code, which identify the stack. */
uint64_t python_stack_hash(uint64_t hash, const struct python_stack *stack);

/*
 * Continues a hash with the numbers of the stack's code (python_frames.h), to recognize the stack.
 * `has_places`: also with each frame's instruction.
 */
uint64_t python_stack_hash_numbers(uint64_t hash, const struct python_stack *stack,
				   bool has_places);

/*
 * Compute python_stack_hash_numbers of the calling thread's stack without storing it, in two steps.
 * The first one finds its start (0: none), the second one the hash (0: the stack has to be read).
 * Call only if there is an interpreter. The first step waits for memory, one word after the other.
 * So the caller's work between both steps takes no time of its own.
 */
#define PYTHON_STACK_UNKNOWN UINT64_C(1)
uint64_t python_stack_innermost(void);
uint64_t python_stack_hash_from(uint64_t innermost, uint64_t hash, bool has_places);

/* Native frames, innermost first. */
struct python_stack_natives {
	const uint64_t *pcs;
	const uint64_t *sps; /* their stack pointers; read only if there are Python frames */
	uint32_t count;
	bool is_whole; /* reaches the thread's start */
};

/*
 * Merges the native and Python frames of one stack, innermost first, up to `max`. Sends the names
 * of new code. `python` may be empty. Sets *is_cut if there are more, and *is_ordered as
 * python_merge does. origins[] gets the source of each frame, unless it is NULL. Not thread-safe:
 * the caller locks.
 */
uint32_t python_stack_merge(struct sink *sink, const struct python_stack_natives *natives,
			    const struct python_stack *python, struct gpu_event_frame *out,
			    struct python_merged *origins, uint32_t max, bool *is_cut,
			    bool *is_ordered);

/* Has all names sent again. The caller of python_stack_merge locks. */
void python_stack_start_over(void);

#endif
