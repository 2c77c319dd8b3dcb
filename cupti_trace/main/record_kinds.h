/* SPDX-License-Identifier: MIT */
/*
 * Selects the kinds of records that CUPTI makes: those that the profiler requests or, without a
 * profiler, those that attached tracers' probes need.
 *
 * Kinds that this CUPTI does not have, or refuses, are left out. A notice is sent if their work
 * will be missed. One thread at a time, after CUPTI's buffer hooks are set.
 */
#ifndef CUPTI_TRACE_MAIN_RECORD_KINDS_H
#define CUPTI_TRACE_MAIN_RECORD_KINDS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/tracer.h"

/*
 * Enables all requested kinds. Returns CUPTI's result for kernels, without which nothing is
 * recorded. Sets `records_copies` and `wants_devices`.
 */
int record_kinds_enable(struct tracer *tracer);

/* Switches the records of work that launches make, all of which were enabled before (--budget). */
void record_kinds_switch(struct tracer *tracer, bool on);

/* Serves these probes (probes.h), instead of those in `tracer->probes`. */
void record_kinds_serve(struct tracer *tracer, uint32_t probes);

/* Disables all kinds. */
void record_kinds_disable(struct tracer *tracer);

#endif
