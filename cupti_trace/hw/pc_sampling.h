/* SPDX-License-Identifier: MIT */
/*
 * Samples program counters on the GPU (--stalls). Periodically each multiprocessor notes where one
 * of its warps is, and why that warp issues no instruction. In CUPTI's continuous mode kernels run
 * undisturbed, and samples belong to functions, not to launches. In its serialized mode
 * (--stalls=exact) kernels run one after the other, and samples have their launch's correlation id.
 *
 * Sampling is enabled for each context at its creation. The flusher thread fetches samples. They
 * are also fetched at the end, and before a module is unloaded: CUPTI only reports places of loaded
 * functions. They are summed by launch and place, and sent once a second.
 *
 * Line tables of modules are sent when a module is loaded.
 *
 * If CUPTI refuses, a notice explains it and the program runs on without sampling. CUPTI documents
 * no thread safety here, so one lock is held over all these calls. A thread of the program waits
 * for that lock up to PC_SAMPLING_TIMEOUT_MS: the holder may wait in CUPTI for something that the
 * program's thread holds.
 *
 * Source: cupti_pcsampling.h (CUDA 13.0).
 */
#ifndef CUPTI_TRACE_HW_PC_SAMPLING_H
#define CUPTI_TRACE_HW_PC_SAMPLING_H

#include "cupti_trace/core/tracer.h"

#define PC_SAMPLING_TIMEOUT_MS 250

/* Exponents of valid periods, 2^n cycles. */
#define PC_SAMPLING_PERIOD_MIN 5u
#define PC_SAMPLING_PERIOD_MAX 31u

/*
 * Hooks: a context was created, or begins to be destroyed; device code was loaded, or is unloaded.
 */
void pc_sampling_context_created(struct tracer *tracer, void *context);
void pc_sampling_context_ends(struct tracer *tracer, void *context);
void pc_sampling_module_loaded(struct tracer *tracer, const struct cupti_abi_module_data *module);
void pc_sampling_module_goes(struct tracer *tracer);

/* Fetches available samples; one thread calls it several times a second. */
void pc_sampling_fetch(struct tracer *tracer);

/* Fetches and sends all samples, and ends sampling. */
void pc_sampling_end(struct tracer *tracer);

#endif
