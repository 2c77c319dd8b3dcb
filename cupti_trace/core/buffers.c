// SPDX-License-Identifier: MIT
#include "cupti_trace/core/buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cupti_trace/core/clock.h"

#define ALIGNMENT 64

#define ROOM_PARTS 16 /* no buffer takes more than this share of the free room */

/* Never freed, so that a thread may read its last one at any time. */
struct buffer {
	struct buffer *next;
	uint8_t *memory;
	uint64_t number; /* number of the request; 0: not in use */
	uint32_t size_index;
	bool is_filled;
};

/* Last request of this thread. */
static __thread struct {
	struct buffer *buffer;
	uint64_t number;
} own;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static bool has_key;

static void forget_own(void *unused)
{
	(void)unused;
	own.buffer = NULL;
}

static void make_key(void)
{
	has_key = pthread_key_create(&thread_end, forget_own) == 0;
}

void buffers_init(struct buffers *buffers, bool may_refuse)
{
	pthread_once(&once, make_key);
	memset(buffers, 0, sizeof(*buffers));
	pthread_mutex_init(&buffers->lock, NULL);
	pthread_cond_init(&buffers->room, NULL);
	buffers->may_refuse = may_refuse;
	buffers->size = BUFFERS_MIN_SIZE;
}

/* Chooses a size by how long the last buffer lasted, i.e. how long ago it was requested. */
static size_t next_size(struct buffers *buffers, uint64_t now_ns)
{
	uint64_t lasted = now_ns - buffers->time_ns;

	if (buffers->time_ns == 0)
		buffers->size = BUFFERS_MIN_SIZE;
	else if (lasted < BUFFERS_PERIOD_NS / 2 && buffers->size < BUFFERS_SIZE)
		buffers->size *= 2;
	else if (lasted > BUFFERS_PERIOD_NS * 2 && buffers->size > BUFFERS_MIN_SIZE)
		buffers->size /= 2;
	buffers->time_ns = now_ns;
	return buffers->size;
}

static size_t size_of(uint32_t index)
{
	return (size_t)BUFFERS_MIN_SIZE << index;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Returns the index of the largest useful size that is a fair share and leaves room for more
 * threads.
 */
static uint32_t choose_size(struct buffers *buffers, uint64_t now_ns)
{
	size_t unfilled = smaller(buffers->held - buffers->filled, BUFFERS_UNFILLED);
	size_t most = smaller(BUFFERS_UNFILLED / (buffers->being_filled + 1),
			      (BUFFERS_UNFILLED - unfilled) / ROOM_PARTS);
	uint32_t index = 0;

	most = smaller(most, next_size(buffers, now_ns));
	while (index + 1 < BUFFERS_SIZES && size_of(index + 1) <= most)
		index++;
	return index;
}

static struct buffer *take(struct buffer **list)
{
	struct buffer *b = *list;

	if (b)
		*list = b->next;
	return b;
}

static void add(struct buffer **list, struct buffer *b)
{
	b->next = *list;
	*list = b;
}

/* Returns the place of the pointer to the buffer with this memory, or of the list's end. */
static struct buffer **find_given(struct buffers *buffers, const uint8_t *memory)
{
	uint64_t hash = (uintptr_t)memory / ALIGNMENT * UINT64_C(0x9e3779b97f4a7c15);
	struct buffer **place = &buffers->given[(hash >> 32) % BUFFERS_BUCKETS];

	while (*place && (*place)->memory != memory)
		place = &(*place)->next;
	return place;
}

static void strip(struct buffers *buffers, struct buffer *b)
{
	free(b->memory);
	b->memory = NULL;
	add(&buffers->bare, b);
}

/* Frees kept memory, the largest first, until kept and filled memory are within the bound. */
static void shrink(struct buffers *buffers)
{
	for (uint32_t i = BUFFERS_SIZES; i-- > 0;) {
		while (buffers->free[i] && buffers->filled + buffers->kept > BUFFERS_FILLED_MAX) {
			buffers->kept -= size_of(i);
			strip(buffers, take(&buffers->free[i]));
		}
	}
}

static struct buffer *make(struct buffers *buffers, uint32_t index)
{
	struct buffer *b = take(&buffers->bare);

	if (!b)
		b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->size_index = index;
	b->memory = aligned_alloc(ALIGNMENT, size_of(index));
	if (!b->memory) {
		add(&buffers->bare, b);
		return NULL;
	}
	return b;
}

static void note_filled(struct buffers *buffers)
{
	struct buffer *b = own.buffer;

	if (!b || b->number != own.number || b->is_filled)
		return;
	b->is_filled = true;
	buffers->being_filled--;
	__atomic_store_n(&buffers->filled, buffers->filled + size_of(b->size_index),
			 __ATOMIC_RELAXED);
}

static bool has_too_many(const struct buffers *buffers)
{
	size_t at_once =
		smaller(buffers->most_being_filled * (size_t)BUFFERS_SIZE, BUFFERS_UNFILLED);

	return buffers->filled > BUFFERS_FILLED_MAX + at_once;
}

uint8_t *buffers_get(struct buffers *buffers, uint64_t now_ns, size_t *size)
{
	struct buffer *b = NULL;
	uint32_t index;

	*size = 0;
	pthread_mutex_lock(&buffers->lock);
	note_filled(buffers);
	index = choose_size(buffers, now_ns);
	if (!has_too_many(buffers) || !buffers->may_refuse) {
		b = take(&buffers->free[index]);
		if (b)
			buffers->kept -= size_of(index);
		else
			b = make(buffers, index);
		shrink(buffers);
	}
	if (b) {
		*size = size_of(index);
		b->number = ++buffers->requests;
		b->is_filled = false;
		buffers->in_use++;
		buffers->being_filled++;
		if (buffers->being_filled > buffers->most_being_filled)
			buffers->most_being_filled = buffers->being_filled;
		buffers->held += *size;
		add(find_given(buffers, b->memory), b);
		own.buffer = b;
		own.number = b->number;
	}
	pthread_mutex_unlock(&buffers->lock);
	if (b && has_key)
		pthread_setspecific(thread_end, b);
	return b ? b->memory : NULL;
}

bool buffers_have(struct buffers *buffers, const uint8_t *buffer)
{
	bool is_given;

	pthread_mutex_lock(&buffers->lock);
	is_given = *find_given(buffers, buffer) != NULL;
	pthread_mutex_unlock(&buffers->lock);
	return is_given;
}

void buffers_put(struct buffers *buffers, uint8_t *buffer)
{
	struct buffer *b;
	size_t size;

	pthread_mutex_lock(&buffers->lock);
	b = take(find_given(buffers, buffer));
	if (!b) {
		pthread_mutex_unlock(&buffers->lock);
		return;
	}
	size = size_of(b->size_index);
	b->number = 0;
	buffers->in_use--;
	buffers->held -= size;
	__atomic_store_n(&buffers->returns, buffers->returns + 1, __ATOMIC_RELAXED);
	if (!b->is_filled) {
		buffers->being_filled--;
	} else {
		bool was_above = buffers->filled > BUFFERS_LOW;

		__atomic_store_n(&buffers->filled, buffers->filled - size, __ATOMIC_RELAXED);
		if (was_above && buffers->filled <= BUFFERS_LOW) {
			buffers->calls++;
			pthread_cond_broadcast(&buffers->room);
		}
	}
	add(&buffers->free[b->size_index], b);
	buffers->kept += size;
	shrink(buffers);
	pthread_mutex_unlock(&buffers->lock);
}

bool buffers_wait(struct buffers *buffers, uint32_t ms, bool *returned)
{
	struct timespec until = clock_in_ms(ms);
	uint64_t returns, calls;
	bool has_room;
	int err = 0;

	pthread_mutex_lock(&buffers->lock);
	returns = buffers->returns;
	calls = buffers->calls;
	while (buffers->filled > BUFFERS_LOW && buffers->calls == calls && err != ETIMEDOUT)
		err = pthread_cond_clockwait(&buffers->room, &buffers->lock, CLOCK_MONOTONIC,
					     &until);
	has_room = buffers->filled <= BUFFERS_LOW || buffers->calls != calls;
	*returned = buffers->returns != returns;
	pthread_mutex_unlock(&buffers->lock);
	return has_room;
}

void buffers_give_up_waiting(struct buffers *buffers)
{
	pthread_mutex_lock(&buffers->lock);
	__atomic_store_n(&buffers->hopeless, buffers->returns + 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&buffers->lock);
}

void buffers_trim(struct buffers *buffers)
{
	struct buffer *b;

	pthread_mutex_lock(&buffers->lock);
	for (uint32_t i = 0; i < BUFFERS_SIZES; i++) {
		while ((b = take(&buffers->free[i]))) {
			buffers->kept -= size_of(i);
			strip(buffers, b);
		}
	}
	pthread_mutex_unlock(&buffers->lock);
}

void buffers_release(struct buffers *buffers)
{
	struct buffer *b;

	for (uint32_t i = 0; i < BUFFERS_SIZES; i++)
		while ((b = take(&buffers->free[i])))
			strip(buffers, b);
	while ((b = take(&buffers->bare)))
		free(b);
	own.buffer = NULL;
	pthread_cond_destroy(&buffers->room);
	pthread_mutex_destroy(&buffers->lock);
}
