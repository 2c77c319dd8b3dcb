/* SPDX-License-Identifier: MIT */
/*
 * Sends the work that a synchronizing call has waited for before the call returns. The program may
 * end by _exit, exec or a signal right after it, and no exit handler runs then.
 *
 * CUPTI writes the times of records only when it is asked for them (cuptiActivityFlushAll). That
 * takes 30 us on an H200, and 0.3 us for each record. So these calls have a quota of time for
 * flushes: SYNC_FLUSH_FIRST_NS at first, and one part in SYNC_FLUSH_SHARE of the time since then. A
 * flush counts for SYNC_FLUSH_MOST_NS at most. Beyond the quota the flusher thread flushes soon
 * (tracer_flush_soon). Threads that wait for each other's flush share the next one.
 *
 * Any thread of the program, between guest_enter and guest_leave.
 */
#ifndef CUPTI_TRACE_MAIN_SYNC_FLUSH_H
#define CUPTI_TRACE_MAIN_SYNC_FLUSH_H

#include "cupti_trace/core/tracer.h"

#define SYNC_FLUSH_FIRST_NS UINT64_C(20000000)
#define SYNC_FLUSH_SHARE 200
#define SYNC_FLUSH_MOST_NS \
	UINT64_C(5000000)      /* limit of one flush: the thread may have waited for a CPU */
#define SYNC_FLUSH_LOCK_MS 100 /* timeout for another thread's flush */

/* Flushes, within the quota. Call when a synchronizing call is about to return. */
void sync_flush(struct tracer *tracer);

#endif
