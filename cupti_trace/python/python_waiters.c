// SPDX-License-Identifier: MIT
#include "cupti_trace/python/python_waiters.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/readable.h"
#include "cupti_trace/python/python_stack.h"
#include "symbolize/util/text.h"

#define THREADS_MAX 4096
#define INTERPRETERS_MAX 16
/* From this version on, the thread's kernel id follows `thread_id`. */
#define NATIVE_ID_VERSION 0x030b

/* Functions that wait, with the end of their file's path. */
static const struct {
	const char *function, *path;
} table[] = {
	{"_engine_run_backward", "/torch/autograd/graph.py"}, /* PyTorch 2.1 */
	{"backward", "/torch/autograd/__init__.py"},          /* earlier ones */
	{"grad", "/torch/autograd/__init__.py"},
};

/* ---- memory ---- */

static bool copy(uint64_t address, void *buffer, size_t size)
{
	const struct iovec piece = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};

	return read_own_memory(buffer, size, &piece, 1) == (ssize_t)size;
}

/*
 * Copies all pieces that the last reading used, as they are now, and drops the others. Pieces lie
 * in the order of their first use.
 */
static void refresh(struct python_pieces *p)
{
	struct iovec pieces[PYTHON_PIECES];
	uint32_t count = 0;
	size_t wanted;
	ssize_t bytes = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		if (!p->used[i])
			continue;
		p->start[count] = p->start[i];
		pieces[count++] = (struct iovec){.iov_base = (void *)(uintptr_t)p->start[i],
						 .iov_len = PYTHON_PIECE_BYTES};
	}
	wanted = count * PYTHON_PIECE_BYTES;
	if (count > 0)
		bytes = guest_has_filter() ? read_own_memory(p->bytes, wanted, pieces, count)
					   : gather_own_memory(p->bytes, wanted, pieces, count);
	p->count = bytes > 0 ? (uint32_t)bytes / PYTHON_PIECE_BYTES : 0;
	p->last = 0;
	memset(p->used, 0, sizeof(p->used));
}

/* Returns the place for a new piece: the first that this reading has not used, or any. */
static uint32_t place_of_new(struct python_pieces *p)
{
	uint32_t i = 0;

	if (p->count < PYTHON_PIECES)
		return p->count++;
	while (i < PYTHON_PIECES && p->used[i])
		i++;
	return i < PYTHON_PIECES ? i : 0;
}

/* Returns the piece that starts there; NULL: it cannot be read. */
static const unsigned char *find_piece(struct python_pieces *p, uint64_t start)
{
	uint32_t at = p->last;

	for (uint32_t n = 0; n < p->count && p->start[at] != start; n++)
		at = at + 1 < p->count ? at + 1 : 0;
	if (at >= p->count || p->start[at] != start) {
		at = place_of_new(p);
		p->start[at] = copy(start, p->bytes[at], PYTHON_PIECE_BYTES) ? start : 0;
	}
	p->last = at;
	p->used[at] = p->start[at] != 0;
	return p->used[at] ? p->bytes[at] : NULL;
}

static bool read_by_pieces(void *context, uint64_t address, void *buffer, size_t size)
{
	uint64_t start = address & ~(uint64_t)(PYTHON_PIECE_BYTES - 1), at = address - start;
	const unsigned char *piece;

	if (start == 0) /* nothing is mapped there */
		return false;
	if (size > PYTHON_PIECE_BYTES - at)
		return copy(address, buffer, size);
	piece = find_piece(context, start);
	if (piece)
		memcpy(buffer, piece + at, size);
	return piece;
}

struct reading {
	const struct python_interpreter *python;
	struct python_pieces *pieces;
	struct python_memory memory;
};

/*
 * Begins a reading. Returns false under a new seccomp filter, which may end the program for it, or
 * without an interpreter.
 */
static bool begin(struct reading *r, struct python_pieces *pieces)
{
	*r = (struct reading){.python = guest_is_sandboxed() ? NULL : python_stack_interpreter(),
			      .pieces = pieces,
			      .memory = {.read = read_by_pieces, .context = pieces}};
	if (r->python)
		refresh(pieces);
	return r->python != NULL;
}

static bool read_word(struct reading *r, uint64_t address, uint64_t *word)
{
	return read_by_pieces(r->pieces, address, word, sizeof(*word));
}

/* ---- threads ---- */

static bool is_in_table(struct reading *r, const struct python_frame *frame)
{
	struct python_code code;

	if (python_code_read(&r->memory, &r->python->offsets, &r->python->types, frame->code,
			     &code) != 0)
		return false;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(code.name, table[i].function) == 0 &&
		    ends_with(code.path, table[i].path))
			return true;
	return false;
}

static bool is_same_thread(struct reading *r, const struct python_waiter *waiter)
{
	uint64_t self;

	return read_word(r, waiter->thread + r->python->offsets.thread_id, &self) &&
	       self == waiter->self;
}

/* Returns whether a thread waits. `stack` gets its innermost frame. */
static bool is_waiting(struct reading *r, uint64_t thread, struct python_stack *stack)
{
	python_frames_read_some(&r->memory, &r->python->offsets, thread, 1, stack);
	return stack->count > 0 && is_in_table(r, &stack->frames[0]);
}

/*
 * Returns whether both frames run one code object. If it has a number, its mark need not be known.
 */
static bool is_same_code(const struct python_frame *a, const struct python_frame *b)
{
	return a->code == b->code && a->number == b->number && (a->number || a->mark == b->mark);
}

bool python_waiters_read(const struct python_waiter *waiter, struct python_pieces *pieces,
			 struct python_stack *stack)
{
	struct python_frame innermost;
	struct reading r;

	stack->count = 0;
	if (!begin(&r, pieces) || !is_same_thread(&r, waiter) ||
	    !is_waiting(&r, waiter->thread, stack))
		return false;
	innermost = stack->frames[0];
	python_frames_read_some(&r.memory, &r.python->offsets, waiter->thread, PYTHON_FRAMES_MAX,
				stack);
	/* the thread may have moved between both readings */
	return stack->count > 0 && is_same_code(&stack->frames[0], &innermost) &&
	       (stack->is_whole || stack->count == PYTHON_FRAMES_MAX);
}

bool python_waiters_read_again(const struct python_waiter *waiter, struct python_pieces *pieces,
			       const struct python_stack *earlier, struct python_stack *stack)
{
	struct reading r;

	stack->count = 0;
	if (!begin(&r, pieces) || !is_same_thread(&r, waiter))
		return false;
	python_frames_read_numbers(&r.memory, &r.python->offsets, waiter->thread, stack);
	if (stack->count != earlier->count || stack->is_whole != earlier->is_whole)
		return false;
	for (uint32_t i = 0; i < stack->count; i++) {
		if (!is_same_code(&stack->frames[i], &earlier->frames[i]))
			return false;
		stack->frames[i].mark = earlier->frames[i].mark;
	}
	return true;
}

static void describe(struct reading *r, uint64_t thread, uint64_t self,
		     struct python_waiter *waiter)
{
	const struct python_offsets *o = &r->python->offsets;
	uint64_t tid = 0;

	*waiter = (struct python_waiter){.thread = thread, .self = self};
	if (o->version >= NATIVE_ID_VERSION && read_word(r, thread + o->thread_id + 8, &tid))
		waiter->tid = (uint32_t)tid;
}

uint32_t python_waiters_list(struct python_waiter *waiters, uint32_t max,
			     bool (*is_known)(uint64_t self), struct python_pieces *pieces)
{
	const struct python_offsets *o;
	uint64_t interpreter = 0, thread, self;
	uint32_t count = 0, left = THREADS_MAX;
	struct python_stack innermost;
	struct reading r;

	if (!begin(&r, pieces))
		return 0;
	o = &r.python->offsets;
	read_word(&r, r.python->runtime + o->runtime_interpreters, &interpreter);
	for (uint32_t i = 0; i < INTERPRETERS_MAX && interpreter; i++) {
		if (!read_word(&r, interpreter + o->interpreter_threads, &thread))
			break;
		while (thread && left-- > 0) {
			if (read_word(&r, thread + o->thread_id, &self) && !is_known(self) &&
			    is_waiting(&r, thread, &innermost)) {
				if (count < max)
					describe(&r, thread, self, &waiters[count]);
				count++;
			}
			if (!read_word(&r, thread + o->thread_next, &thread))
				return count;
		}
		if (!read_word(&r, interpreter + o->interpreter_next, &interpreter))
			break;
	}
	return count;
}
