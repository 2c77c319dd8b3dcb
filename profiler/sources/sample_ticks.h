/* SPDX-License-Identifier: MIT */
/*
 * Chooses which ticks of a CPU's clock are samples, where the kernel's clocks belong to threads and
 * each starts anew (process_events.h). One for each CPU. Times are in ns.
 */
#ifndef PROFILER_SOURCES_SAMPLE_TICKS_H
#define PROFILER_SOURCES_SAMPLE_TICKS_H

#include <stdint.h>
#include "bpf/sampling_clock.h"
#include "symbolize/util/id_map.h"

/* Bytes of stack in a sample. A record's size has 16 bits; the stack is most of it. */
#define SAMPLE_STACK_MAX 61440u
#define SAMPLE_STACK_MIN 8192u

/* Zero-initialised, it never begins. */
struct sample_ticks {
	uint64_t sample_ns, tick_ns;
	struct id_map seen; /* threads that have ticked since they started */
	struct sampling_clock clock;
};

/*
 * Begins, with a sample each `sample_ns`. `tick_ns` is the mean tick of all CPUs, `number` the
 * CPU's: the tick of each is another, so that what happens to processes of one length is not the
 * same on all.
 */
void sample_ticks_begin(struct sample_ticks *t, uint64_t sample_ns, uint64_t tick_ns,
			uint32_t number);
void sample_ticks_release(struct sample_ticks *t);

/*
 * Counts a tick of a thread on this CPU, and returns how many samples to take at it, 0 to 2. Each
 * thread starts a tick of its own on each CPU, at its full length, and at its end a part of one is
 * lost: a half, on average. So the first one counts for one and a half.
 */
uint32_t sample_ticks_count(struct sample_ticks *t, uint32_t tid);

/* Forgets a thread, which starts or has ended. */
void sample_ticks_forget(struct sample_ticks *t, uint32_t tid);

/* Returns how many samples as many ticks would have been; `sample_ns` 0: as many. */
uint64_t sample_ticks_samples(uint64_t ticks, uint64_t sample_ns, uint64_t tick_ns);

/* Returns how much stack a sample has, so that a ring of so many bytes holds many ticks. */
uint32_t sample_ticks_stack_bytes(uint64_t ring_bytes, uint64_t tick_ns);

#endif
