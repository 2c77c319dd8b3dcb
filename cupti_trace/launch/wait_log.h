/* SPDX-License-Identifier: MIT */
/*
 * Calls in which a thread waits for the GPU, and how long each of them took (--waits).
 *
 * `callback` passes on synchronizations, blocking copies and sets, and allocations and releases, of
 * the runtime and of the driver (api_function.h). Of nested calls (a runtime
 * call contains a driver call) the outermost one passed on counts.
 *
 * A call's time begins when CUPTI has reported its entry and its stack has been taken, and ends
 * when CUPTI reports its exit: what the tracing costs is not in it. Where the call creates a
 * context, as the first one of a program does, its time begins when there is one: that is no wait
 * for the GPU. What the thread ran on a CPU meanwhile is known by its CPU clock. It is sent when it
 * ends. A call
 * that does not end, because its thread was cancelled or the process exits meanwhile, is not sent;
 * when its thread enters the same function again, that is a new call.
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
 * The calling thread enters it. `stack` is the id of the stack that was taken of this call for
 * another reason; 0: none was.
 */
void wait_log_enter(struct tracer *tracer, const struct wait_log_call *call, uint32_t stack);

/* The calling thread has created a context. */
void wait_log_context_created(void);

/* The calling thread leaves it. */
void wait_log_exit(struct tracer *tracer, const struct wait_log_call *call);

#endif
