/* SPDX-License-Identifier: MIT */
/*
 * Launches, from the thread that makes them to the pipe, without a lock or a system call.
 *
 * Each launching thread owns a ring; it writes, and whoever drains (one at a time) reads. A full
 * ring is drained by its own thread: a launch waits and is never lost. Rings of threads that ended
 * are freed once drained.
 *
 * A launch is recorded at its entry, not at its end: so it is in the pipe before the operations
 * that it starts, and is not lost where its thread never returns from the call. Where ends are
 * requested, each is an entry of its own.
 */
#ifndef CUPTI_TRACE_LAUNCH_LAUNCH_LOG_H
#define CUPTI_TRACE_LAUNCH_LAUNCH_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/sink.h"

/* Entries a thread, powers of two: at first, for programs with thousands of threads, and at most.
 */
#define LAUNCH_LOG_FIRST 128
#define LAUNCH_LOG_CAPACITY 4096

/* To be called once before any thread logs. 0 or -errno. */
int launch_log_init(void);

/* In place of a stack's id: none was taken (GPU_LAUNCH_SKIPPED). */
#define LAUNCH_LOG_SKIPPED UINT32_MAX

/* The stack of the launch that the thread logs next, if it has this id, stands for so many. */
void launch_log_weigh(struct sink *sink, uint32_t correlation_id, uint32_t stands_for);

/*
 * Returns what is kept of the calling thread, as long as it lives. Finding it takes a call of the
 * loader.
 */
struct launch_log_thread *launch_log_thread(void);

/* A launch, as in struct gpu_event_launch. Small: it is passed in registers. */
struct launch_log_launch {
	uint32_t correlation_id, stack_id;
	uint32_t family, flags; /* not bytes, which are put together in memory: that takes longer */
};

/* Records that the calling thread entered a launch function now. */
void launch_log_add(const struct launch_log_thread *me, struct sink *sink,
		    struct launch_log_launch launch);

/*
 * Records that the calling thread's last logged launch, if it has this id, returned at `end_ns`
 * (CLOCK_MONOTONIC, below 2^59: 18 years), with this error, 0 for none. Without effect for any
 * other launch.
 */
void launch_log_end(struct sink *sink, uint32_t correlation_id, uint64_t end_ns, uint32_t error);

/*
 * Marks the calling thread's last logged launch, if it has this id: the thread waits for the GPU
 * now (GPU_LAUNCH_WAITED). Without effect if the launch was sent meanwhile, which is seldom.
 */
void launch_log_waited(struct sink *sink, uint32_t correlation_id);

/* The calling thread, as launches, waits and nodes of graphs name it. */
uint32_t launch_log_tid(void);

/* Moves everything that was logged before the call into the sink. Any thread may call. */
void launch_log_drain(struct sink *sink);

/*
 * Does the same for what was logged before `ns` (CLOCK_MONOTONIC): costs nothing if the last drain
 * began later. With thousands of threads a drain costs far more than what a buffer of records
 * holds.
 */
void launch_log_drain_until(struct sink *sink, uint64_t ns);

#endif
