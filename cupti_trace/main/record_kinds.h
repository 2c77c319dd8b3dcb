/* SPDX-License-Identifier: MIT */
/*
 * Which kinds of records CUPTI makes: what the profiler asked for, or, where there is none, what
 * the probes need that tracers are attached to.
 *
 * Kinds that this CUPTI does not have, or refuses, are left out; a notice says so where their work
 * will be missed. One thread at a time, while CUPTI's buffers are provided for.
 */
#ifndef CUPTI_TRACE_MAIN_RECORD_KINDS_H
#define CUPTI_TRACE_MAIN_RECORD_KINDS_H

#include <stdint.h>
#include "cupti_trace/core/tracer.h"

/*
 * All that are wanted. Returns CUPTI's result for kernels, without which nothing is recorded. Sets
 * `records_copies` and `wants_devices`.
 */
int record_kinds_enable(struct tracer *tracer);

/* Serves probes with these bits (probes.h), instead of those for `tracer->probes`. */
void record_kinds_serve(struct tracer *tracer, uint32_t probes);

/* None any more. */
void record_kinds_disable(struct tracer *tracer);

#endif
