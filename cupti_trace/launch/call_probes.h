/* SPDX-License-Identifier: MIT */
/*
 * Fires the probes of calls (probes.h): CUPTI's callbacks for functions that tracers want to hear
 * of, whether the library follows them for the profiler or not. It also sends the profiler the
 * errors of calls, if it asked for them.
 *
 * A call of the runtime makes calls of the driver with the same correlation id: probes fire for the
 * outermost one alone. Tracers that walk stacks by frame pointers get the callers as the library's
 * own unwinder finds them, by call-frame information: NVIDIA's libraries and most programs are
 * built without frame pointers. The frames of this library are left out.
 */
#ifndef CUPTI_TRACE_LAUNCH_CALL_PROBES_H
#define CUPTI_TRACE_LAUNCH_CALL_PROBES_H

#include "cupti_trace/core/tracer.h"

/*
 * Has CUPTI report what probes with these bits need, unless `is_followed` says that it does so
 * anyway. What other probes needed before is still reported, and does nothing: CUPTI 13.0 confuses
 * the correlation ids of a thread that is in a call when it is to stop (callback.c). One thread at
 * a time, while subscribed.
 */
void call_probes_enable(struct tracer *tracer, uint32_t probes,
			bool (*is_followed)(uint32_t domain, uint32_t cbid));

/* The subscription is about to end, and with it all that CUPTI reports; the same thread. */
void call_probes_end(struct tracer *tracer, bool (*is_followed)(uint32_t domain, uint32_t cbid));

/* A function of the runtime or driver is entered or left; `frame` is the callback's. Any thread. */
void call_probes_on_call(struct tracer *tracer, uint32_t domain, uint32_t cbid,
			 const struct cupti_abi_callback_data *data, const void *frame);

#endif
