/* SPDX-License-Identifier: MIT */
/*
 * Passes launches from their threads to the pipe, without a lock or a system call.
 *
 * Each launching thread owns a ring and writes it; one thread at a time drains all rings. A thread
 * drains its own ring if it is full: a launch waits and is never lost. Rings of threads that ended
 * are freed once drained.
 *
 * A launch is recorded at its entry. So it is in the pipe before its operations. It is not lost if
 * its thread never returns from the call. If ends are requested, each is an entry of its own.
 */
#ifndef CUPTI_TRACE_LAUNCH_LAUNCH_LOG_H
#define CUPTI_TRACE_LAUNCH_LAUNCH_LOG_H

#include <stdint.h>
#include "cupti_trace/core/sink.h"

/*
 * Entries of a thread's ring, powers of two: the first size, for programs with thousands of
 * threads, and the largest.
 */
#define LAUNCH_LOG_FIRST 128
#define LAUNCH_LOG_CAPACITY 4096

/* Initialises; call once before any thread logs. Returns 0 or -errno. */
int launch_log_init(void);

/* Stack id of a launch without a stack (GPU_LAUNCH_SKIPPED). */
#define LAUNCH_LOG_SKIPPED UINT32_MAX

/*
 * Makes the stack of the thread's next launch stand for `stands_for` launches, if it has this id.
 */
void launch_log_weigh(struct sink *sink, uint32_t correlation_id, uint32_t stands_for);

/*
 * Returns the log of the calling thread, valid as long as the thread. Finding it takes a call of
 * the loader.
 */
struct launch_log_thread *launch_log_thread(void);

/* A launch, as in struct gpu_event_launch. Small: it is passed in registers. */
struct launch_log_launch {
	uint32_t correlation_id, stack_id;
	uint32_t family, flags; /* not bytes: combining these takes longer */
};

/* Records that the calling thread entered a launch function now. */
void launch_log_add(const struct launch_log_thread *me, struct sink *sink,
		    struct launch_log_launch launch);

/*
 * Records the end of the calling thread's last logged launch, if it has this id, with its error or
 * 0. `end_ns` is CLOCK_MONOTONIC, below 2^59: 18 years. No effect for any other launch.
 */
void launch_log_end(struct sink *sink, uint32_t correlation_id, uint64_t end_ns, uint32_t error);

/*
 * Marks the calling thread's last logged launch, if it has this id: the thread waits for the GPU
 * now (GPU_LAUNCH_WAITED). No effect if the launch was sent meanwhile, which is rare.
 */
void launch_log_waited(struct sink *sink, uint32_t correlation_id);

/* Returns the thread id that launches, waits and nodes of graphs have. */
uint32_t launch_log_tid(void);

/* Moves everything that was logged before the call into the sink. Any thread may call. */
void launch_log_drain(struct sink *sink);

/*
 * Moves everything that was logged before `ns` (CLOCK_MONOTONIC). Costs nothing if the last drain
 * began later. With thousands of threads a drain costs far more than a buffer of records.
 */
void launch_log_drain_until(struct sink *sink, uint64_t ns);

#endif
