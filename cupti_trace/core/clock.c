// SPDX-License-Identifier: MIT
#include "cupti_trace/core/clock.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define TRIES 7
#define USUAL_ERROR_NS 20000 /* a thread switched out in the middle shows as far more */
#define STEP_NS 5000000      /* tolerance of a clock that was not set, ns ... */
#define STEP_SHARE 8         /* ... plus this share of the time that passed */
#define SLACK_NS 1000000u    /* tolerance of times near a step */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_own_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_cpu_ns_of(uint32_t tid)
{
	/* include/linux/posix-timers.h: CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED */
	return tid ? read_clock((clockid_t)(~tid << 3 | 6)) : 0;
}

uint64_t clock_wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec < 0 ? 0 : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct timespec clock_deadline(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};
}

struct timespec clock_in_ms(uint32_t ms)
{
	return clock_deadline(clock_now_ns() + ms * UINT64_C(1000000));
}

/* Reads CUPTI's clock between two reads of CLOCK_MONOTONIC. Returns false if it cannot be read. */
static bool read_point(const struct cupti_api *api, struct clock_point *point)
{
	uint64_t before = clock_now_ns(), cupti = 0, window;
	int result = api->cuptiGetTimestamp(&cupti);

	window = clock_now_ns() - before;
	*point = (struct clock_point){cupti, (int64_t)(before + window / 2 - cupti), window / 2};
	return result == CUPTI_ABI_SUCCESS;
}

int clock_measure(const struct cupti_api *api, struct clock_point *point)
{
	struct clock_point next;

	for (int i = 0; i < TRIES; i++) {
		if (!read_point(api, &next))
			return -EIO;
		if (i == 0 || next.error_ns < point->error_ns)
			*point = next;
	}
	return 0;
}

/* Returns when a point was measured, CLOCK_MONOTONIC. */
static uint64_t time_of(const struct clock_point *point)
{
	return point->at_ns + (uint64_t)point->offset_ns;
}

static uint64_t distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static bool is_step(const struct clock_point *from, const struct clock_point *to)
{
	uint64_t passed = time_of(to) - time_of(from);

	return distance(from->offset_ns, to->offset_ns) >
	       STEP_NS + passed / STEP_SHARE + from->error_ns + to->error_ns;
}

static void add_step(struct clock_map *map, const struct clock_point *point)
{
	uint32_t kept = map->steps < CLOCK_STEPS_MAX ? map->steps : CLOCK_STEPS_MAX - 1;

	memmove(map->past + 1, map->past, kept * sizeof(*map->past));
	map->past[0] = (struct clock_era){map->older, map->newer, map->since_ns, time_of(point)};
	map->steps = kept + 1;
	map->since_ns = time_of(&map->newer);
	map->older = *point;
	map->newer = *point;
}

void clock_map_add(struct clock_map *map, const struct clock_point *point)
{
	if (map->newer.at_ns == 0) {
		map->older = *point;
		map->newer = *point;
		return;
	}
	if (point->error_ns > USUAL_ERROR_NS && point->error_ns > 4 * map->newer.error_ns)
		return;
	if ((int64_t)(time_of(point) - time_of(&map->newer)) <= 0)
		return;
	if (is_step(&map->newer, point)) {
		add_step(map, point);
	} else if (point->at_ns > map->newer.at_ns) {
		map->older = map->newer;
		map->newer = *point;
	}
}

bool clock_was_set(const struct cupti_api *api, const struct clock_map *map)
{
	struct clock_point now;

	return read_point(api, &now) && map->newer.at_ns != 0 &&
	       (int64_t)(time_of(&now) - time_of(&map->newer)) > 0 && is_step(&map->newer, &now);
}

static uint64_t convert_by(const struct clock_point *a, const struct clock_point *b,
			   uint64_t cupti_ns)
{
	double slope, step;

	if (b->at_ns <= a->at_ns)
		return cupti_ns + (uint64_t)b->offset_ns;
	slope = (double)(b->offset_ns - a->offset_ns) / (double)(b->at_ns - a->at_ns);
	step = slope * ((double)(int64_t)(cupti_ns - b->at_ns));
	return cupti_ns + (uint64_t)(b->offset_ns + (int64_t)step);
}

/* Raises *latest_ns to `ns` if a record may mean this time on this side of the steps. */
static void consider(uint64_t *latest_ns, uint64_t ns, uint64_t since_ns, uint64_t until_ns)
{
	if (ns + SLACK_NS >= since_ns && ns <= until_ns + SLACK_NS && ns > *latest_ns)
		*latest_ns = ns;
}

uint64_t clock_map_convert(const struct clock_map *map, uint64_t cupti_ns, uint64_t now_ns)
{
	uint64_t ns = convert_by(&map->older, &map->newer, cupti_ns);
	uint64_t end = now_ns ? now_ns + SLACK_NS : INT64_MAX;
	uint64_t latest_ns = 0;

	if (map->steps == 0)
		return ns;
	if (ns <= end)
		consider(&latest_ns, ns, map->since_ns, INT64_MAX);
	for (uint32_t i = 0; i < map->steps; i++) {
		const struct clock_era *era = &map->past[i];
		uint64_t past_ns = convert_by(&era->older, &era->newer, cupti_ns);

		if (past_ns <= end)
			consider(&latest_ns, past_ns, era->since_ns, era->until_ns);
	}
	/* otherwise the clock was set twice between measurements: no time fits */
	return latest_ns ? latest_ns : map->past[0].until_ns;
}
