/* SPDX-License-Identifier: MIT */
/*
 * A growing ring of equal elements, first in, first out.
 *
 * Elements are copied in. Returned pointers are valid until the next change. Functions that deal
 * with time use the element's first member as a uint64_t time in ns and keep the queue ordered by
 * it.
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

/* 0 or -ENOMEM. */
int queue_push(struct queue *q, const void *element);

/*
 * Puts the element behind those that are not later. It moves past QUEUE_REACH others at most, so
 * that a sender of senseless times cannot make this quadratic.
 */
#define QUEUE_REACH 1024
int queue_insert_by_time(struct queue *q, const void *element);

/* The first element, or NULL; the i-th, or NULL. */
void *queue_front(const struct queue *q);
void *queue_at(const struct queue *q, uint32_t i);

/* Removes the first element, if any. Memory of a once long queue is freed when it is short again.
 */
#define QUEUE_KEPT 1024
void queue_pop(struct queue *q);

uint32_t queue_length(const struct queue *q);

/* How many elements are earlier than `time_ns`; stops counting at 2. */
uint32_t queue_count_before(const struct queue *q, uint64_t time_ns);

#endif
