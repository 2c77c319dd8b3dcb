/* SPDX-License-Identifier: MIT */
/*
 * Measures calls in which a thread waits for the GPU (--waits).
 *
 * callback.c passes on synchronizations, blocking copies and sets, allocations and releases
 * (api_function.h). If calls are nested (a runtime call contains a driver call), the outermost one
 * counts.
 *
 * A call's time begins when CUPTI has reported its entry and its stack has been taken. It ends when
 * CUPTI reports its exit. So it excludes the cost of tracing. If the call creates a context, as a
 * program's first one does, its time begins after that: creating one is not waiting. The thread's
 * CPU clock measures its CPU time meanwhile. A wait is sent at its end. A call that does not end,
 * because its thread is cancelled or the process exits, is not sent. If its thread enters that
 * function again, that is a new call.
 */
#ifndef CUPTI_TRACE_LAUNCH_WAIT_LOG_H
#define CUPTI_TRACE_LAUNCH_WAIT_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/tracer.h"

/* A function of CUPTI's domains, entered or left. */
struct wait_log_call {
	uint32_t domain; /* CUPTI_ABI_DOMAIN_RUNTIME_API or _DRIVER_API */
	uint32_t cbid;
	bool is_stream;       /* it waits for one stream, its only parameter */
	const char *function; /* its name; lives forever */
	const struct cupti_abi_callback_data *data;
};

/*
 * Notes that the calling thread enters a call. `stack` is the id of a stack that was already taken
 * for this call; 0: none.
 */
void wait_log_enter(struct tracer *tracer, const struct wait_log_call *call, uint32_t stack);

/* Notes that the calling thread has created a context. */
void wait_log_context_created(void);

/* Notes that the calling thread leaves the call. */
void wait_log_exit(struct tracer *tracer, const struct wait_log_call *call);

#endif
