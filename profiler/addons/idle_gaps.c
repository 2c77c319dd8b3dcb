// SPDX-License-Identifier: MIT
#include "profiler/addons/idle_gaps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "symbolize/util/record_set.h"
#include "symbolize/util/sorted.h"

/* Gaps whose rests are pooled. No padding: keys are hashed and compared as bytes. */
struct pool_key {
	uint32_t device, thread;
	struct stack_id launch;
	uint16_t part, magnitude;
};

struct pool {
	struct pool_key key;
	uint64_t ns, samples;
};

/* Number of samples in a pool with this stack. */
struct pool_stack {
	uint32_t pool;
	struct stack_id stack;
	uint64_t samples;
};

struct walk {
	struct idle_segment *segment;
	idle_output output;
	void *context;
	RECORD_SET(struct pool) pools;
	RECORD_SET(struct pool_stack) stacks;
	int error;
};

/* Part of a gap in which a thread had not launched yet. */
struct stretch {
	uint64_t from_ns, to_ns;
	struct idle_charge charge; /* `stack`: of the launch */
};

/* ---- order ---- */

static int by_device_and_start(const void *a, const void *b)
{
	const struct idle_operation *x = a, *y = b;
	int order = compare_numbers(x->device, y->device);

	order = order ? order : compare_numbers(x->start_ns, y->start_ns);
	order = order ? order : compare_numbers(x->launched_ns, y->launched_ns);
	return order ? order : compare_numbers(x->launch.number, y->launch.number);
}

static int by_thread_and_start(const void *a, const void *b)
{
	const struct idle_activity *x = a, *y = b;
	int order = compare_numbers(x->thread, y->thread);

	order = order ? order : compare_numbers(x->start_ns, y->start_ns);
	return order ? order : compare_numbers(x->stack.number, y->stack.number);
}

static void sort(void *list, uint32_t count, size_t size, int (*by)(const void *, const void *))
{
	if (count > 1)
		qsort(list, count, size, by);
}

/* Removes overlaps: a thread is off the CPU once at a time. */
static void remove_overlaps(struct idle_activity *list, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		struct idle_activity *now = &list[i], *before = &list[i - 1];

		if (now->thread != before->thread)
			continue;
		if (now->start_ns < before->end_ns)
			now->start_ns = before->end_ns;
		if (now->end_ns < now->start_ns)
			now->end_ns = now->start_ns;
	}
}

/*
 * Returns the thread's first activity that ends after `ns`. The list is sorted by thread, start and
 * end.
 */
static uint32_t first_after(const struct idle_activity *list, uint32_t count, uint32_t thread,
			    uint64_t ns)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct idle_activity *at = &list[middle];

		if (at->thread < thread || (at->thread == thread && at->end_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- pools ---- */

/* Finds or adds a pool. Returns RECORD_NONE if out of memory. */
static uint32_t pool_of(struct walk *w, const struct pool_key *key)
{
	uint32_t at = record_get(&w->pools, key, &((struct pool){.key = *key}));

	if (at == RECORD_NONE)
		w->error = -ENOMEM;
	return at;
}

static void add_sample(struct walk *w, uint32_t pool, struct stack_id stack)
{
	const uint32_t key[] = {pool, stack.number};
	uint32_t at =
		record_get(&w->stacks, &key, &((struct pool_stack){.pool = pool, .stack = stack}));

	if (at == RECORD_NONE) {
		w->error = -ENOMEM;
		return;
	}
	w->stacks.list[at].samples++;
	w->pools.list[pool].samples++;
}

/* Returns the largest probable time of the pool's samples. */
static uint64_t probable_ns(const struct walk *w, const struct pool *pool)
{
	double ns = ((double)pool->samples + 3 * sqrt((double)pool->samples)) *
		    (double)w->segment->sample_ns;

	return ns < (double)pool->ns ? (uint64_t)ns : pool->ns;
}

static void charge(struct walk *w, struct idle_charge as, enum idle_reason reason,
		   struct stack_id stack, uint64_t ns)
{
	as.reason = reason;
	as.stack = stack;
	as.ns = ns;
	if (ns > 0)
		w->output(w->context, &as);
}

static struct idle_charge charge_of(const struct pool *pool)
{
	return (struct idle_charge){.part = pool->key.part,
				    .device = pool->key.device,
				    .thread = pool->key.thread,
				    .stack = pool->key.launch};
}

/* Divides the time of each pool among its samples, without a remainder. */
static void share_pools(struct walk *w)
{
	struct {
		uint64_t samples, ns, all_ns; /* so far; of the whole pool */
	} *given = calloc(w->pools.count + (size_t)1, sizeof(*given));

	for (uint32_t i = 0; i < w->pools.count; i++) {
		const struct pool *pool = &w->pools.list[i];
		uint64_t sampled_ns = given ? probable_ns(w, pool) : 0;

		if (given)
			given[i].all_ns = sampled_ns;
		charge(w, charge_of(pool), IDLE_UNSAMPLED, pool->key.launch, pool->ns - sampled_ns);
	}
	for (uint32_t i = 0; given && i < w->stacks.count; i++) {
		const struct pool_stack *s = &w->stacks.list[i];
		const struct pool *pool = &w->pools.list[s->pool];
		uint64_t up_to;

		given[s->pool].samples += s->samples;
		up_to = (uint64_t)((unsigned __int128)given[s->pool].all_ns *
				   given[s->pool].samples / pool->samples);
		charge(w, charge_of(pool), IDLE_COMPUTING, s->stack, up_to - given[s->pool].ns);
		given[s->pool].ns = up_to;
	}
	if (!given)
		w->error = -ENOMEM;
	free(given);
}

/* ---- gaps ---- */

static uint16_t magnitude_of(uint64_t ns)
{
	return (uint16_t)(64 - __builtin_clzll(ns | 1));
}

/* Charges a time in which the thread existed: its times off the CPU, and the rest. */
static void charge_thread(struct walk *w, const struct stretch *s)
{
	const struct idle_segment *segment = w->segment;
	uint32_t thread = s->charge.thread, pool;
	uint64_t rest = s->to_ns - s->from_ns;
	struct pool_key key = {.device = s->charge.device,
			       .thread = thread,
			       .launch = s->charge.stack,
			       .part = (uint16_t)s->charge.part};

	for (uint32_t i = first_after(segment->off_cpu, segment->off_cpu_count, thread, s->from_ns);
	     i < segment->off_cpu_count && segment->off_cpu[i].thread == thread &&
	     segment->off_cpu[i].start_ns < s->to_ns;
	     i++) {
		const struct idle_activity *off = &segment->off_cpu[i];
		uint64_t from = off->start_ns > s->from_ns ? off->start_ns : s->from_ns;
		uint64_t to = off->end_ns < s->to_ns ? off->end_ns : s->to_ns;

		if (to <= from)
			continue;
		charge(w, s->charge, IDLE_OFF_CPU, off->stack, to - from);
		rest -= to - from;
	}
	if (rest == 0)
		return;
	key.magnitude = magnitude_of(rest);
	pool = pool_of(w, &key);
	if (pool == RECORD_NONE) {
		charge(w, s->charge, IDLE_UNSAMPLED, s->charge.stack, rest);
		return;
	}
	w->pools.list[pool].ns += rest;
	for (uint32_t i = first_after(segment->samples, segment->sample_count, thread, s->from_ns);
	     i < segment->sample_count && segment->samples[i].thread == thread &&
	     segment->samples[i].start_ns < s->to_ns;
	     i++)
		add_sample(w, pool, segment->samples[i].stack);
}

static void charge_stretch(struct walk *w, const struct stretch *s)
{
	static const struct idle_thread always = {0, IDLE_NEVER};
	const struct idle_thread *life = s->charge.thread < w->segment->thread_count
						 ? &w->segment->threads[s->charge.thread]
						 : &always;
	struct stretch alive = *s;

	if (alive.from_ns < life->from_ns)
		alive.from_ns = life->from_ns < s->to_ns ? life->from_ns : s->to_ns;
	if (alive.to_ns > life->to_ns)
		alive.to_ns = life->to_ns > alive.from_ns ? life->to_ns : alive.from_ns;
	charge(w, s->charge, IDLE_NO_THREAD, s->charge.stack,
	       s->to_ns - s->from_ns - (alive.to_ns - alive.from_ns));
	if (alive.to_ns > alive.from_ns)
		charge_thread(w, &alive);
}

/* Charges a gap, or its part in this segment, which the device's noted operation ends. */
static void charge_gap(struct walk *w, uint32_t number, uint64_t from_ns, uint64_t to_ns)
{
	const struct idle_device *device = &w->segment->devices[number];
	struct stretch s = {.from_ns = from_ns,
			    .to_ns = to_ns,
			    .charge = {.part = to_ns <= device->first_ns    ? IDLE_BEFORE
					       : from_ns >= device->last_ns ? IDLE_AFTER
									    : IDLE_BETWEEN,
				       .device = number,
				       .thread = device->thread,
				       .stack = device->launch}};

	if (from_ns >= to_ns)
		return;
	if (device->launched_ns == 0) {
		charge(w, s.charge, IDLE_NO_LAUNCH, device->launch, to_ns - from_ns);
		return;
	}
	if (device->launched_ns < to_ns) {
		s.to_ns = device->launched_ns > from_ns ? device->launched_ns : from_ns;
		charge(w, s.charge, IDLE_LAUNCHED, device->launch, to_ns - s.to_ns);
	}
	if (s.to_ns > s.from_ns)
		charge_stretch(w, &s);
}

static void set_next(struct idle_device *device, const struct idle_operation *next)
{
	device->thread = next->thread;
	device->launch = next->launch;
	device->launched_ns = next->launched_ns;
}

/* Clips operations to the segment. Returns the number left. */
static uint32_t clip(struct idle_segment *s)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->operation_count; i++) {
		struct idle_operation o = s->operations[i];

		if (o.start_ns < s->from_ns)
			o.start_ns = s->from_ns;
		if (o.end_ns > s->to_ns)
			o.end_ns = s->to_ns;
		if (o.start_ns < o.end_ns && o.device < s->device_count)
			s->operations[kept++] = o;
	}
	return kept;
}

/* Extends ends of operations to the end of all before: until then, something ran. */
static void extend_ends(struct idle_segment *s)
{
	for (uint32_t i = 1; i < s->operation_count; i++) {
		struct idle_operation *now = &s->operations[i], *before = now - 1;

		if (now->device == before->device && now->end_ns < before->end_ns)
			now->end_ns = before->end_ns;
	}
}

/* Charges the gaps around operations `first` to `end`, from the last one on. */
static void charge_device(struct walk *w, uint32_t number, uint32_t first, uint32_t end)
{
	const struct idle_segment *s = w->segment;
	struct idle_device *device = &s->devices[number];
	uint64_t to = s->to_ns;

	for (uint32_t i = end; i > first; i--) {
		const struct idle_operation *o = &s->operations[i - 1];

		if (o->end_ns < to)
			charge_gap(w, number, o->end_ns, to);
		/* an operation that began before the segment ends no gap here */
		set_next(device, o);
		to = o->start_ns;
	}
	charge_gap(w, number, s->from_ns, to);
}

int idle_gaps_charge(struct idle_segment *segment, idle_output output, void *context)
{
	struct walk w = {.segment = segment, .output = output, .context = context};
	uint32_t first = 0;

	segment->operation_count = clip(segment);
	sort(segment->operations, segment->operation_count, sizeof(*segment->operations),
	     by_device_and_start);
	extend_ends(segment);
	sort(segment->off_cpu, segment->off_cpu_count, sizeof(*segment->off_cpu),
	     by_thread_and_start);
	remove_overlaps(segment->off_cpu, segment->off_cpu_count);
	for (uint32_t i = 0; i < segment->sample_count; i++)
		segment->samples[i].end_ns = segment->samples[i].start_ns + 1;
	sort(segment->samples, segment->sample_count, sizeof(*segment->samples),
	     by_thread_and_start);
	for (uint32_t number = 0; number < segment->device_count; number++) {
		uint32_t end = first;

		while (end < segment->operation_count && segment->operations[end].device == number)
			end++;
		if (segment->devices[number].is_used)
			charge_device(&w, number, first, end);
		first = end;
	}
	share_pools(&w);
	record_set_release(&w.pools.set);
	record_set_release(&w.stacks.set);
	return w.error;
}
