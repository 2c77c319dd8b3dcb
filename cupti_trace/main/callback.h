/* SPDX-License-Identifier: MIT */
/*
 * Handles CUPTI's callbacks in the application's threads. Launches are handled at their entry,
 * kernel launches also at their exit (did they start a kernel?). A few other events need a
 * reaction. Functions are subscribed to one by one. Enabling a whole domain would cost on each of
 * the ten runtime calls that PyTorch makes for one launch.
 */
#ifndef CUPTI_TRACE_MAIN_CALLBACK_H
#define CUPTI_TRACE_MAIN_CALLBACK_H

#include "cupti_trace/core/tracer.h"

/* Subscribes. Returns 0 or CUPTI's result. */
int callback_subscribe(struct tracer *tracer);

/*
 * Returns the other subscriber's name from CUPTI ("CUPTI for NAME"; cuptiSubscribe_v2 of newer
 * CUPTI). Without one, returns the path of the libcupti. Call after
 * CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED. In static memory.
 */
const char *callback_other_subscriber(struct tracer *tracer);

/*
 * Lets callbacks find the state of a thread without the loader. Call in a thread that libc has
 * made, on its own stack.
 */
void callback_find_own(void);

/* Sends how many launches since the last call started nothing. */
void callback_send_voids(struct tracer *tracer);

/* Selects CUPTI's callbacks for these probes (probes.h). */
void callback_serve(struct tracer *tracer, uint32_t probes);

/* Switches the callbacks of the driver's functions that launch (--budget). */
void callback_switch_launches(struct tracer *tracer, bool on);

/* Returns whether the library itself follows a function, whatever tracers want. */
bool callback_follows(uint32_t domain, uint32_t cbid);

/* Turns every callback off. */
void callback_unsubscribe(struct tracer *tracer);

#endif
