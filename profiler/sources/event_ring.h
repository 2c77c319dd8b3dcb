/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of a BPF ring buffer in place, in batches.
 *
 * The layout is the kernel's (kernel/bpf/ringbuf.c): a page with the consumer position, a page with
 * the producer position, then the data, mapped twice in a row so that no record is split. Positions
 * are in bytes and only grow. A record is a header of 8 bytes (its length, and flags for a record
 * that is being written or was discarded) and its data, padded to a multiple of 8.
 */
#ifndef PROFILER_SOURCES_EVENT_RING_H
#define PROFILER_SOURCES_EVENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bpf/stack_event.h"

struct event_ring {
	uint64_t *consumed;
	const uint64_t *produced;
	const unsigned char *data;
	size_t page_size;
	size_t size;   /* bytes of data, a power of two */
	uint64_t at;   /* end of the records returned so far */
	uint64_t end;  /* of the batch */
	bool has_more; /* the batch was full, or ended at an unfinished record */
};

/*
 * Maps the ring of map `fd`, with `size` bytes. 0 or -errno. A zero-initialised ring may be
 * unmapped.
 */
int event_ring_map(struct event_ring *ring, int fd, size_t size);
void event_ring_unmap(struct event_ring *ring);

/* Starts the next batch: the current contents, at most `max` bytes. */
void event_ring_fill(struct event_ring *ring, size_t max);

/*
 * The batch's next record, or NULL at its end. Records with a wrong length for their kind, or
 * counts out of bounds, are skipped. Valid until the next call, which frees it.
 */
const struct stack_event *event_ring_next(struct event_ring *ring);

#endif
