// SPDX-License-Identifier: MIT
#include "cupti_trace/python_waiters.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "cupti_trace/python_stack.h"
#include "cupti_trace/readable.h"
#include "symbolize/hash.h"

#define THREADS_MAX 4096
#define INTERPRETERS_MAX 16
#define NATIVE_ID_VERSION 0x030b /* from here on the thread's kernel id is behind `thread_id` */

/* A function that waits; its file's path ends like this. */
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
	struct iovec local = {.iov_base = buffer, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};

	return read_own_memory(&local, &remote, 1) == (ssize_t)size;
}

/* Copies all pieces that the last reading used, as they are now; the others are dropped. */
static void refresh(struct python_pieces *p)
{
	struct iovec local[PYTHON_PIECES], remote[PYTHON_PIECES];
	uint32_t slots[PYTHON_PIECES], count = 0, whole;
	ssize_t bytes;

	for (uint32_t i = 0; i < PYTHON_PIECES; i++) {
		if (p->used[i]) {
			slots[count] = i;
			local[count] = (struct iovec){p->bytes[i], PYTHON_PIECE_BYTES};
			remote[count++] =
				(struct iovec){(void *)(uintptr_t)p->start[i], PYTHON_PIECE_BYTES};
		} else {
			p->start[i] = 0;
		}
		p->used[i] = false;
	}
	if (count == 0)
		return;
	bytes = read_own_memory(local, remote, count);
	whole = bytes > 0 ? (uint32_t)bytes / PYTHON_PIECE_BYTES : 0;
	while (count > whole)
		p->start[slots[--count]] = 0;
}

/*
 * Where a piece is. It is nowhere: where it goes, to the first free place, or in place of the first
 * piece that this reading has not used, or of any.
 */
static uint32_t place_of(const struct python_pieces *p, uint64_t start)
{
	uint32_t first = hash_number(start) % PYTHON_PIECES;
	uint32_t empty = PYTHON_PIECES, unused = PYTHON_PIECES;

	for (uint32_t n = 0; n < PYTHON_PIECES; n++) {
		uint32_t i = (first + n) % PYTHON_PIECES;

		if (p->start[i] == start)
			return i;
		if (p->start[i] == 0 && empty == PYTHON_PIECES)
			empty = i;
		if (!p->used[i] && unused == PYTHON_PIECES)
			unused = i;
	}
	return empty < PYTHON_PIECES ? empty : unused < PYTHON_PIECES ? unused : first;
}

static bool read_by_pieces(void *context, uint64_t address, void *buffer, size_t size)
{
	struct python_pieces *p = context;
	uint64_t start = address & ~(uint64_t)(PYTHON_PIECE_BYTES - 1), at = address - start;
	uint32_t i;

	if (start == 0) /* it would be taken for a free place */
		return false;
	if (size > PYTHON_PIECE_BYTES - at)
		return copy(address, buffer, size);
	i = place_of(p, start);
	if (p->start[i] != start) {
		p->start[i] = 0;
		p->used[i] = false;
		if (!copy(start, p->bytes[i], PYTHON_PIECE_BYTES))
			return false;
		p->start[i] = start;
	}
	p->used[i] = true;
	memcpy(buffer, p->bytes[i] + at, size);
	return true;
}

struct reading {
	const struct python_interpreter *python;
	struct python_pieces *pieces;
	struct python_memory memory;
};

static bool begin(struct reading *r, struct python_pieces *pieces)
{
	*r = (struct reading){.python = python_stack_interpreter(),
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

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

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

/* `stack` gets the innermost frame. */
static bool is_waiting(struct reading *r, uint64_t thread, struct python_stack *stack)
{
	python_frames_read_some(&r->memory, &r->python->offsets, thread, 1, stack);
	return stack->count > 0 && is_in_table(r, &stack->frames[0]);
}

/* Where code has a number, its mark need not be known. */
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
	/* the thread may have gone on between the two */
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
