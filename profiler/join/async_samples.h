/* SPDX-License-Identifier: MIT */
/*
 * Attributes CPU samples of async workers, which work for other threads, to their owners.
 *
 * Each launch of a worker (gpu_event_stack.handed_to) tells whose work it does. A sample between
 * two launches for one owner belongs to that owner. Between launches for different owners, its
 * owner is unknown. Before the first launch and after the last one, that launch decides if it is
 * within ASYNC_SAMPLES_NEAR_NS.
 *
 * Launches arrive later than samples. So a sample waits for its thread's next launch, at most
 * ASYNC_SAMPLES_TIMEOUT_NS. Each sample goes to the output exactly once. Per thread a limited
 * number of samples waits, and only the latest launches are kept. Times are CLOCK_MONOTONIC in ns;
 * no I/O.
 */
#ifndef PROFILER_JOIN_ASYNC_SAMPLES_H
#define PROFILER_JOIN_ASYNC_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/cpu/target_stacks.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/record_set.h"

#define ASYNC_SAMPLES_NEAR_NS 10000000u
#define ASYNC_SAMPLES_TIMEOUT_NS 1000000000u
#define ASYNC_SAMPLES_THREADS_MAX 256u  /* samples of further threads have no known owner */
#define ASYNC_SAMPLES_SPANS 64          /* spans of one thread */
#define ASYNC_SAMPLES_WAITING_MAX 2048u /* waiting samples of one thread */

struct async_sample {
	uint64_t time_ns, ran_ns; /* `ran_ns` is the time that the sample stands for */
	uint32_t process, tid;
	struct stack_id stack;
	struct place_id place;
	bool is_whole; /* the stack is whole; only passed through */
};

struct async_samples {
	/* receives each sample, and the stack to put its own below */
	void (*output)(void *context, const struct async_sample *sample, struct owner_stack owner);
	void *context;
	RECORD_SET(struct async_thread) threads;
	uint32_t waiting; /* number of waiting samples */
};

/* Zero-initialise, then set the output. */
void async_samples_release(struct async_samples *async_samples);

/* Notes a worker's launch for the owner of this stack. */
void async_samples_launch(struct async_samples *async_samples, uint32_t process, uint32_t tid,
			  uint64_t time_ns, struct owner_stack owner);

/* Returns true if the thread is known as an async worker. */
bool async_samples_has(const struct async_samples *async_samples, uint32_t process, uint32_t tid);

/* Adds a sample of an async worker. Samples come in order of time. */
void async_samples_add(struct async_samples *async_samples, const struct async_sample *sample);

/* Decides samples whose timeout has expired at `now_ns`. */
void async_samples_advance(struct async_samples *async_samples, uint64_t now_ns);

/* Passes the numbers in use to the visitor. */
void async_samples_visit(struct async_samples *async_samples, const struct id_visitor *visitor);

/* Decides all samples of a process that sends nothing more, and forgets its threads. */
void async_samples_forget(struct async_samples *async_samples, uint32_t process);

#endif
