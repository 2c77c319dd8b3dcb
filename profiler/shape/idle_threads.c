// SPDX-License-Identifier: MIT
#include "profiler/shape/idle_threads.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/shape/code_role.h"
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/sorted.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAINS_MAX 64u /* files with a function `main`; further ones count as libraries */
#define NONE UINT32_MAX

/* Verdict on a stack with which a thread is blocked. */
enum judgement {
	UNJUDGED,
	BUSY,    /* no wait for work */
	LIBRARY, /* maybe a wait for work, in code of others */
	OWN,     /* maybe a wait for work, in the program's own code */
};

/* Blocked time of a thread below one stack, in ns. */
struct wait {
	uint32_t place, stack;
	uint64_t ns;
};

struct search {
	const struct result *result;
	struct code_roles *roles;
	const char *mains[MAINS_MAX]; /* modules, compared as pointers */
	uint32_t main_count;
	uint8_t *judgements; /* by stack */
	uint32_t *alike;     /* by stack: threads blocked with it for most of their lives */
	uint64_t *lives;     /* by place: the thread's time, except waits for a CPU, ns */
	uint32_t *chosen;    /* by place: the stack of most of that time, or NONE */
	struct wait *waits;
	uint32_t wait_count;
};

/* ---- stacks ---- */

static const struct frame_info *frame_of(const struct result *r, uint32_t stack)
{
	return &r->frames[r->stacks[stack].frame];
}

/* Returns true if the name, in lower case, contains one of the words. */
static bool has_any(const char *name, const char *const *words, size_t count)
{
	char small[256];
	size_t n = 0;

	for (; name[n] && n + 1 < sizeof(small); n++)
		small[n] = (char)tolower((unsigned char)name[n]);
	small[n] = '\0';
	for (size_t i = 0; i < count; i++)
		if (strstr(small, words[i]))
			return true;
	return false;
}

static bool is_lock(const char *name)
{
	static const char *const words[] = {"mutex",    "rwlock", "lll_lock",
					    "spinlock", "join",   "objectmonitor::enter"};

	return has_any(name, words, COUNT(words));
}

static bool is_barrier(const char *name)
{
	static const char *const words[] = {"barrier"};

	return has_any(name, words, COUNT(words));
}

static bool is_of_main(const struct search *s, const struct frame_info *frame)
{
	for (uint32_t i = 0; frame->module && i < s->main_count; i++)
		if (s->mains[i] == frame->module)
			return true;
	return false;
}

static bool is_own(const struct search *s, const struct frame_info *frame)
{
	char label[CODE_ROLE_LABEL_BYTES];
	enum code_role role = code_role_of(s->roles, frame, label);

	return role == ROLE_OWN || (role == ROLE_PACKAGE && is_of_main(s, frame));
}

static bool is_code(const struct frame_info *frame)
{
	return frame->class == CLASS_NATIVE || frame->class == CLASS_PYTHON ||
	       frame->class == CLASS_JIT;
}

static enum judgement judge(const struct search *s, uint32_t stack)
{
	bool has_own = false, has_barrier = false, has_python = false, has_code = false;

	for (uint32_t at = stack; at != RESULT_ROOT; at = s->result->stacks[at].outer) {
		const struct frame_info *frame = frame_of(s->result, at);

		if (frame->mark == PSEUDO_KIND_THREAD_STARTED) /* the rest is the creator's */
			break;
		if (frame->mark == PSEUDO_KIND_NO_OWN_STACK)
			return BUSY;
		if (!is_code(frame))
			continue;
		if (is_lock(frame->short_name))
			return BUSY;
		if (frame->class == CLASS_PYTHON && !has_python && is_own(s, frame))
			return BUSY;
		has_code = true;
		has_python |= frame->class == CLASS_PYTHON;
		has_barrier |= is_barrier(frame->short_name);
		/* the innermost Python function decides for all of them */
		has_own |= frame->class != CLASS_PYTHON && !has_python && is_own(s, frame);
	}
	if (!has_code || (has_own && has_barrier))
		return BUSY;
	return has_own ? OWN : LIBRARY;
}

/* Returns the stack with which a row's thread waits for work; NONE for other rows. */
static uint32_t wait_stack(const struct search *s, const struct row *row)
{
	/* not "read file]": that waits for a disk */
	static const char *const kinds[] = {
		"futex]",       "epoll]",   "poll]",   "read]",   "read device]", "read pipe]",
		"read socket]", "receive]", "accept]", "signal]", "io_uring]"};
	const struct frame_info *frame;
	size_t skipped = sizeof(PSEUDO_BLOCKED) - 1;
	uint32_t outer;

	if (row->kind != ROW_WAIT || row->stack == RESULT_ROOT)
		return NONE;
	frame = frame_of(s->result, row->stack);
	outer = s->result->stacks[row->stack].outer;
	if (frame->mark != PSEUDO_KIND_BLOCKED)
		return NONE;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (strcmp(frame->name + skipped, kinds[i]) != 0)
			continue;
		if (s->judgements[outer] == UNJUDGED)
			s->judgements[outer] = (uint8_t)judge(s, outer);
		return s->judgements[outer] == BUSY ? NONE : outer;
	}
	return NONE;
}

/* ---- threads ---- */

/* Returns true if the place is a thread that is not the first of its process. */
static bool is_further_thread(const struct result *r, uint32_t place)
{
	const struct place *p = &r->places[place];
	const struct process_info *process;

	if (p->part[PLACE_THREAD] == PLACE_UNKNOWN)
		return false;
	process = place_names_process(r->place_names, p->part[PLACE_PROCESS]);
	return process && (uint32_t)process->pid != p->part[PLACE_THREAD];
}

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;
	int order = compare_numbers(x->place, y->place);

	return order ? order : compare_numbers(x->stack, y->stack);
}

static bool is_runnable(const struct result *r, const struct row *row)
{
	return row->kind == ROW_WAIT && row->stack != RESULT_ROOT &&
	       frame_of(r, row->stack)->mark == PSEUDO_KIND_RUNNABLE;
}

static void list_waits(struct search *s)
{
	const struct result *r = s->result;

	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		uint32_t stack;

		if ((row->kind != ROW_CPU && row->kind != ROW_WAIT) || is_runnable(r, row))
			continue;
		s->lives[row->place] += row->ns;
		stack = is_further_thread(r, row->place) ? wait_stack(s, row) : NONE;
		if (stack != NONE)
			s->waits[s->wait_count++] = (struct wait){row->place, stack, row->ns};
	}
	qsort(s->waits, s->wait_count, sizeof(*s->waits), compare_waits);
}

/* Chooses the stack with which each thread is blocked for most of its life. */
static void choose(struct search *s)
{
	for (uint32_t i = 0; i < s->wait_count;) {
		struct wait sum = s->waits[i];

		while (++i < s->wait_count && compare_waits(&s->waits[i], &sum) == 0)
			sum.ns += s->waits[i].ns;
		if (sum.ns < s->lives[sum.place] - s->lives[sum.place] / 5)
			continue;
		s->chosen[sum.place] = sum.stack;
		s->alike[sum.stack]++;
	}
}

static void find_mains(struct search *s)
{
	for (uint32_t i = 0; i < s->result->frame_count; i++) {
		const struct frame_info *frame = &s->result->frames[i];

		if (frame->class == CLASS_NATIVE && frame->module && s->main_count < MAINS_MAX &&
		    (strcmp(frame->name, "main") == 0 || strcmp(frame->name, "_start") == 0 ||
		     strcmp(frame->name, "main.main") == 0) &&
		    !is_of_main(s, frame))
			s->mains[s->main_count++] = frame->module;
	}
}

static void decide(struct search *s, bool *is_idle)
{
	const struct result *r = s->result;

	find_mains(s);
	list_waits(s);
	for (uint32_t i = 0; i < r->place_count; i++)
		s->chosen[i] = NONE;
	choose(s);
	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		uint32_t stack = s->chosen[row->place];

		is_idle[i] = stack != NONE && wait_stack(s, row) == stack &&
			     (s->judgements[stack] == LIBRARY || s->alike[stack] > 1);
	}
}

int idle_threads_find(const struct result *result, bool *is_idle)
{
	struct search s = {.result = result,
			   .roles = code_roles_of_result(result),
			   .judgements = calloc(result->stack_count + 1u, 1),
			   .alike = calloc(result->stack_count + 1u, sizeof(*s.alike)),
			   .lives = calloc(result->place_count + 1u, sizeof(*s.lives)),
			   .chosen = calloc(result->place_count + 1u, sizeof(*s.chosen)),
			   .waits = calloc(result->row_count + 1u, sizeof(*s.waits))};
	bool has_all = s.roles && s.judgements && s.alike && s.lives && s.chosen && s.waits;

	if (has_all)
		decide(&s, is_idle);
	code_roles_free(s.roles);
	free(s.judgements);
	free(s.alike);
	free(s.lives);
	free(s.chosen);
	free(s.waits);
	return has_all ? 0 : -ENOMEM;
}

void idle_threads_frame(const struct result *result, const struct row *row,
			char text[IDLE_THREADS_FRAME_BYTES])
{
	const struct place *p = &result->places[row->place];
	const struct thread_info *thread = place_names_thread(
		result->place_names, p->part[PLACE_PROCESS], p->part[PLACE_THREAD]);
	const char *name = thread && thread->name[0] != '[' ? thread->name : "";
	size_t length = strlen(name);

	while (length > 0 && strchr(" 0123456789-_#:./", name[length - 1]))
		length--;
	if (length > 0)
		snprintf(text, IDLE_THREADS_FRAME_BYTES, PSEUDO_IDLE_THREADS " of %.*s]",
			 (int)(length < 48 ? length : 48), name);
	else
		snprintf(text, IDLE_THREADS_FRAME_BYTES, PSEUDO_IDLE_THREADS "]");
}
