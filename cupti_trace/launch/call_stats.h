/* SPDX-License-Identifier: MIT */
/*
 * Sums of all calls of the runtime and the driver, by function (--api): how often each was called
 * and failed, for how long, and with how many bytes.
 *
 * An error counts once, as api_error fires (docs/probes.md): not for a call of the driver within
 * one of the runtime, nor for one that tells an earlier error.
 *
 * A call's time is from CUPTI's report of its entry to that of its exit, so what a callback of ours
 * takes within it (a launch's stack) is in it, and what follows is not. A call that does not return
 * (its thread was cancelled, longjmp) is counted as called only.
 *
 * Threads add to one of a few sets of sums, chosen by thread, without a lock: 3,000 threads need no
 * more memory than one, and nothing has to be done when one ends. Now and then, and at the end,
 * what was added since the last time is sent, a line for each function: nothing is sent for each
 * call.
 */
#ifndef CUPTI_TRACE_LAUNCH_CALL_STATS_H
#define CUPTI_TRACE_LAUNCH_CALL_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/tracer.h"

/* Once, before callbacks are enabled: a function of a domain, by its name as CUPTI gives it. */
void call_stats_add_function(uint32_t domain, uint32_t cbid, const char *name);

/* The calling thread enters and leaves it. */
void call_stats_enter(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data);
void call_stats_exit(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data);

/* Sends what came since the last time. One thread at a time; it may take locks. */
void call_stats_send(struct sink *sink);

#endif
