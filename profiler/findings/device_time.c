// SPDX-License-Identifier: MIT
#include "profiler/findings/device_time.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/findings/loader_names.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/time_sort.h"

#define SOON_INTERVALS 8
#define WAIT_SLACK 20000u /* ns; the clocks of work and of waits differ, and threads wake up */
#define AFTER_WAIT_MAX 1000000u /* ns; longer times after a wait are no slow wake-up */
#define LATENCY_MAX 200000u     /* ns; longer times are no latency of a launch */
#define LATENCY_SLACK 3u        /* launches start within this many latencies */
#define LATENCY_PERMILLE 50u    /* the latency is this quantile of all */

static const struct {
	const char *word, *text;
	bool is_loss;
} uses[DEVICE_USES] = {
	[USE_COMPUTING] = {"computing", "computing", false},
	[USE_COLLECTIVES] = {"exposed_collectives", "collectives that no kernel hides", true},
	[USE_COPIES] = {"exposed_copies", "copies that no kernel hides", true},
	[USE_RANK] = {"waiting_for_rank", "waiting for another rank", true},
	[USE_LOADER] = {"loader", "waiting for the loader of data", true},
	[USE_HOST] = {"host_code", "waiting for host code between launches", true},
	[USE_LAUNCHING] = {"launching", "waiting for launches, which cannot keep up", true},
	[USE_SYNCHRONIZING] = {"synchronizing", "idle around calls that wait for the GPU", true},
	[USE_QUEUED] = {"queued", "idle between operations that were queued", true},
	[USE_START_UP] = {"start_up", "before the first GPU work", false},
	[USE_ENDING] = {"ending", "after the last GPU work", false},
	[USE_UNKNOWN] = {"unknown", "idle for an unknown reason", true},
};

const char *device_use_word(enum device_use use)
{
	return uses[use].word;
}

const char *device_use_text(enum device_use use)
{
	return uses[use].text;
}

bool device_use_is_loss(enum device_use use)
{
	return uses[use].is_loss;
}

/* ---- distributions of times ---- */

/* Counts times by their size, in the buckets of calls (gpu_event.h). */
struct time_histogram {
	uint32_t counts[GPU_CALL_BUCKETS];
	uint64_t count;
};

static void histogram_add(struct time_histogram *h, uint64_t ns)
{
	uint32_t *count = &h->counts[gpu_call_bucket(ns)];

	*count += *count < UINT32_MAX;
	h->count++;
}

/* Returns a time that `permille` of all do not exceed. Returns 0 for an empty distribution. */
static uint64_t histogram_quantile(const struct time_histogram *h, uint32_t permille)
{
	uint64_t wanted = h->count * permille / 1000, seen = 0;

	for (uint32_t i = 0; i < GPU_CALL_BUCKETS; i++) {
		seen += h->counts[i];
		if (seen > wanted)
			return gpu_call_bucket_longest(i);
	}
	return 0;
}

/* ---- state ---- */

struct thread_state {
	uint64_t launched_ns; /* the latest launch of the operations so far */
	uint64_t soon_ns;
	uint64_t sample_from, sample_to; /* its samples */
	uint64_t wait_from, wait_to;     /* its waits */
};

struct device_state {
	uint64_t at_ns;             /* the time is divided until here */
	uint64_t end_ns[WORK_USES]; /* until when work of each use runs */
	uint64_t last_end_ns;
	uint64_t latency_ns;
	uint32_t waited_by;     /* thread that waited for the last work; SCHEDULE_NO_SITE: none */
	enum work_use last_use; /* the last work: its use and its site */
	uint32_t last_site;
	bool is_used;
};

/* Host code that led to launches of one thread from one stack, on one device. */
struct pool {
	uint32_t thread, stack, device; /* key */
	uint32_t is_after_wait;         /* key: short times after waits whose ends are not known */
	uint64_t ns, count, longest_ns, longest_from_ns;
	uint64_t samples;
};

/* Samples in the gaps of one pool. */
struct pooled_sample {
	uint32_t pool, stack; /* key */
	uint64_t count;
};

/* One of the time ranges that are divided, and what is collected for it. */
struct range_state {
	struct device_times *times;
	RECORD_SET(struct pool) pools;
	RECORD_SET(struct pooled_sample) pooled;
	uint32_t *latest;       /* by stack of the result: the site charged last, or RECORD_NONE */
	uint64_t *computing_ns; /* by site of the schedule */
	uint64_t row_ns[2];     /* host code that goes to rows of --idle; loaders', if true */
};

struct division {
	const struct operation_schedule *schedule;
	const struct result *result;
	struct thread_state *threads;
	struct device_state *devices;
	struct schedule_activity *samples, *waits; /* by thread, then in order of time */
	const bool *is_own;                        /* by frame of the result */
	uint64_t rows_ns[2];                       /* sums of rows of --idle; loaders', if true */
	double loader_share;                       /* below 0: there are no such rows */
	struct range_state ranges[DEVICE_TIME_RANGES];
	uint32_t range_count;
	uint64_t to_ns;            /* the end of the last range */
	struct range_state *range; /* the one that is charged now */
	bool has_failed;
};

/* Charges each range in turn. */
#define EACH_RANGE(d) \
	for ((d)->range = (d)->ranges; (d)->range < (d)->ranges + (d)->range_count; (d)->range++)

/* ---- charges ---- */

struct charge {
	enum device_use use;
	uint32_t stack;
	bool is_sampled;
	uint64_t count, ns, longest_ns, longest_from_ns;
};

/* Returns the number of a charge's site. That of a stack's latest charge is likely the next. */
static uint32_t find_site(struct division *d, const struct charge *charge)
{
	const uint32_t key[] = {charge->use, charge->stack, charge->is_sampled, 0};
	uint32_t at = d->range->latest[charge->stack];

	if (at == RECORD_NONE || memcmp(&d->range->times->sites.list[at], key, sizeof(key)) != 0)
		at = record_get(&d->range->times->sites, &key,
				&((struct idle_site){.use = charge->use,
						     .stack = charge->stack,
						     .is_sampled = charge->is_sampled}));
	d->range->latest[charge->stack] = at;
	return at;
}

static void charge_site(struct division *d, const struct charge *charge)
{
	struct idle_site *site;
	uint32_t at = find_site(d, charge);

	if (at == RECORD_NONE) {
		d->has_failed = true;
		return;
	}
	site = &d->range->times->sites.list[at];
	site->count += charge->count;
	site->ns += charge->ns;
	if (charge->longest_ns > site->longest_ns) {
		site->longest_ns = charge->longest_ns;
		site->longest_from_ns = charge->longest_from_ns;
	}
}

/* Clips a time to the range. Returns its length. */
static uint64_t clip(const struct division *d, uint64_t *from_ns, uint64_t *to_ns)
{
	if (*from_ns < d->range->times->from_ns)
		*from_ns = d->range->times->from_ns;
	if (*to_ns > d->range->times->to_ns)
		*to_ns = d->range->times->to_ns;
	return *from_ns < *to_ns ? *to_ns - *from_ns : 0;
}

/* Adds busy time, or idle time that no launch ended. */
static void use_time(struct division *d, uint32_t device, enum device_use use, uint64_t from_ns,
		     uint64_t to_ns)
{
	EACH_RANGE(d)
	{
		uint64_t from = from_ns, to = to_ns;

		d->range->times->devices[device].ns[use] += clip(d, &from, &to);
	}
}

static uint32_t stack_of(const struct division *d, uint32_t site)
{
	return site == SCHEDULE_NO_SITE ? RESULT_ROOT : d->schedule->sites.list[site].stack;
}

/* Charges `ns` of idle time from `from_ns` on, which are in the range. */
static void charge_stack(struct division *d, uint32_t device, enum device_use use, uint32_t stack,
			 uint64_t from_ns, uint64_t ns)
{
	d->range->times->devices[device].ns[use] += ns;
	charge_site(d, &(struct charge){.use = use,
					.stack = stack,
					.count = 1,
					.ns = ns,
					.longest_ns = ns,
					.longest_from_ns = from_ns});
}

static void charge_idle(struct division *d, uint32_t device, enum device_use use, uint32_t site,
			uint64_t from_ns, uint64_t to_ns)
{
	EACH_RANGE(d)
	{
		uint64_t from = from_ns, to = to_ns, ns = clip(d, &from, &to);

		if (ns)
			charge_stack(d, device, use, stack_of(d, site), from, ns);
	}
}

/* ---- host code ---- */

/* Returns the first activity of a thread, in [from, to), that begins at `ns` or later. */
static uint64_t first_from(const struct schedule_activity *list, uint64_t from, uint64_t to,
			   uint64_t ns)
{
	while (from < to) {
		uint64_t middle = from + (to - from) / 2;

		if (list[middle].start_ns < ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Notes the thread's samples in a gap of a pool. */
static void pool_samples(struct division *d, uint32_t number, uint64_t from_ns, uint64_t to_ns)
{
	struct pool *pool = &d->range->pools.list[number];
	const struct thread_state *t = &d->threads[pool->thread];
	uint64_t at = first_from(d->samples, t->sample_from, t->sample_to, from_ns);

	for (; at < t->sample_to && d->samples[at].start_ns < to_ns; at++) {
		const uint32_t key[] = {number, d->samples[at].stack};
		uint32_t found = record_get(&d->range->pooled, &key,
					    &((struct pooled_sample){number, key[1], 0}));

		if (found == RECORD_NONE) {
			d->has_failed = true;
			return;
		}
		d->range->pooled.list[found].count++;
		pool->samples++;
	}
}

/* Charges host code to a pool of the range. It gets a name when all gaps of its pool are known. */
static void pool_in_range(struct division *d, const uint32_t key[4], uint64_t from_ns,
			  uint64_t to_ns)
{
	const uint32_t pool_key[] = {key[0], key[1], key[2], key[3]};
	uint64_t ns = clip(d, &from_ns, &to_ns);
	struct pool *pool;
	uint32_t at;

	if (ns == 0)
		return;
	at = record_get(&d->range->pools, &pool_key,
			&((struct pool){key[0], key[1], key[2], key[3], .ns = 0}));
	if (at == RECORD_NONE) {
		d->has_failed = true;
		return;
	}
	pool = &d->range->pools.list[at];
	d->range->times->devices[pool->device].ns[USE_HOST] += ns;
	pool->ns += ns;
	pool->count++;
	if (ns > pool->longest_ns) {
		pool->longest_ns = ns;
		pool->longest_from_ns = from_ns;
	}
	pool_samples(d, at, from_ns, to_ns);
}

static void pool_host(struct division *d, uint32_t device, uint32_t site, bool is_after_wait,
		      uint64_t from_ns, uint64_t to_ns)
{
	const struct schedule_site *s = &d->schedule->sites.list[site];
	const uint32_t key[] = {s->thread, s->stack, device, is_after_wait};

	EACH_RANGE(d)
	pool_in_range(d, key, from_ns, to_ns);
}

static void charge_host(struct division *d, uint32_t device, uint32_t site, uint64_t from_ns,
			uint64_t to_ns)
{
	pool_host(d, device, site, false, from_ns, to_ns);
}

static bool is_loader(const struct division *d, uint32_t stack)
{
	const struct result *r = d->result;

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer) {
		uint32_t frame = r->stacks[stack].frame;

		if (loader_names_library(&r->frames[frame]) ||
		    (d->is_own[frame] && loader_names_function(&r->frames[frame])))
			return true;
	}
	return false;
}

/*
 * Charges the part of a pool that samples stand for. Its samples follow each other from `*at` on.
 * Returns the rest.
 */
static uint64_t charge_sampled(struct division *d, uint32_t number, uint32_t *at,
			       uint64_t *loader_ns)
{
	const struct pool *pool = &d->range->pools.list[number];
	double n = (double)pool->samples;
	double most = (n + 3 * sqrt(n)) * (double)d->result->totals.sample_ns;
	uint64_t whole = most < (double)pool->ns ? (uint64_t)most : pool->ns, left = whole;
	uint64_t seen = 0;

	for (; *at < d->range->pooled.count && d->range->pooled.list[*at].pool == number; ++*at) {
		const struct pooled_sample *s = &d->range->pooled.list[*at];
		struct charge charge = {.use = is_loader(d, s->stack) ? USE_LOADER : USE_HOST,
					.stack = s->stack,
					.is_sampled = true,
					.count = s->count};

		seen += s->count;
		charge.ns = seen == pool->samples
				    ? left
				    : (uint64_t)((double)whole * (double)s->count / n);
		if (charge.ns > left)
			charge.ns = left;
		left -= charge.ns;
		if (charge.use == USE_LOADER)
			*loader_ns += charge.ns;
		charge_site(d, &charge);
	}
	return pool->ns - whole;
}

/* Charges `ns` of a pool to its launch, and the pool's gaps, even if nothing is left. */
static void charge_launch(struct division *d, const struct pool *pool, enum device_use use,
			  uint64_t ns)
{
	charge_site(d, &(struct charge){.use = use,
					.stack = pool->stack,
					.count = pool->count,
					.ns = ns,
					.longest_ns = pool->longest_ns,
					.longest_from_ns = pool->longest_from_ns});
}

/*
 * Charges what is left of a pool: to its launch, or, with rows of --idle, later to their stacks.
 * Returns the loaders' part.
 */
static uint64_t charge_unsampled(struct division *d, const struct pool *pool, uint64_t ns)
{
	bool has_rows = d->loader_share >= 0;
	uint64_t loads = has_rows ? (uint64_t)(d->loader_share * (double)ns) : 0;

	if (loads > ns || (!has_rows && is_loader(d, pool->stack)))
		loads = ns;
	if (has_rows) {
		d->range->row_ns[true] += loads;
		d->range->row_ns[false] += ns - loads;
		ns = 0;
	}
	charge_launch(d, pool, loads && !has_rows ? USE_LOADER : USE_HOST, ns);
	return loads;
}

/*
 * Returns true if a short time after waits may be the slow wake-up of a thread. CPU samples for at
 * least half of it show that code ran. Rows of --idle tell, too.
 */
static bool may_be_wake_up(const struct division *d, const struct pool *pool)
{
	return pool->is_after_wait && d->loader_share < 0 &&
	       (pool->samples < 2 ||
		2.0 * (double)pool->samples * (double)d->result->totals.sample_ns <
			(double)pool->ns) &&
	       !is_loader(d, pool->stack);
}

static bool is_no_host_mark(const char *name)
{
	return strcmp(name, PSEUDO_BEFORE_FIRST) == 0 || strcmp(name, PSEUDO_AFTER_LAST) == 0 ||
	       strcmp(name, PSEUDO_NOT_BEGUN) == 0;
}

/* Returns true for rows of --idle that tell what a launching thread did between launches. */
static bool is_host_row(const struct result *r, const struct row *row)
{
	uint32_t at = row->stack;

	if (row->kind != ROW_IDLE || at == RESULT_ROOT)
		return false;
	for (; at != RESULT_ROOT; at = r->stacks[at].outer) {
		const struct frame_info *frame = &r->frames[r->stacks[at].frame];

		if (frame->class != CLASS_NATIVE && frame->class != CLASS_PYTHON &&
		    is_no_host_mark(frame->name))
			return false;
	}
	return true;
}

/* Finds how much of host code is a loader's, by rows of --idle. */
static void read_idle_rows(struct division *d)
{
	const struct result *r = d->result;
	uint64_t all;

	for (uint32_t i = 0; i < r->row_count; i++)
		if (is_host_row(r, &r->rows[i]))
			saturated_add(&d->rows_ns[is_loader(d, r->rows[i].stack)], r->rows[i].ns);
	all = saturated_sum(d->rows_ns[false], d->rows_ns[true]);
	d->loader_share = all ? (double)d->rows_ns[true] / (double)all : -1;
}

static int by_pool(const void *a, const void *b)
{
	const struct pooled_sample *x = a, *y = b;
	int order = compare_numbers(x->pool, y->pool);

	return order ? order : compare_numbers(x->stack, y->stack);
}

/* Moves a part of a device's host code to another use. */
static void move_host_time(struct division *d, uint32_t device, enum device_use use, uint64_t ns)
{
	d->range->times->devices[device].ns[USE_HOST] -= ns;
	d->range->times->devices[device].ns[use] += ns;
}

/* Charges host time without samples, or that of loaders, to the stacks of rows of --idle. */
static void charge_rows(struct division *d, bool loads)
{
	const struct result *r = d->result;
	uint64_t left = d->range->row_ns[loads], all = d->rows_ns[loads];

	for (uint32_t i = 0; i < r->row_count && left && all; i++) {
		const struct row *row = &r->rows[i];
		struct charge charge = {.use = loads ? USE_LOADER : USE_HOST,
					.stack = row->stack,
					.is_sampled = true};

		if (!is_host_row(r, row) || is_loader(d, row->stack) != loads)
			continue;
		charge.ns =
			row->ns >= all ? left : (uint64_t)((unsigned __int128)left * row->ns / all);
		all -= row->ns < all ? row->ns : all;
		left -= charge.ns;
		if (charge.ns)
			charge_site(d, &charge);
	}
}

/* Names host code. */
static void name_host_code(struct division *d)
{
	uint32_t at = 0;

	if (d->range->pooled.count > 1)
		qsort(d->range->pooled.list, d->range->pooled.count, sizeof(*d->range->pooled.list),
		      by_pool);
	for (uint32_t i = 0; i < d->range->pools.count; i++) {
		const struct pool *pool = &d->range->pools.list[i];
		uint64_t left, loader_ns = 0;

		if (may_be_wake_up(d, pool)) {
			while (at < d->range->pooled.count && d->range->pooled.list[at].pool == i)
				at++;
			charge_launch(d, pool, USE_UNKNOWN, pool->ns);
			move_host_time(d, pool->device, USE_UNKNOWN, pool->ns);
			continue;
		}
		left = charge_sampled(d, i, &at, &loader_ns);
		loader_ns += charge_unsampled(d, pool, left);
		move_host_time(d, pool->device, USE_LOADER, loader_ns);
	}
	charge_rows(d, false);
	charge_rows(d, true);
}

/* Sums up computing time by kernel and launch stack, over threads. */
static void list_computing(struct division *d)
{
	for (uint32_t i = 0; i < d->schedule->sites.count && !d->has_failed; i++) {
		const struct schedule_site *site = &d->schedule->sites.list[i];
		const uint32_t key[] = {site->frame, site->stack};
		uint32_t at;

		if (!d->range->computing_ns[i])
			continue;
		at = record_get(&d->range->times->computing, &key,
				&((struct computing_site){key[0], key[1], 0}));
		if (at == RECORD_NONE)
			d->has_failed = true;
		else
			d->range->times->computing.list[at].ns += d->range->computing_ns[i];
	}
}

/* ---- gaps ---- */

/* The waits of a thread that end after a gap began. */
struct gap_waits {
	uint64_t first, to; /* in the waits */
	uint64_t ns;        /* their time in the gap */
	bool has_any;       /* also one that ended just as the gap began */
};

/* Finds the waits of a thread in a gap. They do not overlap, so those that matter are the last. */
static struct gap_waits waits_in(const struct division *d, const struct thread_state *t,
				 uint64_t from_ns, uint64_t to_ns)
{
	struct gap_waits w = {.to = first_from(d->waits, t->wait_from, t->wait_to, to_ns)};

	for (w.first = w.to; w.first > t->wait_from; w.first--) {
		const struct schedule_activity *wait = &d->waits[w.first - 1];
		uint64_t from = wait->start_ns > from_ns ? wait->start_ns : from_ns;
		uint64_t to = wait->end_ns < to_ns ? wait->end_ns : to_ns;

		if (wait->end_ns <= t->launched_ns || wait->end_ns + WAIT_SLACK < from_ns)
			break;
		w.has_any = true;
		w.ns += to > from ? to - from : 0;
	}
	return w;
}

/*
 * Charges idle time around a wait to the stack that waited: that of the wait, or, for a mark, of
 * the work that was waited for. Work that copied nothing to the host gave it no result.
 */
static void charge_sync(struct division *d, uint32_t device, const struct schedule_activity *wait,
			uint64_t from_ns, uint64_t to_ns)
{
	const struct device_state *state = &d->devices[device];
	uint32_t stack = wait ? wait->stack : stack_of(d, state->last_site);

	EACH_RANGE(d)
	{
		struct device_syncs *syncs = &d->range->times->syncs;
		uint64_t from = from_ns, to = to_ns, ns = clip(d, &from, &to);

		if (ns == 0)
			continue;
		charge_stack(d, device, USE_SYNCHRONIZING, stack, from, ns);
		if (state->last_use == WORK_COPIES)
			continue;
		syncs->gaps++;
		syncs->ns += ns;
	}
}

/* Charges waits as synchronizing, and the time between them as host code. */
static void charge_between_waits(struct division *d, uint32_t device, uint32_t site,
				 const struct gap_waits *w, uint64_t from_ns, uint64_t to_ns)
{
	for (uint64_t i = w->first; i < w->to && from_ns < to_ns; i++) {
		uint64_t begin = d->waits[i].start_ns > from_ns ? d->waits[i].start_ns : from_ns;
		uint64_t end = d->waits[i].end_ns < to_ns ? d->waits[i].end_ns : to_ns;

		if (begin >= end)
			continue;
		charge_host(d, device, site, from_ns, begin);
		charge_sync(d, device, &d->waits[i], begin, end);
		from_ns = end;
	}
	charge_host(d, device, site, from_ns, to_ns);
}

/* Charges the part of a gap in which its launch was late: until the launching call returned. */
static void charge_late(struct division *d, const struct scheduled_operation *o, uint64_t from_ns,
			uint64_t to_ns)
{
	uint32_t site = o->site, device = o->device, thread = d->schedule->sites.list[site].thread;
	const struct thread_state *t = &d->threads[thread];
	uint64_t launched_ns = scheduled_launch_ns(o), call_end_ns = scheduled_call_end_ns(o);
	struct gap_waits w = waits_in(d, t, from_ns, launched_ns);
	uint64_t gap_ns = call_end_ns > from_ns ? call_end_ns - from_ns : 0, since_ns;

	if (w.has_any || d->devices[device].waited_by == thread) {
		if (gap_ns - w.ns <= DEVICE_TIME_SOON_MAX)
			charge_sync(d, device, w.first < w.to ? &d->waits[w.to - 1] : NULL, from_ns,
				    to_ns);
		else if (!w.has_any && gap_ns <= AFTER_WAIT_MAX)
			pool_host(d, device, site, true, from_ns, to_ns);
		else
			charge_between_waits(d, device, site, &w, from_ns, to_ns);
		return;
	}
	since_ns = t->launched_ns < launched_ns ? call_end_ns - t->launched_ns : 0;
	if (t->launched_ns ? since_ns <= t->soon_ns : gap_ns <= DEVICE_TIME_SOON_MAX)
		charge_idle(d, device, USE_LAUNCHING, site, from_ns, to_ns);
	else
		charge_host(d, device, site, from_ns, to_ns);
}

/* Charges the gap [from, to), which operation `o` ended. */
static void charge_gap(struct division *d, const struct scheduled_operation *o, uint64_t from_ns)
{
	const struct device_state *state = &d->devices[o->device];
	uint64_t launched_ns, arrived_ns;

	if (!state->is_used) {
		use_time(d, o->device, USE_START_UP, from_ns, o->start_ns);
		return;
	}
	if (o->site == SCHEDULE_NO_SITE) {
		charge_idle(d, o->device, USE_UNKNOWN, o->site, from_ns, o->start_ns);
		return;
	}
	launched_ns = scheduled_launch_ns(o);
	arrived_ns = launched_ns ? launched_ns + state->latency_ns : 0;
	if (launched_ns && arrived_ns < scheduled_call_end_ns(o))
		arrived_ns = scheduled_call_end_ns(o);
	if (o->lag_ns <= LATENCY_SLACK * state->latency_ns)
		arrived_ns = o->start_ns; /* it started as soon as it could */
	if (arrived_ns > o->start_ns)
		arrived_ns = o->start_ns;
	if (arrived_ns > from_ns)
		charge_late(d, o, from_ns, arrived_ns);
	else
		arrived_ns = from_ns;
	charge_idle(d, o->device, USE_QUEUED, o->site, arrived_ns, o->start_ns);
}

/* Divides the time of a device up to the start of `o`. NULL: up to the end of the range. */
static void advance(struct division *d, uint32_t device, const struct scheduled_operation *o)
{
	static const enum device_use order[WORK_USES] = {[WORK_COMPUTES] = USE_COMPUTING,
							 [WORK_COMMUNICATES] = USE_COLLECTIVES,
							 [WORK_COPIES] = USE_COPIES,
							 [WORK_WAITS] = USE_RANK};
	struct device_state *s = &d->devices[device];
	uint64_t to_ns = o ? o->start_ns : d->to_ns;

	for (int use = 0; use < WORK_USES && s->at_ns < to_ns; use++) {
		uint64_t end_ns = s->end_ns[use] < to_ns ? s->end_ns[use] : to_ns;

		if (end_ns <= s->at_ns)
			continue;
		use_time(d, device, order[use], s->at_ns, end_ns);
		s->at_ns = end_ns;
	}
	if (s->at_ns >= to_ns)
		return;
	if (o)
		charge_gap(d, o, s->at_ns);
	else
		use_time(d, device, s->is_used ? USE_ENDING : USE_START_UP, s->at_ns, to_ns);
	s->at_ns = to_ns;
}

/* Counts the computing time that a kernel adds to those before it, which run until `from_ns`. */
static void count_computing(struct division *d, const struct scheduled_operation *o,
			    uint64_t from_ns)
{
	uint64_t to_ns = scheduled_end_ns(o);

	if (from_ns < o->start_ns)
		from_ns = o->start_ns;
	EACH_RANGE(d)
	{
		uint64_t from = from_ns, to = to_ns;

		d->range->computing_ns[o->site] += clip(d, &from, &to);
	}
}

static void run_operation(struct division *d, const struct scheduled_operation *o)
{
	struct device_state *s = &d->devices[o->device];
	uint64_t end_ns = scheduled_end_ns(o), launched_ns;
	uint32_t thread = o->site == SCHEDULE_NO_SITE ? SCHEDULE_NO_SITE
						      : d->schedule->sites.list[o->site].thread;

	if (o->use == WORK_COMPUTES && o->site != SCHEDULE_NO_SITE)
		count_computing(d, o, s->end_ns[o->use]);
	if (s->end_ns[o->use] < end_ns)
		s->end_ns[o->use] = end_ns;
	if (s->last_end_ns <= end_ns) {
		s->last_end_ns = end_ns;
		s->waited_by = o->is_waited ? thread : SCHEDULE_NO_SITE;
		s->last_use = (enum work_use)o->use;
		s->last_site = o->site;
	}
	s->is_used = true;
	if (thread == SCHEDULE_NO_SITE || o->lag_ns == UINT32_MAX)
		return;
	launched_ns = scheduled_launch_ns(o);
	if (d->threads[thread].launched_ns < launched_ns)
		d->threads[thread].launched_ns = launched_ns;
}

/* ---- preparations ---- */

/* Finds the usual time between launches of each thread, and the launch latency of each device. */
static bool measure_times(struct division *d)
{
	const struct operation_schedule *s = d->schedule;
	struct time_histogram *intervals = calloc(s->threads.count + 1u, sizeof(*intervals));
	struct time_histogram *lags = calloc(s->device_count + 1u, sizeof(*lags));
	bool has_memory = intervals && lags;

	for (uint64_t i = 0; has_memory && i < s->count; i++) {
		const struct scheduled_operation *o = &s->list[i];
		struct thread_state *t;
		uint64_t launched_ns;

		if (o->site == SCHEDULE_NO_SITE || o->lag_ns == UINT32_MAX)
			continue;
		t = &d->threads[s->sites.list[o->site].thread];
		launched_ns = scheduled_launch_ns(o);
		if (launched_ns <= t->launched_ns)
			continue;
		if (t->launched_ns)
			histogram_add(&intervals[s->sites.list[o->site].thread],
				      launched_ns - t->launched_ns);
		t->launched_ns = launched_ns;
		histogram_add(&lags[o->device], o->lag_ns);
	}
	for (uint32_t i = 0; has_memory && i < s->threads.count; i++) {
		uint64_t median_ns = histogram_quantile(&intervals[i], 500);
		uint64_t soon_ns = median_ns < DEVICE_TIME_SOON_MAX ? SOON_INTERVALS * median_ns
								    : DEVICE_TIME_SOON_MAX;

		d->threads[i].launched_ns = 0;
		if (soon_ns < DEVICE_TIME_SOON_MIN)
			soon_ns = DEVICE_TIME_SOON_MIN;
		d->threads[i].soon_ns =
			soon_ns < DEVICE_TIME_SOON_MAX ? soon_ns : DEVICE_TIME_SOON_MAX;
	}
	for (uint32_t i = 0; has_memory && i < s->device_count; i++) {
		uint64_t ns = histogram_quantile(&lags[i], LATENCY_PERMILLE);

		d->devices[i].latency_ns = ns < LATENCY_MAX ? ns : LATENCY_MAX;
	}
	free(intervals);
	free(lags);
	return has_memory;
}

/* Returns a copy of activities by thread, in order of time. NULL if out of memory. */
static struct schedule_activity *by_thread(const struct schedule_activity *list, uint64_t count,
					   struct thread_state *threads, uint32_t thread_count,
					   size_t from_offset)
{
	struct schedule_activity *copy = malloc((count + 1) * sizeof(*copy));
	uint64_t *next = calloc(thread_count + 1u, sizeof(*next));
	uint64_t at = 0;

	if (copy && next) {
		for (uint64_t i = 0; i < count; i++)
			next[list[i].thread + 1]++;
		for (uint32_t i = 0; i < thread_count; i++) {
			uint64_t *ends = (uint64_t *)((char *)&threads[i] + from_offset);

			ends[0] = at;
			at += next[i + 1];
			ends[1] = at;
			next[i + 1] = at;
		}
		for (uint64_t i = 0; i < count; i++)
			copy[next[list[i].thread]++] = list[i];
		free(next);
		return copy;
	}
	free(copy);
	free(next);
	return NULL;
}

/* Returns false if out of memory. */
static bool prepare_range(const struct division *d, struct range_state *range)
{
	const struct operation_schedule *s = d->schedule;
	size_t stacks = d->result->stack_count + (size_t)1;
	struct device_times *times = range->times;

	times->devices = calloc(s->device_count + 1u, sizeof(*times->devices));
	range->computing_ns = calloc(s->sites.count + 1u, sizeof(*range->computing_ns));
	range->latest = malloc(stacks * sizeof(*range->latest));
	if (!times->devices || !range->computing_ns || !range->latest)
		return false;
	memset(range->latest, 0xff, stacks * sizeof(*range->latest));
	times->device_count = s->device_count;
	for (uint32_t i = 0; i < s->device_count; i++)
		times->devices[i].device = s->devices[i];
	return true;
}

/* Returns false if out of memory. */
static bool prepare(struct division *d)
{
	const struct operation_schedule *s = d->schedule;

	d->threads = calloc(s->threads.count + 1u, sizeof(*d->threads));
	d->devices = calloc(s->device_count + 1u, sizeof(*d->devices));
	if (!d->threads || !d->devices)
		return false;
	for (uint32_t i = 0; i < d->range_count; i++) {
		const struct device_times *times = d->ranges[i].times;

		if (!prepare_range(d, &d->ranges[i]))
			return false;
		d->to_ns = larger_of(d->to_ns, times->to_ns);
	}
	for (uint32_t i = 0; i < s->device_count; i++)
		d->devices[i].waited_by = SCHEDULE_NO_SITE;
	d->samples = by_thread(s->samples, s->sample_count, d->threads, s->threads.count,
			       offsetof(struct thread_state, sample_from));
	d->waits = by_thread(s->waits, s->wait_count, d->threads, s->threads.count,
			     offsetof(struct thread_state, wait_from));
	return d->samples && d->waits && measure_times(d);
}

/* Orders by time, the longest first, then by stack, so that outputs are reproducible. */
static int by_length(const void *a, const void *b)
{
	const struct idle_site *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	order = order ? order : compare_numbers(x->use, y->use);
	return order ? order : compare_numbers(x->stack, y->stack);
}

/* Names what was charged to a range, and sorts it. */
static void complete_range(struct division *d)
{
	struct device_times *times = d->range->times;

	name_host_code(d);
	list_computing(d);
	if (times->sites.count > 1)
		qsort(times->sites.list, times->sites.count, sizeof(*times->sites.list), by_length);
}

static void release_range(struct range_state *range)
{
	record_set_release(&range->pools.set);
	record_set_release(&range->pooled.set);
	free(range->computing_ns);
	free(range->latest);
}

int device_times_divide(struct device_times *const times[], uint32_t count,
			const struct operation_schedule *schedule, const struct result *result,
			const bool *is_own)
{
	struct division d = {.schedule = schedule, .result = result, .is_own = is_own};

	for (; d.range_count < count; d.range_count++) {
		struct device_times *t = times[d.range_count];

		*t = (struct device_times){.from_ns = t->from_ns,
					   .to_ns = larger_of(t->from_ns, t->to_ns)};
		d.ranges[d.range_count].times = t;
	}
	d.has_failed = !prepare(&d);
	for (uint64_t i = 0; !d.has_failed && i < schedule->count; i++) {
		const struct scheduled_operation *o = &schedule->list[i];

		advance(&d, o->device, o);
		run_operation(&d, o);
	}
	for (uint32_t i = 0; !d.has_failed && i < schedule->device_count; i++)
		advance(&d, i, NULL);
	if (!d.has_failed)
		read_idle_rows(&d);
	for (d.range = d.ranges; d.range < d.ranges + d.range_count; d.range++) {
		if (!d.has_failed)
			complete_range(&d);
		release_range(d.range);
	}
	free(d.threads);
	free(d.devices);
	free(d.samples);
	free(d.waits);
	return d.has_failed ? -ENOMEM : 0;
}

void device_times_release(struct device_times *times)
{
	free(times->devices);
	record_set_release(&times->sites.set);
	record_set_release(&times->computing.set);
	memset(times, 0, sizeof(*times));
}

uint64_t device_times_sum(const struct device_times *times, enum device_use use)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < times->device_count; i++)
		ns += times->devices[i].ns[use];
	return ns;
}

uint64_t device_times_whole(const struct device_times *times)
{
	return (times->to_ns - times->from_ns) * times->device_count;
}
