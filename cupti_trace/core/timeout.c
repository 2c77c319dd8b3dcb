// SPDX-License-Identifier: MIT
#include "cupti_trace/core/timeout.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>
#include "cupti_trace/core/clock.h"

static uint64_t begin(uint32_t ms)
{
	return clock_now_ns() + ms * UINT64_C(1000000);
}

/* Sleeps before the next try. Returns false if the last one is over. */
static bool lasts(uint64_t until_ns)
{
	nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	return clock_now_ns() < until_ns;
}

bool timeout_lock(pthread_mutex_t *lock, uint32_t ms)
{
	uint64_t until_ns = begin(ms);
	bool is_locked;

	do
		is_locked = pthread_mutex_trylock(lock) == 0;
	while (!is_locked && lasts(until_ns));
	return is_locked;
}

bool timeout_join(pthread_t thread, uint32_t ms)
{
	uint64_t until_ns = begin(ms);
	bool is_joined;

	do
		is_joined = pthread_tryjoin_np(thread, NULL) != EBUSY;
	while (!is_joined && lasts(until_ns));
	return is_joined;
}
