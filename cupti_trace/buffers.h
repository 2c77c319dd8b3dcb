/* SPDX-License-Identifier: MIT */
/*
 * The memory that CUPTI writes activity records into: a bounded pool of buffers.
 *
 * CUPTI hands a buffer over only when every record in it is complete: on a GPU that is always busy,
 * when it is full and its last kernel has ended. If the process is killed before, its contents are
 * lost. So a buffer gets the size that about BUFFERS_PERIOD_NS of records need: small for slow
 * kernels, large for fast ones, doubled or halved by how fast the last one was filled.
 *
 * The bound keeps the target from growing when its profiler is slow. When the pool is used up,
 * CUPTI gets no buffer and counts what it could not record; releases before 12.9 may crash on that,
 * so there the pool grows instead, and the launch callback's backpressure has to keep it small.
 */
#ifndef CUPTI_TRACE_BUFFERS_H
#define CUPTI_TRACE_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFERS_SIZE (64u << 10) /* bytes of memory each: about 300 kernel records */
#define BUFFERS_MIN_SIZE 1024u   /* least bytes used of it: 4 records */
#define BUFFERS_MAX 768          /* 48 MiB */
#define BUFFERS_HIGH 512         /* in use: launching threads should wait a little */
#define BUFFERS_PERIOD_NS 100000000u

struct buffers {
	pthread_mutex_t lock;
	uint8_t *free[BUFFERS_MAX];
	uint32_t free_count;
	uint32_t in_use;
	bool may_refuse;  /* this CUPTI can go without a buffer */
	size_t size;      /* of the last buffer */
	uint64_t time_ns; /* when */
};

void buffers_init(struct buffers *buffers, bool may_refuse);

/*
 * An 8-byte aligned buffer and how much of it to use, or NULL and 0. `now_ns` is the time by any
 * steady clock.
 */
uint8_t *buffers_get(struct buffers *buffers, uint64_t now_ns, size_t *size);

void buffers_put(struct buffers *buffers, uint8_t *buffer);

/* More than BUFFERS_HIGH are with CUPTI or being sent. Cheap, exact enough. */
bool buffers_are_short(const struct buffers *buffers);

#endif
