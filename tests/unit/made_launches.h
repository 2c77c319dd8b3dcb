/* SPDX-License-Identifier: MIT */
/*
 * Makes launches of programs whose steps are known: each launch is a token, a thread and a time.
 *
 *	struct program p = program_new(round, threads);
 *
 *	step_begins(&p, series);
 *	launch(&p, thread, token, 10 * US);
 *	...
 *	program_release(&p);
 *
 * A launch is some time after the one before, of whatever thread. Programs that run at once are
 * made apart and merged (program_merge).
 */
#ifndef TESTS_UNIT_MADE_LAUNCHES_H
#define TESTS_UNIT_MADE_LAUNCHES_H

#include <math.h>
#include "unit.h"
#include "profiler/findings/step_finder.h"
#include "symbolize/util/array.h"
#include "symbolize/util/time_sort.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define MADE_THREADS 4096u

struct program {
	struct prng prng;
	struct step_launch *launches;
	uint32_t count, capacity;
	uint64_t *starts; /* first launches of steps */
	uint32_t start_count, start_capacity;
	bool is_beginning; /* the next launch begins a step */
	uint64_t now;
	double jitter; /* varies the time of a launch, as a share */
	double pace;   /* factor of all times: 2 is twice as long */
	uint32_t process_of[MADE_THREADS];
	uint32_t thread_count;
	struct step_list found;
};

static inline void program_begin(struct program *p, uint64_t round, uint32_t threads)
{
	memset(p, 0, sizeof(*p));
	p->prng = prng_round(round);
	p->now = 1000 * MS;
	p->pace = 1;
	p->jitter = 0.3;
	p->thread_count = threads;
}

static inline void program_release(struct program *p)
{
	free(p->launches);
	free(p->starts);
	step_list_release(&p->found);
}

/* Returns a number in [0, 1). */
static inline double random_share(struct prng *prng)
{
	return (double)(prng_u64(prng) >> 11) / (double)(UINT64_C(1) << 53);
}

static inline uint32_t random_between(struct prng *prng, uint32_t least, uint32_t most)
{
	return least + (uint32_t)prng_below(prng, most - least + 1);
}

static inline void pass(struct program *p, double ns)
{
	p->now += (uint64_t)(ns * p->pace) + 1;
}

static inline void step_begins(struct program *p)
{
	p->is_beginning = true;
}

/* Launches after a time of `ns`, with jitter. */
static inline void launch(struct program *p, uint32_t thread, uint32_t token, uint64_t ns)
{
	pass(p, (double)ns * (1 + p->jitter * (2 * random_share(&p->prng) - 1)));
	if (p->is_beginning) {
		assert_true(array_make_room(&p->starts, p->start_count, &p->start_capacity,
					    sizeof(*p->starts)));
		p->starts[p->start_count++] = p->now;
		p->is_beginning = false;
	}
	assert_true(array_make_room(&p->launches, p->count, &p->capacity, sizeof(*p->launches)));
	p->launches[p->count++] = (struct step_launch){p->now, token, thread};
}

/* Launches tokens from `first` on, one of each. */
static inline void launch_each(struct program *p, uint32_t thread, uint32_t first, uint32_t count,
			       uint64_t ns)
{
	for (uint32_t i = 0; i < count; i++)
		launch(p, thread, first + i, ns);
}

static inline void launch_again(struct program *p, uint32_t thread, uint32_t token, uint32_t count,
				uint64_t ns)
{
	for (uint32_t i = 0; i < count; i++)
		launch(p, thread, token, ns);
}

/* Launches tokens at random, of `kinds` from `first` on. */
static inline void launch_random(struct program *p, uint32_t thread, uint32_t first, uint32_t kinds,
				 uint32_t count, uint64_t ns)
{
	for (uint32_t i = 0; i < count; i++)
		launch(p, thread, first + (uint32_t)prng_below(&p->prng, kinds), ns);
}

/* Adds the launches of a program that runs at once. Its threads are numbered after those of `p`. */
static inline void program_merge(struct program *p, const struct program *other)
{
	for (uint32_t i = 0; i < other->thread_count; i++)
		p->process_of[p->thread_count + i] = other->process_of[i];
	for (uint32_t i = 0; i < other->count; i++) {
		struct step_launch l = other->launches[i];

		l.thread += p->thread_count;
		assert_true(array_make_room(&p->launches, p->count, &p->capacity, sizeof(l)));
		p->launches[p->count++] = l;
	}
	p->thread_count += other->thread_count;
	time_sort(p->launches, p->count, sizeof(*p->launches));
}

/* Removes what is not in [from, to) of the launches, as if it had not been recorded. */
static inline void program_cut(struct program *p, uint32_t from, uint32_t to)
{
	uint64_t first = p->launches[from].start_ns, last = p->launches[to - 1].start_ns;
	uint32_t kept = 0;

	memmove(p->launches, p->launches + from, (to - from) * sizeof(*p->launches));
	p->count = to - from;
	for (uint32_t i = 0; i < p->start_count; i++)
		if (p->starts[i] >= first && p->starts[i] <= last)
			p->starts[kept++] = p->starts[i];
	p->start_count = kept;
}

static inline void program_find(struct program *p)
{
	step_list_release(&p->found);
	assert_int_equal(
		steps_find(p->launches, p->count, NULL, p->process_of, p->thread_count, &p->found),
		0);
}

/* Returns how well the starts of a series are those of `p`: the harmonic mean of two shares. */
static inline double score_of(const struct program *p, const struct step_series *series)
{
	uint32_t hits = 0, at = 0;

	for (uint32_t i = 0; i < series->count; i++) {
		while (at < p->start_count && p->starts[at] < series->starts_ns[i])
			at++;
		hits += at < p->start_count && p->starts[at] == series->starts_ns[i];
	}
	return 2.0 * hits / (series->count + p->start_count);
}

#endif
