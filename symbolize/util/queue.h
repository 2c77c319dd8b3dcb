/* SPDX-License-Identifier: MIT */
/*
 * Queues elements of one size, first in, first out, in a growing ring buffer.
 *
 * Elements are copied. Returned pointers are valid until the next change. Functions about time need
 * elements that begin with a uint64_t time in ns, and keep the queue ordered by time.
 */
#ifndef SYMBOLIZE_UTIL_QUEUE_H
#define SYMBOLIZE_UTIL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct queue {
	unsigned char *elements;
	size_t element_size;
	uint32_t capacity; /* 0 or a power of two */
	uint32_t first;
	uint32_t length;
};

void queue_init(struct queue *q, size_t element_size);
void queue_release(struct queue *q);

/* Appends an element. Returns 0 or -ENOMEM. */
int queue_push(struct queue *q, const void *element);

/*
 * Inserts the element behind those that are not later. Passes at most QUEUE_REACH others, so that a
 * sender of senseless times cannot make this quadratic. Returns 0 or -ENOMEM.
 */
#define QUEUE_REACH 1024
int queue_insert_by_time(struct queue *q, const void *element);

/* Returns the first element, or the i-th; NULL: there is none. */
void *queue_front(const struct queue *q);
void *queue_at(const struct queue *q, uint32_t i);

/* Removes the first element, if any. Shrinks a queue that is short again after it was long. */
#define QUEUE_KEPT 1024
void queue_pop(struct queue *q);

uint32_t queue_length(const struct queue *q);

/* Returns how many elements are earlier than `time_ns`, 2 at most. */
uint32_t queue_count_before(const struct queue *q, uint64_t time_ns);

#endif
