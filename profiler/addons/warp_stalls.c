// SPDX-License-Identifier: MIT
#include "profiler/addons/warp_stalls.h"

#include <errno.h>
#include <stdlib.h>
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"

/* A kernel, sorted by process, device, start. */
struct ran {
	uint64_t start_ns, end_ns;
	uint32_t process, device;
	uint32_t kernel; /* index in the ring */
};

struct list {
	struct warp_stalls_stall *items;
	uint32_t count, capacity;
};

struct warp_stalls {
	struct warp_stalls_output output;
	uint32_t newest, most_pending; /* WARP_STALLS_KERNELS, WARP_STALLS_PENDING */
	struct warp_stalls_kernel *ring;
	uint32_t count, capacity; /* size of the ring, which grows up to `newest`, then wraps */
	uint32_t next;            /* next index, once it wraps */
	uint32_t added;           /* since the last comparison */
	struct list pending;
	struct list left; /* undecided parts after a comparison */
	struct ran *ran;  /* rebuilt in each comparison; `ran` and `active` have room for the whole
			     ring */
	uint32_t *active;
	uint32_t ran_capacity, active_capacity;
	uint64_t steps_left;
	struct quota *memory; /* NULL: no limit */
	uint32_t paid_kernels, paid_pending;
};

struct warp_stalls *warp_stalls_new(const struct warp_stalls_output *output)
{
	struct warp_stalls *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->output = *output;
	s->newest = WARP_STALLS_KERNELS;
	s->most_pending = WARP_STALLS_PENDING;
	return s;
}

void warp_stalls_free(struct warp_stalls *s)
{
	if (!s)
		return;
	free(s->ring);
	free(s->pending.items);
	free(s->left.items);
	free(s->ran);
	free(s->active);
	free(s);
}

void warp_stalls_limit(struct warp_stalls *s, struct quota *memory)
{
	s->memory = memory;
}

void warp_stalls_remember(struct warp_stalls *s, uint32_t kernels, uint32_t pending)
{
	s->newest = kernels;
	s->most_pending = pending;
}

/* ---- order ---- */

static int compare_ran(const void *a, const void *b)
{
	const struct ran *x = a, *y = b;
	int order = compare_numbers(x->process, y->process);

	order = order ? order : compare_numbers(x->device, y->device);
	order = order ? order : compare_numbers(x->start_ns, y->start_ns);
	return order ? order : compare_numbers(x->kernel, y->kernel);
}

static int compare_stalls(const void *a, const void *b)
{
	const struct warp_stalls_stall *x = a, *y = b;
	int order = compare_numbers(x->process, y->process);

	order = order ? order : compare_numbers(x->device, y->device);
	order = order ? order : compare_numbers(x->start_ns, y->start_ns);
	return order ? order : compare_numbers(x->end_ns, y->end_ns);
}

static int compare_starts(const void *a, const void *b)
{
	const struct warp_stalls_stall *x = a, *y = b;

	return compare_numbers(x->start_ns, y->start_ns);
}

/* Returns less than 0 if the kernel is on an earlier device than the stall. */
static int compare_devices(const struct ran *ran, const struct warp_stalls_stall *stall)
{
	int order = compare_numbers(ran->process, stall->process);

	return order ? order : compare_numbers(ran->device, stall->device);
}

/* Sorts the kernels that end after the first pending stall began. Returns their number. */
static uint32_t sort_kernels(struct warp_stalls *s)
{
	uint64_t from_ns = UINT64_MAX;
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->pending.count; i++)
		if (s->pending.items[i].start_ns < from_ns)
			from_ns = s->pending.items[i].start_ns;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct warp_stalls_kernel *k = &s->ring[i];

		if (k->end_ns > from_ns)
			s->ran[count++] =
				(struct ran){k->start_ns, k->end_ns, k->process, k->device, i};
	}
	if (count)
		qsort(s->ran, count, sizeof(*s->ran), compare_ran);
	return count;
}

/* ---- deciding ---- */

static void emit(const struct warp_stalls *s, const struct warp_stalls_stall *stall,
		 const struct warp_stalls_kernel *kernel, uint64_t ns)
{
	if (ns)
		s->output.piece(s->output.context, stall, kernel ? &kernel->origin : NULL, ns);
}

/* Keeps a part that no known kernel covers. */
static void keep_rest(struct warp_stalls *s, const struct warp_stalls_stall *stall,
		      uint64_t from_ns, uint64_t to_ns)
{
	struct warp_stalls_stall part = *stall;

	if (from_ns >= to_ns)
		return;
	part.start_ns = from_ns;
	part.end_ns = to_ns;
	if (array_make_room(&s->left.items, s->left.count, &s->left.capacity,
			    sizeof(*s->left.items)))
		s->left.items[s->left.count++] = part;
	else
		emit(s, stall, NULL, to_ns - from_ns);
}

/*
 * Removes active kernels that have ended. Active kernels began before the stall's end, and are
 * sorted by start.
 */
static uint32_t drop_ended(struct warp_stalls *s, uint32_t count, uint64_t now_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (s->ran[s->active[i]].end_ns > now_ns)
			s->active[kept++] = s->active[i];
	s->steps_left -= s->steps_left < count ? s->steps_left : count;
	return kept;
}

static void decide(struct warp_stalls *s, const struct warp_stalls_stall *stall,
		   uint32_t active_count)
{
	uint64_t at_ns = stall->start_ns;

	for (uint32_t i = 0; i < active_count && at_ns < stall->end_ns; i++) {
		const struct ran *r = &s->ran[s->active[i]];
		uint64_t from_ns = r->start_ns > at_ns ? r->start_ns : at_ns;
		uint64_t to_ns = r->end_ns < stall->end_ns ? r->end_ns : stall->end_ns;

		if (from_ns >= to_ns)
			continue;
		keep_rest(s, stall, at_ns, from_ns);
		emit(s, stall, &s->ring[r->kernel], to_ns - from_ns);
		at_ns = to_ns;
	}
	keep_rest(s, stall, at_ns, stall->end_ns);
}

/* Compares all pending stalls with all kernels. Uncovered parts stay pending. */
static void compare(struct warp_stalls *s)
{
	uint32_t count = sort_kernels(s), next = 0, active_count = 0;
	const struct warp_stalls_stall *before = NULL;
	struct list old;

	s->added = 0;
	s->left.count = 0;
	s->steps_left = (uint64_t)WARP_STALLS_STEPS * (s->newest + s->most_pending);
	if (s->pending.count)
		qsort(s->pending.items, s->pending.count, sizeof(*s->pending.items),
		      compare_stalls);
	for (uint32_t i = 0; i < s->pending.count; i++) {
		const struct warp_stalls_stall *stall = &s->pending.items[i];

		if (before &&
		    (before->process != stall->process || before->device != stall->device))
			active_count = 0;
		before = stall;
		while (next < count && compare_devices(&s->ran[next], stall) < 0)
			next++;
		while (next < count && compare_devices(&s->ran[next], stall) == 0 &&
		       s->ran[next].start_ns < stall->end_ns)
			s->active[active_count++] = next++;
		if (s->steps_left)
			active_count = drop_ended(s, active_count, stall->start_ns);
		decide(s, stall, s->steps_left ? active_count : 0);
	}
	old = s->pending;
	s->pending = s->left;
	s->left = old;
}

/* Outputs the first stalls without a kernel. */
static void output_oldest(struct warp_stalls *s, uint32_t count)
{
	if (s->pending.count)
		qsort(s->pending.items, s->pending.count, sizeof(*s->pending.items),
		      compare_starts);
	for (uint32_t i = 0; i < count; i++)
		emit(s, &s->pending.items[i], NULL,
		     s->pending.items[i].end_ns - s->pending.items[i].start_ns);
	for (uint32_t i = count; i < s->pending.count; i++)
		s->pending.items[i - count] = s->pending.items[i];
	s->pending.count -= count;
}

/* ---- input ---- */

int warp_stalls_add_kernel(struct warp_stalls *s, const struct warp_stalls_kernel *kernel)
{
	if (kernel->end_ns <= kernel->start_ns)
		return 0;
	if (s->count < s->newest &&
	    !quota_extend(s->memory, s->count, &s->paid_kernels,
			  sizeof(*s->ring) + sizeof(*s->ran) + sizeof(*s->active)))
		s->newest = s->count;
	/* before the ring wraps, so that each kernel is compared at least once */
	if (s->added >= s->newest / 2 && s->pending.count)
		compare(s);
	s->added++;
	if (s->count < s->newest) {
		/* also reserves space for sorting, so that no comparison can fail */
		if (!array_make_room(&s->ring, s->count, &s->capacity, sizeof(*s->ring)) ||
		    !array_make_room(&s->ran, s->count, &s->ran_capacity, sizeof(*s->ran)) ||
		    !array_make_room(&s->active, s->count, &s->active_capacity, sizeof(*s->active)))
			return -ENOMEM;
		s->ring[s->count++] = *kernel;
		return 0;
	}
	s->ring[s->next] = *kernel;
	s->next = (s->next + 1) % s->newest;
	return 0;
}

int warp_stalls_add(struct warp_stalls *s, const struct warp_stalls_stall *stall)
{
	if (stall->end_ns <= stall->start_ns)
		return 0;
	if (s->pending.count < s->most_pending &&
	    !quota_extend(s->memory, s->pending.count, &s->paid_pending, 2 * sizeof(*stall)))
		s->most_pending = s->pending.count;
	if (s->pending.count >= s->most_pending) {
		compare(s);
		if (s->pending.count >= s->most_pending / 2)
			output_oldest(s, (s->pending.count + 1) / 2);
	}
	if (!array_make_room(&s->pending.items, s->pending.count, &s->pending.capacity,
			     sizeof(*stall))) {
		emit(s, stall, NULL, stall->end_ns - stall->start_ns);
		return -ENOMEM;
	}
	s->pending.items[s->pending.count++] = *stall;
	return 0;
}

void warp_stalls_visit(struct warp_stalls *s, const struct id_visitor *v)
{
	for (uint32_t i = 0; i < s->count; i++) {
		visit_stack_or_mark(v, &s->ring[i].origin.launch.number);
		visit_stack_or_mark(v, &s->ring[i].origin.capture.number);
	}
	for (uint32_t i = 0; i < s->pending.count; i++)
		visit_place(v, &s->pending.items[i].place);
}

void warp_stalls_finish(struct warp_stalls *s)
{
	compare(s);
	output_oldest(s, s->pending.count);
}
