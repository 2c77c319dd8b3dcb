/* SPDX-License-Identifier: MIT */
/*
 * Hardware counters of kernels (--metrics): reads them around chosen launches (counter_choice.h) in
 * the launching thread, and sends the values under the launch's correlation id.
 *
 * The driver's launch call is the place: the range profiler is started at its entry and stopped at
 * its exit. In between CUPTI runs the kernel once for each pass and waits for it, so the call lasts
 * long; the values are computed then and there. Meanwhile no other thread launches a kernel or a
 * graph: it waits at its own call, COUNTERS_TIMEOUT_MS at most, and then nobody waits any more:
 * the kernel that is measured may itself wait for others. Launches that other threads have begun
 * return first; those that do not within COUNTERS_RETURN_MS are not waited for again, and this
 * launch is not measured. Whatever was launched all the same makes itself known by a second range;
 * then there are no values, and CUPTI gives no times of it.
 *
 * Nothing is measured while a stream is captured anywhere in the process, since CUPTI waits for the
 * context then, which would break the capture; graphs are not measured, for one call launches many
 * kernels. What is not measured is counted by its reason.
 *
 * CUPTI may hand over activity records of the further runs, or of the copies that restore memory:
 * counters_is_replay tells them apart, so that GPU work is in the profile once. The record of a
 * measured kernel has no times: counted_times.h has them.
 *
 * All calls come from callbacks of the one tracer.
 */
#ifndef CUPTI_TRACE_HW_HW_COUNTERS_H
#define CUPTI_TRACE_HW_HW_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/tracer.h"

#define COUNTERS_TIMEOUT_MS 10000
#define COUNTERS_RETURN_MS 1000
#define COUNTERS_LAUNCHES 5 /* of each kernel, if nobody says otherwise */

struct counters_options {
	const char *metrics; /* names separated by commas, "default" among them */
	const char *kernels; /* a pattern of mangled names; NULL: all */
	/* how many launches of each kernel; "0", "all": each; NULL or "": COUNTERS_LAUNCHES */
	const char *launches;
};

/* Once, before callbacks are enabled. False: it cannot; a notice says why. */
bool counters_init(struct tracer *tracer, const struct counters_options *options);

/* A function of a domain, by its name as CUPTI gives it; then whether its calls are of interest. */
void counters_add_function(uint32_t domain, uint32_t cbid, const char *name);
bool counters_follows(uint32_t domain, uint32_t cbid);

/* A thread enters and leaves it. */
void counters_enter(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		    const struct cupti_abi_callback_data *data);
void counters_exit(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		   const struct cupti_abi_callback_data *data);

/* A context is about to be destroyed; with NULL, the program ends. */
void counters_context_goes(void *context);

/*
 * Returns whether a record with this correlation id is of a launch that was measured, and not the
 * first record of its kernel. Counts it.
 */
bool counters_is_replay(uint32_t correlation_id, bool is_kernel);

/* Sends what came since the last time. */
void counters_send(struct sink *sink);

/* Without a profiler: writes what was not measured, at the end. */
void counters_write_rest(void);

#endif
