/* SPDX-License-Identifier: MIT */
/*
 * Reads hardware counters of kernels (--counters) around selected launches (counter_choice.h), in
 * the launching thread. Sends the values under the launch's correlation id.
 *
 * The range profiler is started at the entry of the driver's launch call and stopped at its exit.
 * In between CUPTI runs the kernel once for each pass and waits for it, so the call takes long.
 * Values are computed at its exit.
 *
 * Meanwhile no other thread launches a kernel or a graph: it waits in its own call, up to
 * COUNTERS_TIMEOUT_MS. After a timeout no thread waits any more, because the measured kernel may
 * itself wait for others. Launches begun by other threads must return first. If one does not within
 * COUNTERS_RETURN_MS, this launch is not measured, and that one is not waited for again. A launch
 * in spite of all this is detected by a second range. Then there are no values, and CUPTI gives no
 * times.
 *
 * Nothing is measured while any stream of the process is captured: CUPTI waits for the context,
 * which would break the capture. Graphs are not measured, because one call launches many kernels.
 * Launches without a measurement are counted by reason.
 *
 * CUPTI may deliver activity records of the replays, or of copies that restore memory.
 * counters_is_replay detects these, so that GPU work is in the profile once. The record of a
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
#define COUNTERS_LAUNCHES 5 /* default limit for each kernel */

struct counters_options {
	const char *metrics; /* names separated by commas; may include "default" */
	const char *kernels; /* a pattern of mangled names; NULL: all */
	/* launches of each kernel; "0", "all": each; NULL or "": COUNTERS_LAUNCHES */
	const char *launches;
};

/*
 * Initialises, once, before callbacks are enabled. Returns false after a notice if counters cannot
 * be read.
 */
bool counters_init(struct tracer *tracer, const struct counters_options *options);

/* Registers a function of a domain by CUPTI's name, and tells whether its calls are of interest. */
void counters_add_function(uint32_t domain, uint32_t cbid, const char *name);
bool counters_follows(uint32_t domain, uint32_t cbid);

/* Update when a thread enters and leaves such a function. */
void counters_enter(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		    const struct cupti_abi_callback_data *data);
void counters_exit(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		   const struct cupti_abi_callback_data *data);

/* Notes that a context is about to be destroyed; NULL: the program ends. */
void counters_context_ends(void *context);

/*
 * Returns whether a record belongs to a measured launch, but is not the first record of its kernel.
 * Counts such records.
 */
bool counters_is_replay(uint32_t correlation_id, bool is_kernel);

/* Sends the counts since the last call. */
void counters_send(struct sink *sink);

/* Writes the numbers of launches without a measurement at the end, without a profiler. */
void counters_write_rest(void);

#endif
