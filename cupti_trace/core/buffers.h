/* SPDX-License-Identifier: MIT */
/*
 * The memory that CUPTI writes activity records into: a bounded pool of buffers.
 *
 * CUPTI hands a buffer over only when every record in it is complete: on a GPU that is always busy,
 * when it is full and its last kernel has ended. If the process is killed before, its contents are
 * lost. So a buffer gets the size that about BUFFERS_PERIOD_NS of records need: small for slow
 * kernels, large for fast ones, doubled or halved by how fast the last one was filled.
 *
 * Since CUDA 12.3 CUPTI holds a buffer for each thread that launches, and handing one over costs it
 * the more the more there are: up to a millisecond and more with 3,000 threads on an H200. So these
 * buffers are not made smaller until they take BUFFERS_UNFILLED; pages that nothing was written to
 * take no memory.
 *
 * A buffer counts as filled when its thread requests the next one; what is filled and has not come
 * back waits for its last kernel, for CUPTI, or to be sent. (Where all threads fill one buffer,
 * each thread may leave one uncounted.) Not while a thread ends: CUPTI has then left its buffer as
 * it is, and requests another for what destructors of the program launch. Above BUFFERS_HIGH of
 * that, launching threads should wait: the profiler is behind.
 *
 * The bounds keep the target from growing when its profiler is slow. Above BUFFERS_FILLED_MAX, and
 * one more for each thread, since all may fill theirs at once, CUPTI gets no buffer and counts what
 * it could not record; releases before 12.9 may crash on that, so there the pool grows instead, and
 * the launch callback's backpressure has to keep it small.
 */
#ifndef CUPTI_TRACE_CORE_BUFFERS_H
#define CUPTI_TRACE_CORE_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/core/hot_path.h"

#define BUFFERS_MIN_SIZE 1024u                                 /* 4 records */
#define BUFFERS_SIZES 7                                        /* each twice the one before */
#define BUFFERS_SIZE (BUFFERS_MIN_SIZE << (BUFFERS_SIZES - 1)) /* 64 KiB: about 300 kernels */
#define BUFFERS_UNFILLED (256u << 20)  /* being filled; above, BUFFERS_MIN_SIZE a thread */
#define BUFFERS_FILLED_MAX (48u << 20) /* the free ones included */
#define BUFFERS_HIGH (12u << 20)       /* filled: launching threads should wait a little */
#define BUFFERS_LOW (8u << 20)         /* and go on */
#define BUFFERS_PERIOD_NS 100000000u

#define BUFFERS_BUCKETS 1024u

struct buffer;

struct buffers {
	size_t filled; /* bytes, of those held; first, because each launch reads it */
	pthread_mutex_t lock;
	pthread_cond_t room;                   /* fallen to BUFFERS_LOW */
	uint64_t calls;                        /* how often */
	struct buffer *free[BUFFERS_SIZES];    /* with their memory */
	struct buffer *bare;                   /* without */
	struct buffer *given[BUFFERS_BUCKETS]; /* with CUPTI or being sent, by address */
	uint32_t in_use, being_filled;         /* buffers */
	uint32_t most_being_filled;            /* so far */
	size_t held, kept;                     /* bytes with CUPTI or being sent; free */
	uint64_t requests, returns;            /* so far */
	uint64_t hopeless;                     /* `returns` when waiting was of no use, and 1 */
	bool may_refuse;                       /* this CUPTI can go without a buffer */
	size_t size;                           /* of the last buffer, but for its share */
	uint64_t time_ns;                      /* when */
};

void buffers_init(struct buffers *buffers, bool may_refuse);

/*
 * An 8-byte aligned buffer for the calling thread and its size, or NULL and 0. `now_ns` is the time
 * by any steady clock.
 */
uint8_t *buffers_get(struct buffers *buffers, uint64_t now_ns, size_t *size);

/*
 * CUPTI may still have buffers of an earlier copy of the library, whose pool is not ours: whether
 * this one is. Nothing of it is read: it may be freed memory.
 */
bool buffers_have(struct buffers *buffers, const uint8_t *buffer);

/* Puts a buffer back. No effect on one that is not ours. */
void buffers_put(struct buffers *buffers, uint8_t *buffer);

/* More than BUFFERS_HIGH are filled, and waiting may help. Cheap, exact enough. */
static HOT_PATH_INLINE bool buffers_are_short(const struct buffers *buffers)
{
	return unlikely(__atomic_load_n(&buffers->filled, __ATOMIC_RELAXED) > BUFFERS_HIGH) &&
	       __atomic_load_n(&buffers->hopeless, __ATOMIC_RELAXED) !=
		       __atomic_load_n(&buffers->returns, __ATOMIC_RELAXED) + 1;
}

/*
 * Waits until no more than BUFFERS_LOW are filled, at most `ms`. `*returned` is set to whether any
 * buffer came back meanwhile. False: time is over. A cancellation point.
 */
bool buffers_wait(struct buffers *buffers, uint32_t ms, bool *returned);

/* Waiting is of no use, until a buffer comes back: the GPU waits for something else. */
void buffers_give_up_waiting(struct buffers *buffers);

/* Frees the memory of buffers that are not in use. */
void buffers_trim(struct buffers *buffers);

/* Frees what is not in use; only for tests: the pool lives as long as the process. */
void buffers_release(struct buffers *buffers);

#endif
