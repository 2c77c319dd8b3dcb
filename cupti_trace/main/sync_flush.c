// SPDX-License-Identifier: MIT
#include "cupti_trace/main/sync_flush.h"

#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/timeout.h"

static pthread_mutex_t flush_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t started_ns;       /* start of the last flush here; under the lock */
static _Atomic uint64_t spent_ns; /* total of all flushes */

static bool has_quota(const struct tracer *tracer, uint64_t now_ns)
{
	uint64_t age_ns = now_ns > tracer->began_ns ? now_ns - tracer->began_ns : 0;

	return atomic_load(&spent_ns) < SYNC_FLUSH_FIRST_NS + age_ns / SYNC_FLUSH_SHARE;
}

void sync_flush(struct tracer *tracer)
{
	uint64_t now_ns = clock_now_ns(), taken_ns;

	/* never wait here for a profiler that does not read */
	if (!has_quota(tracer, now_ns) || sink_is_stalled(&tracer->sink) ||
	    !timeout_lock(&flush_lock, SYNC_FLUSH_LOCK_MS)) {
		tracer_flush_soon();
		return;
	}
	/* another thread may have begun a flush since this call got here */
	if (started_ns < now_ns) {
		started_ns = clock_now_ns();
		tracer_flush(tracer, false);
		taken_ns = clock_now_ns() - started_ns;
		atomic_fetch_add(&spent_ns,
				 taken_ns < SYNC_FLUSH_MOST_NS ? taken_ns : SYNC_FLUSH_MOST_NS);
	}
	pthread_mutex_unlock(&flush_lock);
}
