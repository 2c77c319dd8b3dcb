// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/counted_times.h"

#include <stdatomic.h>

#define PENDING UINT64_MAX

static struct {
	_Atomic uint32_t correlation_id; /* 0: empty, or being changed */
	_Atomic uint64_t start_ns, duration_ns;
} kept[COUNTED_TIMES_KEPT];

static void keep(uint32_t correlation_id, uint64_t start_ns, uint64_t duration_ns)
{
	uint32_t slot = correlation_id % COUNTED_TIMES_KEPT;

	atomic_store(&kept[slot].correlation_id, 0);
	atomic_store(&kept[slot].start_ns, start_ns);
	atomic_store(&kept[slot].duration_ns, duration_ns);
	atomic_store(&kept[slot].correlation_id, correlation_id);
}

void counted_times_begin(uint32_t correlation_id)
{
	keep(correlation_id, 0, PENDING);
}

void counted_times_end(uint32_t correlation_id, const double *duration_ns, uint64_t launched_ns,
		       uint64_t returned_ns)
{
	uint64_t most = returned_ns - launched_ns, ns = most;

	if (!(*duration_ns >= 0)) {
		atomic_store(&kept[correlation_id % COUNTED_TIMES_KEPT].correlation_id, 0);
		return;
	}
	if (*duration_ns < (double)most)
		ns = (uint64_t)(*duration_ns + 0.5);
	keep(correlation_id, returned_ns - ns, ns);
}

enum counted_time counted_times_find(uint32_t correlation_id, uint64_t *start_ns,
				     uint64_t *duration_ns)
{
	uint32_t slot = correlation_id % COUNTED_TIMES_KEPT;
	uint64_t start, duration;

	if (correlation_id == 0 || atomic_load(&kept[slot].correlation_id) != correlation_id)
		return COUNTED_NONE;
	start = atomic_load(&kept[slot].start_ns);
	duration = atomic_load(&kept[slot].duration_ns);
	/* otherwise it has just changed: from pending, or to another launch's */
	if (duration == PENDING || atomic_load(&kept[slot].correlation_id) != correlation_id)
		return COUNTED_PENDING;
	*start_ns = start;
	*duration_ns = duration;
	return COUNTED_KNOWN;
}
