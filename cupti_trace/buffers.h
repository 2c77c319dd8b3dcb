/* SPDX-License-Identifier: MIT */
/*
 * The memory that CUPTI writes activity records into: a bounded pool of equal buffers.
 *
 * Small buffers come back soon (a buffer is only handed over when every record in it is complete),
 * and the bound keeps a target whose profiler is slow from growing. When the pool is used up, CUPTI
 * gets no buffer and counts what it could not record; releases before 12.9 may crash on that, so
 * there the pool grows instead, and the launch callback's backpressure has to keep it small.
 */
#ifndef CUPTI_TRACE_BUFFERS_H
#define CUPTI_TRACE_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFERS_SIZE (512u << 10) /* bytes each: about 2,500 kernel records */
#define BUFFERS_MAX 96            /* 48 MiB */
#define BUFFERS_HIGH 64           /* in use: launching threads should wait a little */

struct buffers {
	pthread_mutex_t lock;
	uint8_t *free[BUFFERS_MAX];
	uint32_t free_count;
	uint32_t in_use;
	bool may_refuse; /* this CUPTI copes with getting no buffer */
};

void buffers_init(struct buffers *buffers, bool may_refuse);

/* An 8-byte aligned buffer of BUFFERS_SIZE bytes, or NULL. */
uint8_t *buffers_get(struct buffers *buffers);

void buffers_put(struct buffers *buffers, uint8_t *buffer);

/* More than BUFFERS_HIGH are with CUPTI or being sent. Cheap, exact enough. */
bool buffers_are_short(const struct buffers *buffers);

#endif
