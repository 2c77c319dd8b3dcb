/* SPDX-License-Identifier: MIT */
/*
 * Takes CUPTI out of a process that goes on: cuptiFinalize.
 *
 * NVIDIA recommends to call it at the exit of any call of CUDA's driver or runtime, from the
 * callback there, and nothing of CUPTI in other threads meanwhile. So a thread of ours makes a call
 * that does nothing (cuDriverGetVersion), and finalizes in the callback of its end: no thread of
 * the program waits, whatever cuptiFinalize does. It is left out before CUDA 12.6, where programs
 * with graphs crashed later.
 */
#ifndef CUPTI_TRACE_FINALIZE_H
#define CUPTI_TRACE_FINALIZE_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/tracer.h"

#define FINALIZE_MS 1000

enum finalize_result {
	FINALIZE_DONE,     /* CUPTI is gone, the subscription with it */
	FINALIZE_LEFT_OUT, /* or refused: as if nothing had been */
	FINALIZE_LATE,     /* not back within FINALIZE_MS: nothing of CUPTI may be called */
};

/*
 * With the subscription still there, all records and callbacks off, and buffers returned. Says how
 * it went in a verbose notice. After FINALIZE_LATE `come_back` is called, by the other thread, when
 * it has come back after all.
 */
enum finalize_result finalize_cupti(struct tracer *tracer, void (*come_back)(void));

/* In callbacks of calls, when all else is off: its own call's end. */
void finalize_on_call(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data);

#endif
