/* SPDX-License-Identifier: MIT */
/*
 * PC sampling (--stalls): every so many cycles each multiprocessor of the GPU notes where one of
 * its warps is and why that issues no instruction. In CUPTI's continuous mode kernels run as they
 * would without it, and samples belong to functions, not to launches. In its serialized mode
 * (--stalls=exact) they run one after the other, and samples have the correlation id of their
 * launch.
 *
 * It is enabled for each context when that is created. The samples are fetched by the flusher
 * thread, before a module is unloaded (CUPTI hands out the places of functions that are there), and
 * at the end. They are summed up by launch and place, and
 * sent once a second.
 *
 * Of modules that have line tables these are sent when the module is loaded.
 *
 * Where CUPTI refuses, a notice says so and the program runs on without. CUPTI documents no thread
 * safety here, so one lock is held over all these calls. A thread of the program waits for it
 * PC_SAMPLING_TIMEOUT_MS at most: the thread that holds it may itself wait within CUPTI for what
 * the program's thread holds.
 *
 * Source: cupti_pcsampling.h (CUDA 13.0).
 */
#ifndef CUPTI_TRACE_HW_PC_SAMPLING_H
#define CUPTI_TRACE_HW_PC_SAMPLING_H

#include <stdint.h>
#include "cupti_trace/core/tracer.h"

#define PC_SAMPLING_TIMEOUT_MS 250

/* Valid periods are of 2^n cycles. */
#define PC_SAMPLING_PERIOD_MIN 5u
#define PC_SAMPLING_PERIOD_MAX 31u

/* Hooks: a context was created, or begins to be destroyed; device code was loaded, or goes. */
void pc_sampling_context_created(struct tracer *tracer, void *context);
void pc_sampling_context_ends(struct tracer *tracer, void *context);
void pc_sampling_module_loaded(struct tracer *tracer, const struct cupti_abi_module_data *module);
void pc_sampling_module_goes(struct tracer *tracer);

/* Fetches what there is; called several times a second by one thread. */
void pc_sampling_fetch(struct tracer *tracer);

/* Fetches and sends all that there is, and ends sampling. */
void pc_sampling_end(struct tracer *tracer);

#endif
