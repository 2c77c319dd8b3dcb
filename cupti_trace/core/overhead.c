// SPDX-License-Identifier: MIT
#include "cupti_trace/core/overhead.h"

#include <stdatomic.h>
#include "cupti_trace/core/clock.h"

#define CALIBRATIONS 16

static _Atomic uint64_t total_ns;
static uint64_t clock_ns;         /* duration of reading the clock */
static __thread uint64_t slow_ns; /* this thread's, measured each time */

void overhead_init(void)
{
	uint64_t last = clock_own_cpu_ns(), least = UINT64_MAX;

	for (int i = 0; i < CALIBRATIONS; i++) {
		uint64_t now = clock_own_cpu_ns();

		least = now - last < least ? now - last : least;
		last = now;
	}
	clock_ns = least;
	atomic_store(&total_ns, 0);
}

struct overhead_mark overhead_begin(void)
{
	return (struct overhead_mark){.ns = clock_own_cpu_ns(), .slow_ns = slow_ns};
}

/* Returns the time since a mark; also 0 if reading the clock has been forbidden. */
static uint64_t since(const struct overhead_mark *mark)
{
	uint64_t now = clock_own_cpu_ns();

	return now > mark->ns ? now - mark->ns : 0;
}

void overhead_end(const struct overhead_mark *mark)
{
	uint64_t spent = since(mark);

	slow_ns += spent;
	atomic_fetch_add_explicit(&total_ns, spent, memory_order_relaxed);
}

void overhead_end_launch(const struct overhead_mark *mark, uint32_t stands_for)
{
	uint64_t spent = since(mark);
	uint64_t known = slow_ns - mark->slow_ns + clock_ns;

	if (spent > known)
		atomic_fetch_add_explicit(&total_ns, (spent - known) * stands_for,
					  memory_order_relaxed);
}

uint32_t overhead_first(uint32_t tid)
{
	return (uint32_t)(tid * UINT64_C(0x9e3779b97f4a7c15) >> 40) % OVERHEAD_EVERY;
}

uint32_t overhead_next(uint32_t measured)
{
	uint32_t doubled = measured / OVERHEAD_SAMPLES;

	return OVERHEAD_EVERY << (doubled < OVERHEAD_DOUBLED ? doubled : OVERHEAD_DOUBLED);
}

uint64_t overhead_ns(void)
{
	return atomic_load_explicit(&total_ns, memory_order_relaxed);
}
