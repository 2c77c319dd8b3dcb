/* SPDX-License-Identifier: MIT */
/*
 * Sums all calls of the runtime and the driver by function (--api): number of calls and errors,
 * duration, bytes.
 *
 * An error counts under the conditions of the probe api_error (docs/probes.md). It does not count
 * in a driver call within a runtime call. Nor does it in a function that returns an earlier error.
 *
 * A call lasts from CUPTI's report of its entry to that of its exit. So it includes our callbacks
 * within it (a launch's stack), but none after it. A call that does not return (cancelled thread,
 * longjmp) is only counted.
 *
 * Threads add to one of a few sets of sums, chosen by thread, without a lock. So 3,000 threads need
 * no more memory than one, and nothing has to be done when a thread ends. Now and then, and at the
 * end, the additions are sent, a line for each function. Nothing is sent for each call.
 */
#ifndef CUPTI_TRACE_LAUNCH_CALL_STATS_H
#define CUPTI_TRACE_LAUNCH_CALL_STATS_H

#include <stdint.h>
#include "cupti_trace/core/tracer.h"

/* Registers a function of a domain by CUPTI's name. Call before callbacks are enabled. */
void call_stats_add_function(uint32_t domain, uint32_t cbid, const char *name);

/* Record entry and exit of such a function on the calling thread. */
void call_stats_enter(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data);
void call_stats_exit(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data);

/* Sends the additions since the last call. One thread at a time; it may take locks. */
void call_stats_send(struct sink *sink);

#endif
