/* SPDX-License-Identifier: MIT */
/*
 * Chooses the ticks of a CPU's clock that are samples.
 *
 * The kernel's clocks belong to threads, and restart with each thread (process_events.h). There is
 * one struct per CPU. Times are in ns.
 */
#ifndef PROFILER_SOURCES_SAMPLE_TICKS_H
#define PROFILER_SOURCES_SAMPLE_TICKS_H

#include <stdint.h>
#include "bpf/sampling_clock.h"
#include "symbolize/util/id_map.h"

/* Bytes of stack in a sample. A record's size has 16 bits, and is mostly stack. */
#define SAMPLE_STACK_MAX 61440u
#define SAMPLE_STACK_MIN 8192u

/* Zero-initialised takes no samples. */
struct sample_ticks {
	uint64_t sample_ns, tick_ns;
	struct id_map seen; /* threads that have ticked since they started */
	struct sampling_clock clock;
};

/*
 * Begins, with a sample every `sample_ns`. `tick_ns` is the mean tick of all CPUs, `number` the
 * CPU's. Each CPU has another tick, so that processes of one length meet different ticks.
 */
void sample_ticks_begin(struct sample_ticks *t, uint64_t sample_ns, uint64_t tick_ns,
			uint32_t number);
void sample_ticks_release(struct sample_ticks *t);

/*
 * Counts a tick of a thread on this CPU. Returns the number of samples to take, 0 to 2. Each thread
 * starts a full tick of its own on each CPU. At its end half a tick is lost, on average. So its
 * first tick counts 1.5.
 */
uint32_t sample_ticks_count(struct sample_ticks *t, uint32_t tid);

/* Forgets a thread that starts or has ended. */
void sample_ticks_forget(struct sample_ticks *t, uint32_t tid);

/* Converts a number of ticks to samples. `sample_ns` 0: one sample per tick. */
uint64_t sample_ticks_samples(uint64_t ticks, uint64_t sample_ns, uint64_t tick_ns);

/* Returns the bytes of stack in a sample, given the ring's size. */
uint32_t sample_ticks_stack_bytes(uint64_t ring_bytes, uint64_t tick_ns);

#endif
