// SPDX-License-Identifier: MIT
#include "profiler/findings/step_finder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/findings/step_loop.h"
#include "profiler/findings/step_phase.h"
#include "profiler/findings/step_scatter.h"
#include "profiler/findings/step_sequence.h"
#include "profiler/findings/step_times.h"
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/huge_memory.h"

#define LAUNCHES_MAX (UINT32_C(1) << 31)
#define COMPARED_MAX 64u /* series of a process that a thread is compared with */
#define SAMPLES 1024u    /* steps that tell whether threads step together */

/* A loop of a thread. Positions are those of launches in the whole run. */
struct thread_steps {
	uint32_t thread, process;
	const uint32_t *order; /* the thread's launches */
	uint32_t order_count;
	uint32_t *starts;
	uint32_t count;
	uint32_t begin, end; /* the loop's first launch, and the last one of the last step */
	uint64_t covered, launches;
	uint64_t median_ns;
	double weight;        /* weight of the signs that tell where steps begin */
	uint32_t leader;      /* index of the steps that lead the series, maybe in several hops */
	uint32_t first, last; /* a leader has the series' first and last launch */
};

struct finder {
	const struct step_launch *launches;
	uint32_t count;
	const uint32_t *process_of;
	uint32_t thread_count;
	struct step_random random;
	struct step_numbers numbers;
	uint32_t *order;   /* launches by thread; NULL: there is one thread */
	uint32_t *offsets; /* `thread_count` + 1 */
	struct thread_steps *list;
	uint32_t list_count, list_capacity;
};

/* Returns the time from `from` to `to`, or 0 if that is earlier. */
static uint64_t time_between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* ---- threads ---- */

/* Sorts the launches by thread, by counting. */
static bool sort_by_thread(struct finder *f)
{
	uint32_t thread_count = f->thread_count;

	f->offsets = calloc((size_t)thread_count + 2, sizeof(*f->offsets));
	f->order = huge_memory(((size_t)f->count + 1) * sizeof(*f->order));
	if (!f->offsets || !f->order)
		return false;
	for (uint32_t i = 0; i < f->count; i++)
		if (f->launches[i].thread < thread_count)
			f->offsets[f->launches[i].thread + 2]++;
	for (uint32_t thread = 2; thread <= thread_count; thread++)
		f->offsets[thread] += f->offsets[thread - 1];
	for (uint32_t i = 0; i < f->count; i++)
		if (f->launches[i].thread < thread_count)
			f->order[f->offsets[f->launches[i].thread + 1]++] = i;
	return true;
}

static uint64_t median_time(const struct finder *f, const struct thread_steps *t)
{
	uint64_t times[SAMPLES];
	uint32_t steps = t->count - 1, sampled = steps < SAMPLES ? steps : SAMPLES;

	for (uint32_t i = 0; i < sampled; i++) {
		uint32_t at = (uint32_t)((uint64_t)i * steps / sampled);

		times[i] = time_between(f->launches[t->starts[at]].start_ns,
					f->launches[t->starts[at + 1]].start_ns);
	}
	qsort(times, sampled, sizeof(*times), sorted_compare);
	return times[sampled / 2];
}

/* Adds the steps that were found in a sequence. Takes `starts->list`. */
static bool add_steps(struct finder *f, const struct step_sequence *s, const struct step_loop *loop,
		      struct step_starts *starts)
{
	struct thread_steps *t;
	uint32_t thread = f->launches[step_launch_at(s, 0)].thread;

	if (starts->count < STEPS_MIN) {
		free(starts->list);
		return true;
	}
	if (!array_make_room(&f->list, f->list_count, &f->list_capacity, sizeof(*f->list))) {
		free(starts->list);
		return false;
	}
	for (uint32_t i = 0; i < starts->count; i++)
		starts->list[i] = step_launch_at(s, starts->list[i]);
	t = &f->list[f->list_count];
	*t = (struct thread_steps){
		.thread = thread,
		.process = f->process_of[thread],
		.order = s->order,
		.order_count = s->count,
		.starts = starts->list,
		.count = starts->count,
		.begin = step_launch_at(s, starts->begin),
		.end = step_launch_at(s, starts->end),
		.weight = starts->weight,
		.covered = loop->covered,
		.launches = loop->launches,
		.leader = f->list_count++,
	};
	t->median_ns = median_time(f, t);
	return true;
}

/* Finds the steps of `count` launches of one thread. */
static int examine_thread(struct finder *f, const uint32_t *order, uint32_t count)
{
	struct step_sequence s = {.launches = f->launches,
				  .launch_count = f->count,
				  .process_of = f->process_of,
				  .thread_count = f->thread_count,
				  .order = order,
				  .count = count};
	struct step_starts starts = {0};
	struct step_loop loop = {0};
	int error;

	if (count < STEPS_MIN)
		return 0;
	error = step_sequence_init(&s, &f->numbers);
	if (!error)
		error = step_loop_find(&loop, &s, &f->random);
	if (!error && loop.count > 0)
		error = step_phase_find(&starts, &loop);
	if (!error && starts.list && !add_steps(f, &s, &loop, &starts))
		error = -ENOMEM;
	step_loop_release(&loop);
	step_sequence_release(&s);
	return error;
}

static bool has_one_thread(const struct finder *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (f->launches[i].thread != f->launches[0].thread ||
		    f->launches[i].thread >= f->thread_count)
			return false;
	return true;
}

static int examine_threads(struct finder *f)
{
	int error = step_numbers_init(&f->numbers, f->launches, f->count);

	if (error)
		return error;
	step_random_init(&f->random);
	if (has_one_thread(f))
		return examine_thread(f, NULL, f->count);
	if (!sort_by_thread(f))
		return -ENOMEM;
	for (uint32_t thread = 0; !error && thread < f->thread_count; thread++)
		error = examine_thread(f, f->order + f->offsets[thread],
				       f->offsets[thread + 1] - f->offsets[thread]);
	return error;
}

/* ---- threads that step together ---- */

/* Returns how many of sorted positions are before `position`. */
static uint32_t count_before(const uint32_t *list, uint32_t count, uint32_t position)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (list[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the thread's last launch before `position`, or STEP_NONE. */
static uint32_t launch_before(const struct thread_steps *t, uint32_t position)
{
	uint32_t before = count_before(t->order, t->order_count, position);

	return before ? t->order[before - 1] : STEP_NONE;
}

/* Returns whether the thread launches after `from` and before `to`. */
static bool launches_between(const struct thread_steps *t, uint32_t from, uint32_t to)
{
	uint32_t before = launch_before(t, to);

	return before != STEP_NONE && before > from;
}

/*
 * Returns the share of the inner steps that are alone: the outer thread launches nothing between
 * their first launch and their last.
 */
static double share_alone(const struct thread_steps *outer, const struct thread_steps *inner)
{
	uint32_t steps = inner->count - 1, sampled = steps < SAMPLES ? steps : SAMPLES, alone = 0;

	for (uint32_t i = 0; i < sampled; i++) {
		uint32_t at = (uint32_t)((uint64_t)i * steps / sampled);
		uint32_t last = launch_before(inner, inner->starts[at + 1]);

		alone += !launches_between(outer, inner->starts[at], last);
	}
	return (double)alone / sampled;
}

/* Returns the most frequent of sorted numbers. */
static uint64_t most_frequent(const uint64_t *numbers, uint32_t count)
{
	uint64_t most = 0, found = 0;

	for (uint32_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && numbers[end] == numbers[i]; end++)
			;
		if (end - i > most) {
			most = end - i;
			found = numbers[i];
		}
	}
	return found;
}

/* Returns whether the phases of inner steps are much alike: random ones scatter by a quarter. */
static bool has_steady_phase(uint64_t *phases, uint32_t count, uint64_t period)
{
	uint64_t median;

	if (count == 0)
		return false;
	qsort(phases, count, sizeof(*phases), sorted_compare);
	median = phases[count / 2];
	for (uint32_t i = 0; i < count; i++)
		phases[i] = phases[i] > median ? phases[i] - median : median - phases[i];
	qsort(phases, count, sizeof(*phases), sorted_compare);
	return (double)phases[count / 2] <= 0.15 * (double)period;
}

/*
 * Returns how many steps of `inner` each step of `outer` has, in a steady phase; 0 if the number
 * varies. If these are several, they have to be alone, as the backward passes of accumulated
 * gradients are.
 */
static uint32_t step_together(const struct finder *f, const struct thread_steps *outer,
			      const struct thread_steps *inner)
{
	uint64_t counts[SAMPLES], sorted[SAMPLES], phases[SAMPLES], usual;
	uint32_t steps = outer->count - 1, sampled = steps < SAMPLES ? steps : SAMPLES;
	uint32_t same = 0, phase_count = 0;

	/* quickly, for there may be many threads */
	if (inner->count + 1 < outer->count / 10 * 9 || inner->starts[0] > outer->end ||
	    inner->end < outer->starts[0])
		return 0;
	for (uint32_t i = 0; i < sampled; i++) {
		uint32_t at = (uint32_t)((uint64_t)i * steps / sampled);
		uint32_t from = count_before(inner->starts, inner->count, outer->starts[at]);
		uint32_t to = count_before(inner->starts, inner->count, outer->starts[at + 1]);
		uint64_t start = f->launches[outer->starts[at]].start_ns;

		sorted[i] = counts[i] = to - from;
		if (to > from)
			phases[phase_count++] =
				time_between(start, f->launches[inner->starts[from]].start_ns);
	}
	qsort(sorted, sampled, sizeof(*sorted), sorted_compare);
	usual = most_frequent(sorted, sampled);
	for (uint32_t i = 0; i < sampled; i++)
		same += counts[i] == usual;
	if (usual == 0 || 10 * same < 9 * sampled ||
	    !has_steady_phase(phases, phase_count, inner->median_ns))
		return 0;
	return usual == 1 || share_alone(outer, inner) >= 0.9 ? (uint32_t)usual : 0;
}

/* Returns in how many steps the thread launches again after the other thread's last launch. */
static uint32_t count_wrapped(const struct thread_steps *t, const struct thread_steps *other)
{
	uint32_t steps = t->count - 1, sampled = steps < SAMPLES ? steps : SAMPLES, wrapped = 0;

	for (uint32_t i = 0; i < sampled; i++) {
		uint32_t at = (uint32_t)((uint64_t)i * steps / sampled);
		uint32_t last = launch_before(other, t->starts[at + 1]);

		wrapped += last != STEP_NONE && last > t->starts[at] &&
			   launches_between(t, last, t->starts[at + 1]);
	}
	return sampled ? 100 * wrapped / sampled : 0;
}

/*
 * Returns whether `a` begins the steps that it makes together with `b`. The thread that launches
 * before and after the other one does. If both do, where steps begin is wrong for one of them. If
 * neither does, it is the one that launched first.
 */
static bool begins_steps(const struct thread_steps *a, const struct thread_steps *b)
{
	uint32_t around_b = count_wrapped(a, b), around_a = count_wrapped(b, a);

	if ((around_b > 50) != (around_a > 50))
		return around_b > 50;
	if (around_b > 50 && a->weight != b->weight)
		return a->weight > b->weight;
	return a->begin < b->begin;
}

static int by_process_and_count(const void *a, const void *b)
{
	const struct thread_steps *x = a, *y = b;
	int order = compare_numbers(x->process, y->process);

	if (order == 0)
		order = compare_numbers(x->count, y->count);
	return order ? order : compare_numbers(x->thread, y->thread);
}

/*
 * Keeps the steps of `t` in which `other` begins a step. So an evaluation, which has no backward
 * pass, goes with the step before it.
 */
static void keep_common(struct thread_steps *t, const struct thread_steps *other)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t end = i + 1 < t->count ? t->starts[i + 1] : STEP_NONE;
		uint32_t before = count_before(other->starts, other->count, t->starts[i]);

		if (before < other->count && other->starts[before] < end)
			t->starts[kept++] = t->starts[i];
	}
	t->count = kept;
}

/* Adds thread `at` to the series of `leader`. Returns which of the two leads it from now on. */
static uint32_t unite(struct finder *f, uint32_t leader, uint32_t at, bool is_one_to_one)
{
	struct thread_steps *t = f->list;

	if (!is_one_to_one || begins_steps(&t[leader], &t[at])) {
		t[at].leader = leader;
		return leader;
	}
	t[leader].leader = at;
	keep_common(&t[at], &t[leader]);
	return at;
}

/* Finds the threads that step together. The outer ones come first. */
static void join_threads(struct finder *f)
{
	uint32_t leaders[COMPARED_MAX], leader_count = 0;

	if (f->list_count > 0)
		qsort(f->list, f->list_count, sizeof(*f->list), by_process_and_count);
	for (uint32_t i = 0; i < f->list_count; i++) {
		uint32_t k = 0, together = 0;

		f->list[i].leader = i;
		if (i > 0 && f->list[i].process != f->list[i - 1].process)
			leader_count = 0;
		while (k < leader_count &&
		       !(together = step_together(f, &f->list[leaders[k]], &f->list[i])))
			k++;
		if (k < leader_count)
			leaders[k] = unite(f, leaders[k], i, together == 1);
		else if (leader_count < COMPARED_MAX)
			leaders[leader_count++] = i;
	}
	for (uint32_t i = 0; i < f->list_count; i++) {
		uint32_t leader = i;

		while (f->list[leader].leader != leader)
			leader = f->list[leader].leader;
		f->list[i].leader = leader;
	}
}

/* ---- series ---- */

/* Returns how many launches of a thread are from `from` to `to`. */
static uint64_t count_launches(const struct thread_steps *t, uint32_t from, uint32_t to)
{
	if (!t->order)
		return (uint64_t)to - from + 1;
	return count_before(t->order, t->order_count, to + 1) -
	       count_before(t->order, t->order_count, from);
}

/* Finds the last launch of each series, and what its threads cover together. */
static void sum_series(struct finder *f)
{
	for (uint32_t i = 0; i < f->list_count; i++) {
		f->list[i].first = f->list[i].starts[0];
		f->list[i].last = f->list[i].end;
	}
	for (uint32_t i = 0; i < f->list_count; i++) {
		const struct thread_steps *t = &f->list[i];
		struct thread_steps *lead = &f->list[t->leader];

		if (lead == t)
			continue;
		lead->covered += t->covered;
		lead->launches += t->launches;
		/* its last step is in the leader's last one */
		if (t->starts[t->count - 1] >= lead->starts[lead->count - 1] && t->end > lead->last)
			lead->last = t->end;
	}
}

/* Turns the starts of a leader into times, in their memory: 40 MB less for 10 million steps. */
static uint64_t *take_times(const struct finder *f, struct thread_steps *lead)
{
	char *memory = (char *)lead->starts;
	uint64_t time = saturated_sum(f->launches[lead->last].start_ns, 1);

	for (uint32_t i = lead->count;; i--) {
		uint32_t launch = 0;

		if (i > 0)
			memcpy(&launch, memory + (i - 1) * sizeof(launch), sizeof(launch));
		memcpy(memory + i * sizeof(time), &time, sizeof(time));
		if (i == 0)
			break;
		time = f->launches[launch].start_ns;
	}
	lead->starts = NULL;
	return (uint64_t *)memory;
}

static struct step_series make_series(const struct finder *f, struct thread_steps *lead)
{
	struct step_series series = {.thread = lead->thread, .count = lead->count};

	series.starts_ns = take_times(f, lead);
	series.warm_up = step_times_warm_up(series.starts_ns, series.count);
	return series;
}

static int by_launches(const void *a, const void *b)
{
	const struct step_series *x = a, *y = b;
	int order = compare_numbers(y->launches, x->launches);

	return order ? order : compare_numbers(x->thread, y->thread);
}

/* Counts the launches of a thread for its series. */
static void count_thread(const struct finder *f, const struct thread_steps *t,
			 struct step_series *series)
{
	const struct thread_steps *lead = &f->list[t->leader];

	series->launches += count_launches(t, lead->first, lead->last);
	series->of += t->order_count;
}

/* Makes the series whose threads together have enough launches in steps. */
static int list_series(struct finder *f, struct step_list *steps)
{
	uint32_t *series_of = malloc(((size_t)f->list_count + 1) * sizeof(*series_of));
	uint32_t capacity = 0;
	int error = series_of ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < f->list_count; i++) {
		struct thread_steps *t = &f->list[i];

		series_of[i] = STEP_NONE;
		if (t->leader != i || t->covered * 100 < t->launches * STEPS_COVERED_MIN)
			continue;
		if (!array_make_room(&steps->list, steps->count, &capacity, sizeof(*steps->list))) {
			error = -ENOMEM;
			break;
		}
		series_of[i] = steps->count;
		steps->list[steps->count++] = make_series(f, t);
	}
	for (uint32_t i = 0; !error && i < f->list_count; i++) {
		uint32_t series = series_of[f->list[i].leader];

		if (series != STEP_NONE)
			count_thread(f, &f->list[i], &steps->list[series]);
	}
	free(series_of);
	if (!error && steps->count > 0)
		qsort(steps->list, steps->count, sizeof(*steps->list), by_launches);
	return error;
}

int steps_find(const struct step_launch *launches, uint64_t count, const uint32_t *kinds,
	       const uint32_t *process_of, uint32_t thread_count, struct step_list *steps)
{
	struct finder f = {.launches = launches,
			   .numbers = {.kinds = kinds},
			   .count = (uint32_t)count,
			   .process_of = process_of,
			   .thread_count = thread_count};
	int error = count < LAUNCHES_MAX ? 0 : -ENOMEM;

	memset(steps, 0, sizeof(*steps));
	if (!error && count >= STEPS_MIN)
		error = examine_threads(&f);
	step_numbers_release(&f.numbers);
	if (!error) {
		join_threads(&f);
		sum_series(&f);
		error = list_series(&f, steps);
	}
	for (uint32_t i = 0; i < f.list_count; i++)
		free(f.list[i].starts);
	free(f.list);
	free(f.order);
	free(f.offsets);
	if (error)
		step_list_release(steps);
	return error;
}

void step_list_release(struct step_list *steps)
{
	for (uint32_t i = 0; i < steps->count; i++)
		free(steps->list[i].starts_ns);
	free(steps->list);
	memset(steps, 0, sizeof(*steps));
}
