// SPDX-License-Identifier: MIT
#include "cupti_trace/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#define TRIES 7
#define USUAL_ERROR_NS 20000 /* a thread switched out in the middle shows as far more */

uint64_t clock_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int clock_measure(const struct cupti_api *api, struct clock_point *point)
{
	bool found = false;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = clock_now_ns(), cupti = 0, window;
		int result = api->cuptiGetTimestamp(&cupti);

		window = clock_now_ns() - before;
		if (result != CUPTI_ABI_SUCCESS)
			return -EIO;
		if (found && window / 2 >= point->error_ns)
			continue;
		point->at_ns = cupti;
		point->offset_ns = (int64_t)(before + window / 2 - cupti);
		point->error_ns = window / 2;
		found = true;
	}
	return 0;
}

void clock_map_add(struct clock_map *map, const struct clock_point *point)
{
	if (map->newer.at_ns == 0) {
		map->older = *point;
		map->newer = *point;
		return;
	}
	if (point->at_ns <= map->newer.at_ns ||
	    (point->error_ns > USUAL_ERROR_NS && point->error_ns > 4 * map->newer.error_ns))
		return;
	map->older = map->newer;
	map->newer = *point;
}

uint64_t clock_map_convert(const struct clock_map *map, uint64_t cupti_ns)
{
	const struct clock_point *a = &map->older, *b = &map->newer;
	double slope, step;

	if (b->at_ns <= a->at_ns)
		return cupti_ns + (uint64_t)b->offset_ns;
	slope = (double)(b->offset_ns - a->offset_ns) / (double)(b->at_ns - a->at_ns);
	step = slope * ((double)(int64_t)(cupti_ns - b->at_ns));
	return cupti_ns + (uint64_t)(b->offset_ns + (int64_t)step);
}
