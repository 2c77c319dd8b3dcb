// SPDX-License-Identifier: MIT
#include "profiler/sources/sample_ticks.h"

#define TICK_SPREAD 0.4       /* range of the CPUs' ticks, relative to the mean */
#define TIMEOUT_NS 100000000u /* time that a ring holds a CPU's ticks for, at least */

void sample_ticks_begin(struct sample_ticks *t, uint64_t sample_ns, uint64_t tick_ns,
			uint32_t number)
{
	uint32_t section = number * SAMPLING_CLOCK_GOLDEN_SECTION;
	double part = (double)section / 4294967296.0 - 0.5;

	t->sample_ns = sample_ns;
	t->tick_ns = (uint64_t)((double)tick_ns * (1 + TICK_SPREAD * part));
	sampling_clock_begin(&t->clock, sample_ns, section);
}

void sample_ticks_release(struct sample_ticks *t)
{
	id_map_release(&t->seen);
}

uint32_t sample_ticks_count(struct sample_ticks *t, uint32_t tid)
{
	bool is_first = !id_map_find(&t->seen, tid);
	uint32_t count = 0;

	if (is_first)
		id_map_get(&t->seen, tid);
	t->clock.run_ns += t->tick_ns + (is_first ? t->tick_ns / 2 : 0);
	while (count < 2 && sampling_clock_take(&t->clock, t->sample_ns))
		count++;
	return count;
}

void sample_ticks_forget(struct sample_ticks *t, uint32_t tid)
{
	id_map_remove(&t->seen, tid);
}

uint64_t sample_ticks_samples(uint64_t ticks, uint64_t sample_ns, uint64_t tick_ns)
{
	return sample_ns ? (ticks * tick_ns + sample_ns - 1) / sample_ns : ticks;
}

uint32_t sample_ticks_stack_bytes(uint64_t ring_bytes, uint64_t tick_ns)
{
	uint64_t ticks = TIMEOUT_NS / tick_ns + 1, bytes = ring_bytes / ticks / 8 * 8;

	if (bytes > SAMPLE_STACK_MAX)
		return SAMPLE_STACK_MAX;
	return bytes < SAMPLE_STACK_MIN ? SAMPLE_STACK_MIN : (uint32_t)bytes;
}
