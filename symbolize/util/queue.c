// SPDX-License-Identifier: MIT
#include "symbolize/util/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void queue_init(struct queue *q, size_t element_size)
{
	memset(q, 0, sizeof(*q));
	q->element_size = element_size;
}

void queue_release(struct queue *q)
{
	free(q->elements);
	q->elements = NULL;
	q->capacity = q->first = q->length = 0;
}

static unsigned char *slot(const struct queue *q, uint32_t i)
{
	return q->elements + (size_t)((q->first + i) & (q->capacity - 1)) * q->element_size;
}

static int resize(struct queue *q, uint32_t capacity)
{
	unsigned char *elements = malloc((size_t)capacity * q->element_size);

	if (!elements)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->length; i++)
		memcpy(elements + (size_t)i * q->element_size, slot(q, i), q->element_size);
	free(q->elements);
	q->elements = elements;
	q->capacity = capacity;
	q->first = 0;
	return 0;
}

int queue_push(struct queue *q, const void *element)
{
	if (q->length == q->capacity && resize(q, q->capacity ? q->capacity * 2 : 16) != 0)
		return -ENOMEM;
	memcpy(slot(q, q->length++), element, q->element_size);
	return 0;
}

static uint64_t time_of(const void *element)
{
	uint64_t time_ns;

	memcpy(&time_ns, element, sizeof(time_ns));
	return time_ns;
}

int queue_insert_by_time(struct queue *q, const void *element)
{
	uint64_t time_ns = time_of(element);
	uint32_t i;

	if (queue_push(q, element) != 0)
		return -ENOMEM;
	for (i = q->length - 1;
	     i > 0 && q->length - i < QUEUE_REACH && time_of(slot(q, i - 1)) > time_ns; i--)
		memcpy(slot(q, i), slot(q, i - 1), q->element_size);
	memcpy(slot(q, i), element, q->element_size);
	return 0;
}

void *queue_at(const struct queue *q, uint32_t i)
{
	return i < q->length ? slot(q, i) : NULL;
}

void *queue_front(const struct queue *q)
{
	return queue_at(q, 0);
}

void queue_pop(struct queue *q)
{
	if (q->length == 0)
		return;
	q->first = (q->first + 1) & (q->capacity - 1);
	q->length--;
	/* spares short queues, and shrinks late, so that the next push need not grow the queue */
	if (q->capacity > QUEUE_KEPT && q->length < q->capacity / 4)
		(void)resize(q, q->capacity / 2); /* without memory the queue stays large */
}

uint32_t queue_length(const struct queue *q)
{
	return q->length;
}

uint32_t queue_count_before(const struct queue *q, uint64_t time_ns)
{
	uint32_t n = 0;

	while (n < 2 && n < q->length && time_of(slot(q, n)) < time_ns)
		n++;
	return n;
}
