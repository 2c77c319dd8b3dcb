/* SPDX-License-Identifier: MIT */
/*
 * Fires the probes of calls (probes.h). Subscribes to CUPTI's callbacks for functions that tracers
 * want, in addition to those that the library follows for the profiler. Also sends the profiler the
 * errors of calls, on request.
 *
 * A runtime call makes driver calls with its correlation id. Probes fire for the outermost call
 * alone. NVIDIA's libraries and most programs have no frame pointers. So tracers that walk stacks
 * by frame pointers get a chain of callers from the library's own unwinder. The frames of this
 * library are left out.
 */
#ifndef CUPTI_TRACE_LAUNCH_CALL_PROBES_H
#define CUPTI_TRACE_LAUNCH_CALL_PROBES_H

#include "cupti_trace/core/tracer.h"

/*
 * Has CUPTI report calls for these probes, unless `is_followed` says that it does so anyway. Calls
 * for earlier probes are still reported, without effect. Turning them off confuses the correlation
 * ids of a thread that is in such a call (CUPTI 13.0, callback.c). One thread at a time, while
 * subscribed.
 */
void call_probes_enable(struct tracer *tracer, uint32_t probes,
			bool (*is_followed)(uint32_t domain, uint32_t cbid));

/*
 * Ends all of CUPTI's reports, before the subscription ends. Call in the thread of
 * call_probes_enable.
 */
void call_probes_end(struct tracer *tracer, bool (*is_followed)(uint32_t domain, uint32_t cbid));

/*
 * Handles the entry or exit of a runtime or driver function; `frame` is the callback's. Any thread.
 */
void call_probes_on_call(struct tracer *tracer, uint32_t domain, uint32_t cbid,
			 const struct cupti_abi_callback_data *data, const void *frame);

#endif
