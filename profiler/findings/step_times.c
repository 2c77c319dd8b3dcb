// SPDX-License-Identifier: MIT
#include "profiler/findings/step_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/time_sort.h"

#define SAMPLES 1024u /* steps that tell what is much longer */

/* Returns the median of times, which it sorts. */
static uint64_t median_of(uint64_t *ns, uint32_t count)
{
	time_sort(ns, count, sizeof(*ns));
	return ns[count / 2];
}

/* Returns how much longer the last tenth is than the first. Sorts parts of the times. */
static double drift_of(uint64_t *ns, uint32_t count)
{
	uint32_t part = count / 10;
	uint64_t first, last;

	if (part < 3)
		return 0;
	first = median_of(ns, part);
	last = median_of(ns + count - part, part);
	return first ? (double)last / (double)first - 1 : 0;
}

static uint64_t time_of(const uint64_t *starts_ns, uint32_t step)
{
	return starts_ns[step + 1] > starts_ns[step] ? starts_ns[step + 1] - starts_ns[step] : 0;
}

uint32_t step_times_warm_up(const uint64_t *starts_ns, uint32_t count)
{
	uint64_t times[SAMPLES], much;
	uint32_t first = count / 2, rest = count - first, warm_up = 0;
	uint32_t sampled = rest < SAMPLES ? rest : SAMPLES;

	if (!count)
		return 0;
	for (uint32_t i = 0; i < sampled; i++)
		times[i] = time_of(starts_ns, first + (uint32_t)((uint64_t)i * rest / sampled));
	much = median_of(times, sampled);
	much = larger_of(saturated_sum(much, much / 2), times[(uint64_t)sampled * 3 / 4]);
	while (warm_up < first && time_of(starts_ns, warm_up) > much)
		warm_up++;
	return warm_up;
}

int step_times_measure(struct step_times *times, const uint64_t *starts_ns, uint32_t count,
		       uint32_t warm_up)
{
	uint64_t *ns = malloc((count + (size_t)1) * sizeof(*ns));

	memset(times, 0, sizeof(*times));
	if (!ns)
		return -ENOMEM;
	starts_ns += warm_up;
	count -= warm_up;
	for (uint32_t i = 0; i < count; i++) {
		ns[i] = time_of(starts_ns, i);
		if (ns[i] > times->slowest_ns) {
			times->slowest_ns = ns[i];
			times->slowest = warm_up + i;
		}
	}
	if (count) {
		times->drift = drift_of(ns, count);
		times->median_ns = median_of(ns, count);
		times->fastest_ns = ns[0];
		times->p10_ns = ns[count / 10];
		times->p90_ns = ns[count - 1 - count / 10];
	}
	free(ns);
	return 0;
}
