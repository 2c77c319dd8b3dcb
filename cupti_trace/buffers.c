// SPDX-License-Identifier: MIT
#include "cupti_trace/buffers.h"

#include <stdlib.h>
#include <string.h>

void buffers_init(struct buffers *buffers, bool may_refuse)
{
	memset(buffers, 0, sizeof(*buffers));
	pthread_mutex_init(&buffers->lock, NULL);
	buffers->may_refuse = may_refuse;
	buffers->size = BUFFERS_MIN_SIZE;
}

/* By how long ago the last buffer was asked for: that is how long it lasted. */
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

uint8_t *buffers_get(struct buffers *buffers, uint64_t now_ns, size_t *size)
{
	uint8_t *buffer = NULL;
	bool allowed;

	pthread_mutex_lock(&buffers->lock);
	allowed = buffers->in_use < BUFFERS_MAX || !buffers->may_refuse;
	if (allowed && buffers->free_count)
		buffer = buffers->free[--buffers->free_count];
	if (allowed && !buffer)
		buffer = aligned_alloc(64, BUFFERS_SIZE);
	*size = buffer ? next_size(buffers, now_ns) : 0;
	if (buffer)
		__atomic_add_fetch(&buffers->in_use, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&buffers->lock);
	return buffer;
}

void buffers_put(struct buffers *buffers, uint8_t *buffer)
{
	if (!buffer)
		return;
	pthread_mutex_lock(&buffers->lock);
	__atomic_sub_fetch(&buffers->in_use, 1, __ATOMIC_RELAXED);
	if (buffers->free_count < BUFFERS_MAX) {
		buffers->free[buffers->free_count++] = buffer;
		buffer = NULL;
	}
	pthread_mutex_unlock(&buffers->lock);
	free(buffer);
}

bool buffers_are_short(const struct buffers *buffers)
{
	return __atomic_load_n(&buffers->in_use, __ATOMIC_RELAXED) > BUFFERS_HIGH;
}
