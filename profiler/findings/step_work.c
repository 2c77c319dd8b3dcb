// SPDX-License-Identifier: MIT
#include "profiler/findings/step_work.h"

#include <errno.h>
#include <stdlib.h>
#include "profiler/findings/step_times.h"

/*
 * Returns the number of the step that a time is in; the last one's if it is after all of them. That
 * of the time before, `likely`, or the next one is likely.
 */
static uint32_t step_at(const struct step_series *s, uint64_t ns, uint32_t likely)
{
	uint32_t low = 0, high = s->count;

	for (uint32_t i = likely; i < s->count && i <= likely + 1; i++)
		if (s->starts_ns[i] <= ns && ns < s->starts_ns[i + 1])
			return i;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (s->starts_ns[middle] <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t *step_work_find(const struct operation_schedule *schedule, struct step_series *s,
			 uint32_t process)
{
	uint64_t *work_ns = calloc(s->count + (size_t)1, sizeof(*work_ns)), launched_ns;
	uint32_t at = 0;

	if (!work_ns)
		return NULL;
	for (uint64_t i = 0; i < schedule->count; i++) {
		const struct scheduled_operation *o = &schedule->list[i];

		if (o->site == SCHEDULE_NO_SITE)
			continue;
		launched_ns = scheduled_launch_ns(o);
		if (launched_ns < s->starts_ns[0] || launched_ns > s->starts_ns[s->count] ||
		    schedule->threads.list[schedule->sites.list[o->site].thread].process != process)
			continue;
		at = step_at(s, launched_ns, at);
		if (!work_ns[at])
			work_ns[at] = o->start_ns; /* operations are in order */
		if (at == s->count - 1 && work_ns[s->count] < scheduled_end_ns(o))
			work_ns[s->count] = scheduled_end_ns(o);
	}
	for (uint32_t i = 0; i <= s->count; i++) {
		if (!work_ns[i])
			work_ns[i] = s->starts_ns[i];
		if (i > 0 && work_ns[i] < work_ns[i - 1])
			work_ns[i] = work_ns[i - 1];
	}
	s->warm_up = step_times_warm_up(work_ns, s->count);
	return work_ns;
}

int step_work_read(uint64_t **work_ns, const struct result *result, struct run_steps *steps)
{
	struct operation_schedule schedule;
	int err = operation_schedule_read(&schedule, result);

	*work_ns = NULL;
	if (err)
		return err;
	*work_ns = step_work_find(&schedule, &steps->steps.list[0], steps->thread.process);
	operation_schedule_release(&schedule);
	return *work_ns ? 0 : -ENOMEM;
}
