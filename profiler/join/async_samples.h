/* SPDX-License-Identifier: MIT */
/*
 * CPU samples of threads that work for others (gpu_event_stack.handed_to): whose work they are.
 *
 * Each launch of such a thread says whose work it does. A sample between two launches with the same
 * answer has that answer too. Where the two differ, its owner is unknown. Before the first launch
 * and after the last one, that launch counts if it is within ASYNC_SAMPLES_NEAR_NS.
 *
 * Launches arrive later than samples. So a sample waits for the next launch of its thread, for
 * ASYNC_SAMPLES_TIMEOUT_NS at most, and then goes to the one output: each exactly once. Of each
 * thread a limited number of samples waits, and only the latest launches are known. Times are
 * CLOCK_MONOTONIC in ns; no I/O.
 */
#ifndef PROFILER_JOIN_ASYNC_SAMPLES_H
#define PROFILER_JOIN_ASYNC_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/cpu/target_stacks.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/hash_index.h"

#define ASYNC_SAMPLES_NEAR_NS 10000000u
#define ASYNC_SAMPLES_TIMEOUT_NS 1000000000u
#define ASYNC_SAMPLES_THREADS_MAX 256u  /* samples of further ones are unknown */
#define ASYNC_SAMPLES_SPANS 64          /* of launches with the same answer, of a thread */
#define ASYNC_SAMPLES_WAITING_MAX 2048u /* samples of a thread */

struct async_sample {
	uint64_t time_ns, ran_ns; /* the latter is what it stands for */
	uint32_t process, tid;
	struct stack_id stack;
	struct place_id place;
	bool is_whole; /* the stack; only passed through */
};

struct async_samples {
	/* gets each sample, and the stack that its own belongs below */
	void (*output)(void *context, const struct async_sample *sample, struct owner_stack owner);
	void *context;
	struct async_thread **threads;
	uint32_t count, capacity;
	uint32_t waiting; /* samples */
	struct hash_index index;
};

/* Zero-initialise, then set the output. */
void async_samples_release(struct async_samples *async_samples);

/* A thread has launched for the owner of this stack. */
void async_samples_launch(struct async_samples *async_samples, uint32_t process, uint32_t tid,
			  uint64_t time_ns, struct owner_stack owner);

/* Returns whether the thread is known to work for others. */
bool async_samples_has(const struct async_samples *async_samples, uint32_t process, uint32_t tid);

/* A sample of a thread that works for others; to be passed in in order of time. */
void async_samples_add(struct async_samples *async_samples, const struct async_sample *sample);

/* It is `now_ns`: decides what has waited long enough. */
void async_samples_advance(struct async_samples *async_samples, uint64_t now_ns);

/* Shows the numbers in use. */
void async_samples_visit(struct async_samples *async_samples, const struct id_visitor *visitor);

/* The process sends nothing more: decides all of its samples, and forgets its threads. */
void async_samples_forget(struct async_samples *async_samples, uint32_t process);

#endif
