/* SPDX-License-Identifier: MIT */
/*
 * What CUPTI calls in the application's threads: launches at their entry, kernel launches also at
 * their exit (did they start a kernel?), and the few events that need a reaction. Only the
 * functions listed here are ever subscribed to, one by one: enabling a whole domain would cost on
 * each of the ten runtime calls that PyTorch makes for one launch.
 */
#ifndef CUPTI_TRACE_MAIN_CALLBACK_H
#define CUPTI_TRACE_MAIN_CALLBACK_H

#include "cupti_trace/core/tracer.h"

/* Subscribes. 0, or CUPTI's result. */
int callback_subscribe(struct tracer *tracer);

/*
 * After CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: the subscriber's name from CUPTI
 * ("CUPTI for NAME"; cuptiSubscribe_v2 of newer CUPTI); else the path of the libcupti. In static
 * memory.
 */
const char *callback_other_subscriber(struct tracer *tracer);

/*
 * Lets callbacks find what is kept of a thread without the loader. To be called in a thread that
 * libc has made, on its own stack.
 */
void callback_find_own(void);

/* Sends how many launches since the last time started nothing. */
void callback_send_voids(struct tracer *tracer);

/* Makes CUPTI's callbacks those that the probes with these bits need (probes.h). */
void callback_serve(struct tracer *tracer, uint32_t probes);

/* Returns whether the library itself wants to hear of a function, whatever tracers want. */
bool callback_follows(uint32_t domain, uint32_t cbid);

/* Turns every callback off again. */
void callback_unsubscribe(struct tracer *tracer);

#endif
