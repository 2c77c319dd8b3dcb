/* SPDX-License-Identifier: MIT */
/*
 * Allocates the memory that CUPTI writes activity records into: a bounded pool of buffers.
 *
 * CUPTI delivers a buffer only when every record in it is complete. On a GPU that is always busy,
 * that is when the buffer is full and its last kernel has ended. If the process is killed before,
 * the contents are lost. So a buffer is sized for about BUFFERS_PERIOD_NS of records: small for
 * slow kernels, large for fast ones. The size is doubled or halved by how fast the last buffer was
 * filled.
 *
 * Since CUDA 12.3 CUPTI holds a buffer for each launching thread, and delivering one takes longer
 * the more there are: a millisecond and more with 3,000 threads on an H200. So buffers keep their
 * size until those being filled total BUFFERS_UNFILLED bytes; beyond that new ones have
 * BUFFERS_MIN_SIZE. Untouched pages take no memory.
 *
 * A buffer counts as filled when its thread requests the next one. Filled buffers wait for their
 * last kernel, for CUPTI, or to be sent. All threads may fill one buffer: then each may leave one
 * uncounted. If a thread ends, CUPTI leaves its buffer as it is, and requests another for launches
 * by the program's destructors. If filled buffers take more than BUFFERS_HIGH, launching threads
 * should wait: the profiler is behind.
 *
 * Filled buffers are limited, so that the target does not grow when its profiler is slow. The limit
 * is BUFFERS_FILLED_MAX and one buffer for each thread, since all may fill theirs at once. Above it
 * CUPTI gets no buffer and counts what it could not record. Releases before 12.9 may crash on that:
 * there the pool grows instead, and the launch callback's backpressure has to keep it small.
 */
#ifndef CUPTI_TRACE_CORE_BUFFERS_H
#define CUPTI_TRACE_CORE_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/core/hot_path.h"

#define BUFFERS_MIN_SIZE 1024u                                 /* 4 records */
#define BUFFERS_SIZES 7                                        /* each twice the size before */
#define BUFFERS_SIZE (BUFFERS_MIN_SIZE << (BUFFERS_SIZES - 1)) /* 64 KiB: about 300 kernels */
#define BUFFERS_UNFILLED (256u << 20)  /* total being filled; above, BUFFERS_MIN_SIZE a thread */
#define BUFFERS_FILLED_MAX (48u << 20) /* total filled, including free ones */
#define BUFFERS_HIGH (12u << 20)       /* filled: launching threads should wait a little */
#define BUFFERS_LOW (8u << 20)         /* ... until filled buffers take no more than this */
#define BUFFERS_PERIOD_NS 100000000u

#define BUFFERS_BUCKETS 1024u

struct buffer;

struct buffers {
	size_t filled; /* bytes filled, part of `held`; first, because each launch reads it */
	pthread_mutex_t lock;
	pthread_cond_t room;                   /* signalled when `filled` falls to BUFFERS_LOW */
	uint64_t calls;                        /* number of requests by CUPTI */
	struct buffer *free[BUFFERS_SIZES];    /* free buffers with their memory */
	struct buffer *bare;                   /* free buffers without memory */
	struct buffer *given[BUFFERS_BUCKETS]; /* buffers with CUPTI or being sent, by address */
	uint32_t in_use, being_filled;         /* numbers of buffers */
	uint32_t most_being_filled;            /* maximum of `being_filled` */
	size_t held, kept;                     /* bytes with CUPTI or being sent, and free bytes */
	uint64_t requests, returns;            /* totals */
	uint64_t hopeless;                     /* `returns` + 1 when waiting was futile; 0: never */
	bool may_refuse;                       /* this CUPTI tolerates a refused buffer */
	size_t size;      /* wanted for the last buffer, before its share was limited */
	uint64_t time_ns; /* time of the last request */
};

void buffers_init(struct buffers *buffers, bool may_refuse);

/*
 * Returns an 8-byte aligned buffer for the calling thread and sets its size; NULL and 0 if there is
 * none. `now_ns` is the time by any steady clock.
 */
uint8_t *buffers_get(struct buffers *buffers, uint64_t now_ns, size_t *size);

/*
 * Returns whether a buffer is from this pool. CUPTI may still have buffers of an earlier copy of
 * the library. Does not read the buffer: it may be freed memory.
 */
bool buffers_have(struct buffers *buffers, const uint8_t *buffer);

/* Puts a buffer back. No effect on a buffer of another pool. */
void buffers_put(struct buffers *buffers, uint8_t *buffer);

/*
 * Returns whether more than BUFFERS_HIGH are filled, and waiting may help. Reads without the lock,
 * so the answer is approximate.
 */
static HOT_PATH_INLINE bool buffers_are_short(const struct buffers *buffers)
{
	return unlikely(__atomic_load_n(&buffers->filled, __ATOMIC_RELAXED) > BUFFERS_HIGH) &&
	       __atomic_load_n(&buffers->hopeless, __ATOMIC_RELAXED) !=
		       __atomic_load_n(&buffers->returns, __ATOMIC_RELAXED) + 1;
}

/*
 * Waits up to `ms` until no more than BUFFERS_LOW are filled. Sets *returned if any buffer came
 * back meanwhile. Returns false on timeout. A cancellation point.
 */
bool buffers_wait(struct buffers *buffers, uint32_t ms, bool *returned);

/* Notes that waiting is futile until a buffer comes back: the GPU waits for something else. */
void buffers_give_up_waiting(struct buffers *buffers);

/* Frees the memory of buffers that are not in use. */
void buffers_trim(struct buffers *buffers);

/* Frees buffers that are not in use. Only for tests: the pool lives as long as the process. */
void buffers_release(struct buffers *buffers);

#endif
